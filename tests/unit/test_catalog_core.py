"""Finding releases and families by name, and that what the catalogue names can be run."""

import msgspec
import pytest

from specfloor.catalog import Catalog, _add, load_catalog
from specfloor.cells import slug
from specfloor.errors import UsageError
from specfloor.judge.floors import check_floors, read_floors
from specfloor.load.sets import Workloads
from specfloor.plan import Selection, select_cells
from tests.unit.builders import FIXTURES, GLM, catalog


class TestFamily:
    @pytest.mark.parametrize("spelled", ["glm-9.1-tiny", "glm_9_1_tiny", "GLM-TINY", "glm_tiny"])
    def test_by_name_and_alias(self, spelled):
        assert catalog().family(spelled) == GLM

    def test_a_name_of_one_is_not_taken_by_the_alias_of_another(self):
        thief = msgspec.structs.replace(GLM, name="thief", aliases=("small",))
        own = msgspec.structs.replace(GLM, name="small", aliases=())
        assert catalog(own, thief).family("small").name == "small"

    def test_an_unknown_one(self):
        with pytest.raises(UsageError, match=r"unknown family 'glm-5'; known here: big, glm-9"):
            catalog().family("glm-5")


class TestRelease:
    @pytest.mark.parametrize("spelled", ["cpu-2.0", "cpu_2_0", "CPU-2.0"])
    def test_by_name(self, spelled):
        assert catalog().release(spelled).name == "cpu-2.0"

    @pytest.mark.parametrize("spelled", ["0.5.0", "v0.5.0", "0_5_0"])
    def test_by_version(self, spelled):
        assert catalog().release(spelled).name == "0.5.0"

    @pytest.mark.parametrize("spelled", ["cpu-3.0", "9.9.9", ""])
    def test_an_unknown_one(self, spelled):
        with pytest.raises(UsageError):
            catalog().release(spelled)

    def test_a_development_build(self):
        with pytest.raises(UsageError, match="is a development build, which is no release"):
            catalog().release("0.23.1.dev12+g1234abcd")


def test_a_name_comes_once():
    table = {}
    _add(table, "a", 1)
    with pytest.raises(ValueError, match="the catalogue has 'a' twice"):
        _add(table, "a", 2)


class TestData:
    """What the catalogue of this version says, with what lies under fixtures."""

    known: Catalog = load_catalog()

    def test_it_is_read_once(self):
        assert load_catalog() is self.known

    @pytest.mark.parametrize("platform", ["cpu", "ascend"])
    def test_one_release_of_a_platform_is_its_default(self, platform):
        defaults = [
            release
            for release in self.known.releases.values()
            if release.platform == platform and release.default
        ]
        assert len(defaults) == 1

    def test_no_spelling_means_two_families(self):
        names = [spelled for f in self.known.families.values() for spelled in {f.name, *f.aliases}]
        assert len({slug(name) for name in names}) == len(names)

    @pytest.mark.parametrize("platform", ["cpu", "ascend"])
    def test_the_default_set_has_cells_with_floors(self, platform):
        cells = select_cells(self.known, Selection(platform=platform))
        assert cells
        floors = read_floors(sorted((FIXTURES / "floors").glob("*.toml")))
        check_floors(floors, self.known, cells)

    @pytest.mark.parametrize("family", load_catalog().families.values(), ids=lambda f: f.name)
    def test_every_workload_of_a_family_is_there(self, family):
        workloads = Workloads(FIXTURES / "workloads", seed=1)
        for workload in (*family.workloads, *family.more_workloads):
            settings = workloads.settings(family.workload_set, workload)
            prompts = workloads.prompts(family.workload_set, workload)
            assert len(prompts) >= settings.forced_prompts
            assert len({prompt.id for prompt in prompts}) == len(prompts)

    def test_a_workload_of_parts_has_their_prompts_in_one_order(self):
        workloads = Workloads(FIXTURES / "workloads", seed=1)
        mixed = workloads.prompts("glm_moe_tiny", "mixed")
        parts = workloads.settings("glm_moe_tiny", "mixed").parts
        assert len(mixed) == sum(len(workloads.prompts("glm_moe_tiny", part)) for part in parts)
        assert len({prompt.domain for prompt in mixed[:20]}) > 2

    def test_a_family_has_the_floors_of_one_that_has_its_own(self):
        for family in self.known.families.values():
            if family.floors_of:
                other = self.known.families[family.floors_of]
                assert other.floors_of is None
                assert {m.name for m in family.methods} <= {m.name for m in other.methods}
