"""The label that is most probable behind a reply and a cue."""

from __future__ import annotations

import numpy as np

from calprobe.answers.reading import Reading
from calprobe.runs.replies import LabelScores


def read_constrained(scores: LabelScores | None) -> Reading:
    """The most probable label at the first position that was generated; of labels that tie, the first option's.

    It has no span: nothing has to be written for it. `none`: no label was in the window of the most probable tokens, or
    the labels' probabilities were not asked for.

    >>> places, least = np.array([0]), np.array([-np.inf])
    >>> read_constrained(LabelScores(("A", "B"), ((), ()), places, np.array([[-2.0, -0.2]]), least)).value
    'B'
    """
    if scores is None:
        return Reading(None, "none", "")
    at_first = np.flatnonzero(scores.positions == 0)
    if not len(at_first) or not scores.covered[at_first[0]].any():
        return Reading(None, "none", "")
    return Reading(scores.labels[int(np.argmax(scores.logprobs[at_first[0]]))], "ok", "argmax")
