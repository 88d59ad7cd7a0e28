"""Verdicts: pure functions of records and floors; the same records give the same verdict."""
