"""Growth of estimators and bootstrap: the random tables, the plain reimplementation, and when there is no ratio."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import confidence
import numpy as np
import pandas as pd
import pytest
from growth.compare import against_plain, beside_bootstrap, beside_estimators, distance, row
from growth.measure import Size, figure, measure
from growth.plain import plain_bootstrap, plain_confidences
from growth.render import render, summary
from growth.tables import SPREAD, random_table

from calprobe.confidence import Distributions, available_estimators, base_confidence, estimate
from calprobe.metrics import Resampling, ace, brier

README = Path(str(confidence.__file__)).with_name("README.md")
MACHINE = {"processor": "a processor", "python": "3.11", "versions": {"numpy": "2"}, "date": "2026-01-01"}


def test_a_table_of_bears_size_has_bears_answer_spaces() -> None:
    table = random_table(7731, 1)
    assert (table.n_instances, table.offsets[-1]) == (7731, 209_499)
    assert Counter(np.diff(table.offsets).tolist())[60] == 14 * 60
    assert len(set(table.relation)) == len(SPREAD) == 60
    small = random_table(1000, 12)
    assert small.n_instances == 1000
    assert small.scores.shape == (12, small.offsets[-1])
    assert small.offsets[-1] / 1000 == pytest.approx(209_499 / 7731, rel=0.02)
    assert np.array_equal(small.scores, random_table(1000, 12).scores)


def test_all_estimators_run_on_a_table_and_none_is_perfect() -> None:
    found = estimate(random_table(300, 12))
    assert {"marker_certainly", "marker_75", "average_vote_5", "consistency_min"} <= set(found)
    assert all(0.05 < estimated.correct.mean() < 0.6 for estimated in found.values())


def test_the_plain_side_gives_the_same_confidences() -> None:
    table = random_table(80, 12, seed=3)
    found = estimate(table)
    for name in ("temperature", "temperature_top", "fixed_mean", "fixed_agreement", "pmi"):
        del found[name]  # the plain side has none
    assert distance(found, plain_confidences(table)) <= 1e-12


def test_a_wrong_confidence_or_prediction_is_noticed() -> None:
    table = random_table(40, 1)
    found = {"base": base_confidence(Distributions.from_table(table))}
    plain = {"base": plain_confidences(table)["base"]}
    assert distance(found, plain) <= 1e-12
    off = {"base": replace(found["base"], confidence=found["base"].confidence + 0.5)}
    assert distance(off, plain) == pytest.approx(0.5)
    other = {"base": replace(found["base"], prediction=found["base"].prediction + 1)}
    assert np.isnan(distance(other, plain))
    assert np.isnan(distance({}, plain))


def test_the_plain_bootstrap_is_that_of_the_metrics() -> None:
    rng = np.random.default_rng(0)
    confidences, correct = rng.random(50), (rng.random(50) < 0.5).astype(np.int64)
    counts = rng.multinomial(50, np.full(50, 1 / 50), size=3)
    found = plain_bootstrap(confidences, correct, counts, 20)
    assert isinstance(found, pd.DataFrame)
    for place, count in enumerate(counts):
        drawn = np.repeat(np.arange(50), count)
        assert found.ace[place] == pytest.approx(ace(confidences[drawn], correct[drawn]).value, abs=1e-12)
        assert found.brier[place] == pytest.approx(brier(confidences[drawn], correct[drawn]).value, abs=1e-12)


@pytest.mark.proof
def test_rows_beside_pandas() -> None:
    table = random_table(60, 12)
    first, second = beside_estimators(table), beside_bootstrap(table, Resampling(15))
    names = {estimator.name for estimator in available_estimators(table.templates)}
    without = {
        "fixed_mean",
        "fixed_agreement",
        "temperature",
        "temperature_top",
        "pmi",
    }  # the plain side has none of these
    assert names - plain_confidences(table).keys() == without
    assert first["what"] == f"{len(names - without)} estimators, 12 templates"
    for found in (first, second):
        assert found["largest_difference"] <= 1e-12
        assert found["times_as_fast"] > 0


def test_no_ratio_where_results_differ() -> None:
    for difference in (1.1e-12, float("nan")):
        found = row("all", random_table(5, 1), (1.0, 8.0), difference)
        assert "times_as_fast" not in found
        assert found["note"].startswith("results differ by ")
        assert "times as fast" not in render(record_of(against_plain=[found]))
    assert row("all", random_table(5, 1), (1.0, 8.0), 1e-12)["times_as_fast"] == 8


def record_of(**parts: object) -> dict[str, object]:
    return {"machine": MACHINE | {"others_used_cores": 0.0}, "threads": 1, "against_plain": [], "sizes": []} | parts


def test_memory_is_what_the_work_allocates() -> None:
    found = figure("ones", lambda: np.ones((4, 2**18)))
    assert found.peak_mib == pytest.approx(8, abs=0.2)
    assert 1 <= found.runs <= 5
    assert found.processor_s >= 0


@pytest.mark.parametrize(
    ("text", "size"),
    [("500", Size(500, 12, 1000)), ("500:5", Size(500, 5, 1000)), ("1000000:5:20", Size(1_000_000, 5, 20))],
)
def test_sizes_as_options(text: str, size: Size) -> None:
    assert Size.read(text) == size


def test_what_is_no_size_is_refused() -> None:
    for text in ("many", "1:2:3:4", ""):
        with pytest.raises((ValueError, TypeError)):
            Size.read(text)


@pytest.mark.proof
def test_what_is_recorded(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What the command line does, in this process; `test_from_the_command_line` is the proof."""

    def here(what: str, size: Size, threads: int) -> Any:
        try:
            return json.loads(json.dumps({"plain": against_plain, "growth": measure}[what](size)))
        except ValueError as error:
            raise subprocess.CalledProcessError(1, what, stderr=f"Traceback\nValueError: {error}\n") from error

    out = tmp_path / "new" / "record.json"
    monkeypatch.setattr(confidence, "in_child", here)
    asked = ["--sizes", "20:12:2", "20:-1", "--plain", "10:12:2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["confidence.py", *asked])
    assert confidence.main() == 0
    record = json.loads(out.read_text("utf-8"))
    assert capsys.readouterr().out.endswith("\n" + render(record))
    measured, failed = record["sizes"]
    assert (measured["instances"], measured["templates"], measured["resamples"]) == (20, 12, 2)
    assert {"base", "all estimators"} <= {f["what"] for f in measured["figures"]}
    assert failed["fault"].startswith("failed (exit status 1): ValueError")
    assert len(record["against_plain"]) == 2


@pytest.mark.proof
def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "record.json"
    # A negative number of templates is impossible; what fails is a row that says so, and no more.
    command = [sys.executable, "-P", str(confidence.__file__), "--sizes", "50:12:5", "20:-1", "--plain", "30:12:5"]
    done = subprocess.run([*command, "--out", str(out)], capture_output=True, text=True, check=True)
    record = json.loads(out.read_text("utf-8"))
    measured, failed = record["sizes"]
    assert (measured["instances"], measured["templates"], measured["resamples"]) == (50, 12, 5)
    assert {"base", "temperature", "all estimators", "Table 1 with intervals"} <= {
        f["what"] for f in measured["figures"]
    }
    assert 20 < measured["resident_peak_mib"] < 2000
    assert failed["fault"].startswith("failed (exit status 1): ValueError")
    assert set(record["machine"]["versions"]) == {"numpy", "scipy", "pandas", "calprobe"}
    assert done.stdout.endswith("\n" + render(record))
    monkeypatch.setattr(sys, "argv", ["confidence.py", "--render", str(out)])
    assert confidence.main() == 0
    assert capsys.readouterr().out == render(record)


@pytest.mark.parametrize("name", re.findall(r"<!-- growth: (.+) -->", README.read_text("utf-8")))
def test_the_readme_shows_the_growth_that_was_recorded(name: str) -> None:
    record = json.loads((README.parent / "results" / name).read_text("utf-8"))
    block = f"<!-- growth: {name} -->\n\n{summary(record)}\n<!-- end -->"
    assert block in README.read_text("utf-8"), (
        f"update it from: bench/confidence.py --summary --render bench/results/{name}"
    )
