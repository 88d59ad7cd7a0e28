"""The machine a run is made on."""
