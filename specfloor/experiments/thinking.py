"""Serving a family so that its thinking comes apart from its answers."""

from specfloor.catalog.model import Family
from specfloor.plan import Overrides

REASONING_PARSER = "glm45"
"""The reasoning parser of the embedded families, which are served without one otherwise: it takes
the thinking of a GLM template out of the answers, if it is told with every request whether there is
any."""
_PARSER_FLAG = "--reasoning-parser"


def thinking_apart(family: Family) -> Overrides:
    """Return what to add to how a family is served; nothing where it says its own parser."""
    if family.platform != "cpu" or len(family.tiers) < 2 or _PARSER_FLAG in family.serve:
        return Overrides()
    return Overrides(serve={_PARSER_FLAG: REASONING_PARSER})
