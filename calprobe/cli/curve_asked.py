"""`calprobe curve` of asked runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from calprobe.cli.common import asked_compat
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions
    from calprobe.analysis.curves.calibration import Calibration
    from calprobe.cells.opening import AnyRun

KIND = "calibration"


def curve_of_replies(
    kind: str,
    opened: Mapping[str, AnyRun],
    options: ReportOptions,
    estimators: tuple[str, ...] | None,
    variants: tuple[str, ...] | None = None,
    threshold: float | None = None,
) -> Calibration:
    """The reliability diagrams of runs of replies, pooled over variants as in a report, or over some of them.

    Raises UsageError for another kind, which replies do not have, and for rules that change none of its curves.
    """
    from calprobe.analysis.asked.options import PARSE_THRESHOLD, AskedOptions
    from calprobe.analysis.asked.reliability_curves import asked_calibration
    from calprobe.cells.opening import asked_runs, of_replies

    if kind != KIND:
        raise UsageError(f"--kind {kind} is of runs of scores; of runs of replies there is --kind {KIND}")
    compat = asked_compat(options.compat)
    if compat == "stated2025":
        raise UsageError("--compat stated2025: changes errors in tables, and no curve; leave it out")
    by = AskedOptions(
        compat=compat,
        threshold=PARSE_THRESHOLD if threshold is None else threshold,
        ace_bins=options.ace_bins,
        variants=variants,
    )
    return asked_calibration(asked_runs(of_replies(opened)), by, estimators)
