"""Scores that differ by their own error are ties; differences of models keep their p-values to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import run_of

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.measures import compare_numbers
from calprobe.measures.compare_match import tied_instances
from calprobe.metrics import Resampling
from calprobe.runs import PieceScores, ScoreTable, TemplateRecord

SHAPES = (("P30", 40, 4), ("P36", 60, 3))
ESTIMATORS = ("base", "margin", "average_min", "consistency_vote_2", "temperature")
METRICS = ("accuracy", "brier", "ace", "auroc", "nll")
OPTIONS = CompareOptions(
    estimators=ESTIMATORS, metrics=METRICS, scores=ReportOptions(ace_bins=5, resampling=Resampling(100))
)


def noisy(size: float, seed: int, only: int | None = None) -> Callable[[PieceScores], PieceScores]:
    """Scores with uniform noise in [-size, size]; the instance `only` of P30 has other ones."""
    rng = np.random.default_rng(seed)

    def change(piece: PieceScores) -> PieceScores:
        assert piece.sum is not None
        changed = piece.sum + rng.uniform(-size, size, len(piece.sum))
        if only is not None and piece.relation == "P30":
            place = slice(4 * only, 4 * only + 4)
            changed[place] = 2 * changed[place][::-1]
        return replace(piece, sum=changed)

    return change


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("runs") / "first", shapes=SHAPES)


def p_values(found: Comparison) -> list[float]:
    return [c.difference.p_value for scope in found.pairs[0].scopes for c in scope.contrasts]


def test_two_scorings_of_one_model_do_not_differ(first: str, tmp_path: Path) -> None:
    found = compare([first, run_of(tmp_path / "again", shapes=SHAPES, edit=noisy(4e-5, 1))], OPTIONS)
    scope = found.pairs[0].everything
    assert (scope.ties, scope.instances) == (100, 100)
    assert {(c.difference.value, c.difference.p_value, c.p_holm, c.p_max_t) for c in scope.contrasts} == {(0, 1, 1, 1)}
    assert scope.agreement is not None
    assert scope.agreement.mcnemar_p == 1


def test_the_noise_alone_would_be_significant(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def colder(piece: PieceScores) -> PieceScores:
        assert piece.sum is not None
        return replace(piece, sum=piece.sum * (1 + 1e-6))

    again = run_of(tmp_path / "again", shapes=SHAPES, edit=colder)
    assert min(p_values(compare([first, again], OPTIONS))) == 1
    monkeypatch.setattr(compare_numbers, "tied_instances", lambda a, b: np.zeros(a.n_instances, bool))
    assert min(p_values(compare([first, again], OPTIONS))) < 0.05


@pytest.mark.parametrize("seed", [1, 2])
def test_two_models_keep_their_p_values_to_the_bit(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    other = run_of(tmp_path / "other", seed, shapes=SHAPES)
    found = compare([first, other], OPTIONS)
    assert found.pairs[0].everything.ties == 0
    monkeypatch.setattr(compare_numbers, "tied_instances", lambda a, b: np.zeros(a.n_instances, bool))
    assert found == compare([first, other], OPTIONS)


def test_one_instance_that_differs_is_alone_in_the_difference(first: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, estimators=("base", "margin"))
    exact = compare([first, run_of(tmp_path / "exact", shapes=SHAPES, edit=noisy(0.0, 1, only=3))], options)
    noise = compare([first, run_of(tmp_path / "noise", shapes=SHAPES, edit=noisy(4e-5, 1, only=3))], options)
    assert exact.pairs[0].everything.ties == noise.pairs[0].everything.ties == 99
    assert p_values(noise) == p_values(exact)
    assert min(p_values(exact)) > 0.3


def table(scores: list[list[float]]) -> ScoreTable:
    return ScoreTable(
        scores=np.array(scores),
        offsets=np.array([0, 2, 5]),
        answer_idx=np.zeros(2, np.int64),
        relation=np.array(["P1", "P1"]),
        instance=np.arange(2),
        templates=(TemplateRecord(0, "paraphrase"), TemplateRecord(1, "paraphrase")),
    )


def test_ties_by_hand() -> None:
    nan = float("nan")
    a = table([[-1.0, -2.0, -10.0, nan, -500.0], [-1.0] * 5])
    near = table([[-1.00009, -2.0, -10.0, nan, -500.002], [-1.0] * 5])
    assert tied_instances(a, near).tolist() == [True, True]
    assert tied_instances(a, table([[-1.0, -2.0002, -10.0, nan, -500.0], [-1.0] * 5])).tolist() == [False, True]
    assert tied_instances(a, table([[-1.0, -2.0, -10.0, -7.0, -500.0], [-1.0] * 5])).tolist() == [True, False]
    assert tied_instances(a, table([[-1.0, -2.0, -10.0, nan, -500.0], [-1.0] * 4 + [-1.01]])).tolist() == [True, False]
