"""How much a page shows of each run: of many less, so that 16 runs stay a page that one can send."""

from __future__ import annotations

from calprobe.analysis.contents import Wanted
from calprobe.analysis.results import Report

MANY_RUNS = 4  # of more each shows its main numbers only
ALL = Wanted(
    ("base", "margin", "average_vote_2", "average_min", "consistency_vote_2", "consistency_min"),
    ("domain", "relation"),
)
FEW = Wanted(("base", "average_min"), ("domain",))


def page_wants(report: Report) -> Wanted:
    """What the page of a report draws, for `calprobe.analysis.contents.gather`."""
    return FEW if shows_less(report) else ALL


def shows_less(report: Report) -> bool:
    """Whether each run shows the main numbers only."""
    return len(report.runs) > MANY_RUNS
