"""The simulation of asking: seconds and tokens by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import simulate


def test_launches_are_added_to_a_wave_and_bound_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "asking.json"
    options = ["--prompts", "1000", "--rows", "100", "--new-tokens", "50", "--billions", "1", "--tflops", "10"]
    options += ["--launch-us", "10", "--launches", "0", "20000", "--step-launches", "100", "1000", "--tb-s", "1"]
    monkeypatch.setattr(sys, "argv", ["simulate.py", "asking", *options, "--out", str(out)])
    simulate.main()
    figures = json.loads(out.read_text())
    # Ten waves of 2e9 x 50 x 100 FLOP at 1e13 a second: 1 s; 20,000 launches take 0.2 s more.
    assert figures["labels_s"] == {"0": 10.0, "20000": 12.0}
    # Reading 2 GB takes 2 ms, more than 100 launches and less than 1,000.
    assert figures["written_tokens_per_s"] == {"100": 50_000, "1000": 10_000}
    assert figures["simulation"] is True
    assert "A SIMULATION: nothing here was measured on a GPU" in capsys.readouterr().out
