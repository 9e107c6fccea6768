"""Ties of the largest score: who is predicted, how often, and that nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from compared_runs import run_of
from hypothesis import given
from hypothesis import strategies as st

from calprobe.analysis import ReportOptions, report
from calprobe.confidence import Distributions, base_confidence, estimate, margin_confidence, mixture_confidence
from calprobe.confidence.paraphrases import consistency_confidence, vote
from calprobe.confidence.tie_breaking import draw_among, tie_keys
from calprobe.metrics import Resampling
from calprobe.runs import PieceScores, ScoreTable, TemplateRecord, open_run
from calprobe.studies.scored.notes import accuracies, report_notes

PARAPHRASES = (TemplateRecord(0, "paraphrase"), TemplateRecord(1, "paraphrase"))


def table_of(scores: np.ndarray, n_candidates: int, answer: int = 0) -> ScoreTable:
    n = scores.shape[1] // n_candidates
    names, lines = np.repeat(["P30", "P36"], [n // 2, n - n // 2]), np.arange(n)
    offsets = np.arange(n + 1) * n_candidates
    return ScoreTable(scores, offsets, np.full(n, answer), names, lines, PARAPHRASES[: len(scores)])


def test_each_of_n_tied_candidates_is_drawn_equally_often() -> None:
    n, k = 20_000, 4
    scores = np.tile([-1.0, -1.0, -5.0, -1.0], n)[None]
    found = base_confidence(Distributions.from_table(table_of(scores, k)))
    counts = np.bincount(found.prediction, minlength=k)
    assert counts[2] == 0
    # A third each: 5 standard errors of a count.
    assert np.abs(counts[[0, 1, 3]] - n / 3).max() < 5 * np.sqrt(n * 2 / 9)
    assert (found.confidence == found.confidence[0]).all()


def test_the_first_is_still_to_be_had() -> None:
    table = table_of(np.zeros((1, 40)), 4)
    found = base_confidence(Distributions.from_table(table, "first"))
    assert found.prediction.tolist() == [0] * 10
    assert estimate(table, "first")["base"].correct.all()
    drawn = estimate(table)["base"]
    assert 0 < drawn.correct.sum() < 10


def test_paraphrases_that_tie_alike_agree() -> None:
    table = table_of(np.tile([-1.0, -1.0, -9.0], (2, 200)), 3)
    spaces = Distributions.from_table(table)
    first, second = (base_confidence(spaces, row).prediction for row in (0, 1))
    assert (first == second).all()
    assert set(first.tolist()) == {0, 1}
    votes = consistency_confidence(spaces, [0, 1], lambda peak: vote(peak, 2))
    assert (votes.prediction == first).all()
    assert (mixture_confidence(spaces, [0, 1]).prediction == first).all()
    assert (margin_confidence(spaces).prediction == first).all()
    assert (margin_confidence(spaces).confidence == 0).all()


def test_a_draw_depends_on_relation_and_line_alone() -> None:
    table = table_of(np.zeros((1, 400)), 4)
    complete = base_confidence(Distributions.from_table(table)).prediction
    order = np.random.default_rng(0).permutation(100)[:30]
    part = ScoreTable(
        np.zeros((1, 120)),
        np.arange(31) * 4,
        table.answer_idx[order],
        table.relation[order],
        table.instance[order],
        table.templates,
    )
    assert (base_confidence(Distributions.from_table(part)).prediction == complete[order]).all()


@given(st.integers(0, 2**32 - 1))
def test_without_ties_nothing_changes(seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(2, 60))
    drawn, first = (Distributions.from_table(table_of(scores, 5), ties) for ties in ("draw", "first"))
    for name in ("prediction", "largest", "second"):
        assert np.array_equal(getattr(drawn.peaks, name), getattr(first.peaks, name))
    assert (drawn.tied(0) == 1).all()


def test_nan_has_no_prediction_and_no_tie() -> None:
    scores = np.array([[np.nan, -1.0, -1.0, -1.0]])
    spaces = Distributions.from_table(table_of(scores, 2))
    assert base_confidence(spaces).prediction[0] == -1
    assert spaces.tied(0).tolist() == [0, 2]
    assert spaces.at_peak(0).tolist() == [False, True]


def test_keys_and_draws_by_hand() -> None:
    keys = tie_keys(np.array(["a", "b", "a"]), np.array([0, 0, 0]))
    assert keys[0] == keys[2] != keys[1]
    assert draw_among(np.array([1, 1, 2]), np.array([0, 3, 1]), keys).tolist() in ([0, 2], [1, 2])
    assert draw_among(np.array([], int), np.array([], int), keys).tolist() == []


def test_a_report_counts_ties_and_gives_the_expected_accuracy(tmp_path: Path) -> None:
    def tie(piece: PieceScores) -> PieceScores:
        return replace(piece, sum=np.where(piece.instance < 2, -1.0, piece.sum)) if piece.relation == "P30" else piece

    path = run_of(tmp_path / "tied", edit=tie)
    found = report(path, ReportOptions(resampling=Resampling(0)))
    (run,) = found.runs
    assert run.ties is not None
    assert run.ties.instances == 2
    firsts = report(path, ReportOptions(resampling=Resampling(0), ties="first")).runs[0]
    assert firsts.ties == run.ties
    spaces = Distributions.from_table(open_run(path).table("sum"))
    alone = base_confidence(spaces).correct & (spaces.tied(0) == 1)
    assert run.ties.expected_accuracy == pytest.approx((alone.sum() + 2 / 3) / 30)
    assert accuracies(run)[-1].startswith("ties: 2 instances with several largest scores; expected accuracy ")
    assert any(note.startswith("Ties: of candidates that share the largest score, ") for note in report_notes(found))
    assert run.to_json()["ties"] == {"instances": 2, "expected_accuracy": run.ties.expected_accuracy}
