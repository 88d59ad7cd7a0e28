"""What one launch is started with: the argument vector and the environment it adds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from specfloor.catalog.model import Family, Method, Release
from specfloor.cells import Arm
from specfloor.plan import Overrides

SERVER_MODULE = "vllm.entrypoints.openai.api_server"
"""The server's module in every vLLM so far; 0.32 deprecates it and still has it."""


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to start one server: ``env`` holds additions to the harness's own environment.

    ``cleanup`` is run once all of its processes have ended, whatever ended them.
    """

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    cleanup: tuple[str, ...] = ()


def method_of(family: Family, arm: Arm) -> Method:
    """Return the family's method that ``arm`` names; KeyError when it has none of that name."""
    if method := family.method(arm.method):
        return method
    raise KeyError(f"{family.name} has no method {arm.method!r}")


ONE_MTP_SINCE = Version("0.11.0")
"""The vLLM that takes ``mtp`` for every family's MTP layer; before, each had a name of its own."""


def speculative_config(
    method: Method, k: int, draft: str | None = None, *, vllm: str | None = None
) -> dict[str, Any]:
    """Return the value of ``--speculative-config``.

    ``draft`` is the draft checkpoint, if any; ``vllm`` the version it is for, which decides how the
    method is spelled.
    """
    old = vllm is not None and Version(vllm) < ONE_MTP_SINCE
    name = method.spelled if old and method.spelled else method.name
    config = {"method": name, "num_speculative_tokens": k, **method.config}
    return config if draft is None else {**config, "model": draft}


def server_command(
    python: Path,
    *,
    release: Release,
    family: Family,
    arm: Arm,
    model: str,
    draft: str | None = None,
    host: str = "127.0.0.1",
    port: int,
    per_request_metrics: bool = True,
    overrides: Overrides = Overrides(),  # noqa: B008 - frozen
    extra_args: Sequence[str] = (),
) -> Command:
    """Return the command that serves ``model`` as one arm of a family on a release.

    Args:
        python: the interpreter that has the release's vLLM.
        release: gives the environment and whether per-request counts (rung A) can be asked for.
        family: gives flags and environment; its name is the served model's name.
        arm: ``off`` gets no speculative configuration at all, which is not the same as k = 0.
        model: a folder or a name that the engine resolves.
        draft: the draft's checkpoint, for methods that need one.
        host: the address to bind; loopback unless told.
        port: the port to bind.
        per_request_metrics: ask for rung A where the release has it and the arm speculates (the
            engine refuses the flag without speculation).
        overrides: what this launch has besides what its family says, or instead of it.
        extra_args: further flags, last, so that they win over the same flags before.

    Raises:
        KeyError: the family has no such method.
    """
    argv = [str(python), "-m", SERVER_MODULE]
    argv += ["--model", model, "--served-model-name", family.name]
    argv += ["--host", host, "--port", str(port), "--no-enable-prefix-caching"]
    for flag, value in (family.serve | overrides.serve).items():
        argv += [flag, value] if value else [flag]
    if arm.speculates:
        config = speculative_config(method_of(family, arm), arm.k, draft, vllm=release.vllm)
        config |= overrides.speculative
        argv += ["--speculative-config", msgspec.json.encode(config).decode()]
        if per_request_metrics and release.signals.per_request:
            argv += ["--enable-per-request-metrics"]
            argv += ["--per-request-spec-decode-metrics", "detailed"]
    env = {"VLLM_NO_USAGE_STATS": "1"}
    if family.checkpoint.kind != "hub":
        env["HF_HUB_OFFLINE"] = "1"
    return Command((*argv, *extra_args), env | release.env | family.env | overrides.env)
