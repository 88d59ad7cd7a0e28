"""Minimum acceptance and speedup of speculative decoding, per vLLM-Ascend release and family."""

__version__ = "0.1.0"
