"""A comparison as text: within 80 columns, what is marked, what is said of pairs that were not made."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from compared_runs import run_of
from rich.console import Console

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.analysis.compare_results import Contrast
from calprobe.analysis.compare_terminal import print_comparison
from calprobe.metrics import Difference, Estimate, Resampling


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    runs = [run_of(folder / name, seed) for seed, name in enumerate("ab")]
    options = CompareOptions(by_domain=True, scores=ReportOptions(resampling=Resampling(50)))
    found = compare(runs, options)
    pair = replace(found.pairs[0], first="a", second="b")
    facts = tuple(replace(run, label=label) for run, label in zip(found.runs, "ab", strict=True))
    return replace(found, runs=facts, pairs=(pair,))


def text(found: Comparison, width: int = 80) -> str:
    """What a pipe gets: no terminal, so no colours."""
    out = io.StringIO()
    print_comparison(found, Console(file=out, width=width))
    return out.getvalue()


def with_contrasts(found: Comparison, *contrasts: Contrast) -> Comparison:
    pair = found.pairs[0]
    return replace(found, pairs=(replace(pair, everything=replace(pair.everything, contrasts=contrasts), domains=()),))


def test_rows(found: Comparison) -> None:
    first = Contrast(None, "accuracy", Estimate(0.5, 0.4, 0.6), Estimate(0.25), Difference(0.25, -0.1, 0.4, 0.5), 1.0)
    name = "consistency_vote_2"  # the longest with its metric
    second = Contrast(name, "brier", Estimate(0.25), Estimate(0.5), Difference(-0.25, -1.0, 1.0, 0.0004), 0.0499)
    third = Contrast(name, "ace", Estimate(0.5), Estimate(float("nan")), Difference(float("nan")))
    lines = text(with_contrasts(found, first, second, third)).splitlines()
    head = lines.index("                                   A         B           A - B      p  Holm p")
    assert lines[head + 1 : head + 8] == [
        "all relations: 30 instances in 3 relations",
        "  BEAR score                  0.5000    0.2500         +0.2500 0.5000  1.0000",
        "                           .400-.600            -.100 to +.400",
        "  consistency_vote_2 Brier    0.2500    0.5000         -0.2500 0.0004  0.0499 *",
        "                                              -1.000 to +1.000",
        "  consistency_vote_2 ACE      0.5000 undefined       undefined",
        lines[head + 7],
    ]
    assert lines[head + 7].startswith("  base: same prediction 0.")


def test_all_fits_eighty_columns(found: Comparison) -> None:
    lines = text(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith(" ") for line in lines)
    for said in ("A a, B b", ": 22 instances in 2 relations", "Templates: 0-2.", "corrected for 15 p-values"):
        assert any(said in line for line in lines), said
    assert sum("nearest accuracies" in line for line in lines) == 1


def test_too_few_resamples_are_said(found: Comparison) -> None:
    shown = " ".join(text(found).split())
    assert "So few resamples leave no corrected p-value below 0.59: give --bootstrap 1000." in shown
    enough = replace(found, options=CompareOptions(scores=ReportOptions(resampling=Resampling(1000))))
    assert "So few" not in text(enough)


def test_without_resamples_nothing_is_said_of_p(found: Comparison, tmp_path: Path) -> None:
    runs = [run_of(tmp_path / name, seed) for seed, name in enumerate("ab")]
    shown = text(compare(runs, CompareOptions(scores=ReportOptions(resampling=Resampling(0)))))
    assert "p-value" not in shown
    assert "Ranges" not in shown


def test_what_is_not_alike_or_not_paired_is_said(found: Comparison) -> None:
    pair = replace(found.pairs[0], differences=("templates: 0-2 against 0",), domains=(), nearest_domain=None)
    shown = text(replace(found, pairs=(pair,), unpaired={"c": "the nearest causal run of no masked one"}))
    assert "compared on what they have in common; they differ in templates: 0-2 against 0\n" in shown
    assert "no domain: none of the relations has one\n" in shown
    assert "Unpaired: c, the nearest causal run of no masked one.\n" in shown
    nothing = replace(pair, accuracy_of=None, everything=replace(pair.everything, contrasts=(), agreement=None))
    assert "no accuracy to choose a domain by\n" in text(replace(found, pairs=(nothing,)))
