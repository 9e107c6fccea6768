"""How much of the uncertainty of a cell's samples comes from the wording, where questions have several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from calprobe.analysis.asked.results import CellWording, OpenedCell
from calprobe.arrays import Floats
from calprobe.confidence.asked.question_measures import POINTS
from calprobe.confidence.asked.sampled import SampledQuestion
from calprobe.confidence.samples import exact_wording_share, split_variance, wording_p_value, wording_share
from calprobe.metrics import Resampling

EXACT = "exact"  # label probabilities under each wording in place of samples


def cell_wording(opened: OpenedCell, resampling: Resampling) -> tuple[CellWording, ...]:
    """The shares of a cell; none where no question has samples of two wordings.

    Questions without an answer, or of which a pair was not judged, are left out. Where label probabilities are known,
    one share is of them: what that of equal answers converges to with more samples at temperature 1.
    """
    several = of_several_wordings(opened.read.samples)
    found = []
    for name, of in POINTS.items() if several else ():
        known = [(points, own.wordings) for own in several if (points := of(own)) is not None]
        if not known:
            continue
        share = wording_share([split_variance(points, groups) for points, groups in known])
        permutations = resampling.n_resamples
        p = wording_p_value(known, permutations, resampling.seed) if permutations else float("nan")
        found.append(CellWording(name, share, p))
    if exact := list(label_distributions(opened)):
        found.append(CellWording(EXACT, exact_wording_share(exact), float("nan")))
    return tuple(found)


def of_several_wordings(samples: Sequence[SampledQuestion]) -> list[SampledQuestion]:
    """The questions with answers to two wordings or more, which have a share of the wording."""
    return [own for own in samples if own.read and len(set(own.wordings.tolist())) > 1]


def label_distributions(opened: OpenedCell) -> Iterator[Floats]:
    """Of each question with label probabilities under two wordings or more: these, [wordings, labels]."""
    cell = opened.cell
    if not any(row.first.label_scores is not None for row in cell.rows):
        return
    masses = opened.read.first
    known = masses.covered & (masses.total > 0)
    rows: dict[str, dict[int, int]] = {}
    for place, row in enumerate(cell.rows):
        if known[place]:
            rows.setdefault(row.question.id, {}).setdefault(row.paraphrase, place)  # its samples have the same
    for own in rows.values():
        if len(own) > 1:
            places = [own[wording] for wording in sorted(own)]
            mass = masses.mass[places]
            yield np.asarray(mass / mass.sum(axis=1)[:, None], np.float64)
