"""A comparison at a glance: a verdict on each pair in words, then its numbers in one table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from calprobe.measures.compare_results import Contrast, Corrected
from calprobe.measures.number_text import short_p, short_signed
from calprobe.messages import counted
from calprobe.metrics import LEAST_CLUSTERS, Estimate, Metric
from calprobe.metrics.error_shown import ERRORS
from calprobe.show.compare_prose import CORRECTED, OF_FEW, TOO_FEW, correction_notes
from calprobe.show.tables.layout import UNRANKED, Layout, Numbers, quantity
from calprobe.show.tables.shorter import others_named
from calprobe.show.tables.types import Cell, Row, Table, unless_nan
from calprobe.show.verdict import decimals_of

Run = TypeVar("Run")
MOST_ROWS, MOST_PAIRS = 12, 6  # of the table, on one screen
TOLD = 3  # pairs in words
MOST_WITH_INTERVALS = 7  # rows: accuracy, and two metrics of three confidences
LEAST_DIGITS = 3  # of the table, which has p-values: with two the smallest of 1,000 resamples would be 0.00


@dataclass(frozen=True, slots=True)
class Sides:
    """Two sides of a comparison: the contrasts of each cell that both have, accuracy first."""

    first: str
    second: str
    cells: Sequence[Sequence[Contrast]]
    n: int  # rows in a cell
    of: str = "variants"  # what the cells are
    compared: str = "questions in common"  # what is drawn
    confident: str = ""  # what is drawn of them for a confidence; empty: all
    letters: tuple[str, str] = ("A", "B")  # that stand for the sides
    accuracy: str = "accuracy"  # what the accuracy is called
    answers: int = 0  # in all cells; 0: not counted
    having: Mapping[str, int] = field(default_factory=dict)  # of these, with the confidence of both sides, by estimator

    def few(self, estimator: str) -> str:
        """In how many of the answers both sides have the confidence, where not in all; else empty."""
        having = self.having.get(estimator, self.answers)
        return f" ({having:,} of {self.answers:,} answers)" if having < self.answers else ""

    def numbers(self) -> dict[tuple[str, str], list[Contrast]]:
        """The contrasts of all cells by estimator or reader, and metric."""
        numbers: dict[tuple[str, str], list[Contrast]] = {}
        for cell in self.cells:
            for contrast in cell:
                numbers.setdefault((contrast.estimator or "", contrast.metric), []).append(contrast)
        return numbers


def comparison_at_a_glance(
    comparison: Corrected, pairs: Sequence[Sides], heading: Sequence[str], tables: Sequence[Table], drawn: str
) -> tuple[Table, ...]:
    """The verdict on each pair and a table of the numbers, for a terminal.

    Args:
        comparison: with its p-values corrected.
        pairs: in the order in which they are told.
        heading: what is compared, a line a run.
        tables: all that there are, which the last sentence names.
        drawn: what is resampled for the intervals.
    """
    verdict = Table("", "verdict", "", (), (), heading=(*heading, *told(pairs, comparison)), **UNRANKED)
    shown = _numbers(comparison, pairs)
    more = Table(
        "",
        "more",
        "",
        (),
        (),
        notes=tuple(_corrected_by(comparison, drawn)),
        options=others_named([shown], tables),
        **UNRANKED,
    )
    return (verdict, shown, more)


def lettered(runs: Sequence[Run], pairs: Sequence[Sides]) -> Iterator[tuple[str, Run]]:
    """The runs, those of a comparison of two behind the letters that stand for them."""
    letters = ("A ", "B ") if len(pairs) == 1 and len(runs) == 2 else ("",) * len(runs)
    yield from zip(letters, runs, strict=True)


def sides_of_one(runs: Sequence[object], pairs: Sequence[Sides]) -> Iterator[str]:
    """What A and B are where both are of one run, so that no line of a run has a letter."""
    if len(pairs) == 1 and len(runs) == 1:
        yield f"A {pairs[0].first}, B {pairs[0].second}"


def verdict_on(pair: Sides, comparison: Corrected) -> tuple[str, ...]:
    """Which side is more accurate and which better calibrated, then the other numbers by what can be told of them."""
    titles = {metric.name: metric for metric in comparison.metrics}
    sentences, others = [], dict[str, list[str]]()
    for (name, metric), contrasts in pair.numbers().items():
        text = _outcome(contrasts, titles.get(metric), pair)
        if metric == "accuracy":
            of = f" of {name}" if name else ""
            title = pair.accuracy[:1].upper() + pair.accuracy[1:]
            sentences.append(f"{title}{of}: {text}; {_difference(contrasts, comparison, pair)}.")
        elif metric in ERRORS:  # they say which side is better calibrated
            of = f" of {name}{pair.few(name)}" if name else ""
            sentences.append(f"{metric.upper()}{of}: {text}; {_difference(contrasts, comparison, pair)}.")
        else:
            others.setdefault(text, []).append(f"{name} {titles[metric].title}".strip())
    return (*sentences, *(f"{', '.join(names)}: {text}." for text, names in others.items()))


def told(pairs: Sequence[Sides], comparison: Corrected) -> Iterator[str]:
    """The verdict on a pair; of several pairs the first two sentences on the first ones."""
    if len(pairs) == 1:
        yield from verdict_on(pairs[0], comparison)
        return
    for pair in pairs[:TOLD]:
        yield f"A {pair.first}, B {pair.second}: {differences_told(pair, comparison)}"
    if len(pairs) > TOLD:
        yield f"{counted(len(pairs) - TOLD, 'more pair')} below."


def differences_told(pair: Sides, comparison: Corrected) -> str:
    """The verdict on accuracy and one calibration error, in two sentences."""
    return " ".join(verdict_on(pair, comparison)[:2])


def _outcome(contrasts: Sequence[Contrast], metric: Metric | None, pair: Sides) -> str:
    """Which side is better, in words; of several cells how many of them it holds for."""
    words = [_better(contrast, metric, pair) for contrast in contrasts]
    if len(words) == 1:
        return words[0]
    counts = {word: words.count(word) for word in dict.fromkeys(words)}
    if len(counts) == 1:
        return f"{words[0]} under each of {len(words)} {pair.of}"
    (first, number), *others = counts.items()
    return ", ".join([f"{first} under {number} of {len(words)} {pair.of}", *(f"{w} under {n}" for w, n in others)])


def _better(contrast: Contrast, metric: Metric | None, pair: Sides) -> str:
    """By the corrected p-value."""
    letters = pair.letters
    if contrast.few:
        drawn = pair.compared if contrast.metric == "accuracy" else pair.confident or pair.compared
        return f"too few {drawn} to compare ({contrast.few}; {LEAST_CLUSTERS} are needed)"
    if not contrast.alike:
        first, second = contrast.failed
        lack = f"{first:,} have no answer in {letters[0]}, {second:,} in {letters[1]}"
        return f"neither is better: of the {pair.compared}, {lack}"
    if math.isnan(contrast.p_corrected):
        return "not tested"
    if not contrast.significant:
        return f"{letters[0]} and {letters[1]} cannot be told apart"
    larger = "larger" if metric is None else metric.better
    first_is = (contrast.difference.value > 0) == (larger == "larger")
    return f"{letters[0] if first_is else letters[1]} is better"


def _difference(contrasts: Sequence[Contrast], comparison: Corrected, pair: Sides) -> str:
    """The difference with its interval and corrected p-value; of several cells the mean and the smallest p-value."""
    digits = decimals_of(pair.n)
    if len(contrasts) == 1:
        difference = contrasts[0].difference
        value = short_signed(Estimate(difference.value, difference.low, difference.high), digits)
    else:
        value = f"{short_signed(Estimate(_mean(c.difference.value for c in contrasts)), digits)} on average"
    p_values = [contrast.p_corrected for contrast in contrasts if not math.isnan(contrast.p_corrected)]
    least = "least " if len(contrasts) > 1 else ""
    tested = f", {least}{CORRECTED[comparison.correction]} {short_p(min(p_values))}" if p_values else ""
    return f"{' - '.join(pair.letters)} {value}{tested}"


def _mean(values: Iterable[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


def _numbers(comparison: Corrected, pairs: Sequence[Sides]) -> Table:
    """A row a number: of one cell with interval and p-values, of several cells the means."""
    titles = {metric.name: metric.title for metric in comparison.metrics}
    rows: list[Numbers] = []
    most = MOST_ROWS if len(pairs) == 1 else max(2, MOST_ROWS // len(pairs))
    for pair in pairs[:MOST_PAIRS]:
        numbers = pair.numbers().items()
        first = sorted(numbers, key=lambda number: number[0][1] not in ("accuracy", *ERRORS))[:most]
        for (name, metric), contrasts in (number for number in numbers if number in first):
            title = pair.accuracy if metric == "accuracy" else titles.get(metric, metric)
            label = f"{name} {title}".strip()
            group = f"A {pair.first}, B {pair.second}" if len(pairs) > 1 else ""
            rows.append(_row(Row(label, group=group), contrasts))
    means = any(len(contrasts) > 1 for pair in pairs for contrasts in pair.numbers().values())
    notes = [f"The first {MOST_PAIRS} of {len(pairs)} pairs."] if len(pairs) > MOST_PAIRS else []
    if len(rows) < sum(len(pair.numbers()) for pair in pairs[:MOST_PAIRS]):
        notes.append("Accuracy and calibration errors first; the table differences has all numbers.")
    layout = Layout[Numbers](
        f"Differences{f', mean over {pairs[0].of}' if means else ''}",
        "glance-differences",
        "number",
        lambda row: row.head,
        (
            quantity("A", lambda row: row.cells["first"]),
            quantity("B", lambda row: row.cells["second"]),
            quantity("A - B", lambda row: row.cells["difference"]),
            *(() if means else (quantity("p", lambda row: row.cells["p"]),)),
            quantity("least p" if means else CORRECTED[comparison.correction], lambda row: row.cells["corrected"]),
        ),
        more=UNRANKED,
    )
    table = layout.table(rows, *notes)
    few = len(rows) <= MOST_WITH_INTERVALS and not means
    digits = max(LEAST_DIGITS, decimals_of(max((pair.n for pair in pairs), default=0)))
    return replace(table, decimals=digits, intervals=few)


def _row(head: Row, contrasts: Sequence[Contrast]) -> Numbers:
    p_values = [contrast.p_corrected for contrast in contrasts if not math.isnan(contrast.p_corrected)]
    corrected = min(p_values) if p_values else None
    if len(contrasts) == 1:
        (contrast,) = contrasts
        cells: dict[str, Cell] = {"first": contrast.first, "second": contrast.second, "difference": contrast.difference}
        return Numbers(head, {**cells, "p": unless_nan(contrast.difference.p_value), "corrected": corrected})
    means: dict[str, Cell] = {
        "first": Estimate(_mean(contrast.first.value for contrast in contrasts)),
        "second": Estimate(_mean(contrast.second.value for contrast in contrasts)),
        "difference": replace(contrasts[0].difference, value=_mean(c.difference.value for c in contrasts), **NO_RANGE),
    }
    return Numbers(head, {**means, "p": None, "corrected": corrected})


NO_RANGE = {"low": math.nan, "high": math.nan, "p_value": math.nan}


def _corrected_by(comparison: Corrected, drawn: str) -> Iterator[str]:
    if comparison.options.scores.resampling.n_resamples and comparison.tests:
        yield (
            f"{CORRECTED[comparison.correction]}: corrected for {comparison.tests} p-values; told apart below .05. "
            f"Ranges: 95 % bootstrap intervals, by resamples of {drawn}."
        )
        yield from (note for note in correction_notes(comparison) if note.startswith((TOO_FEW, OF_FEW)))
