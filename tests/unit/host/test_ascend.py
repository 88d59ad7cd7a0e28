"""CANN, driver and firmware as their installers leave them."""

import platform

import pytest

from specfloor.host.ascend import find_software, in_container, is_driver_number

RECORD = "package_name=Ascend-cann-toolkit\nversion={}\ninnerversion=V100R001C23\narch=aarch64\n"
DRIVER = "Version=25.5.2\nascendhal_version=7.35.23\naicpu_version=1.0\npackage_version=25.5.2\n"
FIRMWARE = "Version=7.8.0.6.201\nfirmware_version=1.0\npackage_version=25.5.2\n"


@pytest.fixture
def write(tmp_path):
    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


ARCH = f"{platform.machine()}-linux"


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        (f"usr/local/Ascend/ascend-toolkit/latest/{ARCH}", "8.3.RC2"),
        (f"usr/local/Ascend/cann/{ARCH}", "9.1.0"),
        ("usr/local/Ascend/cann", "8.5.1"),
        (f"home/me/Ascend/cann/{ARCH}", "9.0.1"),
        (f"home/me/Ascend/ascend-toolkit/latest/{ARCH}", "8.2.RC1"),
    ],
)
def test_cann_is_found_where_its_installers_put_it(write, tmp_path, folder, version):
    write(f"{folder}/ascend_toolkit_install.info", RECORD.format(version))
    found = find_software({"HOME": "/home/me"}, tmp_path)
    assert found.cann == version
    assert str(tmp_path / folder.removesuffix(f"/{ARCH}")) == found.cann_home


def test_the_cann_in_effect_goes_before_the_default_one(write, tmp_path):
    write(f"usr/local/Ascend/cann/{ARCH}/ascend_toolkit_install.info", RECORD.format("9.1.0"))
    write("opt/cann-8.5.1/ascend_toolkit_install.info", RECORD.format("8.5.1"))
    found = find_software({"ASCEND_HOME_PATH": "/opt/cann-8.5.1"}, tmp_path)
    assert found.cann == "8.5.1"
    assert found.cann_home == str(tmp_path / "opt/cann-8.5.1")


def test_the_name_of_its_folder_says_the_version_when_no_record_does(tmp_path):
    (tmp_path / "opt/cann-9.0.0").mkdir(parents=True)
    (tmp_path / "usr/local/Ascend").mkdir(parents=True)
    (tmp_path / "usr/local/Ascend/cann").symlink_to(tmp_path / "opt/cann-9.0.0")
    assert find_software({}, tmp_path).cann == "9.0.0"


def test_driver_and_firmware_say_their_packages(write, tmp_path):
    write("usr/local/Ascend/driver/version.info", DRIVER)
    write("usr/local/Ascend/firmware/version.info", FIRMWARE)
    found = find_software({}, tmp_path)
    assert (found.driver, found.firmware, found.firmware_number) == (
        "25.5.2",
        "25.5.2",
        "7.8.0.6.201",
    )
    assert found.cann is None


def test_a_driver_in_another_place_is_found_through_its_record(write, tmp_path):
    write("etc/ascend_install.info", "Driver_Install_Type=full\nDriver_Install_Path_Param=/opt/A\n")
    write("opt/A/driver/version.info", "Version=24.1.rc2.2\nascendhal_version=7.35.23\n")
    assert find_software({}, tmp_path).driver == "24.1.rc2.2"


def test_of_an_empty_host_nothing_is_known(tmp_path):
    found = find_software({"HOME": "/root", "ASCEND_HOME_PATH": ""}, tmp_path)
    assert found == type(found)()


def test_a_record_that_may_not_be_read_or_is_damaged_says_nothing(write, tmp_path):
    (tmp_path / "usr/local/Ascend/driver/version.info").mkdir(parents=True)
    write(f"usr/local/Ascend/cann/{ARCH}/ascend_toolkit_install.info", "\x00\xff nothing")
    found = find_software({}, tmp_path)
    assert found.driver is None
    assert found.cann is None


@pytest.mark.parametrize("number", ["23.0.rc3", "24.1.0", "25.5.2", "26.0.rc1", "v25.2.3"])
def test_the_number_of_a_driver_is_known(number):
    assert is_driver_number(number)


@pytest.mark.parametrize("number", ["8.0.0", "8.3.RC2", "9.2.0", "7.8.0.6.201", "", "unknown"])
def test_a_version_of_cann_is_no_driver(number):
    assert not is_driver_number(number)


def test_a_container_shows_itself(write, tmp_path):
    write("proc/1/cgroup", "0::/init.scope\n")
    assert not in_container(tmp_path)
    write("proc/1/cgroup", "12:pids:/kubepods/burstable/pod1\n")
    assert in_container(tmp_path)
    write("proc/1/cgroup", "0::/\n")
    write(".dockerenv", "")
    assert in_container(tmp_path)
