"""What was drafted and what was accepted, read from four kinds of evidence (rungs A to D)."""
