"""The next experiments, as commands: which outcome speaks for which cause."""

import msgspec

from specfloor.i18n import N_, _
from specfloor.ledger.model import AVOIDED_BY, Facet, Kind, Signature
from specfloor.triage.diagnosis import Step
from specfloor.triage.signatures import Contrast


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was measured, as far as it is known: what a command has to name."""

    platform: str = "ascend"
    release: str | None = None
    family: str | None = None
    method: str | None = None
    k: int | None = None
    workload: str | None = None
    tier: str | None = None

    def suite(self, *options: str, **changed: str | int | None) -> str:
        """Return the suite's command for this place, with some of its options changed."""
        whole = msgspec.structs.asdict(self) | changed
        words = ["tox", "-e", whole["platform"], "--"]
        for name, option in _OPTIONS.items():
            if whole[name] is not None:
                words += [option, str(whole[name])]
        return " ".join([*words, *options])

    def serve(self, *flags: str) -> str:
        """Return the server's start with some flags added; the rest stays as it is."""
        return f"vllm serve MODEL … {' '.join(flags)}"

    def fixes(self) -> str:
        """Return the question to the fix ledger."""
        words = ["specfloor fixes --release", self.release or "RELEASE"]
        words += ["--family", self.family or "FAMILY", "--method", self.method or "METHOD"]
        return " ".join(words)


_OPTIONS = {
    "release": "--release",
    "family": "--family",
    "method": "--method",
    "k": "--spec-tokens",
    "workload": "--workload",
    "tier": "--tier",
}
_EAGER = "--enforce-eager"


def steps_of_signature(signature: Signature, place: Place, *, listed: bool) -> tuple[Step, ...]:
    """Return the experiments that tell the causes of a signature apart, cheapest first.

    ``listed`` is whether the ledger may have rows about it: one that has none is not asked again.
    """
    eager, one = place.serve(_EAGER), place.suite("-k", "acceptance", k=1)
    match signature:
        case Signature.ZERO:
            known = Step(
                place.fixes(),
                _(
                    "a head, a rotation or a vocabulary map that the draft "
                    "should share with the target is the usual cause; the known "
                    "ones are listed"
                ),
            )
            return (
                *((known,) if listed else ()),
                Step(eager, _("zero there too rules the graph out")),
                Step(one, _("zero there too rules out what draft steps share")),
            )
        case Signature.ALL_POSITIONS:
            return (
                Step(eager, _("position 1 that is back says the graph, not the weights")),
                Step(
                    "vllm serve MODEL_THAT_IS_NOT_QUANTISED …",
                    _("position 1 that is back says weights, scales or rotation"),
                ),
                *(
                    Step(served_with(_(AVOIDED_BY[facet])), _(_HANDS_OVER))
                    for facet in (Facet.FLASHCOMM, Facet.DSA_CP, Facet.KV_POOL)
                    if place.platform == "ascend"
                ),
            )
        case Signature.LATER_POSITIONS:
            return (
                Step(
                    one,
                    _(
                        "position 1 that stays as it is says metadata that draft "
                        "steps share: lengths, slots, positions"
                    ),
                ),
                Step(eager, _("positions that come back say metadata captured in the graph")),
            )
        case Signature.DECAYS:
            return (
                Step(
                    place.suite("-k", "acceptance", "--no-early-stop"),
                    _("a restarted server that begins well and falls again says state leaks"),
                ),
                Step(
                    place.serve("--no-enable-prefix-caching", "--max-num-seqs 1"),
                    _("a rate that holds there says blocks of the cache, or requests that meet"),
                ),
            )
        case Signature.LONG_INPUT:
            return (
                Step(
                    place.serve("--max-model-len 4096"),
                    _(
                        "the same prompts cut to 1,000 tokens: a rate that is back "
                        "says the length, one that is not says the content"
                    ),
                ),
            )
        case Signature.TOO_GOOD:
            return (
                Step(
                    place.suite("-k", "acceptance", "--no-early-stop"),
                    _(
                        "texts that differ from the off arm's at temperature 0 say "
                        "the sampler; texts that loop are accepted whole by right"
                    ),
                ),
            )


_HANDS_OVER = N_(
    "it hands the draft its hidden states: position 1 that is back says it does so wrong"
)


def steps_of_unknown_shape(place: Place) -> tuple[Step, ...]:
    """Return what gives a loss the shape that tells its causes apart."""
    return (
        Step(
            place.suite("-k", "acceptance", "--no-early-stop"),
            _("all prompts show which positions fell, which a stop after a few does not"),
        ),
    )


def served_with(setting: str) -> str:
    """Return the server's start under a setting: a flag as such, anything else in words."""
    return (
        f"vllm serve MODEL … {setting}"
        if setting.startswith("--")
        else _("serve with {setting}").format(setting=setting)
    )


def steps_of_engines() -> tuple[Step, ...]:
    """Return what tells an engine's card from its rank and its weights."""
    return (
        Step(
            _("send the same prompts to each engine in turn (data_parallel_rank)"),
            _("the same engine on the same prompts clears the mix of requests"),
        ),
        *steps_of_unwell_device(),
    )


def steps_of_unwell_device() -> tuple[Step, ...]:
    """Return what tells a card from the rank that is on it."""
    return (
        Step(
            _("restart the server with its cards in another order (ASCEND_RT_VISIBLE_DEVICES)"),
            _(
                "a fault that stays with the rank clears the hardware, one that goes "
                "with the card does not"
            ),
        ),
    )


def steps_of_contrast(contrast: Contrast, place: Place) -> tuple[Step, ...]:
    """Return what comes after a loss that is there only with one thing."""
    if not contrast.only:
        return ()
    match contrast.facet:
        case Facet.GRAPH | Facet.FULL_GRAPH | Facet.PIECEWISE:
            flag = '--compilation-config \'{"cudagraph_mode": "PIECEWISE"}\''
            tells = _("a loss that is gone says metadata captured in the full graph")
            return (Step(place.serve(flag), tells),)
        case Facet.QUANTISED:
            return (
                Step(
                    _("serve the quantised target with a draft layer that is not quantised"),
                    _("a loss that is gone says the draft's own scales or rotation"),
                ),
            )
        case Facet.PD | Facet.KV_POOL:
            return (
                Step(
                    _("send one prompt twice, the second time with its cache transferred"),
                    _("a first answer that accepts more says the draft layer's cache is not moved"),
                ),
            )
        case None:
            return (
                Step(
                    place.suite("-k", "acceptance", "--no-early-stop", tier=None),
                    _(
                        "the same loss with the prompts of another tier says the "
                        "model, not the tier's template"
                    ),
                ),
            )
        case _:
            return (
                Step(
                    place.fixes(),
                    _("the rows that take {what} are the ones to look at").format(
                        what=contrast.what
                    ),
                ),
            )


def steps_of_step_cost(place: Place, *, eager: bool | None) -> tuple[Step, ...]:
    """Return what tells batch, graph and host copies apart where a step got dear."""
    graph = (
        Step(_("serve without --enforce-eager"), _("a speedup that is back says the graph"))
        if eager
        else Step(
            place.serve(_EAGER),
            _("an off arm and an on arm that slow down alike say the graph was in use on both"),
        )
    )
    return (
        Step(
            place.suite("-k", "speedup", *(f"--concurrency {n}" for n in (1, 4, 16))),
            _("a speedup that is there at 1 and gone at 16 says the batch, not the release"),
        ),
        graph,
        Step(
            place.serve("--async-scheduling"),
            _("a step that gets cheaper says the host waits for copies of draft tokens"),
        ),
    )


def steps_of_device(place: Place) -> tuple[Step, ...]:
    """Return how the devices are looked at, which comes last; nothing where there are none."""
    if place.platform != "ascend":
        return ()
    return (
        Step(
            "npu-smi info > npu-smi.txt && specfloor triage npu-smi.txt",
            _("a chip that is unwell, hot or shared; without one the devices are cleared"),
        ),
    )


_AVOIDED = {
    Kind.ACCEPTANCE: N_("acceptance that is back confirms {change}"),
    Kind.ACCURACY: N_("answers that are right again confirm {change}"),
    Kind.CRASH: N_("a server that does not crash any more confirms {change}"),
    Kind.HANG: N_("a server that does not hang any more confirms {change}"),
    Kind.PERF: N_("speed that is back confirms {change}"),
    Kind.FEATURE: N_("a setting that takes effect confirms {change}"),
}
_UPGRADED = {
    Kind.ACCEPTANCE: N_("acceptance that holds on {fixed} confirms {change}"),
    Kind.ACCURACY: N_("answers that are right on {fixed} confirm {change}"),
    Kind.CRASH: N_("a server that does not crash on {fixed} confirms {change}"),
    Kind.HANG: N_("a server that does not hang on {fixed} confirms {change}"),
    Kind.PERF: N_("speed that is back on {fixed} confirms {change}"),
    Kind.FEATURE: N_("a setting that takes effect on {fixed} confirms {change}"),
}
_TESTED_BY = {
    Kind.ACCURACY: "output",
    Kind.PERF: "speedup",
    Kind.FEATURE: "configuration",
}
"""The test that shows what a kind of row costs; acceptance, which needs a server, for the rest."""


def step_of_avoiding(setting: str, kind: Kind, change: str) -> Step:
    """Return the experiment that confirms a known fault without another release."""
    return Step(served_with(setting), _(_AVOIDED[kind]).format(change=change))


def step_of_upgrade(place: Place, fixed: str, kind: Kind, change: str) -> Step:
    """Return the experiment that confirms a known fault on the release that has the fix."""
    command = place.suite("-k", _TESTED_BY.get(kind, "acceptance"), release=fixed)
    return Step(command, _(_UPGRADED[kind]).format(fixed=fixed, change=change))
