"""The command of a server in a container."""

import pytest

from specfloor.catalog import load_catalog
from specfloor.engines.ascend import VISIBLE
from specfloor.engines.command import Command
from specfloor.engines.container import (
    PROGRAM_VARIABLE,
    container_program,
    devices_of,
    image_of,
    in_container,
)
from specfloor.errors import UsageError

RELEASE = load_catalog().releases["0.23.0"]
MANAGERS = ["/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"]


class TestImage:
    @pytest.mark.parametrize(("soc", "tag"), [("a2", "v0.23.0"), ("a3", "v0.23.0-a3")])
    def test_the_vendors_for_this_hardware(self, soc, tag):
        assert image_of(RELEASE, None, soc).endswith(f"/vllm-ascend:{tag}")

    def test_another_repository(self, monkeypatch):
        monkeypatch.setenv("SPECFLOOR_INDEX_ASCEND_IMAGES", "registry.local:5000/mirror")
        assert image_of(RELEASE, None, "a2") == "registry.local:5000/mirror:v0.23.0"

    def test_one_that_is_named(self):
        assert image_of(RELEASE, "mine:1", None) == "mine:1"

    def test_hardware_that_is_not_known(self):
        with pytest.raises(UsageError, match="--soc"):
            image_of(RELEASE, None, None)

    def test_a_release_without_an_image(self):
        old = load_catalog().releases["0.8.4rc2"]
        with pytest.raises(UsageError, match=r"no image of 0\.8\.4rc2 for a3"):
            image_of(old, None, "a3")


class TestDevices:
    def test_the_first_of_the_host(self):
        assert devices_of(2, "a2", {}) == ["/dev/davinci0", "/dev/davinci1", *MANAGERS]

    def test_both_dies_of_a_card(self):
        assert devices_of(3, "a3", {})[:4] == [f"/dev/davinci{i}" for i in range(4)]

    def test_those_that_are_allowed(self):
        assert devices_of(1, "a2", {VISIBLE: "5,7"})[0] == "/dev/davinci5"
        with pytest.raises(UsageError, match="leaves 1 devices and 2 are needed"):
            devices_of(1, "a3", {VISIBLE: "5"})

    def test_none_on_a_cpu(self):
        assert devices_of(0, None, {}) == []


class TestProgram:
    def test_the_first_there_is(self, tmp_path):
        for name in ("podman", "docker"):
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
            assert container_program({"PATH": str(tmp_path)}) == str(tmp_path / name)

    def test_the_one_that_is_named(self, tmp_path):
        mine = tmp_path / "nerdctl"
        mine.write_text("#!/bin/sh\n")
        mine.chmod(0o755)
        assert container_program({"PATH": "", PROGRAM_VARIABLE: str(mine)}) == str(mine)

    def test_none(self, tmp_path):
        with pytest.raises(UsageError, match="tried docker, podman"):
            container_program({"PATH": str(tmp_path)})


class TestCommand:
    def command(self, tmp_path, **options):
        return in_container(
            Command(("python3", "-m", "vllm", "--port", "1"), {"A": "b c"}),
            **{
                "program": "/bin/docker",
                "image": "vendor:v1",
                "root": tmp_path,
                "environ": {"HOME": str(tmp_path)},
            }
            | options,
        )

    def values(self, command, option):
        pairs = zip(command.argv, command.argv[1:], strict=False)
        return [value for name, value in pairs if name == option]

    def test_the_server_runs_in_the_image_under_one_name(self, tmp_path):
        command = self.command(tmp_path)
        start = command.argv.index("vendor:v1")
        assert command.argv[:3] == ("/bin/docker", "run", "--rm")
        assert command.argv[start + 1] == "-c"
        assert command.argv[start + 3 :] == ("bash", "python3", "-m", "vllm", "--port", "1")
        (name,) = self.values(command, "--name")
        assert command.cleanup == ("/bin/docker", "rm", "--force", name)
        assert self.values(self.command(tmp_path), "--name") != [name]
        assert command.env == {}

    def test_the_drivers_files_that_are_there_are_mounted(self, tmp_path):
        for place in ("usr/local/dcmi", "etc/ascend_install.info", "etc/hccn.conf"):
            path = tmp_path / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        on_npu = {"devices": ["/dev/davinci0"]}
        mounted = self.values(self.command(tmp_path, **on_npu), "--volume")
        assert mounted == [
            "/usr/local/dcmi:/usr/local/dcmi:ro",
            "/etc/ascend_install.info:/etc/ascend_install.info:ro",
        ]
        several = self.values(self.command(tmp_path, nodes=2, **on_npu), "--volume")
        assert "/etc/hccn.conf:/etc/hccn.conf:ro" in several
        assert self.values(self.command(tmp_path), "--volume") == []

    def test_folders_of_models_are_mounted_read_only(self, tmp_path):
        model = tmp_path / "models" / "glm"
        model.mkdir(parents=True)
        given = self.command(tmp_path, models=(str(model), str(model), "hub/name"))
        assert self.values(given, "--volume") == [f"{model}:{model}:ro"]

    def test_the_hubs_cache_is_shared(self, tmp_path):
        cache = tmp_path / "cache"
        cache.mkdir()
        given = self.command(tmp_path, environ={"HOME": str(tmp_path), "HF_HOME": str(cache)})
        assert f"{cache}:{cache}" in self.values(given, "--volume")
        assert f"HF_HOME={cache}" in self.values(given, "--env")

    def test_a_cache_is_mounted_by_its_whole_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "cache").mkdir()
        given = self.command(tmp_path, environ={"HOME": str(tmp_path), "HF_HOME": "cache"})
        assert self.values(given, "--volume") == [f"{tmp_path}/cache:{tmp_path}/cache"]

    def test_a_variable_without_a_value_is_not_set(self, tmp_path):
        (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
        place = tmp_path / ".cache" / "huggingface"
        given = self.command(tmp_path, environ={"HOME": str(tmp_path), "HF_HOME": ""})
        assert self.values(given, "--volume") == [f"{place}:{place}"]

    def test_no_secret_reaches_the_command_line(self, tmp_path):
        given = self.command(
            tmp_path,
            environ={
                "HOME": str(tmp_path),
                "HF_TOKEN": "hf_secret",
                "HCCL_IF_IP": "x",
                "MINE": "1",
            },
        )
        assert self.values(given, "--env") == ["HCCL_IF_IP", "HF_TOKEN", "A=b c"]
        assert not any("hf_secret" in argument for argument in given.argv)
