"""What the user says of the files beside what the files say."""

import pytest

from specfloor.catalog import load_catalog
from specfloor.triage.evidence import Run
from specfloor.triage.told import drafting_of, family_of_model, only_method, place_of
from tests.unit.triage.builders import (
    CASES,
    DEAD,
    case_text,
    codes,
    log,
    started,
    triaged,
)

COMPLETE = case_text("env", "complete-a2", "collect_env.txt")
DIFFERS = {"release_differs", "model_differs", "k_differs"}


def dead(version="0.18.0", *, k=3):
    """Return the log of a server whose draft is dead."""
    return started(version, k=k) + log(20, counts=lambda *_: DEAD[:k])


def message(report, code):
    (told,) = [one["message"] for one in report["warnings"] if one["code"] == code]
    return told


def test_the_catalogues_configuration_is_that_of_family_and_method():
    catalog = load_catalog()
    assert drafting_of("glm-4.7", "mtp", catalog) == {"enforce_eager": True}
    assert drafting_of("qwen3.5", "qwen3_5_mtp", catalog).get("enforce_eager") in (None, True)
    for family, method in ((None, "mtp"), ("glm-4.7", None), ("glm-4.7", "guess")):
        assert drafting_of(family, method, catalog) == {}


@pytest.mark.parametrize(
    ("release", "version", "place"),
    [
        ("0.28.0", None, ("cpu", "cpu-0.28.0")),
        ("v0.28.0", "0.28.0", ("cpu", "cpu-0.28.0")),
        (None, "0.28.0+cpu", ("cpu", None)),
        ("0.23.0", "0.23.0", ("ascend", "0.23.0")),
        ("nightly", None, ("ascend", "nightly")),
        (None, None, ("ascend", None)),
    ],
)
def test_the_platform_is_the_cpus_where_release_or_log_say_so(release, version, place):
    runs = [Run(tally=None, version=version)]
    assert place_of(release, runs, load_catalog()) == place


def test_a_log_of_another_release_and_model_than_told_is_warned_of(tmp_path):
    files = {"server.log": dead("0.20.2")}
    report = triaged(tmp_path, files, release="0.23.0", family="glm-4.7")
    assert codes(report) & DIFFERS == {"release_differs", "model_differs"}
    assert message(report, "release_differs") == (
        "vllm-ascend 0.23.0 goes with vllm 0.23.0, not 0.20.2, which the log names "
        "(made for that: 0.20.2rc1)"
    )
    assert message(report, "model_differs") == (
        "the files name the model GLM-5.2, of glm-5.2, and glm-4.7 was given"
    )


@pytest.mark.parametrize(
    ("version", "release", "family"),
    [
        ("0.23.0", "0.23.0", "glm-5.2"),
        ("0.23.0+empty", "v0.23.0", "glm_5_2"),
        ("0.23.1.dev3+gabc1234", "0.23.0", "glm-5.2"),
        ("nightly", "0.23.0", None),
        ("0.18.0", None, None),
    ],
)
def test_what_agrees_or_cannot_be_told_is_not_warned_of(version, release, family, tmp_path):
    report = triaged(tmp_path, {"server.log": dead(version)}, release=release, family=family)
    assert not codes(report) & DIFFERS


def test_one_of_two_runs_may_be_of_another_release(tmp_path):
    files = {"old.log": dead("0.18.0"), "new.log": dead("0.23.0")}
    assert "release_differs" not in codes(triaged(tmp_path, files, release="0.23.0"))


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("/data/GLM-4.7-W8A8-floatmtp", "glm-4.7"),
        ("zai-org/GLM-4.7-Flash", "glm-4.7-flash"),
        ("GLM-5", "glm-5"),
        ("Eco-Tech/GLM-5.2-w4a8", "glm-5.2"),
        ("GLM-50", None),
        ("Qwen/Qwen3-30B-A3B", "qwen3-moe"),
        ("Qwen3-0.6B", "qwen3"),
        ("vllm-ascend/DeepSeek-R1-0528-W8A8", "deepseek-v3"),
        ("DeepSeek-V3.2-Exp-W8A8", "deepseek-v3.2"),
        ("/models/target", None),
        ("", None),
    ],
)
def test_the_family_of_a_model_is_that_of_the_longest_name(model, family):
    assert family_of_model(model, load_catalog()) == family


def test_every_checkpoint_of_the_catalogue_is_of_its_family():
    catalog = load_catalog()
    for family in catalog.families.values():
        if family.platform == "ascend":
            for model in (family.checkpoint.source, *family.checkpoints):
                report_of = family_of_model(model, catalog)
                assert report_of is not None, model
                assert report_of == family_of_model(family.name, catalog), model


def test_a_name_of_a_whole_line_contradicts_none_of_it(tmp_path):
    text = dead().replace("GLM-5.2", "Qwen3-18B-A1B")
    report = triaged(tmp_path / "moe", {"server.log": text}, family="qwen3-moe")
    assert "model_differs" not in codes(report)
    report = triaged(tmp_path / "glm", {"server.log": text}, family="glm-5.2")
    assert "model_differs" in codes(report)


def test_an_environment_text_or_an_image_of_another_release_is_warned_of(tmp_path):
    files = {"env.txt": COMPLETE}
    release = triaged(tmp_path, files)["extract"]["vllm_ascend"]["version"]
    assert "release_differs" not in codes(triaged(tmp_path, files, release=release))
    report = triaged(tmp_path, files, release="0.30.0rc1")
    assert "and 0.30.0rc1 was given" in message(report, "release_differs")
    files, config = {"server.log": dead()}, {"image_tag": "v0.18.0-a3"}
    report = triaged(tmp_path / "tag", files, release="0.18.0rc1", config=config)
    assert message(report, "release_differs") == (
        "the image is tagged v0.18.0, and 0.18.0rc1 was given"
    )


@pytest.mark.parametrize(
    ("k", "config", "told"),
    [
        (1, {}, "logs k = 1, metrics k = 3"),
        (3, {}, None),
        (3, {"k": 3}, None),
    ],
)
def test_a_log_and_a_scrape_of_different_k_are_warned_of(k, config, told, tmp_path):
    files = {"server.log": started(k=k) + log(20, counts=lambda *_: (170, 140, 100)[:k])}
    for name in ("before.prom", "after.prom"):
        path = CASES / "metrics" / "pair-total-and-created" / name
        files[name] = path.read_text(encoding="utf-8")
    report = triaged(tmp_path, files, config=config)
    assert ("k_differs" in codes(report)) is bool(told)
    if told:
        assert message(report, "k_differs") == f"what is given is not of one k: {told}"


def test_k_that_was_asked_for_and_is_not_in_effect_is_the_verdict_and_no_warning(tmp_path):
    report = triaged(tmp_path, {"server.log": dead(k=1)}, config={"k": 3})
    assert "CONFIG_NOT_IN_EFFECT" in [one["finding"] for one in report["findings"]]
    assert "k_differs" not in codes(report)


def test_a_tag_of_the_image_gives_the_release_when_nothing_else_does(tmp_path):
    def ledger(name, files, tag):
        report = triaged(tmp_path / name, files, config={"image_tag": tag}, family="glm-5")
        return report["diagnosis"]["ledger"]

    files = {"server.log": dead()}
    assert ledger("tag", files, "v0.18.0-a3-openeuler").startswith("asked about 0.18.0, ")
    assert ledger("image", files, "quay.io/ascend/vllm-ascend:v0.18.0").startswith("asked about")
    assert ledger("none", files, "nightly-main").startswith("not asked: the release is not known")
    development = case_text("env", "development-build-commit", "collect_env.txt")
    told = ledger("both", files | {"env.txt": development}, "v0.18.0")
    assert told.startswith("not asked: the release is not known")


def test_a_familys_only_method_needs_no_telling(tmp_path):
    assert only_method("glm-4.7", load_catalog()) == "mtp"
    assert only_method("glm-5.2", load_catalog()) is None
    assert only_method(None, load_catalog()) is None

    def changes(name, text):
        report = triaged(tmp_path / name, {"server.log": text}, release="0.23.0", family="glm-4.7")
        links = report["diagnosis"]["links"]
        return {link["fix"]["change"] for link in links if link["fix"]}

    silent = log(20, counts=lambda *_: DEAD)
    assert "12775" not in changes("silent", silent)
    other = started("0.23.0").replace("'mtp'", "'dflash'") + silent
    assert "12775" in changes("other", other)  # what the log says goes before the catalogue
