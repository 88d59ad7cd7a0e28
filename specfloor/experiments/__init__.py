"""What one cell's floors do not tell: experiments with launches of their own, one module each.

An experiment measures through a :class:`~specfloor.experiments.base.Bench` and judges from records
alone, so that a stored run is judged again by the same code.
"""
