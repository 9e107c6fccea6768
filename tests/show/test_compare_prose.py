"""What is said of comparisons, word for word; every writer takes its sentences from here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compared_runs import run_of

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.metrics import Resampling
from calprobe.show import compare_prose as prose
from calprobe.show.tables.comparison import comparison_tables, pair_tables


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    runs = [run_of(folder / name, seed) for seed, name in enumerate("ab")]
    return compare(runs, CompareOptions(by_domain=True, scores=ReportOptions(resampling=Resampling(50))))


def test_notes_on_a_pair(comparison: Comparison) -> None:
    (pair,) = comparison.pairs
    assert list(prose.pair_notes(pair)) == []
    odd = replace(pair, differences=("templates: 0-2 against 0",), nearest_domain=None)
    assert list(prose.pair_notes(odd)) == [
        "compared on what they have in common; they differ in templates: 0-2 against 0",
        "no domain: none of the relations has one",
    ]
    assert list(prose.pair_notes(replace(odd, differences=(), accuracy_of=None))) == [
        "no accuracy to choose a domain by"
    ]
    titles = [prose.scope_title(scope, pair) for scope in pair.scopes]
    assert titles[0] == "all relations: 30 instances in 3 relations"
    assert sum(", nearest accuracies: " in title for title in titles) == 1


def test_titles_name_the_unit_of_p_where_scopes_differ_in_it(comparison: Comparison) -> None:
    (pair,) = comparison.pairs
    assert prose.scope_unit(pair.everything, comparison) == ""
    by_relation = replace(pair, everything=replace(pair.everything, unit="relation"))
    mixed = replace(comparison, pairs=(by_relation,))
    assert prose.scope_unit(by_relation.everything, mixed) == "; p per relation"
    assert prose.scope_unit(pair.domains[0], mixed) == "; p per instance"
    for tables in (pair_tables, comparison_tables):
        groups = {row.group for table in tables(mixed) for row in table.rows}
        assert {group.partition("; ")[2] for group in groups} == {"p per relation", "p per instance"}


def test_shares_and_mcnemar_take_ties_differently(comparison: Comparison) -> None:
    (pair,) = comparison.pairs
    text = "Instances with the same scores are equal in it; the shares count their answers as they are."
    assert not any(text in note for note in prose.comparison_notes(comparison))
    tied = replace(comparison, pairs=(replace(pair, everything=replace(pair.everything, ties=2)),))
    assert any(note.endswith(text) for note in prose.comparison_notes(tied))


def test_notes_on_a_comparison(comparison: Comparison) -> None:
    notes = list(prose.comparison_notes(comparison))
    assert notes[0] == "Templates: 0-2."
    assert any(note.endswith("Holm p: corrected for 21 p-values, * below 0.05.") for note in notes)
    assert (
        "With so few resamples no corrected p-value is below 0.823: use --bootstrap 1000 or --correction max-t."
        in notes
    )
    enough = replace(comparison, options=CompareOptions(scores=ReportOptions(resampling=Resampling(1000))))
    assert not any("So few" in note for note in prose.comparison_notes(enough))
    none = replace(comparison, options=CompareOptions(scores=ReportOptions(resampling=Resampling(0))))
    assert not any("p-value" in note or "Ranges" in note for note in prose.comparison_notes(none))
    unpaired = replace(comparison, unpaired={"c": "the nearest causal run of no masked one"})
    assert list(prose.unpaired_notes(unpaired)) == ["Unpaired: c, the nearest causal run of no masked one."]
