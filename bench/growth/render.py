"""A record as Markdown: all of its tables, or the summary that bench/README.md shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.markdown import table

_WORTH_SAYING = 0.1  # cores


def render(record: dict[str, Any]) -> str:
    """All tables of a record."""
    sizes = record["sizes"]
    parts = [_heading(record), _plain(record["against_plain"]), _sizes(sizes)]
    measured = [size for size in sizes if "figures" in size]
    if measured:
        parts += ["Processor time, ms:", _figures(measured, "processor_s", 1e3)]
        parts += ["Memory at its peak, MiB, without what it was given:", _figures(measured, "peak_mib", 1)]
    return "\n\n".join(parts) + "\n"


def summary(record: dict[str, Any]) -> str:
    """The tables without single estimators and their memory."""
    measured = [size for size in record["sizes"] if "figures" in size]
    together = [{**size, "figures": [figure for figure in size["figures"] if _is_a_whole(figure)]} for size in measured]
    parts = [_heading(record), _plain(record["against_plain"]), _sizes(record["sizes"])]
    return "\n\n".join([*parts, "Processor time, ms:", _figures(together, "processor_s", 1e3)]) + "\n"


def _is_a_whole(figure: dict[str, Any]) -> bool:
    """Whether a figure is of more than one estimator or metric; names of one have no space."""
    return " " in figure["what"]


def _heading(record: dict[str, Any]) -> str:
    machine = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    text = f"{machine['processor']}, threads {record['threads']}; Python {machine['python']}, {versions}; "
    text += f"{machine['date']}."
    if machine["others_used_cores"] >= _WORTH_SAYING:
        text += f" Other processes kept {machine['others_used_cores']} cores busy meanwhile."
    return text


def _plain(rows: Iterable[dict[str, Any]]) -> str:
    head = ("beside plain pandas", "instances", "calprobe ms", "pandas ms", "largest difference", "calprobe is")
    return table(head, map(_plain_cells, rows), numbers=True)


def _plain_cells(row: dict[str, Any]) -> list[str]:
    times = (_number(row[name] * 1e3) for name in ("processor_s", "plain_processor_s"))
    cells = [row["what"], f"{row['instances']:,}", *times]
    if row["note"]:
        return [*cells, "", row["note"]]
    return [*cells, f"{row['largest_difference']:.0e}", f"{row['times_as_fast']:.0f} times as fast"]


def _sizes(sizes: Iterable[dict[str, Any]]) -> str:
    head = ("instances", "candidates", "templates", "resamples", "scores MiB", "process at its peak MiB")
    return table(head, map(_size_cells, sizes), numbers=True)


def _size_cells(size: dict[str, Any]) -> list[str]:
    counts = f"{size['instances']:,}", str(size["templates"]), f"{size['resamples']:,}"
    if "fault" in size:
        return [counts[0], size["fault"], *counts[1:], "", ""]
    memory = f"{size['scores_mib']:,.0f}", f"{size['resident_peak_mib']:,.0f}"
    return [counts[0], f"{size['candidates']:,}", *counts[1:], *memory]


def _figures(sizes: Sequence[dict[str, Any]], name: str, scale: float) -> str:
    """A row for each thing measured, a column for each size; what a size lacks is left empty."""
    columns = [{figure["what"]: figure[name] * scale for figure in size["figures"]} for size in sizes]
    rows = list(dict.fromkeys(what for column in columns for what in column))
    head = ("", *(f"{size['instances']:,}" for size in sizes))
    return table(head, ([what, *(_number(column.get(what)) for column in columns)] for what in rows), True)


def _number(value: float | None) -> str:
    """Three digits that count."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
