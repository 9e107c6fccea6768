"""Runs of all kinds side by side, and what an odd one does to the others: nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import PROMPTS, question_set, stated_run, write_asked
from coarse_smoothing import coarse_smoothing
from run_samples import SHAPES, write_run

from calprobe.measures.compare_results import Comparison, Contrast, PairComparison, Scope
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Difference, Estimate, Resampling
from calprobe.metrics.intervals import UNDEFINED
from calprobe.presentation.overview_page import overview_page, task_page
from calprobe.runs import open_run
from calprobe.show.marks import Points, Texts
from calprobe.show.tables import best_cells, tidy_csv
from calprobe.show.verdict import NEITHER, OVER, UNDER, Judged
from calprobe.studies.overview.figures import accuracy_and_error
from calprobe.studies.overview.glance import overview_at_a_glance, task_verdicts
from calprobe.studies.overview.headlines import headline_of
from calprobe.studies.overview.overview_tables import (
    difference_tables,
    matrix_tables,
    overview_tables,
    sides_table,
)
from calprobe.studies.overview.overviews import (
    METRICS,
    Overview,
    Task,
    TaskOverview,
    TaskRun,
    overview,
    report_task,
)
from calprobe.studies.overview.tasks import tasks_of

FEW = ReportOptions(resampling=Resampling(20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    for name in ("a", "b"):
        write_run(folder / name / "probe")
        write_asked(folder / name / "sums")
    damaged = write_run(folder / "damaged" / "probe")
    (damaged / "manifest.json").write_text("{")
    partial = write_run(folder / "partial" / "probe")
    (partial / "shards" / "P30.t0.parquet").unlink()
    lacking = write_asked(folder / "lacking" / "sums")
    (lacking.path / "questions.json").unlink()
    return folder


def task(folder: Path, name: str, *models: str, **missing: str) -> Task:
    return Task(name, {model: str(folder / model / name) for model in models}, missing)


@pytest.fixture(scope="module")
def found(folder: Path) -> Overview:
    with coarse_smoothing():
        tasks = [
            task(folder, "probe", "a", "b", "partial", "damaged", gone="no such model\nsecond line"),
            task(folder, "sums", "a", "lacking"),
        ]
        return overview("runs", [report_task(each, FEW).overview for each in tasks], FEW)


def test_sides_have_the_numbers_of_the_runs(found: Overview, folder: Path) -> None:
    probe, sums = found.tasks
    assert [side.label for side in probe.sides] == ["a", "b", "partial"]
    assert [side.partial for side in probe.sides] == [False, False, True]
    for side in (*probe.sides, *sums.sides):
        headline = headline_of(open_run(side.path))
        assert side.accuracy.value == pytest.approx(headline.accuracy)
        assert side.metrics["ace"].value == pytest.approx(headline.ace)
        assert side.metrics["ece"].value == pytest.approx(headline.ece)
        assert (side.n, side.of) == (headline.n, headline.of)
    assert probe.comparison is None, "a partial run cannot be compared with complete ones"
    assert "partial" in probe.uncompared


def test_what_is_missing_is_named_with_the_reason(found: Overview) -> None:
    missing = {(task.name, label): why for task in found.tasks for label, why in task.missing.items()}
    assert missing.keys() == {("probe", "gone"), ("probe", "damaged"), ("sums", "lacking")}
    assert "not JSON" in missing["probe", "damaged"]
    assert "questions" in missing["sums", "lacking"]
    sides, table = overview_tables(found)
    assert sides.heading == ("runs: 4 runs of 2 tasks; 3 missing, see below",)
    assert ("gone", ("no such model",)) in [(row.label, row.cells) for row in table.rows]


def test_complete_runs_are_compared(folder: Path) -> None:
    with coarse_smoothing():
        reported = [report_task(task(folder, name, "a", "b"), FEW) for name in ("probe", "sums")]
    for each in reported:
        assert each.overview.comparison is not None
        tables = difference_tables(each.overview)
        assert {table.keys["task"] for table in tables} == {each.overview.name}
        assert each.overview.name in tidy_csv(difference_tables(each.overview, in_files=True))
        assert each.report is not None
        assert "<html" in task_page(each.report, FEW)


def test_the_page_has_all_tasks_and_links(found: Overview) -> None:
    page = overview_page(found, FEW, {"probe": "report/probe.html"})
    assert 'href="report/probe.html"' in page
    assert page.count("All numbers and figures") == 1
    for text in ("Missing", "Models by tasks", "no such model", "The runs are not compared: "):
        assert text in page
    assert not re.search(r'(?:src|href)="http', page)
    assert json.dumps(found.to_json(), allow_nan=False)
    accuracy, error = matrix_tables(found)
    assert [row.label for row in accuracy.rows] == ["a", "b", "partial"]
    assert accuracy.rows[1].cells[1] is None
    assert [column.title for column in error.columns] == ["probe, ACE", "sums, ECE"], "all replies say 0.9"
    assert error.columns[0].better == "smaller"


def test_the_page_begins_with_the_runs_by_accuracy_and_error(found: Overview) -> None:
    panel = accuracy_and_error(found)
    assert panel is not None
    for task, series in zip([task for task in found.tasks if task.sides], panel.series, strict=True):
        points, names = series.marks
        assert isinstance(points, Points)
        assert points.x == tuple(side.accuracy.value for side in task.sides)
        assert points.values == tuple(side.metrics[task.error] for side in task.sides)
        assert isinstance(names, Texts)
        assert names.texts == tuple(side.label for side in task.sides)
    assert accuracy_and_error(replace(found, tasks=found.tasks[:0])) is None


def test_who_answers_less_is_not_the_best(found: Overview) -> None:
    table = sides_table(found)
    rows = {row.label: row for row in table.rows if row.group == "probe"}
    assert rows["partial"].coverage[0] < rows["a"].coverage[0] == 1
    assert rows["partial"].note == "tiny, PARTIAL"
    assert not any(row.label == "partial" for row in (table.rows[place] for place, _ in best_cells(table)))


def test_a_task_without_any_run_is_there(tmp_path: Path) -> None:
    reported = report_task(Task("probe", {"a": str(tmp_path / "absent")}), FEW)
    assert reported.report is None
    assert "absent: no such run" in reported.overview.missing["a"]
    assert "absent" in overview_page(overview("runs", [reported.overview], FEW), FEW, {})


def test_runs_go_together_that_were_asked_the_same(tmp_path: Path) -> None:
    paths = {
        "one": write_run(tmp_path / "one"),
        "two": write_run(tmp_path / "two"),
        "part": write_run(tmp_path / "part", SHAPES[:2]),
        "asked": write_asked(tmp_path / "asked").path,
        "others": write_asked(tmp_path / "others", question_set(4)).path,
        "direct": write_asked(
            tmp_path / "direct", only=(), prompts=replace(PROMPTS, variants=PROMPTS.variants[:1]), asked=()
        ).path,
    }
    edited = replace(PROMPTS, variants=(replace(PROMPTS.variants[0], user="Hm. {input}"), *PROMPTS.variants[1:]))
    paths["edited"] = write_asked(tmp_path / "edited", only=(), prompts=edited).path
    tasks = tasks_of({label: open_run(path) for label, path in paths.items()})
    assert [(each.name, list(each.runs)) for each in tasks] == [
        ("made-up", ["one", "two"]),
        ("made-up (2)", ["tiny"]),
        ("sums: made-up", ["toy"]),
        ("sums: made-up (2)", ["toy"]),
        ("sums: made-up (3)", ["toy"]),
        ("sums: made-up (4)", ["toy"]),
    ]


def test_runs_of_other_templates_are_compared_on_those_that_both_have(folder: Path, tmp_path: Path) -> None:
    fewer = write_run(tmp_path / "fewer", numbers=(0,))
    with coarse_smoothing():
        found = report_task(Task("probe", {"a": str(folder / "a" / "probe"), "fewer": str(fewer)}), FEW).overview
    assert found.comparison is not None
    assert "compared on what they have in common" in " ".join(difference_tables(found)[0].lead)


def test_the_name_of_a_drawn_task_is_short_and_its_section_says_all(folder: Path) -> None:
    task = Task("mini, 60 drawn: audit", {"a": str(folder / "a" / "sums")})
    with coarse_smoothing():
        found = report_task(task, FEW).overview
    made = overview("runs", [replace(found, about="LIMITED: 60 of 583 questions of mini")], FEW)
    page = overview_page(made, FEW, {})
    assert page.count("LIMITED: 60 of 583 questions of mini.") == 1
    assert "its own page" not in page
    assert "its own page" in overview_page(made, FEW, {task.name: "x.html"})


def test_a_task_says_of_what_part_of_the_probe_its_runs_are(folder: Path, tmp_path: Path) -> None:
    paths = (folder / "a" / "probe", *(write_run(tmp_path / str(limit), limit=limit) for limit in (3, 4)))
    runs = {str(path): str(path) for path in paths}
    with coarse_smoothing():
        abouts = [report_task(Task("probe", own), FEW).overview.about for own in (dict([*runs.items()][:1]), runs)]
    assert abouts == ["", "LIMITED: 3 of each relation (sampled), 4 of each relation (sampled)"]


def test_an_overview_begins_with_a_verdict_on_each_task(found: Overview) -> None:
    verdict, sides, *_ = overview_at_a_glance(found)
    state, *sentences = verdict.heading
    assert state == "runs: 4 runs of 2 tasks; 3 missing, see below"
    assert sentences == list(task_verdicts(found))
    probe, sums = sentences
    assert probe.startswith("probe: a and b are overconfident; partial (partial) is "), "a and b have the same numbers"
    assert sums.startswith("sums: a "), "what is missing has no verdict"
    assert not sides.heading
    assert any(note.startswith("PARTIAL: the questions or relations that are there are not a") for note in sides.notes)
    page = overview_page(found, FEW, {})
    assert page.index(sums) < page.index("<svg"), "before the figure"
    judged = found.tasks[1].sides[0].judged
    assert judged is not None
    assert found.to_json()["tasks"]["sums"]["runs"]["a"]["verdict"] == judged.verdict


def test_a_verdict_is_of_the_error_that_stands_for_the_task_and_says_in_how_few_answers(tmp_path: Path) -> None:
    said = {
        "fine": [f"{0.4 + place / 100:.2f}" for place in range(60)],
        "coarse": ["0.6", "0.7"],
        "few": ["0.9", *["hm"] * 4],
        "silent": ["hm"],
    }
    runs = {name: str(stated_run(tmp_path / name, *own)) for name, own in said.items()}
    by_label = {side.label: side for side in report_task(Task("sums", runs), FEW).overview.sides}
    fine, silent = by_label["fine"].judged, by_label["silent"].judged
    assert fine is not None
    assert fine.error == "ece", "as the table has it: another run of the task has few values"
    assert silent is None
    (sentence,) = task_verdicts(overview("o", [TaskOverview("sums", "asked", tuple(by_label.values()), {})], FEW))
    assert "few (12 of 60 answers)" in sentence
    assert "silent" not in sentence


def test_a_warning_stands_beside_the_verdict() -> None:
    side = replace(run_of("a", judged_as(OVER)), warnings=("quiz: half are wrong by exact matching",))
    (sentence,) = task_verdicts(overview("o", [TaskOverview("t", "asked", (side,), {})], FEW))
    assert sentence == "t: a is overconfident. Warning: a, quiz: half are wrong by exact matching."
    assert side.to_json()["warnings"] == ["quiz: half are wrong by exact matching"]


def test_an_overview_without_a_run_says_what_is_missing_alone() -> None:
    verdict, missing = overview_at_a_glance(overview("o", [TaskOverview("s", None, (), {"a": "no such model"})], FEW))
    assert verdict.heading == ("o: 0 runs of 1 task; 1 missing, see below",)
    assert [row.label for row in missing.rows] == ["a"]


def test_what_is_not_on_the_screen_is_where_it_says() -> None:
    tasks = [TaskOverview(name, "scored", runs_of(OVER, NEITHER), {}, about="LIMITED: some") for name in "stuvw"]
    many = overview("o", [replace(task, sides=tuple(map(measured, task.sides))) for task in tasks], FEW)
    verdict, sides = overview_at_a_glance(many)
    assert verdict.heading[-1] == "2 more tasks below; --html tells of each."
    assert "--html says which" in sides.notes[1]
    verdict, sides = overview_at_a_glance(many, "report.html")
    assert verdict.heading[-1] == "2 more tasks below; report.html tells of each."
    assert "report.html says which" in sides.notes[1]


def measured(side: TaskRun) -> TaskRun:
    """The run with all numbers of a table, undefined."""
    return replace(side, metrics=dict.fromkeys(METRICS, UNDEFINED))


GAPS = {OVER: Estimate(0.1, 0.05, 0.15), UNDER: Estimate(-0.1, -0.15, -0.05), NEITHER: Estimate(0, -0.1, 0.1)}


def judged_as(*words: str) -> Judged:
    """A confidence with these verdicts under its variants."""
    each = [{"confidence_gap": GAPS[word], "ace_p": Estimate(0.5)} for word in words]
    return Judged("base", each[0], 100, "ace", each)


def run_of(label: str, judged: Judged | None) -> TaskRun:
    return TaskRun(label, label, label, False, 100, Estimate(0.5), {}, "base", 100, judged)


def runs_of(*verdicts: Judged | str | None) -> tuple[TaskRun, ...]:
    """Runs a, b, .. with these verdicts, of one accuracy."""
    judged = (judged_as(verdict) if isinstance(verdict, str) else verdict for verdict in verdicts)
    return tuple(map(run_of, "abcdefghij", judged))


def sides_of(*verdicts: Judged | str | None, comparison: Comparison | None = None) -> str:
    """The sentences on a task whose runs have these verdicts."""
    task = TaskOverview("t", "scored", runs_of(*verdicts), {}, comparison)
    return " ".join(task_verdicts(overview("o", [task], FEW)))


def test_a_verdict_names_what_needs_attention_first_and_few_runs() -> None:
    assert sides_of(NEITHER, OVER, UNDER, OVER) == (
        "t: b and d are overconfident; c is underconfident; a cannot be told from calibrated."
    )
    assert sides_of(*[OVER] * 9) == "t: a, b, c, d, e, f and 3 others are overconfident."
    assert sides_of(*[OVER] * 7) == "t: a, b, c, d, e, f and g are overconfident.", "one more costs less than its count"
    several = f"{UNDER} under 3 of 4 variants, under 1 {NEITHER}"
    assert sides_of(NEITHER, judged_as(UNDER, UNDER, NEITHER, UNDER)).startswith(f"t: b is {several}; a cannot")
    assert sides_of(None, None) == "", "without a confidence nothing is said"
    few = replace(judged_as(OVER), answered=(12, 144))
    assert sides_of(few, OVER) == "t: a (12 of 144 answers) and b are overconfident."


def compared(*pairs: tuple[str, str]) -> Comparison:
    """Runs in pairs, the second of each more accurate by 0.1, which is told."""
    accuracy = Contrast(None, "accuracy", Estimate(0.5), Estimate(0.6), Difference(-0.1, -0.2, -0.05), p_holm=0.01)
    scope = Scope(None, 1, 100, (accuracy,), None)
    of_pairs = tuple(PairComparison(*labels, (0,), "base", (), scope, (), None) for labels in pairs)
    return Comparison((), of_pairs, {}, (), CompareOptions())


def test_of_two_runs_a_verdict_says_which_is_better_as_compare_does() -> None:
    found = sides_of(OVER, OVER, comparison=compared(("a", "b")))
    assert found == "t: a and b are overconfident. Accuracy: b is better; a - b -.10 (-.20 to -.05), Holm p .010."
    three = sides_of(OVER, OVER, OVER, comparison=compared(("a", "b"), ("a", "c")))
    assert three == "t: a, b and c are overconfident.", "nobody compared b with c"
