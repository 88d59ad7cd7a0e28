"""Engines: building their environments, starting and stopping their servers, reading their logs."""
