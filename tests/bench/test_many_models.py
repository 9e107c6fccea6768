"""The simulation of many models: its sums by hand, and that it calls itself a simulation."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest
import simulate
from simulated import many_models
from simulated.many_models import Assumed, Job, Tokens, all_on_one, model_a_gpu, shards

from calprobe.models.aliases import ALIASES

ASSUMED = Assumed(
    tflops={"float32": 0.5, "bfloat16": 2.0},
    head_tflops={"float32": 0.25, "bfloat16": 2.0},
    batch_s=0.0,
    start_s=10.0,
    read_gb_s=1.0,
    batch_tokens=1000,
)
JOBS = [Job("a", 1.0, (6.0, 2.0)), Job("b", 1.0, (3.0,)), Job("c", 1.0, (2.0, 1.0))]


def test_the_models_are_the_papers() -> None:
    assert set(many_models.HEADS) == {name for name, alias in ALIASES.items() if alias.paper}
    for name, (vocabulary, width) in many_models.HEADS.items():
        assert 0 < vocabulary * width < ALIASES[name].parameters * 1e6, name


def test_seconds_by_hand() -> None:
    tokens = Tokens(forwarded=(1000.0, 500.0), heads=(100.0, 500.0))
    job = many_models.job("gpt2", tokens, ASSUMED, {})
    head = 50257 * 768
    body = 124e6 - head
    assert job.groups_s == pytest.approx(
        [2 * (n * body + 2 * rows * head) / 5e11 for n, rows in ((1000, 100), (500, 500))]
    )
    assert job.load_s == pytest.approx(10 + 2 * 124e6 / 1e9)
    # In bfloat16, which is four times as fast here.
    parameters = ALIASES["gemma-7b"].parameters * 1e6
    assert many_models.job("gemma-7b", tokens, ASSUMED, {}).groups_s[1] == pytest.approx(2 * 500 * parameters / 2e12)
    assert many_models.job("gpt2", tokens, ASSUMED, {"gpt2": 4.0}).groups_s == pytest.approx([0.004, 0.002])


def test_rates_are_by_dtype() -> None:
    assert [many_models.dtype_of(name) for name in ("bert-base-cased", "gpt2-xl", "opt-350m", "gemma-2b")] == [
        *("float32", "float32", "float16", "bfloat16")
    ]
    assert many_models.rates("float32=30,bfloat16=247.5") == {"float32": 30.0, "bfloat16": 247.5}
    with pytest.raises(argparse.ArgumentTypeError, match="'float8' is none of"):
        many_models.rates("float8=900")


def test_strategies_by_hand() -> None:
    complete = model_a_gpu(JOBS, 2)  # 9 | 4 + 4
    assert (complete.wall_s, complete.busy_s) == (9.0, 17.0)
    assert complete.idle == pytest.approx(1 - 17 / 18)
    # a: 1 + 6, b: 1 + 3 beside 2 idle, c: 1 + 2
    together = all_on_one(JOBS, 2)
    assert (together.wall_s, together.busy_s) == (7.0 + 4.0 + 3.0, 6.0 + 14.0)
    # Half a fair share is 4.25 s: a is cut in three (two groups: 7 and 3, none), the others are not: 7 | 4 4 3 -> 7+3
    cut = shards(JOBS, 2)
    assert (cut.wall_s, cut.busy_s) == (10.0, 18.0)


def test_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "schedule.json"
    monkeypatch.setattr(sys, "argv", ["simulate.py", "models", "--probe", "mini", "--gpus", "4", "--out", str(out)])
    simulate.main()
    said = capsys.readouterr().out
    assert said.startswith("A SIMULATION: nothing here was measured on a GPU\nassumed: float32 100, bfloat16 620, ")
    figures = json.loads(out.read_text())
    assert figures["simulation"] is True
    assert {o["strategy"] for o in figures["outcomes"]} == {"a model a GPU", "shards", "all on one"}
    assert all(0 <= o["idle"] < 1 and o["wall_s"] * 4 >= o["busy_s"] > 0 for o in figures["outcomes"])
