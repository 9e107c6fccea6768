"""A run that asked a part of its sets says so wherever a complete one says that it is complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import PROMPTS
from fake_backend import FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.cells.asked_extent import state_of
from calprobe.cells.asked_folder import asked_of
from calprobe.errors import UsageError
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import asked_page
from calprobe.questions import QuestionOptions, load_questions
from calprobe.runs import AskedRun, open_asked
from calprobe.runs.listing import list_runs
from calprobe.studies.asked.asked_tables import heading
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.asked.compared_figure import compared_forest
from calprobe.studies.asked.compared_layouts import compared_heading
from calprobe.studies.asked.figures import pictures
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.overview.overviews import report_task
from calprobe.studies.overview.tasks import tasks_of

QUICK = ReportOptions(resampling=Resampling(0))
MINI = 583  # questions of the bundled probe
OF_CAPITALS = QuestionOptions(groups=("capital",))


@pytest.mark.parametrize(
    ("chosen", "said", "drawn", "seed"),
    [
        (QuestionOptions(draw=5, seed=3), f"5 of {MINI} questions of mini (drawn, seed 3)", "nested", 3),
        (QuestionOptions(draw=5, draw_rule="sample"), f"5 of {MINI} questions of mini (drawn, seed 0)", "sample", 0),
        (QuestionOptions(limit=5, seed=3), f"5 of {MINI} questions of mini (the first)", "first", None),
        (
            QuestionOptions(draw=2, groups=("capital", "month")),
            f"2 of {MINI} questions of mini (drawn, seed 0, of groups capital, month)",
            "nested",
            0,
        ),
    ],
)
def test_headings_say_which_questions_were_asked(
    chosen: QuestionOptions, said: str, drawn: str, seed: int | None, tmp_path: Path
) -> None:
    options = AskOptions(prompts=PROMPTS, collect=("answer",), quiet=True)
    ask(FakeBackend(), load_questions(["mini"], chosen)[0], tmp_path / "run", options)
    run = open_asked(tmp_path / "run")  # as its manifest says
    asked = asked_of("run", run)
    report = report_asked([asked], QUICK)
    assert f"2 variants, LIMITED: {said}" in heading(report.runs[0])[0]
    assert "complete" not in heading(report.runs[0])[0]
    found = report.to_json()["run"]["limited"]["mini"]
    wanted = {"questions": chosen.draw or chosen.limit, "in_set": MINI, "drawn": drawn, "seed": seed}
    assert found == wanted | {"groups": list(chosen.groups)}
    compared = compare_asked([asked], CompareOptions(scores=ReportOptions(resampling=Resampling(0))))
    assert compared_heading(compared)[0].endswith(f"LIMITED: {said}")
    assert compared.to_json()["runs"]["run"]["limited"]["mini"] == found
    (task,) = tasks_of({"run": run})
    assert report_task(task).overview.about == f"LIMITED: {said}"
    assert task.name.startswith("mini, ")
    assert len(task.name) < 40
    record = ComparedRun.of(asked)
    assert (record.limited, record.asked_in_part) == (True, {"mini": found})
    assert state_of(record.extent) == f"LIMITED: {said}"
    assert "(LIMITED)" in str(compared_forest(compared))
    page = asked_page(report, {"run": pictures(report.runs[0], QUICK)})
    assert page.count(f">LIMITED: {said}<") == 1


def test_groups_limit_a_run_and_a_run_of_all_questions_is_complete(tmp_path: Path) -> None:
    options = AskOptions(prompts=PROMPTS, collect=("answer",), quiet=True)
    ask(FakeBackend(), load_questions(["mini"], OF_CAPITALS)[0], tmp_path / "run", options)
    run = open_asked(tmp_path / "run")
    record = run.manifest.sets[0]
    assert (record.n_questions, record.source.available, record.n_in_set, record.drawn) == (42, 42, MINI, None)
    assert record.limits() == f"42 of {MINI} questions of mini (of group capital)"
    whole = replace(record, source=replace(record.source, in_split=None))  # as if these were all of the set
    assert (whole.is_limited, whole.limits()) == (False, "")
    asked = asked_of("run", run)
    assert asked.extent is not None
    complete = replace(asked, extent=replace(asked.extent, limited=()))
    report = report_asked([complete], QUICK)
    assert heading(report.runs[0])[0].endswith(", complete")
    assert report.to_json()["run"]["limited"] is None


def test_questions_that_serve_as_examples_are_counted(tmp_path: Path) -> None:
    options = AskOptions(variants=("fewshot_3",), collect=("answer",), quiet=True)
    ask(FakeBackend(), "mini", tmp_path / "run", options)
    asked = asked_of("run", open_asked(tmp_path / "run"))
    assert len(asked.sets[0].questions) == MINI - 3
    report = report_asked([asked], QUICK)
    said = "complete but for 3 questions held back as examples"
    assert heading(report.runs[0])[0].endswith(f", {said}")
    assert report.to_json()["run"]["extent"]["held_back"] == 3
    assert report.to_json()["run"]["limited"] is None
    assert asked.about["questions"] == "mini (580 questions, rule all, 3 others held back as examples)"
    assert f">{said}<" in asked_page(report, {"run": pictures(report.runs[0], QUICK)})
    drawn = QuestionOptions(draw=5)  # of which the examples are others: nothing is lost
    ask(FakeBackend(), "mini", tmp_path / "drawn", options, question_options=drawn)
    (record,) = open_asked(tmp_path / "drawn").manifest.sets
    assert (record.held_back, record.limits()) == (0, f"5 of {MINI} questions of mini (drawn, seed 0)")


def test_claims_about_options_are_counted_by_their_questions(tmp_path: Path) -> None:
    options = AskOptions(study="science-answers", samples=1, quiet=True)
    ask(FakeBackend(), "mini", tmp_path / "run", options, question_options=QuestionOptions(draw=5))
    run = open_asked(tmp_path / "run")
    (record,) = run.manifest.sets
    assert (record.n_questions, record.n_asked, run.manifest.n_questions) == (20, 5, 5)
    report = report_asked([asked_of("run", run)], QUICK)
    said = f"LIMITED: 5 of {MINI} questions of mini (drawn, seed 0)"
    assert heading(report.runs[0])[0] == f"run: toy, mini (5 questions, 20 claims), 1 variant, {said}"
    found = report.to_json()["run"]
    limited = {"questions": 5, "in_set": MINI, "drawn": "nested", "seed": 0, "groups": []}
    assert (found["questions"], found["limited"]) == (5, {"mini": limited})
    assert (found["sets"]["mini"]["questions"], found["sets"]["mini"]["claims"]) == (5, 20)
    assert (found["extent"]["questions"], found["extent"]["of_questions"]) == (5, 5)
    # Manifests of earlier versions count claims alone: the questions in the folder tell.
    earlier = replace(run.manifest, sets=(replace(record, n_roots=None),))
    assert AskedRun(run.path, earlier).set_records == (record,)
    (listed,) = list_runs(tmp_path).runs
    assert (listed.instances, listed.part) == (5, "mini, 5 drawn")


def test_a_run_keeps_to_one_rule_of_drawing(tmp_path: Path) -> None:
    options = AskOptions(prompts=PROMPTS, collect=("answer",), quiet=True)

    def grown(chosen: QuestionOptions) -> int:
        return ask(FakeBackend(), "mini", tmp_path, options, question_options=chosen).manifest.sets[0].n_questions

    assert [grown(QuestionOptions(draw=n)) for n in (4, 6)] == [4, 6]
    with pytest.raises(UsageError, match="taken by the rule nested, and are now by first"):
        grown(QuestionOptions(limit=6))
    assert open_asked(tmp_path).manifest.sets[0].n_questions == 6
    assert grown(QuestionOptions()) == MINI  # all of them have those that were drawn


def test_a_model_without_a_chat_template_is_said_to_be_asked_in_plain_text(tmp_path: Path) -> None:
    options = AskOptions(variants=("surface_paraphrase",), collect=("labels",), quiet=True)
    said = {}
    for model in ("tiny-clm", "tiny-chat"):
        run = ask(model, "mini", tmp_path / model, options, question_options=QuestionOptions(draw=2))
        said[model] = asked_of(model, open_asked(tmp_path / model)).about["asked as"]
        assert run.manifest.model.name == model
    assert said == {"tiny-clm": "plain text, as a base model", "tiny-chat": "chat"}
