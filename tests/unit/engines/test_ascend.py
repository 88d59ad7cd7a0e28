"""What an engine on NPUs needs of its host, on trees of files that stand for hosts."""

import msgspec
import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.model import InstallStep
from specfloor.engines.ascend import (
    VISIBLE,
    ascend_steps,
    check_cann,
    set_env_scripts,
    sourced,
    visible_devices,
)
from specfloor.engines.indexes import load_indexes
from specfloor.errors import UsageError
from specfloor.host.ascend import AscendSoftware

RELEASE = load_catalog().releases["0.30.0rc2"]


def script(root, place, text):
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def old_host(tmp_path):
    """A host with CANN before 8.5, and ATB whose script needs CANN's."""
    return (
        script(
            tmp_path,
            "usr/local/Ascend/ascend-toolkit/set_env.sh",
            'export ASCEND_HOME_PATH=/opt/cann\nexport PATH="/opt/cann/bin:$PATH"\n'
            "export LD_LIBRARY_PATH=/opt/cann/lib:$LD_LIBRARY_PATH\necho noise\n",
        ),
        script(
            tmp_path,
            "usr/local/Ascend/nnal/atb/set_env.sh",
            'export ATB_HOME_PATH="$ASCEND_HOME_PATH/atb"\nTEXT="two\nlines"; export TEXT\n',
        ),
    )


class TestSourcing:
    def test_what_is_not_in_effect_is_sourced_in_order(self, tmp_path, old_host):
        environ = {"PATH": "/usr/bin:/bin", "HOME": "/home/u"}
        scripts = set_env_scripts(environ, tmp_path)
        assert scripts == old_host
        assert sourced(scripts, environ) == {
            "ASCEND_HOME_PATH": "/opt/cann",
            "PATH": "/opt/cann/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/opt/cann/lib:",
            "ATB_HOME_PATH": "/opt/cann/atb",
            "TEXT": "two\nlines",
        }

    def test_what_is_in_effect_is_not(self, tmp_path, old_host):
        environ = {"ASCEND_HOME_PATH": "/elsewhere"}
        assert set_env_scripts(environ, tmp_path) == old_host[1:]
        assert set_env_scripts(environ | {"ATB_HOME_PATH": "/a"}, tmp_path) == ()

    def test_the_new_place_goes_before_the_old(self, tmp_path, old_host):
        new = script(tmp_path, "usr/local/Ascend/cann/set_env.sh", "")
        assert set_env_scripts({}, tmp_path)[0] == new

    def test_a_users_own_installation(self, tmp_path):
        mine = script(tmp_path, "home/u/Ascend/cann/set_env.sh", "")
        assert set_env_scripts({"HOME": "/home/u"}, tmp_path) == (mine,)

    def test_nothing_to_source(self, tmp_path):
        assert set_env_scripts({}, tmp_path) == ()
        assert sourced((), {}) == {}

    def test_a_script_that_fails(self, tmp_path):
        broken = script(tmp_path, "set_env.sh", "return 3\n")
        with pytest.raises(UsageError, match=r"sourcing .*set_env.sh failed"):
            sourced((broken,), {"PATH": "/usr/bin:/bin"})


class TestDevices:
    def test_the_first_of_the_host(self):
        assert visible_devices(4, {}) == {VISIBLE: "0,1,2,3"}

    def test_the_first_of_those_allowed(self):
        assert visible_devices(2, {VISIBLE: "4, 6,7"}) == {VISIBLE: "4,6"}

    def test_too_few_allowed(self):
        with pytest.raises(UsageError, match="leaves 1 devices and 2 are needed"):
            visible_devices(2, {VISIBLE: "4"})


class TestSteps:
    def test_vllm_first_and_the_pins_of_vllm_ascend_last(self):
        first, middle, last = ascend_steps(RELEASE)
        assert first == InstallStep(
            pip=("--no-binary", "vllm", "vllm==0.30.0"), env={"VLLM_TARGET_DEVICE": "empty"}
        )
        assert middle.uninstall == ("triton",)
        assert last.pip == (
            "vllm-ascend==0.30.0rc2",
            "torch==2.10.0",
            "torch-npu==2.10.0.post4",
            "triton-ascend==3.2.2",
            "transformers==5.14.1",
        )
        assert last.fallback_index in load_indexes()

    def test_a_pin_that_is_not_known_is_left_to_vllm_ascend(self):
        steps = ascend_steps(load_catalog().releases["0.11.0"])
        assert not any(arg.startswith("triton-ascend") for arg in steps[-1].pip)

    def test_a_release_that_no_index_has(self):
        lost = msgspec.structs.replace(RELEASE, pypi=False)
        with pytest.raises(UsageError, match=r"--engine-python 0\.30\.0rc2=PATH"):
            ascend_steps(lost)

    def test_every_release_of_the_catalogue_has_steps_or_a_reason(self):
        for release in load_catalog().releases.values():
            if release.platform == "ascend" and release.pypi:
                assert ascend_steps(release)[0].pip[-1] == f"vllm=={release.vllm}"


class TestCann:
    @pytest.mark.parametrize("version", ["9.2.0", "9.2.1", "9.2.RC1"])
    def test_the_same_line(self, version):
        check_cann(RELEASE, AscendSoftware(cann=version, cann_home="/opt/cann"))

    @pytest.mark.parametrize("version", ["9.1.0", "8.2.RC1", "25.5.2", "odd"])
    def test_another_line(self, version):
        with pytest.raises(UsageError, match=f"needs CANN 9.2.0 and /opt/cann has {version}"):
            check_cann(RELEASE, AscendSoftware(cann=version, cann_home="/opt/cann"))

    def test_none(self):
        with pytest.raises(UsageError, match="none was found"):
            check_cann(RELEASE, AscendSoftware())
