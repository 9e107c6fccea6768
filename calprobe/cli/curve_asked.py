"""`calprobe curve` of asked runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions
    from calprobe.analysis.curves.calibration import Calibration

KIND = "calibration"


def are_runs_of_replies(paths: Iterable[str]) -> bool:
    """Whether these are runs of replies. Raises UsageError where some are and some are not."""
    from calprobe.analysis.asked.folder import are_asked

    return are_asked(paths)


def curve_of_replies(
    kind: str,
    named: Mapping[str, str],
    options: ReportOptions,
    estimators: tuple[str, ...] | None,
    variants: tuple[str, ...] | None = None,
) -> Calibration:
    """The reliability diagrams of runs of replies, pooled over variants as in a report, or over some of them.

    Raises UsageError for another kind, which replies do not have, and for options of scores.
    """
    from calprobe.analysis.asked.folder import asked_runs
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.asked.pictures import asked_calibration

    if kind != KIND:
        raise UsageError(f"--kind {kind} is of runs of scores; of runs of replies there is --kind {KIND}")
    if options.compat is not None:
        raise UsageError(f"--compat {options.compat} is of scores; leave it out")
    return asked_calibration(asked_runs(named), AskedOptions(ace_bins=options.ace_bins, variants=variants), estimators)
