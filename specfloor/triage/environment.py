"""What environment texts say, in the names of the JSON that triage prints, and what to warn of."""

from collections.abc import Collection

import msgspec

from specfloor.catalog import Catalog
from specfloor.catalog.environment_names import nearest_name
from specfloor.catalog.pairs import pair_fault
from specfloor.catalog.variables import known_variables, unread
from specfloor.catalog.versions import FieldVersion
from specfloor.host.ascend import is_driver_number
from specfloor.host.collect_env import EnvironmentText
from specfloor.host.npu_smi import NpuTable
from specfloor.i18n import _
from specfloor.triage.evidence import Warned
from specfloor.triage.extract import Extract
from specfloor.triage.given import Given

_PREFIX = "VLLM_ASCEND_"
"""Variables of the plugin, of which the user may give a list of their own."""


def extract_environment(text: EnvironmentText, known: Collection[str]) -> Extract:
    """Return what an environment text says; ``known`` are the plugin's variables."""
    devices = text.npu.devices if text.npu else ()
    found: Extract = {
        "source": text.source,
        "vllm": _version(text.vllm, declared=text.vllm_declared),
        "vllm_ascend": _version(text.vllm_ascend, declared=False),
        **{
            name: getattr(text, name)
            for name in (
                "torch",
                "torch_npu",
                "triton_ascend",
                "cann",
                "cann_hint",
                "driver",
                "python",
                "os",
                "arch",
            )
        },
        "npu_count": len(devices) or None,
        "npu_name": devices[0].name if devices else None,
        "missing": list(text.missing),
    }
    unknown = unknown_variables(text, known)
    if text.variables or text.off:
        found["variables"] = {n: v for n, v in text.variables.items() if n not in unknown}
        found["off"] = list(text.off)
    if unknown:
        found["unknown_variables"] = unknown
    if text.k:
        found |= {"method": text.method, "k": text.k}
    return found


def unknown_variables(text: EnvironmentText, known: Collection[str]) -> dict[str, str | None]:
    """Return the plugin's variables that no release reads, with those they are likely to mean."""
    return {
        name: nearest_name(name, known)
        for name in text.variables
        if name.startswith(_PREFIX) and name not in known
    }


def variables_known(given: Given, catalog: Catalog) -> frozenset[str]:
    """Return the variables that are known: those the user lists, else those of the catalogue."""
    listed = given.config.get("known_variables")
    if isinstance(listed, list):
        return frozenset(name for name in listed if isinstance(name, str))
    return known_variables(catalog)


def warn_of_environment(
    text: EnvironmentText, given: Given, catalog: Catalog, release: str | None
) -> list[Warned]:
    """Return what to warn of in an environment text."""
    found = [*_of_versions(text, given, catalog), *_of_variables(text, given, catalog, release)]
    if text.source == "collect_env" and text.cann is None:
        hint = (
            _("; a variable names {cann_hint}").format(cann_hint=text.cann_hint)
            if text.cann_hint
            else ""
        )
        found.append(
            Warned(
                "cann_unknown", _("the text does not say the CANN version{hint}").format(hint=hint)
            )
        )
    if text.source == "collect_env_upstream":
        found.append(
            Warned(
                "wrong_script",
                _("this is vLLM's collect_env.py, which knows no NPU; vllm-ascend has its own"),
            )
        )
    return found + (warn_of_devices(text.npu, ()) if text.npu else [])


def warn_of_devices(table: NpuTable, foreign: Collection[int]) -> list[Warned]:
    """Return what to warn of in a table of devices."""
    found = []
    if foreign:
        pids = _(", ").join(map(str, foreign))
        found.append(
            Warned(
                "shared_device", _("processes of others use the chips: {pids}").format(pids=pids)
            )
        )
    if table.full:
        npus = _(", ").join(map(str, table.full))
        found.append(Warned("memory_full", _("the memory of NPU {npus} is full").format(npus=npus)))
    if table.unwell:
        told = _(", ").join(
            _("NPU {npu} chip {chip}: {health}").format(npu=d.npu, chip=d.chip, health=d.health)
            for d in table.unwell
        )
        found.append(Warned("device_unwell", told))
    return found


def warn_of_owners(table: NpuTable) -> list[Warned]:
    """Return that processes are on the devices of which nobody said that they are the server's."""
    pids = list(dict.fromkeys(process.pid for process in table.processes))
    if not pids:
        return []
    message = _(
        "whether the processes on the chips ({pids}) are the server's or others' is not known; "
        "name the server's as server_pids in --given"
    ).format(pids=_(", ").join(map(str, pids)))
    return [Warned("process_owner_unknown", message)]


def _of_versions(text: EnvironmentText, given: Given, catalog: Catalog) -> list[Warned]:
    found = []
    if text.vllm_declared:
        message = _("VLLM_VERSION is set by hand; it says nothing of the vLLM that is installed")
        found.append(Warned("version_declared", message))
    ours = text.vllm_ascend
    if given.tagged and ours and given.tagged.version != ours.version:
        message = _("the image is tagged {tag} and holds vllm-ascend {raw}").format(
            tag=given.config.get("image_tag") or given.config.get("image"), raw=ours.raw
        )
        found.append(Warned("image_tag_differs", message))
    if text.vllm and ours and (fault := pair_fault(catalog, text.vllm, ours)):
        found.append(Warned("version_pair", fault))
    told = given.config.get("cann")
    for cann in dict.fromkeys((text.cann, told if isinstance(told, str) else None)):
        if cann is not None and is_driver_number(cann):
            message = _("CANN {cann} is the number of a driver, and not a version of CANN").format(
                cann=cann
            )
            found.append(Warned("driver_as_cann", message))
    return found


def _of_variables(
    text: EnvironmentText, given: Given, catalog: Catalog, release: str | None
) -> list[Warned]:
    found = []
    for name, meant in unknown_variables(text, variables_known(given, catalog)).items():
        hint = _("; {meant} is one").format(meant=meant) if meant else ""
        found.append(
            Warned(
                "unknown_variable",
                _("{name} is no variable that is read{hint}").format(name=name, hint=hint),
            )
        )
    if release in catalog.releases:
        for one in unread(catalog, catalog.releases[release], text.variables):
            other = (
                _("; {replaced_by} stands for it").format(replaced_by=one.replaced_by)
                if one.replaced_by
                else ""
            )
            message = _("{release} does not read {one} (last read by {last_read}){other}").format(
                release=release, one=one.name, last_read=one.last_read, other=other
            )
            found.append(Warned("variable_not_read", message))
    return found


def _version(version: FieldVersion | None, *, declared: bool) -> Extract | None:
    if version is None:
        return None
    found: Extract = msgspec.structs.asdict(version)
    return found | {"declared_by_user": True} if declared else found
