"""The audit's published figures: what follows from its own tables, and one's own numbers beside them."""

from __future__ import annotations

import asked_replies as made
import numpy as np
import pytest

from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling, recovered_share, spearman, spearman_p_value
from calprobe.show.tables import markdown
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.published.beside import published
from calprobe.studies.published.beside_audit import AUDIT2026, BILLIONS, beside_audit
from calprobe.studies.published.published_tables import published_tables

TABLES = published(AUDIT2026)


def test_all_ten_recovered_shares_follow_from_the_accuracies() -> None:
    # Table 1; accuracies are printed to 0.001, which moves a share by at most 0.3 points.
    rows = TABLES["repairs"].values()
    for model, (reference, first, marker, share, constrained, other) in rows.items():
        if model != "Mean":
            assert recovered_share(first, marker, reference) == pytest.approx(share, abs=0.003), model
            assert recovered_share(first, constrained, reference) == pytest.approx(other, abs=0.003), model


def test_the_two_means_of_table_1_are_different_averages() -> None:
    rows = {name: own for name, own in TABLES["repairs"].values().items() if name != "Mean"}
    reference, first, marker, _, constrained, _ = np.array(list(rows.values())).T
    mean = TABLES["repairs"].values()["Mean"]
    assert recovered_share(first.mean(), marker.mean(), reference.mean()) == pytest.approx(mean[3], abs=0.003)
    assert recovered_share(first, constrained, reference).mean() == pytest.approx(mean[5], abs=0.003)
    assert recovered_share(first, marker, reference).mean() == pytest.approx(0.953, abs=0.001)
    assert recovered_share(first.mean(), constrained.mean(), reference.mean()) == pytest.approx(1.020, abs=0.001)


def test_relative_drops_are_those_of_the_abstract() -> None:
    rows = [own for name, own in TABLES["repairs"].values().items() if name != "Mean"]
    drops = [100 * (reference - first) / reference for reference, first, *_ in rows]
    assert drops == pytest.approx([87.0, 78.6, 71.9, 83.7, 88.4], abs=0.15)


def test_size_against_spread_follows_from_the_table_of_spreads() -> None:
    spreads = TABLES["spread"].values()
    sizes = [BILLIONS[model] for model in spreads]
    rhos = {}
    for place, name in enumerate(TABLES["spread"].columns):
        rhos[name] = spearman(sizes, [own[place] for own in spreads.values()]).value
        p = TABLES["size_and_spread"].values()[name][0]
        assert spearman_p_value(rhos[name], len(sizes)) == pytest.approx(p, abs=0.0006), name
    assert rhos == pytest.approx(
        {"SST-2": 0.261, "MNLI": 0.474, "AG News": -0.244, "ARC-C": 0.015, "MMLU-Pro": 0.304}, abs=0.0006
    )


def test_ece_gaps_of_table_2_are_differences() -> None:
    for accuracy, label, stated, gap in TABLES["means"].values().values():
        assert stated - label == pytest.approx(gap, abs=0.0011)
        assert 0 < accuracy < 1


def test_the_mean_shift_over_all_cells_is_that_of_the_variants() -> None:
    rows = dict(TABLES["shift"].values())
    every = rows.pop("all")
    assert np.mean([own[0] for own in rows.values()]) == pytest.approx(every[0], abs=0.001)
    assert np.mean([own[3] for own in rows.values()]) == pytest.approx(every[3], abs=0.001)
    assert max(own[2] for own in rows.values()) == every[2]


def test_ones_own_numbers_stand_below_the_published_ones() -> None:
    letters = {"plain": ["A", "A", "B"], "other": ["A", "B", "B"]}
    questions, replies = made.answered(letters, [0, 0, 0], {"plain": ["0.9"] * 3, "other": ["0.8"] * 3})
    found = report_asked([made.asked(questions, replies, label="runs/own")], ReportOptions(resampling=Resampling(0)))
    tables = {own.table: own for own in beside_audit(found)}
    own = [row for row in tables["Table 2"].rows if row.of == "runs/own"]
    assert [row.label for row in own] == ["quiz, stated_decimal"]
    assert own[0].values[0] == pytest.approx(0.5)
    assert {row.of for row in tables["Table 4"].rows} == {"published", "runs/own"}
    assert "0.2610" in markdown(published_tables("audit2026", found)) or "0.261" in markdown(
        published_tables("audit2026", found)
    )
    window = next(each for each in tables.values() if "window" in each.caption)
    assert [row.label for row in window.rows if row.of != "published"] == ["quiz, all that the backend gave"]


def test_the_first_marker_stands_in_the_column_of_the_first_repair() -> None:
    letters = {"plain": ["A", "A"], "reasoned": ["The answer is A. The answer is B.", "The answer is B."]}
    questions, replies = made.answered(letters, [0, 1])
    replies += [
        made.reply(own.id, variant="reasoned", stage="final", label_scores=made.scores([0.6, 0.1, 0.1, 0.1]))
        for own in questions
    ]
    readers = ("last_marker", "first_char", "first_marker", "constrained")
    options = ReportOptions(readers=readers, window=None, resampling=Resampling(0))
    (beside, *_) = beside_audit(report_asked([made.asked(questions, replies, label="runs/own")], options))
    (row,) = [row for row in beside.rows if row.of == "runs/own"]
    assert row.label == "quiz, reasoned, first_marker, constrained"
    assert row.values[2] == 1.0  # first_marker has A and B, last_marker B and B
