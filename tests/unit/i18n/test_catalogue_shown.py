"""What the catalogue says of releases and families, in Chinese: labels and states, no notes."""


def test_the_states_of_knobs(command):
    out = command("releases", "0.23.0")
    assert "absent" not in out.split("\n\n")[0]
    assert "supported" not in out.split("\n\n")[0]
    assert "gone: V1 always runs" not in out
    listed = command("releases")
    assert "absent" not in listed
    assert "index" not in listed


def test_what_programs_read_stays_english(command):
    assert '"schedule": "absent"' in command("releases", "0.23.0", "--format", "json")


def test_the_label_of_the_name(command):
    assert not any(line.startswith("is ") for line in command("families", "glm-5.2").splitlines())


def test_why_nothing_can_run(typed):
    options = ("--release", "0.18.0", "--family", "glm-5", "--soc", "a2", "--cards", "1")
    code, _, err = typed("--lang", "zh", "plan", *options)
    assert code == 4
    assert "can run here" not in err
    assert "都不能在此运行" in err
