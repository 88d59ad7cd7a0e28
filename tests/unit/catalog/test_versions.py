"""Versions as the field writes them, and what only looks like one."""

import pytest

from specfloor.catalog import load_catalog
from specfloor.catalog.versions import FieldVersion, read_version, version_of_image
from specfloor.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.18.0", FieldVersion("0.18.0", "0.18.0", False)),
        ("v0.18.0", FieldVersion("v0.18.0", "0.18.0", False)),
        (" 0.26.0rc1\n", FieldVersion("0.26.0rc1", "0.26.0rc1", False)),
        ("0.23.0+empty", FieldVersion("0.23.0+empty", "0.23.0", False)),
        ("0.23.0.post1", FieldVersion("0.23.0.post1", "0.23.0.post1", False)),
        (
            "0.11.0rc3.dev0+gabc1234",
            FieldVersion("0.11.0rc3.dev0+gabc1234", "0.11.0rc3.dev0", True, "abc1234"),
        ),
        (
            "0.11.0rc3.dev0+gabcdef012.d20260115 (git sha: abcdef012, date: 20260115)",
            FieldVersion(
                "0.11.0rc3.dev0+gabcdef012.d20260115",
                "0.11.0rc3.dev0",
                True,
                "abcdef012",
                "20260115",
            ),
        ),
        ("0.23.1.dev7", FieldVersion("0.23.1.dev7", "0.23.1.dev7", True)),
        ("0.18.0+g1234567", FieldVersion("0.18.0+g1234567", "0.18.0", True, "1234567")),
    ],
)
def test_a_version_is_read_whole(text, expected):
    assert read_version(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8.5.0", "CANN, a driver or a product image"),
        ("26.0.0", "CANN, a driver or a product image"),
        ("1.0.0", "CANN, a driver or a product image"),
        ("2.1.RC1", "written like"),
        ("8.3.RC2", "written like"),
        ("25.3.rc1", "written like"),
        ("0.18.0-a3", "its release 0.18.0"),
        ("v0.18.0-a3-openeuler", "not a version|its release v0.18.0"),
        ("0.23.0-rc1", "written like"),
        ("2.3.0-800I-A2-py311", "not a version"),
        ("main", "not a version"),
        ("", "not a version"),
        ("1!0.18.0", "product image"),
    ],
)
def test_what_is_no_version_of_ours_is_refused(text, why):
    with pytest.raises(UsageError, match=why):
        read_version(text)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("quay.io/ascend/vllm-ascend:v0.18.0-a3-openeuler", "0.18.0"),
        ("quay.io/ascend/vllm-ascend:v0.23.0.post1", "0.23.0.post1"),
        ("registry.example:5000/vllm-ascend:v0.26.0rc1-310p", "0.26.0rc1"),
        ("v0.18.0-a5", None),
        ("quay.io/ascend/vllm-ascend:nightly-main-a3", None),
        ("quay.io/ascend/vllm-ascend:kimi-k3-a3", None),
        ("quay.io/ascend/vllm-ascend", None),
        ("registry.example:5000/vllm-ascend", None),
    ],
)
def test_an_image_names_its_release_or_none(image, version):
    found = version_of_image(image)
    assert (found.version if found else None) == version


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("0.18.0", "0.18.0"),
        ("v0.18.0", "0.18.0"),
        ("0_18_0", "0.18.0"),
        ("0.23.0+empty", "0.23.0"),
        ("0.23.0.post1", "0.23.0.post1"),
        ("cpu-0.32.0", "cpu-0.32.0"),
        ("CPU_0_32_0", "cpu-0.32.0"),
    ],
)
def test_the_catalogue_takes_either(asked, name):
    assert load_catalog().release(asked).name == name


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("0.11.0rc3.dev0+gabc1234", "development build"),
        ("8.5.0", "CANN"),
        ("0.18.0rc2", r"unknown release '0.18.0rc2'; known here: .*0\.18\.0rc1"),
        ("nightly", "unknown release 'nightly'"),
    ],
)
def test_the_catalogue_says_why_it_is_no_release(asked, why):
    with pytest.raises(UsageError, match=why):
        load_catalog().release(asked)
