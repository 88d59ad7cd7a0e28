"""What the user says of the files beside what the files say."""

from specfloor.catalog import load_catalog
from specfloor.triage.told import drafting_of


def test_the_catalogues_configuration_is_that_of_family_and_method():
    catalog = load_catalog()
    assert drafting_of("glm-4.7", "mtp", catalog) == {"enforce_eager": True}
    assert drafting_of("qwen3.5", "qwen3_5_mtp", catalog).get("enforce_eager") in (None, True)
    for family, method in ((None, "mtp"), ("glm-4.7", None), ("glm-4.7", "guess")):
        assert drafting_of(family, method, catalog) == {}
