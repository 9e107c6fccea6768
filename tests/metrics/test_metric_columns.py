"""Metrics as data: where each stands in tables, and where it comes from."""

from __future__ import annotations

from calprobe.metrics import multiclass_metrics, standard_metrics

# What needs no source: everybody means the same by it.
PLAIN = {"accuracy", "mean_confidence"}


def test_every_metric_names_its_source() -> None:
    metrics = (*standard_metrics(), *multiclass_metrics())
    assert {metric.name for metric in metrics if not metric.source} == PLAIN


def test_columns_for_a_page_and_their_order_where_room_is_short() -> None:
    metrics = standard_metrics()
    printed = [metric.name for metric in metrics if metric.printed]
    assert printed == ["accuracy", "mean_confidence", "ace", "ece", "brier", "auroc"]
    by_room = sorted((metric for metric in metrics if metric.priority is not None), key=lambda metric: metric.priority)
    first = ["accuracy", "ace", "mean_confidence", "auroc", "brier", "ece", "smooth_ece", "nll", "aurc", "prr"]
    first += ["ace_if_calibrated", "ace_p", "confidence_gap"]
    assert [metric.name for metric in by_room] == first
    assert [metric.priority for metric in by_room] == list(range(1, len(first) + 1))
