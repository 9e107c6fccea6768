"""How much a page shows of each run: of many less, so that 16 runs stay a page that one can send."""

from __future__ import annotations

from calprobe.analysis.contents import Wanted
from calprobe.analysis.results import Report
from calprobe.confidence import Headline, headline

MANY_RUNS = 4  # of more each shows its main numbers only
ALL = Wanted(headline(Headline.PAGE), ("domain", "relation"), errors=10)
FEW = Wanted(headline(Headline.BRIEF), ("domain",), errors=5)


def page_wants(report: Report) -> Wanted:
    """What the page of a report draws, for `calprobe.analysis.contents.gather`."""
    return FEW if shows_less(report) else ALL


def shows_less(report: Report) -> bool:
    """Whether each run shows the main numbers only."""
    return len(report.runs) > MANY_RUNS
