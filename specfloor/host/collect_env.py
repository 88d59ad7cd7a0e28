"""Environment texts: ``collect_env`` of vLLM-Ascend and of vLLM, pip listings, start scripts,
version files. What a text does not say is None and never guessed.
"""

import re
from typing import Literal

import msgspec

from specfloor.catalog.versions import FieldVersion, read_version
from specfloor.errors import UsageError
from specfloor.host.npu_smi import NpuTable, read_npu_smi

EnvironmentSource = Literal[
    "collect_env", "collect_env_upstream", "pip_list", "start_script", "version_file"
]

_COLLECT = re.compile(
    r"^Collecting environment information|^PyTorch version\s*:|^vLLM (?:Ascend )?Version\s*:",
    re.MULTILINE,
)
_ASCEND = re.compile(r"^vLLM Ascend Version\s*:|^CANN:|^NPU:", re.MULTILINE)
_FIELD = re.compile(r"^ {0,2}([A-Za-z][\w ]{0,40}?) {0,40}: ?(.*)$", re.MULTILINE)
_CANN_BLOCK = re.compile(r"^CANN:[ \t]*\r?\n(.*)\Z", re.MULTILINE | re.DOTALL)
_VARIABLES_BLOCK = re.compile(
    r"^ENV Variables:[ \t]*\r?\n(.*?)(?=\r?\n\s*\r?\n|\Z)", re.MULTILINE | re.DOTALL
)
_KEY = re.compile(r"^(\w+)\s*=\s*\"?([^\"\r\n]*?)\"?\s*$", re.MULTILINE)
_CANN_IN_PATH = re.compile(r"(?:cann|ascend-toolkit)[-/](\d+\.\d+[\w.]*)")
_CANN_HOMES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_AICPU_PATH", "ASCEND_OPP_PATH")
_SHA = re.compile(r"git sha: ?([0-9a-f]{6,40})")
_DATE = re.compile(r"date: ?(\d{8})")
_OS = re.compile(r"^(.*?)(?: \((x86_64|aarch64)\))?$")

_PIP_LINE = re.compile(
    r"^(?:\[pip3?\] |\[conda\] )?([A-Za-z][\w.-]*)(?:==| @ |[ \t]{2,}|\t| (?=\d))(\S+)",
    re.MULTILINE,
)
_PACKAGES = ("vllm", "vllm_ascend", "torch", "torch_npu", "triton_ascend")
_PIP = re.compile(
    r"^(?:\[pip3?\] )?(?:vllm|vllm[-_.]ascend|torch|torch[-_.]npu)(?:==|\s+|\t| @ )v?\d",
    re.MULTILINE | re.IGNORECASE,
)

_EXPORT = re.compile(
    r"^[ \t]*(?P<comment>#[ \t]*)?(?:export|declare -x|ENV|set -x)[ \t]+(?P<name>[A-Za-z_]\w*)[= ]"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s;&#]*)",
    re.MULTILINE,
)
_PASSED = re.compile(r"(?:^|\s)(?:-e|--env)[ =]([A-Z][A-Z0-9_]+)=(\"[^\"]*\"|'[^']*'|\S*)")
_COMMAND = re.compile(r"(?:^|\s)(?:vllm|python[\d.]*)\s")
_ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]{2,})=(\"[^\"]*\"|'[^']*'|\S+)")
_SCRIPT = re.compile(
    r"^[ \t]*(?:#[ \t]*)?(?:export[ \t]+\w+=|declare -x \w+=)|^#!.*\b(?:ba|z)?sh\b|\bvllm serve\b"
    r"|vllm\.entrypoints|^ENV \w+[= ]",
    re.MULTILINE,
)
_SPECULATIVE = re.compile(r"--speculative[-_]config[ =]+(?:'([^']*)'|\"((?:\\.|[^\"\\])*)\")")
_K = re.compile(r"num_speculative_tokens\\?\"?: ?(\d{1,6})")
_METHOD = re.compile(r"method\\?\"?: ?\\?\"([\w.-]+)")
_DECLARED = "VLLM_VERSION"
"""vLLM-Ascend takes vLLM's version from this variable when it is set, whatever is installed."""

_CANN_FILE = re.compile(r"^package_name=.*(?:toolkit|nnae|nnrt|cann)", re.MULTILINE | re.IGNORECASE)
_DRIVER_FILE = re.compile(
    r"^package_name=.*driver|^(?:ascendhal|aicpu|tdt)_version=", re.MULTILINE | re.IGNORECASE
)
_VERSION_LINE = re.compile(r"^[Vv]ersion\s*=\s*\[?([\w.]+)", re.MULTILINE)
_PYTHON_FILE = re.compile(
    r"^(?:__version__|version)\s*(?:[:=].*?)?= *['\"]([^'\"]+)['\"]", re.MULTILINE
)


class EnvironmentText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an environment text says.

    ``vllm_declared``: the version of vLLM was set by hand in a variable. ``cann_hint`` is a version
    in a path that CANN's variables name, where the text itself has none. ``variables`` are set,
    ``off`` are set in a line that is commented out. ``method`` and ``k`` are those of the
    speculative configuration a start script gives.
    """

    source: EnvironmentSource
    vllm: FieldVersion | None = None
    vllm_declared: bool = False
    vllm_ascend: FieldVersion | None = None
    torch: str | None = None
    torch_npu: str | None = None
    triton_ascend: str | None = None
    cann: str | None = None
    cann_hint: str | None = None
    driver: str | None = None
    python: str | None = None
    os: str | None = None
    arch: str | None = None
    npu: NpuTable | None = None
    variables: dict[str, str] = {}
    off: tuple[str, ...] = ()
    method: str | None = None
    k: int | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What the text does not say and an environment has; a script has no packages to list."""
        npu = self.npu if self.npu and self.npu.devices else None
        asked: dict[str, object] = {"vllm": self.vllm, "vllm_ascend": self.vllm_ascend}
        if self.source != "start_script":
            asked |= {"torch": self.torch, "torch_npu": self.torch_npu}
        asked |= {"cann": self.cann, "driver": self.driver, "npu": npu}
        return tuple(name for name, found in asked.items() if found is None)


def read_environment(text: str) -> EnvironmentText | None:
    """Read an environment text of any of the kinds; None when it is none of them."""
    text = text.replace("\r\n", "\n")
    if _COLLECT.search(text):
        return _collect_env(text)
    if _CANN_FILE.search(text) or _DRIVER_FILE.search(text):
        return _version_file(text)
    if _SCRIPT.search(text):
        return _start_script(text)
    if _PIP.search(text):
        return _pip_list(text)
    match = _PYTHON_FILE.search(text)
    if match and (version := _version(match[1])):
        return EnvironmentText("version_file", vllm_ascend=version)
    return None


def _collect_env(text: str) -> EnvironmentText:
    packages = _packages(text)
    fields = {name.lower(): value.strip() for name, value in _FIELD.findall(text)}
    ascend = bool(_ASCEND.search(text))
    block = _CANN_BLOCK.search(text)
    cann = dict(_KEY.findall(block[1])).get("version") if block else None
    variables = _VARIABLES_BLOCK.search(text)
    settings = dict(_KEY.findall(variables[1])) if variables else {}
    npu = read_npu_smi(text)
    system = _OS.match(fields.get("os", ""))
    return EnvironmentText(
        source="collect_env" if ascend else "collect_env_upstream",
        vllm=_version(fields.get("vllm version", "")) or _version(packages.get("vllm", "")),
        vllm_ascend=_version(fields.get("vllm ascend version", ""))
        or _version(packages.get("vllm_ascend", "")),
        torch=_plain(packages.get("torch") or fields.get("pytorch version")),
        torch_npu=_plain(packages.get("torch_npu")),
        triton_ascend=_plain(packages.get("triton_ascend")),
        cann=cann or None,
        cann_hint=None if cann else _hint(settings),
        driver=npu.tool_version if npu else None,
        python=_first(fields.get("python version")),
        os=(system[1] or None) if system else None,
        arch=system[2] if system else None,
        npu=npu,
        variables=settings,
    )


def _pip_list(text: str) -> EnvironmentText:
    packages = _packages(text)
    return EnvironmentText(
        source="pip_list",
        vllm=_version(packages.get("vllm", "")),
        vllm_ascend=_version(packages.get("vllm_ascend", "")),
        torch=_plain(packages.get("torch")),
        torch_npu=_plain(packages.get("torch_npu")),
        triton_ascend=_plain(packages.get("triton_ascend")),
    )


def _start_script(text: str) -> EnvironmentText:
    settings: dict[str, str] = {}
    off: list[str] = []
    for match in _EXPORT.finditer(text):
        if match["comment"]:
            off.append(match["name"])
        else:
            settings[match["name"]] = _unquoted(match["value"])
    joined = text.replace("\\\n", " ")
    active = [line for line in joined.splitlines() if not line.lstrip().startswith("#")]
    for line in active:
        command = _COMMAND.search(line)
        passed = _PASSED.findall(line)
        set_for_it = _ASSIGNMENT.findall(line[: command.start() + 1]) if command else []
        settings |= {name: _unquoted(value) for name, value in (*passed, *set_for_it)}
    declared = settings.pop(_DECLARED, None)
    speculative = _SPECULATIVE.search("\n".join(active))
    inside = next(filter(None, speculative.groups()), "") if speculative else ""
    method, k = _METHOD.search(inside), _K.search(inside)
    return EnvironmentText(
        source="start_script",
        vllm=_version(declared or ""),
        vllm_declared=declared is not None,
        variables=settings,
        off=tuple(name for name in off if name not in settings),
        cann_hint=_hint(settings),
        method=method[1] if method else None,
        k=int(k[1]) if k else None,
    )


def _version_file(text: str) -> EnvironmentText:
    version = _VERSION_LINE.search(text)
    found = version[1] if version else None
    driver = bool(_DRIVER_FILE.search(text))
    return EnvironmentText(
        source="version_file", cann=None if driver else found, driver=found if driver else None
    )


def _packages(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, version in _PIP_LINE.findall(text):
        plain = re.sub(r"[-_.]+", "_", name.lower())
        if plain in _PACKAGES:
            found.setdefault(plain, version)
    return found


def _version(text: str) -> FieldVersion | None:
    """Read a version with the commit and date that ``collect_env`` adds in words."""
    try:
        found = read_version(text)
    except UsageError:
        return None
    commit, date = _SHA.search(text), _DATE.search(text)
    return msgspec.structs.replace(
        found,
        commit=found.commit or (commit[1] if commit else None),
        date=found.date or (date[1] if date else None),
        development_build=found.development_build or commit is not None,
    )


def _plain(version: str | None) -> str | None:
    """Return a version without its local part (``2.10.0+cpu``); None for none."""
    return version.partition("+")[0] if version and version[:1].isdigit() else None


def _hint(settings: dict[str, str]) -> str | None:
    paths = (settings.get(name, "") for name in _CANN_HOMES)
    return next((match[1] for path in paths if (match := _CANN_IN_PATH.search(path))), None)


def _first(text: str | None) -> str | None:
    return text.split()[0] if text and text[:1].isdigit() else None


def _unquoted(text: str) -> str:
    return (
        text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] and len(text) > 1 else text
    )
