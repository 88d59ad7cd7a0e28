"""The measuring client: prompts in, request records out, the same for every vLLM version."""
