"""An npu-smi that is a script."""

import pytest


@pytest.fixture
def npu_smi(tmp_path, monkeypatch):
    """Put a script where npu-smi is looked for."""

    def install(script):
        program = tmp_path / "npu-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install
