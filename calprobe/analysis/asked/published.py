"""The audit's published figures, as far as its text gives them (arXiv 2605.02038), beside those of one's own runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from calprobe.analysis.asked.options import CONSTRAINED, FIRST_CHAR, FIRST_MARKER, LAST_MARKER
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.results import AskedRunReport, SetReport
from calprobe.metrics import spearman

AUDIT2026 = "audit2026"
# The study's names of its sets -> how one's own may be called.
SETS: Mapping[str, tuple[str, ...]] = {
    "SST-2": ("sst2", "sst-2"),
    "MNLI": ("mnli",),
    "AG News": ("ag-news", "ag_news", "agnews"),
    "ARC-C": ("arc-challenge", "arc_challenge", "arc-c"),
    "MMLU-Pro": ("mmlu-pro", "mmlu_pro"),
}


@dataclass(frozen=True, slots=True)
class BesideRow:
    """A row of numbers, the paper's or one's own."""

    of: str  # published, or a run
    label: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """A published table with one's own rows below it."""

    table: str  # as the paper numbers it
    caption: str
    columns: tuple[str, ...]
    rows: tuple[BesideRow, ...]
    note: str = ""


@cache
def published() -> Mapping[str, Any]:
    """The figures, as they stand in audit2026.json."""
    text = files("calprobe.analysis.asked").joinpath(f"{AUDIT2026}.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def beside_published(report: AskedReport) -> tuple[Beside, ...]:
    """Each published table, and what the report has of the same quantity."""
    return tuple(_tables(report))


def _tables(report: AskedReport) -> Iterator[Beside]:
    known = published()
    sets = [(run, own) for run in report.runs for own in run.sets.values()]
    yield _beside("repairs", f"Repairs of format_change on {known['repairs']['set']}", _repairs(sets))
    yield _beside("means", f"Means over variants on {known['means']['set']}, decimal phrasing", _means(sets))
    yield _beside("spread", "Spread over variants, by first_char", _spreads(report))
    yield _beside("shift", "Normalisation shift over cells", _shifts(report))
    yield _beside(
        "window", "Labels in the top-200 window, shares of cells and of rows", _windows(sets, report.options.window)
    )
    yield _parse_rates(sets)
    yield _parse_rate_intervals(sets)
    yield _sizes(report)


def _beside(name: str, caption: str, own: Iterable[BesideRow]) -> Beside:
    found = published()[name]
    rows = [BesideRow("published", label, tuple(values)) for label, values in found["rows"].items()]
    return Beside(found["table"], caption, tuple(found["columns"]), (*rows, *own))


Sets = Sequence[tuple[AskedRunReport, SetReport]]


def _repairs(sets: Sets) -> Iterator[BesideRow]:
    for run, own in sets:
        for variant in own.format_changes:
            found = {repair.reader: repair for repair in own.repairs if repair.variant == variant}
            marker, constrained = found.get(FIRST_MARKER) or found.get(LAST_MARKER), found.get(CONSTRAINED)
            if (some := marker or constrained) is None:
                continue
            shares = [
                (None, None) if own is None else (own.repaired, own.recovered.value) for own in (marker, constrained)
            ]
            readers = ", ".join(repair.reader for repair in (marker, constrained) if repair is not None)
            label = f"{own.name}, {variant}, {readers}"
            yield BesideRow(run.label, label, (some.reference, some.first, *shares[0], *shares[1]))


def _means(sets: Sets) -> Iterator[BesideRow]:
    for run, own in sets:
        for found in own.means:
            values = (found.accuracy, found.ece_label, found.ece, found.ece_gap)
            yield BesideRow(run.label, f"{own.name}, {found.estimator}", values)


def _spreads(report: AskedReport) -> Iterator[BesideRow]:
    for run in report.runs:
        values = [_spread_of(run, names) for names in SETS.values()]
        if any(value is not None for value in values):
            yield BesideRow(run.label, run.model, tuple(values))


def _spread_of(run: AskedRunReport, names: Sequence[str]) -> float | None:
    for name, own in run.sets.items():
        if name.lower() in names and FIRST_CHAR in own.spread:
            return own.spread[FIRST_CHAR].value.value
    return None


def _shifts(report: AskedReport) -> Iterator[BesideRow]:
    for run in report.runs:
        for own in run.shifts:
            values = (own.mean.value, own.median, own.largest, own.above_005, own.above_020)
            yield BesideRow(run.label, own.of, values)


def _windows(sets: Sets, window: int | None) -> Iterator[BesideRow]:
    within = "all that the backend gave" if window is None else f"window of {window}"
    for run, own in sets:
        seen = [cell.off_label.all_seen for cell in own.cells.values() if cell.off_label is not None]
        if seen:
            yield BesideRow(
                run.label,
                f"{own.name}, {within}",
                (sum(share == 1 for share in seen) / len(seen), sum(seen) / len(seen)),
            )


def _parse_rates(sets: Sets) -> Beside:
    found = published()["parse_rate"]
    columns = tuple(found["columns"])
    rows = [
        BesideRow(
            "published", f"{found['model']}, {name}, {phrasing}", (*values, *(None,) * (len(columns) - len(values)))
        )
        for phrasing in ("decimal", "percent")
        for name, values in found[phrasing].items()
    ]
    for run, own in sets:
        for estimator in dict.fromkeys(name for cell in own.cells.values() for name in cell.overconfidence):
            rates = {variant: cell.estimators[estimator].coverage.value for variant, cell in own.cells.items()}
            values = tuple(rates.get(variant) for variant in columns)
            if any(value is not None for value in values):
                rows.append(BesideRow(run.label, f"{own.name}, {estimator}", values))
    return Beside(found["table"], "Parse rates of stated confidence", columns, tuple(rows))


def _parse_rate_intervals(sets: Sets) -> Beside:
    found = published()["parse_rate_intervals"]
    variant, rows = found["variant"], []
    for phrasing in ("decimal", "percent"):
        for name, values in found[phrasing].items():
            rows.append(BesideRow("published", f"{found['model']}, {name}, {phrasing}", tuple(values)))
    for run, own in sets:
        if (cell := own.cells.get(variant)) is None:
            continue
        for name in cell.overconfidence:
            rate = cell.estimators[name].coverage
            rows.append(BesideRow(run.label, f"{own.name}, {name}", (rate.value, rate.low, rate.high)))
    caption = f"Parse rates under {variant}, with 95 % intervals"
    return Beside(found["table"], caption, tuple(found["columns"]), tuple(rows))


def _sizes(report: AskedReport) -> Beside:
    """The paper's p-values, with the rank correlations that follow from its table of spreads."""
    found, spreads = published()["size_and_spread"], published()["spread"]
    rows = [BesideRow("published", name, (_rho(spreads, name), values[0])) for name, values in found["rows"].items()]
    for own in () if report.across is None else report.across.sizes:
        if own.reader == FIRST_CHAR:
            rows.append(BesideRow("these runs", own.set, (own.rho.value, own.p_value)))
    return Beside(found["table"], "Size against spread, rank correlation over models", ("rho", "p"), tuple(rows))


def _rho(spreads: Mapping[str, Any], name: str) -> float:
    place = spreads["columns"].index(name)
    sizes = [spreads["billions"][model] for model in spreads["rows"]]
    return spearman(sizes, [values[place] for values in spreads["rows"].values()]).value
