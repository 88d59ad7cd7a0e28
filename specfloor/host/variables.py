"""The environment variables an engine will see, and what is wrong with them."""

import re
from collections.abc import Mapping

from specfloor.catalog import Catalog
from specfloor.catalog.environment_names import PREFIXES, not_read_by_vllm, unknown_names
from specfloor.catalog.model import Release
from specfloor.catalog.variables import known_variables, unread
from specfloor.redaction.names import is_secret_name
from specfloor.redaction.rules import NOT_SHOWN
from specfloor.runs.records import HostFlag

_ALSO = (
    "CPU_AFFINITY_CONF",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "PYTORCH_NPU_ALLOC_CONF",
    "TASK_QUEUE_ENABLE",
    "TORCH_DEVICE_BACKEND_AUTOLOAD",
)
"""Variables of other names that change what an engine does or how fast."""
_USER_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def readable(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables as text that can be written; bytes that are no UTF-8 become escapes."""
    return {
        name.encode(errors="backslashreplace").decode(): value.encode(
            errors="backslashreplace"
        ).decode()
        for name, value in environment.items()
    }


def relevant_variables(catalog: Catalog, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that engines or their libraries read, sorted, secrets blotted out."""
    others = known_variables(catalog) | set(_ALSO)
    return {
        name: NOT_SHOWN if is_secret_name(name) else _USER_IN_ADDRESS.sub(NOT_SHOWN, value)
        for name, value in sorted(readable(environment).items())
        if name.startswith(PREFIXES) or name in others
    }


def unknown_variable_flags(catalog: Catalog, environment: Mapping[str, str]) -> list[HostFlag]:
    """Return a flag for each variable of an engine's that no release known here reads."""
    return [
        HostFlag(
            "variable_unknown",
            f"{one.name} is set and is no variable that is known to be read"
            + (f"; {one.nearest} is one" if one.nearest else ""),
        )
        for one in unknown_names(catalog, environment)
    ]


def unread_variable_flags(
    catalog: Catalog, release: Release, environment: Mapping[str, str]
) -> list[HostFlag]:
    """Return a flag for each variable set that ``release``, or its vLLM, does not read.

    One start script so launches different kernels on two releases, and none of them says so.
    """
    found = {
        one.name: f"{release.name} does not read {one.name}, which is set (last read by "
        f"{one.last_read})" + (f"; {one.replaced_by} stands for it" if one.replaced_by else "")
        for one in unread(catalog, release, environment)
    }
    plugin = release.variables or {}
    for name, last in not_read_by_vllm(release.vllm, environment).items():
        if name not in plugin and name not in found:
            found[name] = (
                f"vLLM {release.vllm} does not read {name}, which is set "
                f"(last seen to be read by {last})"
            )
    return [HostFlag("variable_not_read", message) for message in found.values()]
