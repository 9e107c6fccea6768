"""A slip in a name: two lines at most, with the right word where one is near."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_samples import write_run

from calprobe.cli.app import main


@pytest.mark.parametrize(
    ("line", "code", "meant"),
    [
        ("repot", 2, "did you mean report or export?"),
        ("import lm-evl", 2, "did you mean lm-eval?"),
        ("xyzzy", 2, "there are score, ask, "),
        ("report --formt csv", 2, "--format"),
        ("report runs/demo --format jsn", 2, "did you mean json?"),
        ("ask --model smolm2-135m --questions mmlu", 2, "did you mean smollm2-135m"),  # not: mmlu is missing
        ("report runs/demmo", 3, "did you mean demo?"),
        ("score --model tiny-cml", 3, "did you mean tiny-"),  # not: the probe bear is missing
        ("score --model smolm2 --probe mini", 3, "did you mean smollm2-"),
        ("score --model tiny-clm --probe mni", 2, "did you mean mini?"),
        ("score --model tiny-clm --templates 99", 2, "all relations have 0, 1, 2"),
        ("score --model tiny-clm --templates verbl", 2, "did you mean verbal?"),
        ("score --model tiny-clm --relations captal", 2, "did you mean capital?"),
    ],
)
def test_the_word_that_is_near_is_named(
    line: str,
    code: int,
    meant: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    write_run(tmp_path / "runs" / "demo")
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert meant in said
    message = [printed for printed in said.splitlines() if not printed.startswith("loading ")]
    assert len(message) <= 2


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([])
    shown = "".join(capsys.readouterr())
    assert shown.startswith("Usage: calprobe ")
    assert "see `calprobe" not in shown
