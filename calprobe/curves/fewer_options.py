"""Base and margin of a run as if it had fewer answer options: what makes probes of other answer spaces comparable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calprobe.arrays import check_count
from calprobe.cells.scored import ScoredRun
from calprobe.curves.answer_option_curve import MEASURED, answer_option_curve, columns_of
from calprobe.curves.inputs import Values
from calprobe.curves.option_counts import option_counts
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.messages import no_estimator


@dataclass(frozen=True, slots=True)
class AmongOptions:
    """The numbers of a run among fewer options, and of how much of it they are."""

    values: Values  # by estimator, then by metric
    instances: int
    relations: int


def among_options(run: ScoredRun, count: int, estimators: Sequence[str], options: ReportOptions) -> AmongOptions | None:
    """Accuracy and ACE of base and margin among `count` options: the right one and others at random, thirty times.

    The instances are those of the kind `options`: of every relation with enough candidates for its largest count, on
    BEAR the 14 relations of 60. Kissling et al. 2026, Figure 12, sets five options of these beside FACTOR's four.

    Returns:
        None for a run in which no answer space is larger, whose own numbers hold.
    Raises:
        UsageError: another estimator than base and margin, fewer than two options, or a run without a template for
            base.
    """
    check_options(count, estimators)
    if not len(run.instances) or int(run.widths.max()) <= count:
        return None
    counts = sorted({count, max(count, *option_counts(run))})
    curve = answer_option_curve(run.table, counts, options=options)
    at = counts.index(count)
    accuracy = curve.estimates["accuracy"][at]
    values = {name: {"accuracy": accuracy, "ace": curve.estimates[columns_of(name)[2]][at]} for name in estimators}
    return AmongOptions(values, curve.instances, len(curve.relations))


def check_options(count: int, estimators: Sequence[str]) -> None:
    """Raise UsageError for fewer than two options, and for estimators that have no numbers among fewer of them."""
    try:
        check_count("--options", count, 2)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if lacking := [name for name in estimators if name not in MEASURED]:
        raise UsageError(no_estimator("a curve among fewer options", lacking, MEASURED))
