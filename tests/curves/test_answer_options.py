"""The experiment on the number of answer options: against a loop over instances, its tables, and refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from run_samples import write_run
from scipy.special import softmax
from sklearn.calibration import calibration_curve

from calprobe.analysis import AnswerOptions, ReportOptions, answer_option_curve
from calprobe.confidence import Distributions, base_confidence, margin_confidence, option_ranks
from calprobe.curves.answer_option_curve import OPTION_COUNTS, OPTION_SEEDS
from calprobe.errors import UsageError
from calprobe.metrics import Resampling, ace, bootstrap, standard_metrics
from calprobe.runs import ScoreTable, TemplateRecord, open_run

NO_RESAMPLES = ReportOptions(resampling=Resampling(0))
PARAPHRASE = TemplateRecord(0, "paraphrase")
COLUMNS = ["accuracy", "mean_base", "mean_margin", "ace_base", "ace_margin"]


def make_table(
    shapes: list[tuple[str, int, int]], templates: tuple[TemplateRecord, ...] = (PARAPHRASE,), seed: int = 5
) -> ScoreTable:
    """Random scores of (relation, instances, candidates), the right answer a little ahead."""
    rng = np.random.default_rng(seed)
    widths = np.concatenate([np.full(n, k) for _, n, k in shapes])
    offsets = np.cumsum([0, *widths])
    answers = rng.integers(0, widths)
    scores = 3 * rng.normal(size=(len(templates), offsets[-1]))
    scores[:, offsets[:-1] + answers] += 3
    return ScoreTable(
        scores=scores,
        offsets=offsets,
        answer_idx=answers,
        relation=np.concatenate([np.full(n, name) for name, n, _ in shapes]),
        instance=np.concatenate([np.arange(n) for _, n, _ in shapes]),
        templates=templates,
    )


def ace_by_sklearn(confidence: list[float], correct: list[bool], n_bins: int) -> float:
    accuracy, mean = calibration_curve(correct, confidence, n_bins=n_bins, strategy="quantile")
    return float(abs(accuracy - mean).mean())


def test_against_a_loop_over_instances() -> None:
    table = make_table([("P1", 30, 12), ("P2", 50, 5), ("P3", 20, 15)])
    found = answer_option_curve(table, counts=(4, 8, 12), seeds=(2, 7), options=ReportOptions(ace_bins=5))
    assert (found.relations, found.instances, found.template) == (("P1", "P3"), 50, 0)
    roomy = np.flatnonzero(table.relation != "P2")
    spaces = [(table.scores[0, table.offsets[i] : table.offsets[i + 1]], table.answer_idx[i]) for i in roomy]
    kept = Distributions.from_scores(
        [np.concatenate([s for s, _ in spaces])], np.cumsum([0, *(len(s) for s, _ in spaces)]), [a for _, a in spaces]
    )
    assert found.draws[["options", "seed"]].values.tolist() == [[k, s] for k in (4, 8, 12) for s in (2, 7)]
    for row in found.draws.itertuples():
        ranks = np.split(option_ranks(kept, row.seed), kept.offsets[1:-1])
        base, margin, correct = [], [], []
        for (scores, answer), own in zip(spaces, ranks, strict=True):
            options = [k for k in range(len(scores)) if own[k] < row.options]
            assert len(options) == row.options
            assert answer in options
            p = softmax(scores[options])
            first, second = sorted(p.tolist(), reverse=True)[:2]
            base.append(first)
            margin.append(first - second)
            correct.append(options[int(p.argmax())] == answer)
        assert row.accuracy == pytest.approx(np.mean(correct), abs=1e-12)
        assert row.mean_base == pytest.approx(np.mean(base), abs=1e-12)
        assert row.mean_margin == pytest.approx(np.mean(margin), abs=1e-12)
        assert row.ace_base == pytest.approx(ace_by_sklearn(base, correct, 5), abs=1e-12)
        assert row.ace_margin == pytest.approx(ace_by_sklearn(margin, correct, 5), abs=1e-12)


def test_means_over_the_seeds() -> None:
    found = answer_option_curve(make_table([("P1", 40, 9)]), counts=(3, 6), seeds=range(4))
    assert list(found.draws.columns) == ["options", "seed", *COLUMNS]
    assert list(found.means.columns) == ["options", *COLUMNS]
    for row in found.means.itertuples(index=False):
        own = found.draws[found.draws["options"] == row.options]
        assert len(own) == 4
        for column in COLUMNS[1:]:
            assert getattr(row, column) == pytest.approx(own[column].mean(), abs=1e-15)


@pytest.mark.proof
def test_the_accuracy_is_exact() -> None:
    table = make_table([("P1", 8, 7)])
    counts = (2, 4, 6, 7)
    found = answer_option_curve(table, counts, seeds=(0,), options=NO_RESAMPLES)
    for row in found.means.itertuples(index=False):
        right = []
        for scores, answer in zip(np.split(table.scores[0], table.offsets[1:-1]), table.answer_idx, strict=True):
            others = [at for at in range(len(scores)) if at != answer]
            right += [
                max((answer, *chosen), key=lambda at: (scores[at], -at)) == answer
                for chosen in combinations(others, row.options - 1)
            ]
        assert row.accuracy == pytest.approx(np.mean(right), abs=1e-12)
    many = answer_option_curve(table, counts, seeds=range(300), options=NO_RESAMPLES)
    drawn = many.draws.groupby("options")["accuracy"].mean().to_numpy()
    assert drawn == pytest.approx(found.means["accuracy"].to_numpy(), abs=0.03)


def test_tied_answers_share_the_accuracy() -> None:
    table = make_table([("P1", 6, 6)])
    tied = replace(table, scores=np.round(table.scores / 4))  # few values, many ties
    for ties in ("draw", "first"):
        options = ReportOptions(resampling=Resampling(0), ties=ties)
        found = answer_option_curve(tied, (2, 3, 6), seeds=(0,), options=options)
        for row in found.means.itertuples(index=False):
            right = []
            for scores, answer in zip(np.split(tied.scores[0], tied.offsets[1:-1]), tied.answer_idx, strict=True):
                others = [at for at in range(len(scores)) if at != answer]
                for chosen in combinations(others, row.options - 1):
                    best = [at for at in (answer, *chosen) if scores[at] == max(scores[[answer, *chosen]])]
                    wins = min(best) == answer if ties == "first" else (answer in best) / len(best)
                    right.append(wins)
            assert row.accuracy == pytest.approx(np.mean(right), abs=1e-12)


def test_of_all_options_the_intervals_are_those_of_a_report() -> None:
    table = make_table([("P1", 150, 6)])
    found = answer_option_curve(table, (3, 6), range(5), ReportOptions(resampling=Resampling(1000)))
    base = base_confidence(Distributions.from_table(table))
    expected = bootstrap(standard_metrics(), base.confidence, base.correct, Resampling(1000, 1))
    for name, column in (("accuracy", "accuracy"), ("mean_confidence", "mean_base"), ("ace", "ace_base")):
        own, other = found.estimates[column][1], expected[name]
        assert (own.value, own.low, own.high) == pytest.approx((other.value, other.low, other.high), abs=0.015)
    assert all(own.low <= own.value <= own.high for column in found.estimates.values() for own in column)


def test_all_options_are_the_plain_numbers_whatever_the_seed() -> None:
    table = make_table([("P1", 60, 7)])
    found = answer_option_curve(table, counts=(7,), seeds=(0, 1))
    spaces = Distributions.from_table(table)
    base, margin = base_confidence(spaces), margin_confidence(spaces)
    expected = [
        base.correct.mean(),
        base.confidence.mean(),
        margin.confidence.mean(),
        ace(base.confidence, base.correct).value,
        ace(margin.confidence, margin.correct).value,
    ]
    for values in found.draws[COLUMNS].values.tolist():
        assert values == pytest.approx(expected, abs=1e-12)


def test_more_options_are_harder() -> None:
    # Draws of one seed are nested, so an instance that is right among many is right among fewer of them.
    found = answer_option_curve(make_table([("P1", 200, 20)]), counts=(20, 10, 5, 2), seeds=(0,))
    assert found.draws["options"].tolist() == [2, 5, 10, 20]
    assert found.draws["accuracy"].is_monotonic_decreasing
    assert found.draws["mean_base"].is_monotonic_decreasing


def test_the_papers_counts_and_seeds() -> None:
    assert OPTION_COUNTS == (5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60)
    assert tuple(range(30)) == OPTION_SEEDS
    found = answer_option_curve(make_table([("P36", 60, 60), ("P30", 30, 6)]), options=NO_RESAMPLES)
    assert (found.relations, found.instances, len(found.draws), len(found.means)) == (("P36",), 60, 360, 12)


def same(one: AnswerOptions, other: AnswerOptions) -> bool:
    return bool(one.draws.equals(other.draws) and one.means.equals(other.means))


def test_it_reads_the_template_that_base_reads() -> None:
    verbal, paraphrase = TemplateRecord(5, "verbal", "possibly"), TemplateRecord(7, "paraphrase")
    table = make_table([("P1", 20, 6)], (verbal, paraphrase))
    found = answer_option_curve(table, counts=(3,))
    assert found.template == 7
    alone = make_table([("P1", 20, 6)], (verbal, paraphrase))
    second = ScoreTable(
        alone.scores[1:], alone.offsets, alone.answer_idx, alone.relation, alone.instance, (paraphrase,)
    )
    assert same(found, answer_option_curve(second, counts=(3,)))


def test_the_order_of_instances_changes_nothing() -> None:
    table = make_table([("P1", 20, 6), ("P2", 10, 8)])
    order = np.random.default_rng(0).permutation(30)
    columns = np.concatenate([np.arange(table.offsets[i], table.offsets[i + 1]) for i in order])
    moved = ScoreTable(
        table.scores[:, columns],
        np.cumsum([0, *np.diff(table.offsets)[order]]),
        table.answer_idx[order],
        table.relation[order],
        table.instance[order],
        table.templates,
    )
    found, again = answer_option_curve(table, counts=(4, 6)), answer_option_curve(moved, counts=(4, 6))
    np.testing.assert_allclose(again.draws, found.draws, atol=1e-12)


def test_relations_without_enough_candidates_change_nothing() -> None:
    table, small = make_table([("P2", 20, 6)]), make_table([("P1", 15, 3)])
    both = ScoreTable(
        np.concatenate([small.scores, table.scores], axis=1),
        np.concatenate([small.offsets, table.offsets[1:] + small.offsets[-1]]),
        np.concatenate([small.answer_idx, table.answer_idx]),
        np.concatenate([small.relation, table.relation]),
        np.concatenate([small.instance, table.instance]),
        table.templates,
    )
    found = answer_option_curve(both, counts=(2, 4))
    assert found.relations == ("P2",)
    assert found.draws.equals(answer_option_curve(table, counts=(2, 4)).draws)


def test_a_failed_candidate_counts_where_it_is_drawn() -> None:
    table = make_table([("P1", 1, 6)])
    table.scores[0, 0 if table.answer_idx[0] else 1] = np.nan
    found = answer_option_curve(table, counts=(6,), seeds=(0,)).draws
    assert found[["accuracy", "mean_base"]].values.tolist() == [[0, 0]]


def test_from_a_run(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run")
    options = ReportOptions("mean")
    by_path, opened, table = (
        answer_option_curve(source, (2, 4), options=options)
        for source in (path, open_run(path), open_run(path).table("mean"))
    )
    assert by_path.relations == ("P1376", "P36")
    assert same(by_path, opened)
    assert same(by_path, table)


@pytest.mark.parametrize(
    ("counts", "seeds", "message"),
    [
        ([1, 5], [0], "counts must be a whole number of at least 2; got 1"),
        ([2], [-1], "seeds must be a whole number of at least 0; got -1"),
        ([], [0], r"counts and seeds must not be empty; got \[\] and \[0\]"),
        ([2], [], "counts and seeds must not be empty"),
    ],
)
def test_wrong_counts_and_seeds_are_refused(counts: list[int], seeds: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        answer_option_curve(make_table([("P1", 2, 3)]), counts, seeds)


def test_without_room_or_template_the_fix_is_named() -> None:
    with pytest.raises(UsageError, match=r"no relation of the run has 60 candidates, the largest answer space has 9"):
        answer_option_curve(make_table([("P1", 2, 3), ("P2", 2, 9)]))
    with pytest.raises(UsageError, match="has neither template 0 nor a paraphrase"):
        answer_option_curve(make_table([("P1", 2, 3)], (TemplateRecord(5, "verbal", "possibly"),)), (2,))
    empty = ScoreTable(
        np.zeros((1, 0)), np.array([0]), np.zeros(0, int), np.zeros(0, "U3"), np.zeros(0, int), (PARAPHRASE,)
    )
    with pytest.raises(UsageError, match="no relation of the run has 5 candidates, it has no complete relation"):
        answer_option_curve(empty, (5,))
