"""The example of a report to the vendor has the shape of this version, whatever its numbers."""

from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "bug.md"


def test_the_example_is_of_this_version():
    text = EXAMPLE.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("[Bug]: MTP k=3, ")
    assert [line for line in lines if line.startswith("### ")] == [
        "### Your current environment",
        "### 🐛 Describe the bug",
    ]
    for heading in (
        "**Observed against expected**",
        "**Acceptance by draft position**",
        "**Reproduction**",
        "**Likely causes, surest first**",
        "**Already checked**",
    ):
        assert any(line.startswith(heading) for line in lines), heading
    assert text.count("vllm.entrypoints.openai.api_server") == 2
    assert "curl" in text or "chat/completions" in text
