"""Acceptance as it is now, from the ``/metrics`` of servers that run."""
