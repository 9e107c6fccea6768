"""Reliability of one cell: metrics of each prompt over the answers whose confidence could be read, and their mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calprobe.measures.options import ReportOptions, metrics_of
from calprobe.metrics import Metric, Resampling
from calprobe.metrics.distinct import ECE_VALUES
from calprobe.metrics.metric import ReferenceMetric, is_resampled
from calprobe.metrics.partial import draw_known
from calprobe.metrics.reference import chance_metrics
from calprobe.metrics.smooth_ece import SMOOTH_ECE
from calprobe.metrics.stated2025 import ECE_LOWER_EDGES, SMOOTH_ECE_RELPLOT10
from calprobe.studies.stated.drawn import Drawn, over_prompts
from calprobe.studies.stated.fidelity import MEAN
from calprobe.studies.stated.stated_cells import StatedCell

WITHOUT_INTERVAL = (SMOOTH_ECE.name, SMOOTH_ECE_RELPLOT10.name)  # resampling them would take most of a report's time
ALWAYS = (  # under every way of reading
    *("accuracy", "mean_confidence", "brier", "brier_skill", "ece", "ece_values", "smooth_ece", "auroc"),
    *(ECE_LOWER_EDGES.name, SMOOTH_ECE_RELPLOT10.name),
)
WITH_CHANCE = ("ace", "ece", ECE_VALUES.name, ECE_LOWER_EDGES.name)  # errors beside which it is shown
MAIN = ALWAYS[:8]  # in tables, in this order


def reliability_metrics(options: ReportOptions) -> tuple[Metric, ...]:
    """Every metric that is resampled, ECE over distinct values, and under compat those of the paper.

    Errors over bins have behind them what chance makes of them.
    """
    of_paper = (ECE_LOWER_EDGES, SMOOTH_ECE_RELPLOT10) if options.compat == "stated2025" else ()
    drawn = [metric for metric in (*metrics_of(options), ECE_VALUES, *of_paper) if is_resampled(metric)]
    return (*drawn, *(chance for error in drawn if error.name in WITH_CHANCE for chance in chance_metrics(error)))


def is_always(metric: Metric) -> bool:
    """Whether it is computed under every way of reading."""
    return (metric.of if isinstance(metric, ReferenceMetric) else metric.name) in ALWAYS


def reliability(cell: StatedCell, metrics: Sequence[Metric], resampling: Resampling) -> dict[str, dict[str, Drawn]]:
    """By prompt, and behind them the mean of all that have any confidence: each metric's draws."""
    confidences = {
        name: values for name, values in zip(cell.names, cell.confidence, strict=True) if not np.isnan(values).all()
    }
    samples = {name: (values, cell.correct) for name, values in confidences.items()}
    by_name = {metric.name: metric for metric in metrics}
    plain = [by_name[name] for name in WITHOUT_INTERVAL if name in by_name]
    drawn = draw_known([metric for metric in metrics if metric not in plain], samples, resampling, cell.clusters)
    values_alone = draw_known(plain, samples, Resampling(0), cell.clusters)
    by_prompt = {
        name: {
            metric.name: Drawn(
                (drawn[name] | values_alone[name])[metric.of if isinstance(metric, ReferenceMetric) else metric.name],
                int((~np.isnan(confidences[name])).sum()),
                metric,
            )
            for metric in metrics
        }
        for name in confidences
    }
    if by_prompt:
        by_prompt[MEAN] = {name: over_prompts([draws[name] for draws in by_prompt.values()]) for name in by_name}
    return by_prompt
