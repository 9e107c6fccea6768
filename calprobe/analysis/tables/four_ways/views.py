"""Tables of ways and of the confidences in them: side by side, their differences, their correlations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calprobe.analysis.compare_prose import correction_notes, direction_notes
from calprobe.analysis.four_ways.joint import FourWays
from calprobe.analysis.four_ways.results import FEW
from calprobe.analysis.four_ways.ways import View, Way
from calprobe.analysis.prose import error_notes
from calprobe.analysis.tables.comparison import numbers_layout, numbers_of, sides_named
from calprobe.analysis.tables.types import Cell, Column, Row, Table

MOST = 5  # confidences whose correlations with their intervals a terminal has room for


def way_title(way: Way) -> str:
    """The same with its run."""
    return f"{way.letter} {way.title}"


def ways_table(found: FourWays) -> Table:
    """How often each way is right, beside its chance."""
    rows = []
    for own in found.ways:
        way = own.way
        where = way.run + (f", {way.cell.variant}" if way.cell.variant else "")
        shown = {name: own.accuracy[name] for name in own.accuracy if name == way.by or found.wanted.asked.shows(name)}
        for name, accuracy in shown.items():
            cells: tuple[Cell, ...] = (
                None if way.chance != way.chance else way.chance,
                accuracy,
                own.unread if name == way.by and not way.is_ranking else None,
            )
            label = way.name if name == way.by else f"{way.letter} by {name}"
            note = f"by {name}" if name == way.by else ""
            keys = {"run": way.run, "variant": way.cell.variant, "way": way.letter, "by": name}
            rows.append(Row(label, cells, group=where, note=note, keys=keys))
    return Table(
        caption="How often each way of answering is right",
        label="ways",
        stub="way",
        columns=(
            Column("chance", keys={"quantity": "chance"}),
            Column("accuracy", "larger", keys={"quantity": "accuracy"}, ranked=False),
            Column("unread", keys={"quantity": "unread"}),
        ),
        rows=tuple(rows),
        notes=tuple(_on_ways(found)),
        best_within=None,
    )


def _on_ways(found: FourWays) -> Iterator[str]:
    kinds = {own.way.kind for own in found.ways}
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
    return Table(
        caption="Confidences in the same facts",
        label="views",
        stub="confidence",
        columns=(Column("n", keys={"quantity": "n"}), *(Column.of(metric, ranked=False) for metric in found.columns)),
        rows=tuple(
            Row(
                own.view.title,
                (own.facts, *(own.metrics.get(metric.name) for metric in found.columns)),
                group=way_title(found.way(own.view.way)),
                keys={"way": own.view.way, "view": str(own.view.number), "estimator": own.view.name},
            )
            for own in found.views
        ),
        notes=(
            "n: facts with the confidence; its metrics are of these, and of the answer that it speaks of. "
            "Uncertainties without a scale have an order alone (AUROC).",
            *(() if found.options.metrics else error_notes(few_values=found.few_values, chance=found.shows_chance)),
        ),
        directions=True,
        best_within=None,
    )


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
    shown = {contrast.metric for contrast in contrasts}
    own = [metric for metric in found.metrics if metric.name in shown]
    notes += [note.replace("favours A", "favours the first") for note in direction_notes(own)]
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


def _of_way(found: FourWays, view: View) -> str:
    return f"{view.title} ({found.way(view.way).name})"


def correlation_table(found: FourWays, *, narrow: bool = False) -> Table | None:
    """Spearman's rho of every two confidences; on a narrow terminal those of many in a few letters."""
    views = [own.view for own in found.views]
    if len(views) < 2:
        return None
    brief = narrow and len(views) > MOST
    notes = [
        f"Over the facts that have both, {FEW} at least; uncertainties count with the opposite sign, so that larger is "
        "surer."
    ]
    if brief:
        notes.append("Intervals: --format json, csv or markdown, or --html.")
    return Table(
        caption="Rank correlation (Spearman's rho) of how sure the confidences are",
        label="correlations",
        stub="confidence",
        columns=tuple(Column(str(view.number), keys={"with": str(view.number)}) for view in views),
        rows=tuple(
            Row(
                view.title,
                tuple(_rho(found, (view, other), brief) for other in views),
                keys={"view": str(view.number), "estimator": view.name, "metric": "spearman"},
            )
            for view in views
        ),
        notes=tuple(notes),
        best_within=None,
    )


def _rho(found: FourWays, pair: tuple[View, View], brief: bool) -> Cell:
    """The correlation; nothing of a confidence with itself. In brief +.88."""
    first, second = pair
    if first is second:
        return None
    rho = found.rho(first, second)
    if not brief:
        return rho
    return None if math.isnan(rho.value) else f"{rho.value:+z.2f}".replace("0.", ".", 1)
