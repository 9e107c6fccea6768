"""Fidelity of one cell: is the confidence in the model's own answer above that in another one in its place?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calprobe.arrays import Floats
from calprobe.metrics import Resampling
from calprobe.metrics.intervals import as_share
from calprobe.metrics.known_means import known_mean
from calprobe.metrics.resamples import drawn_units
from calprobe.runs.stages import COUNTERFACTUAL
from calprobe.studies.stated.drawn import Drawn
from calprobe.studies.stated.stated_cells import StatedCell

MEAN = "mean"  # over the prompts
ORIGINAL = "original"
SPLITS = ("all", "right", "wrong")  # of the model's own answers


@dataclass(frozen=True, slots=True)
class FidelityDraws:
    """One prompt's comparison, or the mean over prompts."""

    rate: Drawn  # own answer above the other, `P(>)`
    ties: Drawn  # `P(=)`
    neutral: Drawn  # `P(>) + P(=) / 2`
    dropped: int  # answers with both confidences that the other one repeats, or whose other one is right


def fidelity(cell: StatedCell, resampling: Resampling) -> dict[str, FidelityDraws]:
    """By prompt, and behind them the mean; empty where no counterfactual was asked about."""
    if COUNTERFACTUAL not in cell.replaced:
        return {}
    confidence, counterfactual = cell.confidence, cell.replaced[COUNTERFACTUAL].confidence
    common = ~np.isnan(confidence) & ~np.isnan(counterfactual)
    invalid = cell.invalid.get(COUNTERFACTUAL, np.zeros(len(cell), np.bool_))
    used = common & ~invalid
    above, equal = (
        np.where(used, flags, np.nan) for flags in (confidence > counterfactual, confidence == counterfactual)
    )
    names = [name for place, name in enumerate(cell.names) if common[place].any()]
    rows = {name: [cell.names.index(name)] for name in names} | ({MEAN: _rows(cell, names)} if names else {})
    by_prompt = {}
    for name, places in rows.items():
        rate, ties, neutral = (_share(cell, values[places], resampling) for values in (above, equal, above + equal / 2))
        by_prompt[name] = FidelityDraws(rate, ties, neutral, int((common & invalid)[places].sum(axis=1).max()))
    return by_prompt


def _rows(cell: StatedCell, names: list[str]) -> list[int]:
    return [cell.names.index(name) for name in names]


def _share(cell: StatedCell, values: Floats, resampling: Resampling) -> Drawn:
    compared = ~np.isnan(values)
    trials = min(
        drawn_units(int(kept.sum()), None if cell.clusters is None else cell.clusters[kept]) for kept in compared
    )
    draws = as_share(known_mean(values, resampling, cell.clusters), trials)
    return Drawn(draws, int(compared.sum(axis=1).min()), prompts=len(values))


def condition_means(cell: StatedCell, resampling: Resampling) -> dict[str, dict[str, dict[str, Drawn]]]:
    """Mean confidence by condition, by split, by prompt and over the prompts; empty where no answer was replaced.

    All conditions are of the same answers and prompts: of each prompt those with a confidence under every condition
    that no condition's replacement repeats, and which it does not answer.
    """
    if not cell.replaced:
        return {}
    matrices: Mapping[str, Floats] = {ORIGINAL: cell.confidence} | {
        name: matrix.confidence for name, matrix in cell.replaced.items()
    }
    lacking = np.isnan(list(matrices.values())).any(axis=0) | np.any(list(cell.invalid.values()), axis=0)
    kept = dict(zip(SPLITS, (np.ones(len(cell), np.bool_), cell.correct, ~cell.correct), strict=True))
    return {
        condition: {
            split: _means(cell, np.where(rows & ~lacking, values, np.nan), resampling) for split, rows in kept.items()
        }
        for condition, values in matrices.items()
    }


def _means(cell: StatedCell, values: Floats, resampling: Resampling) -> dict[str, Drawn]:
    """Of the prompts that have any value there, and of all of these."""
    prompts = [place for place in range(len(values)) if not np.isnan(values[place]).all()]
    rows = {cell.names[place]: [place] for place in prompts} | ({MEAN: prompts} if prompts else {})
    return {
        name: Drawn(
            known_mean(values[places], resampling, cell.clusters),
            int((~np.isnan(values[places])).sum(axis=1).min()),
            prompts=len(places),
        )
        for name, places in rows.items()
    }
