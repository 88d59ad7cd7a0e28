"""Where the URLs of package indexes come from."""

import pytest

from specfloor.engines.indexes import index_variable, load_indexes
from specfloor.errors import UsageError


def test_the_file_is_the_default():
    assert load_indexes(environ={})["torch-cpu"] == "https://download.pytorch.org/whl/cpu"


def test_the_environment_wins_over_the_file_and_the_argument_over_both():
    environ = {"SPECFLOOR_INDEX_TORCH_CPU": "https://mirror.example/cpu"}
    assert load_indexes(environ=environ)["torch-cpu"] == "https://mirror.example/cpu"
    overrides = {"torch-cpu": "https://other.example", "ascend": "https://ascend.example"}
    indexes = load_indexes(overrides, environ)
    assert indexes["torch-cpu"] == "https://other.example"
    assert indexes["ascend"] == "https://ascend.example"


def test_an_empty_url_is_refused():
    with pytest.raises(UsageError, match="unset SPECFLOOR_INDEX_TORCH_CPU"):
        load_indexes(environ={"SPECFLOOR_INDEX_TORCH_CPU": ""})


def test_variables_are_spelt_from_names():
    assert index_variable("huawei.pypi-x") == "SPECFLOOR_INDEX_HUAWEI_PYPI_X"
