"""Which release broke it: a search over releases in as few launches as a prior allows."""
