"""How much of the uncertainty of a cell's samples comes from the wording, where questions have several."""

from __future__ import annotations

from calprobe.analysis.asked.results import CellWording, OpenedCell
from calprobe.confidence.asked.question_measures import POINTS
from calprobe.confidence.samples import split_variance, wording_p_value, wording_share
from calprobe.metrics import Resampling


def cell_wording(opened: OpenedCell, resampling: Resampling) -> tuple[CellWording, ...]:
    """The shares of a cell; none where no question has samples of two wordings.

    Questions without an answer, or of which a pair was not judged, are left out.
    """
    several = [own for own in opened.read.samples if len(set(own.answered.tolist())) > 1]
    found = []
    for name, of in POINTS.items() if several else ():
        known = [(points, own.answered) for own in several if (points := of(own)) is not None]
        if not known:
            continue
        share = wording_share([split_variance(points, groups) for points, groups in known])
        permutations = resampling.n_resamples
        p = wording_p_value(known, permutations, resampling.seed) if permutations else float("nan")
        found.append(CellWording(name, share, p))
    return tuple(found)
