"""What commands show of runs of scores and of replies together: by task, or the same facts in several ways.

Pages and what they need are imported when one is written: without them a command starts sooner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from calprobe.cells.opening import AnyRun, of_replies, of_scores
from calprobe.measures.options import ReportOptions
from calprobe.presentation.presentation import WHOLE, NamedFigure, Presentation, ReportChoice, named_tables
from calprobe.show.tables.types import Table
from calprobe.studies.four_ways.compare_ways import compare_ways
from calprobe.studies.four_ways.figures import way_pictures
from calprobe.studies.four_ways.glance import ways_at_a_glance
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.layouts import four_ways_tables
from calprobe.studies.four_ways.way_options import FourWaysOptions
from calprobe.studies.overview.glance import overview_at_a_glance
from calprobe.studies.overview.overview_tables import overview_tables
from calprobe.studies.overview.overviews import overview, report_task
from calprobe.studies.overview.tasks import tasks_of


def present_overview(
    title: str, runs: Mapping[str, AnyRun], options: ReportOptions, labels: Mapping[str, str]
) -> Presentation:
    """Runs of both kinds side by side, task by task.

    Args:
        title: of the page.
        runs: by label.
        options: how both are read, and what is computed.
        labels: names that runs were given, which stay as they are.
    """
    tasks = [report_task(task, options).overview for task in tasks_of(runs, labels)]
    result = overview(title, tasks, options)
    tables = partial(overview_tables, result)

    def page() -> str:
        from calprobe.presentation.overview_page import overview_page

        return overview_page(result, options, {})

    return Presentation(result, partial(overview_at_a_glance, result), tables, page=page)


def present_ways(runs: Mapping[str, AnyRun], options: FourWaysOptions, choice: ReportChoice = WHOLE) -> Presentation:
    """What runs of scores and of replies say of the same facts. Raises as `compare_ways`."""
    return show_ways(compare_ways(of_scores(runs), of_replies(runs), options), choice)


def show_ways(ways: FourWays, choice: ReportChoice) -> Presentation:
    """What the same facts in several ways show."""

    def page() -> str:
        from calprobe.presentation.comparison_pages import four_ways_page

        return four_ways_page(ways)

    def tables(*, narrow: bool) -> Sequence[Table]:
        return named_tables(four_ways_tables(ways, narrow=narrow), choice.tables)

    def on_terminal() -> Sequence[Table]:
        return ways_at_a_glance(ways, tables(narrow=True)) if choice.at_a_glance else tables(narrow=True)

    return Presentation(
        ways,
        on_terminal,
        partial(tables, narrow=False),
        lambda: (NamedFigure(kind, draw) for kind, draw in way_pictures(ways).drawn()),
        page,
        {"facts": lambda _: ways.frame().to_csv(index=False)},
    )
