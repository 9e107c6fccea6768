"""A comparison of runs on a terminal or in a pipe, within 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from calprobe.analysis.compare_results import SIGNIFICANT, Agreement, Comparison, Contrast, PairComparison, Scope
from calprobe.analysis.figures import interval, number, ranges, signed, signed_interval
from calprobe.analysis.terminal import INDENT, heading, print_notes, score_notes
from calprobe.wording import counted

NAME_WIDTH = 26
TITLES = ("A", "B", "A - B", "p", "Holm p")
WIDTHS = (10, 10, 16, 7, 8)
ACCURACY_NAMES = {"bear_score": "BEAR score", "base": "accuracy of base"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what the runs are, a table for each pair, then what holds for all of them."""
    for run in comparison.runs:
        for line in heading(run):
            _print_wrapped(line, console)
    titles = {metric.name: metric.title for metric in comparison.metrics}
    for pair in comparison.pairs:
        console.print()
        _print_wrapped(Text.assemble("A ", (pair.first, "bold"), ", B ", (pair.second, "bold")), console)
        print_notes(pair_notes(pair), console)
        console.print(Text(_line("", TITLES), style="bold"))
        for scope in pair.scopes:
            for line in _scope(scope, pair, titles):
                console.print(line, soft_wrap=True)
    console.print()
    print_notes((f"Unpaired: {label}, {reason}." for label, reason in comparison.unpaired.items()), console)
    print_notes(comparison_notes(comparison), console, style="dim")


def _print_wrapped(text: Text, console: Console) -> None:
    for line in text.wrap(console, console.width):
        line.rstrip()
        console.print(line)


def pair_notes(pair: PairComparison) -> Iterable[str]:
    """What holds for one pair alone."""
    if pair.differences:
        yield f"compared on what they have in common; they differ in {'; '.join(pair.differences)}"
    if pair.nearest_domain is None:
        yield "no domain: none of the relations has one" if pair.accuracy_of else "no accuracy to choose a domain by"


def _scope(scope: Scope, pair: PairComparison, titles: dict[str, str]) -> Iterable[Text]:
    """The rows of all relations, or of a domain."""
    size = f"{counted(scope.instances, 'instance')} in {counted(scope.relations, 'relation')}"
    nearest = ", nearest accuracies" if scope.domain is not None and scope.domain == pair.nearest_domain else ""
    yield Text(f"{scope.domain or 'all relations'}{nearest}: {size}")
    for contrast in scope.contrasts:
        if contrast.estimator is None:
            yield from _row(ACCURACY_NAMES[pair.accuracy_of or "base"], contrast)
        else:
            yield from _row(f"{contrast.estimator} {titles[contrast.metric]}", contrast)
    if scope.agreement is not None:
        yield Text(f"{INDENT}{agreement_shares(scope.agreement)}")


def _row(name: str, contrast: Contrast) -> Iterable[Text]:
    """The line of values; below it the line of intervals, if there are any."""
    difference = contrast.difference
    star = " *" if contrast.significant else ""
    values = (number(contrast.first.value), number(contrast.second.value), signed(difference.value))
    cells = (*values, _p_value(difference.p_value), _p_value(contrast.p_holm))
    yield Text(_line(f"{INDENT}{name}", cells) + star)
    intervals = (interval(contrast.first), interval(contrast.second), signed_interval(difference))
    if any(intervals):
        yield Text(_line("", (*intervals, "", "")), style="dim")


def agreement_shares(shares: Agreement) -> str:
    """How two runs' predictions of base go together."""
    return (
        f"base: same prediction {number(shares.same_prediction)}; right both {number(shares.both_right)}, "
        f"A {number(shares.first_right)}, B {number(shares.second_right)}"
    )


def comparison_notes(comparison: Comparison) -> Iterable[str]:
    """What holds for all pairs."""
    scores = comparison.options.scores
    numbers = sorted({pair.templates for pair in comparison.pairs})
    yield f"Templates: {'; '.join(ranges(templates) for templates in numbers)}."
    yield from score_notes(scores.reduction, scores)
    if scores.resampling.n_resamples:
        yield (
            "A - B: difference on the same resamples, with a two-sided p-value of no difference; Holm p: corrected for "
            f"{counted(comparison.tests, 'p-value')}, * below {SIGNIFICANT}."
        )
    least = 2 * comparison.tests / (1 + scores.resampling.n_resamples)
    if scores.resampling.n_resamples and least >= SIGNIFICANT:
        enough = math.ceil(2 * comparison.tests / SIGNIFICANT / 1000) * 1000
        yield f"So few resamples leave no corrected p-value below {least:.2f}: give --bootstrap {enough}."
    yield "Brier and ACE: smaller is better, so that a difference below 0 is for A."
    if any(scope.agreement for pair in comparison.pairs for scope in pair.scopes):
        yield "Same prediction, right both, A, B: shares of instances, by base; right in both runs, in one alone."


def _line(name: str, cells: Iterable[str]) -> str:
    aligned = (cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))
    return "".join([name.ljust(NAME_WIDTH), *aligned]).rstrip()


def _p_value(value: float) -> str:
    return "" if math.isnan(value) else number(value)
