"""Runs on disk: append-only records that everything after the measurement is computed from."""
