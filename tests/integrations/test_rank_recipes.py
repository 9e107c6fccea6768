"""The recipes of docs/how-to/rank.md for other tools, run by the real packages, and ranked by calprobe."""

from __future__ import annotations

import json
import re
import shlex
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sources import ROOT

from calprobe.cli.app import main

PAGE = (ROOT / "docs" / "how-to" / "rank.md").read_text("utf-8")
ESTIMATORS = {
    "LexicalSimilarity": "lexical_similarity",
    "MaximumSequenceProbability": "max_probability",
    "Perplexity": "perplexity",
}


# By title; looked up before the packages that they need, which are not on every machine.
RECIPES = dict(re.findall(r'```python title="(\S+)"\n(.*?)```', PAGE, re.DOTALL))


def ranked(table: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    """The page's command for a table, run: metrics by score."""
    (command,) = re.findall(rf"^    calprobe (rank {re.escape(table)} .*)$", PAGE, re.MULTILINE)
    main([*shlex.split(command), "--json"])
    scores = json.loads(capsys.readouterr().out)[table]["scores"]
    return {name: {key: own["value"] for key, own in metrics.items()} for name, metrics in scores.items()}


def test_the_page_has_each_recipe_and_its_command() -> None:
    assert set(RECIPES) >= {"polygraph.py", "manager.py", "with_uqlm.py"}
    for table in ("polygraph.csv", "benchmark.csv", "uqlm.csv"):
        assert f"calprobe rank {table} " in PAGE


@pytest.fixture
def lm_polygraph() -> Iterator[None]:
    """The estimators of the page, without the package's own imports of all the others and what these need."""
    spec = find_spec("lm_polygraph")
    if spec is None or spec.origin is None:
        pytest.skip("no lm-polygraph: make test-integrations installs it")
    before = set(sys.modules)
    for name in ("lm_polygraph", "lm_polygraph.estimators", "lm_polygraph.utils"):
        package = types.ModuleType(name)
        package.__path__ = [str(Path(spec.origin).parent.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package
    for name, module in ESTIMATORS.items():
        found = getattr(import_module(f"lm_polygraph.estimators.{module}"), name)
        setattr(sys.modules["lm_polygraph.estimators"], name, found)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("lm_polygraph"):
            del sys.modules[name]


@pytest.mark.usefixtures("lm_polygraph")
def test_lm_polygraph_s_estimators_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    exec(RECIPES["polygraph.py"], known)
    found = ranked("polygraph.csv", capsys)
    assert list(found) == ["MaximumSequenceProbability", "Perplexity", "LexicalSimilarity_rougeL"]
    assert [own["auroc"] for own in found.values()] == [1.0, 1.0, 1.0]  # both right answers are the surest of each
    # A benchmark holds the same under the names of its levels.
    estimations = {("sequence", str(own)): list(own(known["stats"])) for own in known["estimators"]}
    known["manager"] = types.SimpleNamespace(
        estimations=estimations | {("token", "MaximumTokenProbability"): [0.1] * 9},
        gen_metrics={("sequence", "Rouge_rougeL"): [1.0, 0.0, 0.4, 0.2]},
    )
    exec(RECIPES["manager.py"], known)
    assert ranked("benchmark.csv", capsys)["Perplexity"]["auroc"] == 1.0


def test_uqlm_s_scorers_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uqlm")
    monkeypatch.chdir(tmp_path)
    exec(RECIPES["with_uqlm.py"], {})
    found = ranked("uqlm.csv", capsys)
    assert list(found) == ["exact_match", "sequence_probability", "min_probability"]
    assert found["exact_match"]["auroc"] == 1.0
    assert found["exact_match"]["brier"] == pytest.approx(0.5**2 / 4)  # 1, 0.5, 1 and 0 of right, wrong, right, wrong
