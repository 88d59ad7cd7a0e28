"""Reports to the vendor: the issue's text and the archive that goes with it."""
