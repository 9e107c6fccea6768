"""Tables of ways and of the confidences in them: side by side, their differences, their correlations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from calprobe.measures.number_text import without_zero
from calprobe.metrics import Estimate
from calprobe.show.compare_prose import correction_notes, direction_notes
from calprobe.show.prose import error_notes
from calprobe.show.tables.comparison import numbers_layout, numbers_of, sides_named
from calprobe.show.tables.layout import UNRANKED, Layout, each, metrics, quantity
from calprobe.show.tables.types import Cell, Row, Table, unless_nan
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.results import FEW, ViewNumbers
from calprobe.studies.four_ways.ways import View, Way

MOST = 5  # confidences whose correlations with their intervals a terminal has room for


@dataclass(frozen=True, slots=True)
class WayAccuracy:
    """How often a way is right by one estimator or reader."""

    way: Way
    by: str
    accuracy: Estimate
    unread: int

    @property
    def answers(self) -> bool:
        """Whether it is the estimator or reader that answers."""
        return self.by == self.way.by


WAYS = Layout[WayAccuracy](
    "How often each way of answering is right",
    "ways",
    "way",
    lambda row: Row(
        row.way.name if row.answers else f"{row.way.letter} by {row.by}",
        group=", ".join(filter(None, (row.way.run, row.way.cell.variant))),
        note=f"by {row.by}" if row.answers else "",
        keys={"run": row.way.run, "variant": row.way.cell.variant, "way": row.way.letter, "by": row.by},
    ),
    (
        quantity("chance", lambda row: unless_nan(row.way.chance)),
        quantity("accuracy", lambda row: row.accuracy, "larger", ranked=False),
        quantity("unread", lambda row: row.unread if row.answers and not row.way.is_ranking else None),
    ),
    more=UNRANKED,
)


def ways_table(found: FourWays) -> Table:
    """How often each way is right, beside its chance."""
    rows = (
        WayAccuracy(numbers.way, name, accuracy, numbers.unread)
        for numbers in found.ways
        for name, accuracy in numbers.accuracy.items()
        if name == numbers.way.by or found.wanted.compare.scores.shows(name)
    )
    return WAYS.table(rows, *_on_ways(found))


def _on_ways(comparison: FourWays) -> Iterator[str]:
    kinds = {numbers.way.kind for numbers in comparison.ways}
    if "ranking of options" in kinds:
        yield (
            "Ranks all: the most probable of all candidates. Ranks options: the most probable of the options that the "
            "questions of that way offer, by the same scores: the fair comparison."
        )
    if "open" in kinds:
        yield "Free answers have no chance level: compare them with the ranking of all candidates with care."
    yield "Unread: replies without an answer; they count as wrong."


def views_table(found: FourWays) -> Table:
    """Each confidence with its metrics."""
    layout = Layout[ViewNumbers](
        "Confidences in the same facts",
        "views",
        "confidence",
        lambda row: Row(
            row.view.title,
            group=f"{row.view.way} {found.way(row.view.way).title}",
            keys={"way": row.view.way, "view": str(row.view.number), "estimator": row.view.name},
        ),
        (quantity("n", lambda row: row.facts), *metrics(found.columns, lambda row: row.metrics, ranked=False)),
        (
            "n: facts with the confidence; its metrics are of these, and of the answer that it speaks of. "
            "Uncertainties without a scale have an order alone (AUROC).",
            *(() if found.options.metrics else error_notes(few_values=found.few_values, chance=found.shows_chance)),
        ),
        more={"directions": True, **UNRANKED},
    )
    return layout.table(found.views)


def differences_table(found: FourWays) -> Table | None:
    """The differences of confidences on the facts that have both, a row a number."""
    contrasts = list(found.contrasts)
    if not contrasts:
        return None
    named = sides_named(contrasts, found.options)
    named |= {"first": "first", "second": "second", "difference": "difference"}
    titles = {metric.name: metric.title for metric in found.metrics}
    notes = ["Difference: the first minus the second."]
    if found.tests:
        notes = [
            note.replace("A - B: difference", "Difference: the first minus the second", 1)
            for note in correction_notes(found)
        ]
    if any(pair.facts < FEW for pair in found.pairs):
        notes.append(f"No intervals and p-values of fewer than {FEW} facts.")
    names = {contrast.metric for contrast in contrasts}
    metrics = [metric for metric in found.metrics if metric.name in names]
    notes += [note.replace("favours A", "favours the first") for note in direction_notes(metrics)]
    layout = numbers_layout("Differences between confidences in the same facts", "view-differences", named)
    return layout.table(
        (
            row
            for pair in found.pairs
            for contrast in pair.contrasts
            for row in numbers_of(
                Row(
                    titles.get(contrast.metric, contrast.metric),
                    group=f"first {_of_way(found, pair.first)}, second {_of_way(found, pair.second)}: n {pair.facts:,}",
                    keys={
                        "first": str(pair.first.number),
                        "second": str(pair.second.number),
                        "metric": contrast.metric,
                    },
                ),
                contrast,
            )
        ),
        *notes,
    )


def _of_way(comparison: FourWays, view: View) -> str:
    return f"{view.title} ({comparison.way(view.way).name})"


def correlation_table(found: FourWays, *, narrow: bool = False) -> Table | None:
    """Spearman's rho of every two confidences; on a narrow terminal those of many in a few letters."""
    views = [numbers.view for numbers in found.views]
    if len(views) < 2:
        return None
    brief = narrow and len(views) > MOST
    notes = [
        f"Over the facts that have both, {FEW} at least; uncertainties count with the opposite sign, so that larger is "
        "surer."
    ]
    if brief:
        notes.append("Intervals: --format json, csv or markdown, or --html.")
    layout = Layout[View](
        "Rank correlation (Spearman's rho) of how sure the confidences are",
        "correlations",
        "confidence",
        lambda view: Row(view.title, keys={"view": str(view.number), "estimator": view.name, "metric": "spearman"}),
        each(
            {place: str(view.number) for place, view in enumerate(views)},
            lambda view, place: _rho(found, view, views[place], brief=brief),
            lambda place: {"with": str(views[place].number)},
        ),
        more=UNRANKED,
    )
    return layout.table(views, *notes)


def _rho(comparison: FourWays, first: View, second: View, *, brief: bool) -> Cell:
    """The correlation; nothing of a confidence with itself. In brief +.88."""
    if first is second:
        return None
    rho = comparison.rho(first, second)
    if not brief:
        return rho
    return None if math.isnan(rho.value) else without_zero(f"{rho.value:+z.2f}")
