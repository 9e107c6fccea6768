"""Differences between the prompts of one cell: metrics of the same answers, on the same resamples of questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from calprobe.arrays import Mask
from calprobe.metrics import Difference, Metric, Resampling, holm, paired_differences
from calprobe.studies.stated.results import PromptDifference
from calprobe.studies.stated.stated_cells import StatedCell

COMPARED = ("brier", "ece", "auroc")  # as `compare` does of confidences with few values, which stated ones are
Pair = tuple[str, str]


def prompt_differences(
    cell: StatedCell, metrics: Sequence[Metric], resampling: Resampling
) -> tuple[PromptDifference, ...]:
    """Each two prompts over the answers with both confidences; p-values are corrected by Holm for all of the cell.

    Args:
        cell: under one way of reading.
        metrics: those of `COMPARED` among them are taken.
        resampling: number of resamples, and seed.
    """
    compared = [metric for metric in metrics if metric.name in COMPARED]
    read = {name: ~np.isnan(values) for name, values in zip(cell.names, cell.confidence, strict=True)}
    by_rows: dict[bytes, list[Pair]] = {}
    for pair in combinations(read, 2):
        if (kept := read[pair[0]] & read[pair[1]]).any():
            by_rows.setdefault(kept.tobytes(), []).append(pair)
    by_pair: dict[Pair, tuple[int, dict[str, Difference]]] = {}
    for pairs in by_rows.values():
        kept = read[pairs[0][0]] & read[pairs[0][1]]
        differences = _on(cell, kept, pairs, compared, resampling)
        by_pair |= {pair: (int(kept.sum()), differences[pair]) for pair in pairs}
    return _corrected({pair: by_pair[pair] for pair in combinations(read, 2) if pair in by_pair})


def _on(
    cell: StatedCell, kept: Mask, pairs: Sequence[Pair], metrics: Sequence[Metric], resampling: Resampling
) -> dict[Pair, dict[str, Difference]]:
    """The pairs that have these answers in common, [answers]; each prompt is drawn once."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    correct = cell.correct[kept]
    samples = {name: (cell.confidence[cell.names.index(name)][kept], correct) for name in names}
    clusters = None if cell.clusters is None else cell.clusters[kept]
    return paired_differences(metrics, samples, pairs, resampling, clusters)


def _corrected(by_pair: dict[Pair, tuple[int, dict[str, Difference]]]) -> tuple[PromptDifference, ...]:
    plain = [difference.p_value for _, metrics in by_pair.values() for difference in metrics.values()]
    adjusted = iter(holm(plain).tolist() if plain else ())
    return tuple(
        PromptDifference(*pair, answers, metrics, {name: next(adjusted) for name in metrics})
        for pair, (answers, metrics) in by_pair.items()
    )
