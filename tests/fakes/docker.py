"""A stand-in for ``docker``: takes ``run`` and ``rm`` as strictly as the real one, on the host.

``STANDIN_DOCKER`` names a folder: invocations are appended to ``calls.jsonl`` there, and its file
``python`` names the interpreter that is ``python3`` in every image. Only what ``--env`` passes on,
and ``PATH``, reaches the process, as in a container. It answers ``version``, being there.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(os.environ["STANDIN_DOCKER"])


def main() -> int:
    """Take one command line."""
    parser = argparse.ArgumentParser(prog="docker")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", allow_abbrev=False)
    run.add_argument("--rm", action="store_true", required=True)
    run.add_argument("--init", action="store_true", required=True)
    run.add_argument("--name", required=True)
    run.add_argument("--network", choices=["host"], required=True)
    run.add_argument("--ipc", choices=["host"], required=True)
    run.add_argument("--device", action="append", default=[])
    run.add_argument("--volume", action="append", default=[])
    run.add_argument("--env", action="append", default=[])
    run.add_argument("--entrypoint", required=True)
    run.add_argument("image")
    run.add_argument("argv", nargs=argparse.REMAINDER)
    remove = commands.add_parser("rm")
    remove.add_argument("--force", action="store_true", required=True)
    remove.add_argument("name")
    commands.add_parser("version")
    asked = parser.parse_args()
    if asked.command == "version":
        return 0
    with (FOLDER / "calls.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(vars(asked)) + "\n")
    return _run(asked) if asked.command == "run" else _remove(asked.name)


def _run(asked: argparse.Namespace) -> int:
    for volume in asked.volume:
        source, _, rest = volume.partition(":")
        if not Path(source).exists() or not rest.startswith("/"):
            sys.exit(f"docker: invalid mount {volume}")
    env = {"PATH": os.environ["PATH"]}
    for one in asked.env:
        name, equals, value = one.partition("=")
        if equals:
            env[name] = value
        elif name in os.environ:
            env[name] = os.environ[name]
    with tempfile.TemporaryDirectory() as bin_folder:
        python = (FOLDER / "python").read_text(encoding="utf-8").strip()
        script = Path(bin_folder, "python3")
        script.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        env["PATH"] = f"{bin_folder}:{env['PATH']}"
        process = subprocess.Popen([asked.entrypoint, *asked.argv], env=env)
        (FOLDER / f"{asked.name}.pid").write_text(str(process.pid), encoding="utf-8")
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        return process.wait()


def _remove(name: str) -> int:
    pid = FOLDER / f"{name}.pid"
    if pid.exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)
        pid.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
