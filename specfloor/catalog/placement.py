"""A family on the hardware at hand."""

import msgspec

from specfloor.catalog.model import Checkpoint, Family, Soc
from specfloor.errors import UsageError
from specfloor.i18n import _


def place(family: Family, soc: Soc, cards: int) -> Family:
    """Return ``family`` with flags, environment and card count for one host.

    The largest documented placement on this hardware that a host with ``cards`` devices holds.

    Args:
        family: as the catalogue has it.
        soc: the class of hardware.
        cards: devices of the host as the engine counts them (an A3 card is two).

    Raises:
        UsageError: nothing documented fits, with what there is.
    """
    known = [p for p in family.placements if p.soc == soc]
    fitting = [p for p in known if p.nodes == 1 and p.cards <= cards]
    if not fitting:
        least = _(", ").join(
            _("{cards} devices on {nodes} host(s)").format(cards=p.cards, nodes=p.nodes)
            for p in known
        )
        raise UsageError(
            _(
                "{family} is not documented on one {soc} host with {cards} devices "
                "(documented there: {least}); pick another family or other hardware"
            ).format(family=family.name, soc=soc, cards=cards, least=least or _("nothing"))
        )
    chosen = max(fitting, key=lambda placement: placement.cards)
    return msgspec.structs.replace(
        family,
        serve=chosen.serve,
        env=chosen.env,
        not_taken_by=chosen.not_taken_by,
        cards=chosen.cards,
        checkpoint=(
            Checkpoint("hub", chosen.checkpoint) if chosen.checkpoint else family.checkpoint
        ),
    )
