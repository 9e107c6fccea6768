"""The simulations of intervals and tests: their tables, and the models that they draw."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import comparison_tests
import interval_coverage
import judge_errors
import levels_and_power
import numpy as np
import pytest
from harness.trials import Trials, print_table, two_models


@pytest.mark.parametrize(
    ("script", "what", "n_rows"),
    [
        (levels_and_power, "equivalence", 4),
        (levels_and_power, "relations", 4),
        (levels_and_power, "verdicts", 3),
        (interval_coverage, "paired", 11 * 7),
        (interval_coverage, "samples", 2 * 6),
        (interval_coverage, "few", 2 * 7),
        (comparison_tests, "correction", 3),
        (comparison_tests, "relations", 5),
        (judge_errors, "judges", 2),
    ],
)
def test_a_table_has_a_head_and_rows_of_as_many_cells(
    script: ModuleType, what: str, n_rows: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tables: dict[str, Callable[[Trials], None]] = script.TABLES
    monkeypatch.setattr(sys, "argv", ["x", what, "--instances", "60", "--trials", "2", "--resamples", "10"])
    print_table(script.__doc__, tables, Trials(5, 5, 5))
    first, empty, head, rule, *rows = capsys.readouterr().out.splitlines()
    assert (first, empty) == ("60 instances, 2 trials a row, 10 resamples", "")
    assert {line.count("|") for line in (head, rule, *rows)} == {head.count("|")}
    assert len(rows) == n_rows


def test_two_models_are_right_as_often_as_their_confidence_minus_the_gap() -> None:
    models = two_models(np.random.default_rng(0), 200_000, (0.0, 0.1), lowest=0.2)
    for (confidence, correct), gap in zip(models.values(), (0.0, 0.1), strict=True):
        assert confidence.min() >= 0.2
        assert correct.mean() == pytest.approx(confidence.mean() - gap, abs=0.005)
    a, b = (confidence for confidence, _ in models.values())
    assert np.corrcoef(a, b)[0, 1] == pytest.approx(0.25, abs=0.01)  # both take the common source in a quarter
    surer, _ = two_models(np.random.default_rng(0), 1000, (0.0, 0.0), surer=True)["second"]
    assert ((surer < 0.03) | (surer > 0.97)).all()
