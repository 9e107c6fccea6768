"""What commands show of runs of scores and of replies together: by task, or the same facts in several ways.

Pages and what they need are imported when one is written: without them a command starts sooner.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from calprobe.cells.opening import AnyRun, of_replies, of_scores
from calprobe.measures.asked_options import AskedOptions
from calprobe.measures.options import ReportOptions
from calprobe.presentation.presentation import NamedFigure, Presentation
from calprobe.studies.four_ways.compare_ways import compare_ways
from calprobe.studies.four_ways.figures import way_pictures
from calprobe.studies.four_ways.layouts import four_ways_tables
from calprobe.studies.four_ways.way_options import FourWaysOptions
from calprobe.studies.overview.overview_tables import overview_tables
from calprobe.studies.overview.overviews import OverviewOptions, overview, report_task
from calprobe.studies.overview.tasks import tasks_of


def present_overview(
    title: str, runs: Mapping[str, AnyRun], options: ReportOptions, labels: Mapping[str, str]
) -> Presentation:
    """Runs of both kinds side by side, task by task.

    Args:
        title: of the page.
        runs: by label.
        options: of scores; replies take bins and resamples from them.
        labels: names that runs were given, which stay as they are.
    """
    reply_options = AskedOptions(ace_bins=options.ace_bins, resampling=options.resampling)
    of_both = OverviewOptions(options, reply_options)
    tasks = [report_task(task, of_both).overview for task in tasks_of(runs, labels)]
    result = overview(title, tasks, of_both)
    tables = partial(overview_tables, result)

    def page() -> str:
        from calprobe.presentation.overview_page import overview_page

        return overview_page(result, of_both, {})

    return Presentation(result, tables, tables, page=page)


def present_ways(runs: Mapping[str, AnyRun], options: FourWaysOptions) -> Presentation:
    """What runs of scores and of replies say of the same facts. Raises as `compare_ways`."""
    ways = compare_ways(of_scores(runs), of_replies(runs), options)

    def page() -> str:
        from calprobe.presentation.comparison_pages import four_ways_page

        return four_ways_page(ways)

    return Presentation(
        ways,
        partial(four_ways_tables, ways, narrow=True),
        partial(four_ways_tables, ways),
        lambda: (NamedFigure(kind, draw) for kind, draw in way_pictures(ways).drawn()),
        page,
        {"facts": lambda _: ways.frame().to_csv(index=False)},
    )
