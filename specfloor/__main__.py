"""``python -m specfloor``."""

from specfloor.cli import main

main()
