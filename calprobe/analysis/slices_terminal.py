"""The slices of a run on a terminal or in a pipe: a line a slice, its intervals below it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from calprobe.analysis.figures import Columns
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.slices import RunSlices, Slice
from calprobe.metrics import Estimate
from calprobe.wording import counted

METRICS = {"ace": "ACE", "brier": "Brier"}  # columns of each estimator
LEADING = ("accuracy", "chance")
BINS_FILLED = 2  # instances a bin below which a slice's ACE is called biased


def slice_lines(found: RunSlices, width: int) -> Iterable[Text]:
    """The table: as many estimators as the width has room for, one at least."""
    shown = _fitting(found, width)
    columns = Columns(_name_width(found), LEADING + tuple(METRICS.values()) * len(shown))
    pair = sum(Columns.width(title) for title in METRICS.values())
    lead = columns.name_width + sum(Columns.width(title) for title in LEADING)
    yield Text("".join([f"by {found.by}".ljust(lead), *(name.rjust(pair) for name in shown)]).rstrip(), style="bold")
    yield columns.head("")
    for part in found.slices:
        undefined = Estimate(float("nan"))
        estimates = [part.estimators[name][metric] for name in shown for metric in METRICS]
        yield from columns.row(
            part.name, [part.accuracy or undefined, Estimate(part.chance_accuracy), *estimates], size_of(part)
        )


def slice_notes(found: RunSlices, width: int, options: ReportOptions) -> Iterable[str]:
    """What the table does not say of itself."""
    yield "Below a slice's name: its instances and the mean K of their answer spaces."
    if hidden := found.estimators[len(_fitting(found, width)) :]:
        yield f"Only with --json, on a wider terminal or by --estimator: {', '.join(hidden)}."
    if found.by == "domain":
        yield "A relation of two domains counts in both."
    least = BINS_FILLED * options.ace_bins
    if few := [part for part in found.slices if part.instances < least]:
        names = ", ".join(part.name for part in few[:5]) + (" .." if len(few) > 5 else "")
        yield (
            f"ACE of fewer than {least} instances ({counted(len(few), 'slice')}: {names}) is biased upwards: "
            "its bins hold one or two each, or none, and those with none do not count."
        )
    if options.cluster and any(len(part.relations) == 1 for part in found.slices):
        yield "A slice of one relation has no interval: --cluster relation draws whole relations."


def _fitting(found: RunSlices, width: int) -> tuple[str, ...]:
    taken = _name_width(found) + sum(Columns.width(title) for title in LEADING)
    pair = sum(Columns.width(title) for title in METRICS.values())
    return found.estimators[: max(1, (width - taken) // pair)]


def _name_width(found: RunSlices) -> int:
    return max([len(f"by {found.by}"), *(len(text) for part in found.slices for text in (part.name, size_of(part)))])


def size_of(part: Slice) -> str:
    """What stands below a slice's name."""
    return f"{part.instances:,}, K {part.mean_candidates:.1f}".removesuffix(".0")
