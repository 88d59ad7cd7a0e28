"""What records say, in the language that is spoken.

Records have one language. A sentence on record is found again among those that specfloor writes
into records and those of the ledger, and said in another with the same values; one that is not
found, such as the answer of a server or a line of a log, stays as it is.
"""

import re
from functools import cache

from specfloor.i18n import ENGLISH, N_, _, language, ledger_text

RECORDED = (
    # of engines
    N_("the engine ended before it was healthy ({ending})"),
    N_("the engine was not healthy within {seconds} s"),
    N_("the engine ended while it served ({ending})"),
    N_("the engine lives but gave no answer within {seconds} s"),
    N_("the engine only failed for {seconds} s: {answer}"),
    N_("other servers took {attempt} ports before the engine could"),
    N_(
        "the engine environment {name} could not be built: {doing} failed with {cause}; all of it "
        "is in {log}"
    ),
    N_("{address} lists no model any more"),
    N_("killed by {signal}"),
    N_("exit code {code}"),
    # of requests
    N_("no full answer within {seconds} s"),
    N_("the connection broke ({why})"),
    N_("the server is not healthy (HTTP {status})"),
    N_("the server does not answer /health within {seconds} s"),
    N_("the server is gone ({why})"),
    N_("nothing came for {seconds} s with {n} request(s) out"),
    N_("HTTP {status} instead of an answer: {body}"),
    # of searches
    N_("on the branch of {good}, which {bad} did not grow out of"),
    N_("not the first of its branch, {branch}"),
    N_("not in the catalogue"),
    N_("by the day each branch left main, then by date on the branch; not by number"),
    N_(
        "by the number of their vLLM: the ledger, which knows dates and branches, has not both ends"
    ),
    N_("alike: the ledger does not know these releases"),
    N_("by {n} rows of the ledger about {family} with {method}"),
    # of counters
    N_("{sentence} (before the requests)"),
    N_("{sentence} (after the requests)"),
    N_("the server restarted between the scrapes"),
    N_("the metrics are empty"),
    N_("the answer of the endpoint is no metrics text"),
    # of the host
    N_("{name} is set and is no variable that is known to be read"),
    N_("{name} is set and is no variable that is known to be read; {meant} is one"),
    N_("{release} does not read {name}, which is set (last read by {last})"),
    N_("{release} does not read {name}, which is set (last read by {last}); {other} stands for it"),
    N_("vLLM {release} does not read {name}, which is set (last seen to be read by {last})"),
    N_("vllm-ascend {ascend} goes with vllm {pair}, not {vllm}"),
    N_("vllm-ascend {ascend} and vllm {vllm} are not of one release"),
    N_("{release} was made for CANN {cann}, and CANN {found} is installed"),
    N_("no installation of CANN was found on this NPU host"),
    N_("no NPU was found: there is no /dev/davinci device and npu-smi shows none"),
    N_("no npu-smi was found on PATH"),
    N_("no CANN was found: looked in {places}"),
    N_(
        "CANN {cann} in {home} is the number of a driver; the version of CANN is in its "
        "ascend_toolkit_install.info"
    ),
    N_("not every device is well ({devices})"),
    N_("{program} cannot be run: {why}"),
    N_("{program} did not answer within {seconds} s"),
    N_("npu-smi info printed no table of devices"),
    N_("npu-smi info printed no table of devices ({said})"),
    N_("the memory of NPU {npus} is full"),
)
"""Sentences of records, the longer of two that begin alike behind the shorter."""


def spoken(text: str) -> str:
    """Return a sentence of a record in the language that is spoken."""
    if language() == ENGLISH:
        return text
    for message, pattern in reversed(_patterns()):
        if found := pattern.fullmatch(text):
            values = {name: spoken(value) for name, value in found.groupdict().items()}
            return _(message).format(**values)
    return ledger_text(text)


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((message, _pattern(message)) for message in RECORDED)


def _pattern(message: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", message)
    names = (f"(?P<{name}>.+)" for name in parts[1::2])
    literals = map(re.escape, parts[::2])
    return re.compile("".join(a + b for a, b in zip(literals, (*names, ""), strict=True)))
