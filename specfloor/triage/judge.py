"""The judgement: from what the readers found, and what the user knows, to findings.

Pure, over typed evidence: what the acceptance of each group says, how its runs ended, whether what
was asked for is in effect, and what there is to compare with.
"""

from collections.abc import Mapping, Sequence

from specfloor.i18n import _
from specfloor.triage.conclusions import Conclusion
from specfloor.triage.evidence import Group
from specfloor.triage.findings import Finding
from specfloor.triage.given import Given
from specfloor.triage.judge_acceptance import acceptance_of, expected_of
from specfloor.triage.judge_speed import speed_of_logs
from specfloor.triage.roles import COMPARED_WITH, EXPECTATIONS, OFF
from specfloor.triage.standing import ZERO_TOKENS, Expected


def judge_groups(groups: Sequence[Group], given: Given) -> list[Conclusion]:
    """Judge what logs, metrics or answers say of acceptance, and of speed where two arms are."""
    compared = {group.role: group for group in groups if group.role in COMPARED_WITH}
    subjects = [group for group in groups if group.role not in COMPARED_WITH]
    if not subjects:  # nothing is compared with itself
        subjects, compared = list(groups), {}
    expected = expected_of(compared, given)
    found = [c for group in subjects for c in _ends(group)]
    for group in subjects:
        found += acceptance_of(group, _for_group(expected, group, subjects), given)
        found += _configuration_of(group, given)
    found += _silent(subjects)
    found += _lost_comparison(compared, expected)
    found += _off_end(compared.get(OFF))
    return found + speed_of_logs(compared, subjects, found, given)


def _for_group(
    expected: Expected | None, group: Group, subjects: Sequence[Group]
) -> Expected | None:
    """Return what a group is compared with; of several models only the one the baseline names."""
    if expected is None or group.what != "model" or len(subjects) == 1:
        return expected
    return expected if expected.model == group.role else None


def _ends(group: Group) -> list[Conclusion]:
    found = []
    for run in group.runs:
        if run.failure is None:
            continue
        finding = Finding.HANG if run.failure.hung else Finding.CRASH
        if not run.served:
            if run is not group.runs[-1]:  # a later start worked
                continue
            finding = Finding.START_FAIL
        found.append(
            Conclusion(
                finding,
                _("the run ended with a failure: {cause}").format(cause=run.failure.cause),
                group.scope,
            )
        )
    return found


def _lost_comparison(compared: Mapping[str, Group], expected: Expected | None) -> list[Conclusion]:
    """Return a finding when there is evidence to compare with and it says too little."""
    given = next((compared[role] for role in EXPECTATIONS if role in compared), None)
    if expected is not None or given is None:
        return []
    why = given.nothing or _("it drafted fewer than {least} tokens").format(least=ZERO_TOKENS)
    reason = _("nothing to compare with: the {role} run says no acceptance ({why})").format(
        role=given.role, why=why
    )
    return [Conclusion(Finding.BASELINE_INVALID, reason, {"arm": given.role})]


def _off_end(off: Group | None) -> list[Conclusion]:
    """Return a finding when the arm without speculation ended badly: it is then no measure."""
    failure = next((run.failure for run in off.runs if run.failure), None) if off else None
    if failure is None:
        return []
    reason = _("the arm without speculation ended with a failure: {cause}").format(
        cause=failure.cause
    )
    return [Conclusion(Finding.BASELINE_INVALID, reason, {"arm": OFF})]


def _configuration_of(group: Group, given: Given) -> list[Conclusion]:
    """Return a finding where the server does another k or method than was asked for."""
    asked = given.config.get("k", given.config.get("num_speculative_tokens"))
    scope = group.scope
    if isinstance(asked, int) and group.tally is not None and group.k not in (None, asked):
        reason = _("k = {asked} was asked for and the server drafts k = {k}").format(
            asked=asked, k=group.k
        )
        return [Conclusion(Finding.CONFIG_NOT_IN_EFFECT, reason, scope)]
    method = given.config.get("method")
    done = next((run.method for run in group.runs if run.method), None)
    if isinstance(method, str) and done and not _same_method(method, done):
        reason = _("method {method} was asked for and the server does {done}").format(
            method=method, done=done
        )
        return [Conclusion(Finding.CONFIG_NOT_IN_EFFECT, reason, scope)]
    return []


def _same_method(one: str, other: str) -> bool:
    one, other = one.lower().replace("-", "_"), other.lower().replace("-", "_")
    return one == other or ("mtp" in one and "mtp" in other)


def _silent(subjects: Sequence[Group]) -> list[Conclusion]:
    """Return the groups without acceptance; a prefill node drafts nothing by design."""
    silent = [g for g in subjects if g.tally is None and g.bare_rate is None]
    loud = len(silent) < len(subjects)
    found = []
    for group in silent:
        if (loud and group.role == "prefill") or any(run.failure for run in group.runs):
            continue
        reason = group.nothing or _("there is no acceptance in it")
        found.append(Conclusion(Finding.NO_DATA, reason, group.scope, next=_capture(group)))
    return found


def _capture(group: Group) -> tuple[str, ...]:
    told = {run.speculates for run in group.runs}
    if False in told:
        first = [_("start the server with --speculative-config")]
    elif True in told:
        first = []
    else:
        first = [_("check in the log's start lines that speculative_config is not None")]
    return (
        *first,
        _(
            "capture /metrics before and after a load of a few hundred requests, or "
            "the log with `SpecDecoding metrics` lines (not with --disable-log-stats)"
        ),
    )
