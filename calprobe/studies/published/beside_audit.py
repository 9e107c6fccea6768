"""The audit's published figures, as far as its text gives them (arXiv 2605.02038), beside those of one's own runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from calprobe.cells.cell_readers import CONSTRAINED
from calprobe.measures.options import FIRST_CHAR, FIRST_MARKER, LAST_MARKER
from calprobe.metrics import spearman
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.results import AskedRunReport, SetReport
from calprobe.studies.published.beside import Beside, BesideRow, published

AUDIT2026 = "audit2026"
OF_INTERVALS = "surface_paraphrase"  # the variant whose parse rates the study gives with intervals
BILLIONS: Mapping[str, float] = {  # parameters of the models in the study's table of spreads
    "Llama-3.2-1B": 1.0,
    "Gemma-3-1B": 1.0,
    "SmolLM2-1.7B": 1.7,
    "Qwen-2.5-3B": 3.1,
    "Llama-3.2-3B": 3.2,
    "Phi-4-mini": 3.8,
    "Gemma-3-4B": 4.0,
    "DeepSeek-R1-7B": 7.0,
    "Mistral-7B": 7.2,
    "Qwen-2.5-7B": 7.6,
}
# The study's names of its sets -> how one's own may be called.
SETS: Mapping[str, tuple[str, ...]] = {
    "SST-2": ("sst2", "sst-2"),
    "MNLI": ("mnli",),
    "AG News": ("ag-news", "ag_news", "agnews"),
    "ARC-C": ("arc-challenge", "arc_challenge", "arc-c"),
    "MMLU-Pro": ("mmlu-pro", "mmlu_pro"),
}


def beside_audit(report: AskedReport) -> tuple[Beside, ...]:
    """Each published table, and what the report has of the same quantity."""
    sets = [(run, set_report) for run in report.runs for set_report in run.sets.values()]
    rows = {
        "repairs": _repairs(sets),
        "means": _means(sets),
        "spread": _spreads(report),
        "shift": _shifts(report),
        "window": _windows(sets, report.options.window),
        "parse_rate": _parse_rates(sets),
        "parse_rate_intervals": _parse_rate_intervals(sets),
        "size_and_spread": _sizes(report),
    }
    tables = dict(published(AUDIT2026))
    tables["size_and_spread"] = _with_correlations(tables["size_and_spread"], tables["spread"])
    return tuple(tables[key].below(lines) for key, lines in rows.items())


Sets = Sequence[tuple[AskedRunReport, SetReport]]


def _repairs(sets: Sets) -> Iterator[BesideRow]:
    for run, report in sets:
        for variant in report.format_changes:
            by_reader = {repair.reader: repair for repair in report.repairs if repair.variant == variant}
            marker, constrained = by_reader.get(FIRST_MARKER) or by_reader.get(LAST_MARKER), by_reader.get(CONSTRAINED)
            if (either := marker or constrained) is None:
                continue
            shares = [
                (None, None) if fix is None else (fix.repaired, fix.recovered.value) for fix in (marker, constrained)
            ]
            readers = ", ".join(repair.reader for repair in (marker, constrained) if repair is not None)
            label = f"{report.name}, {variant}, {readers}"
            yield BesideRow(run.label, label, (either.reference, either.first, *shares[0], *shares[1]))


def _means(sets: Sets) -> Iterator[BesideRow]:
    for run, report in sets:
        for mean in report.means:
            values = (mean.accuracy, mean.ece_label, mean.ece, mean.ece_gap)
            yield BesideRow(run.label, f"{report.name}, {mean.estimator}", values)


def _spreads(report: AskedReport) -> Iterator[BesideRow]:
    for run in report.runs:
        values = [_spread_of(run, names) for names in SETS.values()]
        if any(value is not None for value in values):
            yield BesideRow(run.label, run.model, tuple(values))


def _spread_of(run: AskedRunReport, names: Sequence[str]) -> float | None:
    for name, report in run.sets.items():
        if name.lower() in names and FIRST_CHAR in report.spread:
            return report.spread[FIRST_CHAR].value.value
    return None


def _shifts(report: AskedReport) -> Iterator[BesideRow]:
    for run in report.runs:
        for shift in run.shifts:
            values = (shift.mean.value, shift.median, shift.largest, shift.above_005, shift.above_020)
            yield BesideRow(run.label, shift.of, values)


def _windows(sets: Sets, window: int | None) -> Iterator[BesideRow]:
    within = "all that the backend gave" if window is None else f"window of {window}"
    for run, report in sets:
        shares = [cell.off_label.all_seen for cell in report.cells.values() if cell.off_label is not None]
        if shares:
            yield BesideRow(
                run.label,
                f"{report.name}, {within}",
                (sum(share == 1 for share in shares) / len(shares), sum(shares) / len(shares)),
            )


def _parse_rates(sets: Sets) -> Iterator[BesideRow]:
    columns = published(AUDIT2026)["parse_rate"].columns
    for run, report in sets:
        for estimator in dict.fromkeys(name for cell in report.cells.values() for name in cell.overconfidence):
            rates = {variant: cell.estimators[estimator].coverage.value for variant, cell in report.cells.items()}
            values = tuple(rates.get(variant) for variant in columns)
            if any(value is not None for value in values):
                yield BesideRow(run.label, f"{report.name}, {estimator}", values)


def _parse_rate_intervals(sets: Sets) -> Iterator[BesideRow]:
    for run, report in sets:
        if (cell := report.cells.get(OF_INTERVALS)) is None:
            continue
        for name in cell.overconfidence:
            rate = cell.estimators[name].coverage
            yield BesideRow(run.label, f"{report.name}, {name}", (rate.value, rate.low, rate.high))


def _sizes(report: AskedReport) -> Iterator[BesideRow]:
    for size in () if report.across is None else report.across.sizes:
        if size.reader == FIRST_CHAR:
            yield BesideRow("these runs", size.set, (size.rho.value, size.p_value))


def _with_correlations(sizes: Beside, spread: Beside) -> Beside:
    """The paper's p-values, with the rank correlations that follow from its table of spreads."""
    rows = []
    for row in sizes.rows:
        place = spread.columns.index(row.label)
        spreads = [values[place] for values in spread.values().values()]
        rho = spearman([BILLIONS[model] for model in spread.values()], spreads).value
        rows.append(replace(row, values=(rho, *row.values)))
    return replace(sizes, columns=("rho", *sizes.columns), rows=tuple(rows))
