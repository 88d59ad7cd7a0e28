"""Acceptance that was measured, in a file that others can read and write."""
