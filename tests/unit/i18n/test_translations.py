"""Which pages have a Chinese one, and that it is told when the English text moves on."""

import re

from tests.translations import ROOT, behind, pairs, record


def site(root):
    (root / "docs" / "zh").mkdir(parents=True)
    (root / "README.md").write_text("hello")
    (root / "README.zh.md").write_text("你好\n")
    (root / "docs" / "ci.md").write_text("a")
    (root / "docs" / "contract.md").write_text("for developers")
    return root


def test_a_page_without_a_translation_and_one_that_moved_on(tmp_path):
    root = site(tmp_path)
    (root / "docs" / "zh" / "ci.md").write_text("甲\n")
    record(root)
    assert behind(root) == []
    (root / "docs" / "ci.md").write_text("b")
    (root / "docs" / "bug.md").write_text("c")
    assert behind(root) == [
        "docs/bug.md has no docs/zh/bug.md",
        "docs/ci.md is newer than docs/zh/ci.md",
    ]


def test_recording_again_changes_nothing_but_the_mark(tmp_path):
    root = site(tmp_path)
    record(root)
    first = (root / "README.zh.md").read_text()
    record(root)
    assert (root / "README.zh.md").read_text() == first
    assert first.endswith("\n你好\n")


def test_links_of_chinese_pages_lead_somewhere():
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for _, page in pairs()
        if page.exists()
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []
