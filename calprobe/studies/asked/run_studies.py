"""The studies that runs of replies may be of: what each adds to their report.

Add a study as an entry of `STUDIES`; the report, its tables, figures, JSON and page take it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calprobe.cells.asked import Asked, AskedCell
from calprobe.measures.chosen import Choice
from calprobe.measures.options import ReportOptions
from calprobe.show.marks import Figures
from calprobe.show.tables.types import Table
from calprobe.studies.answers.layouts import answer_study_tables
from calprobe.studies.answers.numbers import answer_study, choose_answers
from calprobe.studies.graders.figures import grader_figures
from calprobe.studies.graders.layouts import grader_tables
from calprobe.studies.graders.numbers import choose_graders, grader_study
from calprobe.studies.labels.figures import label_figures, label_figures_of_runs
from calprobe.studies.labels.layouts import label_study_tables, label_tables_of_runs
from calprobe.studies.labels.numbers import label_study
from calprobe.studies.stated.numbers import stated_run
from calprobe.studies.stated.stated_choice import choose_stated
from calprobe.words import AskedTable


def as_it_is(study: Any, _choice: Choice) -> Any:
    """The study whatever is chosen."""
    return study


def nothing(*_of: Any) -> tuple[()]:
    """No tables, and no figures."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a study adds to the report of a run. Its numbers are a frozen record with `to_json`."""

    numbers: Callable[[Asked, Sequence[AskedCell], ReportOptions], Any]  # None of a run that is not of this study
    chosen: Callable[[Any, Choice], Any] = as_it_is  # the numbers of some estimators and metrics alone
    at_a_glance: tuple[AskedTable, ...] = ()  # kinds of its tables, of which a terminal shows the first without asking
    tables: Callable[[Any, str], Iterable[Table]] = nothing  # of a set, above those of every report
    tables_of_runs: Callable[[Sequence[Any]], Iterable[Table]] = nothing  # of all runs that are of this study
    figures: Callable[[Any], Iterable[Figures]] = nothing
    figures_of_runs: Callable[[Sequence[Any], Mapping[str, str]], Iterable[Figures]] = nothing  # and runs' states


STUDIES: Mapping[str, Study] = {  # by their keys in `report --json`
    # Its tables and figures replace others, so asked_tables.py and figures.py call them: no entry to copy.
    "stated": Study(numbers=stated_run, chosen=choose_stated, at_a_glance=("consistency", "fidelity")),
    "label_study": Study(
        numbers=label_study,
        at_a_glance=("designs", "labels"),
        tables=label_study_tables,
        tables_of_runs=label_tables_of_runs,
        figures=label_figures,
        figures_of_runs=label_figures_of_runs,
    ),
    "answer_study": Study(
        numbers=answer_study,
        chosen=choose_answers,
        at_a_glance=("hides", "sampled"),
        tables=answer_study_tables,
    ),
    "graders": Study(numbers=grader_study, chosen=choose_graders, tables=grader_tables, figures=grader_figures),
}
