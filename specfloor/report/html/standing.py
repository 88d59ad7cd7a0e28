"""How judgements stand, in the page's words, and the order in which they matter."""

from specfloor.experiments.base import ExperimentJudgement
from specfloor.i18n import _, ended
from specfloor.judge.cell import AcceptanceJudgement, SpeedJudgement
from specfloor.judge.configuration import ConfigurationJudgement
from specfloor.judge.known import KnownFaultsJudgement
from specfloor.judge.run import CellResult, Judgement
from specfloor.judge.upgrade import UpgradeJudgement
from specfloor.judge.verdict import Verdict
from specfloor.report.html import words
from specfloor.report.html.model import Standing

_STANDINGS = {
    Verdict.PASS: Standing.PASS,
    Verdict.FAIL: Standing.FAIL,
    Verdict.INCONCLUSIVE: Standing.INCONCLUSIVE,
    Verdict.NO_DATA: Standing.NO_DATA,
    None: Standing.REPORTED,
}
WORST_FIRST = (
    Standing.FAIL,
    Standing.NO_DATA,
    Standing.INCONCLUSIVE,
    Standing.PASS,
    Standing.REPORTED,
)
BROKEN = frozenset({Standing.FAIL, Standing.NO_DATA, Standing.INCONCLUSIVE})


def standing_of(judged: CellResult | Judgement) -> Standing:
    """Return how a cell or one judgement of it stands."""
    return _STANDINGS[judged.verdict]


def rank(standing: Standing) -> int:
    """Return the place of a standing, the worst first, from 1."""
    return WORST_FIRST.index(standing) + 1


def anchor_of(result: CellResult) -> str:
    """Return the id of a cell on the page."""
    return f"cell-{result.cell.id}"


def findings_of(result: CellResult) -> tuple[str, ...]:
    """Return the findings of what does not hold, each once."""
    return tuple(
        dict.fromkeys(
            str(finding)
            for judgement in result.judgements
            if standing_of(judgement) in BROKEN
            for finding in judgement.findings
        )
    )


def what_of(judgement: Judgement) -> str:
    """Return what a judgement is about."""
    match judgement:
        case ConfigurationJudgement():
            return _(words.CONFIGURATION)
        case AcceptanceJudgement():
            return _(words.ACCEPTANCE)
        case SpeedJudgement():
            return _(words.SPEED)
        case UpgradeJudgement():
            return _(words.UPGRADE).format(baseline=judgement.baseline)
        case KnownFaultsJudgement():
            return _(words.KNOWN_FAULTS)
        case ExperimentJudgement():
            return _(words.EXPERIMENT_TITLE).format(name=judgement.experiment)


def sentence(reason: str) -> str:
    """Return a reason as a sentence; a first word that is a name (vLLM) keeps its letters."""
    first = reason.partition(" ")[0]
    said = reason[:1].upper() + reason[1:] if first.isalpha() and first.islower() else reason
    return ended(said)
