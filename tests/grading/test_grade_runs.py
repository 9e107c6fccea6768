"""Grading a run: what rule, judge and files decide, what is kept, and that nothing is asked twice."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asked_replies import question_set
from fake_backend import ABLE
from judges import ScriptedJudge

import calprobe
from calprobe.answers.graders import UNDECIDED
from calprobe.cells.asked_folder import asked_of
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.grading import GradeOptions, grade
from calprobe.grading.judged_meanings import different_answers
from calprobe.interop.reply_import import import_replies
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.questions.types import Question
from calprobe.runs import AskedRun, ModelRecord, open_asked
from calprobe.runs.grades import FILE_NAME, JUDGE_MASS, write_grades
from calprobe.studies.asked.frames import confidences_frame
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.asked.run_verdict import verdict

QUESTIONS = (
    Question("capital", "What is the capital of France?", "open", accepted=("Paris", "Paris, France")),
    Question("year", "When did it end?", "open", accepted=("May 18, 1999",)),
    Question("author", "Who wrote it?", "open", accepted=("William Shakespeare",)),
    Question("sum", "What is 2 + 2?", "number", number=4.0),
)
# variant, question -> reply
REPLIES = {
    ("plain", "capital"): "The city of Light",
    ("plain", "year"): "18 May 1999.",
    ("plain", "author"): "Shakespeare",
    ("plain", "sum"): "4",
    ("other", "capital"): "I don't know.",
    ("other", "year"): "In May",
    ("other", "author"): "Shakespeare",
    ("other", "sum"): "5",
}
KNOWS = {"Shakespeare": 0.9, "The city of Light": 0.75}


def make_run(out: Path, replies: dict[tuple[str, str], str] = REPLIES, **more: Any) -> AskedRun:
    lines = (
        {"set": "quiz", "question": question, "variant": variant, "text": text} | more
        for (variant, question), text in replies.items()
    )
    file = out.with_suffix(".jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return open_asked(import_replies(file, out, [question_set(QUESTIONS)]).path)


@pytest.fixture
def run(tmp_path: Path) -> AskedRun:
    return make_run(tmp_path / "run")


def decided(run: AskedRun) -> dict[tuple[str, str], tuple[str, bool]]:
    assert run.grades is not None
    return {(row.variant, row.question): (row.decided, row.correct) for row in run.grades.rows}


def reported(run: AskedRun) -> AskedRunReport:
    """The report of the run as its folder has it now."""
    (report,) = report_asked([asked_of("run", open_asked(run.path))], ReportOptions(resampling=Resampling(0))).runs
    return report


def grades_file(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_the_judge_is_asked_what_exact_matching_leaves_open(run: AskedRun) -> None:
    judge = ScriptedJudge(knows=KNOWS)
    found = grade(run, judge=judge)
    assert judge.asked.total() == 3  # Shakespeare once, under both variants
    assert decided(run) == {
        ("plain", "capital"): ("judge", True),
        ("plain", "year"): ("exact", True),
        ("plain", "author"): ("judge", True),
        ("plain", "sum"): ("number", True),
        ("other", "capital"): ("abstention", False),
        ("other", "year"): ("judge", False),
        ("other", "author"): ("judge", True),
        ("other", "sum"): ("number", False),
    }
    assert found == open_asked(run.path).grades
    assert found.decided == {"judge": (4, 3), "number": (2, 1), "exact": (1, 1), "abstention": (1, 0)}
    scores = {row.question: row.score for row in found.rows if row.variant == "plain"}
    assert scores == {"author": pytest.approx(0.9), "capital": pytest.approx(0.75), "sum": None, "year": None}
    assert any(
        "Accepted answers: Paris; Paris, France\nAnswer to grade: The city of Light\n" in p for p in judge.prompts
    )
    assert all(p.endswith("Reply with one of Yes, No and nothing else.") for p in judge.prompts)
    assert not judge.closed


def test_nothing_is_asked_twice(run: AskedRun, tmp_path: Path) -> None:
    first = grade(run, judge=ScriptedJudge(knows=KNOWS))
    again = ScriptedJudge(knows={})
    assert grade(run, judge=again).rows == first.rows
    assert not again.asked
    best = grade(run, GradeOptions(target="best"), judge=again)  # another question only where there are more texts
    assert again.asked.total() == 1
    assert "Accepted answer: Paris\n" in again.prompts[0]
    assert best.how["target"] == "best"
    other = ScriptedJudge(model=ModelRecord("other", weights_fingerprint="v" * 64))
    grade(run, judge=other)
    assert other.asked.total() == 3
    assert len(list((run.path / "judges").iterdir())) == 2


@pytest.mark.parametrize("most", [0, 1, 2])
def test_a_judge_that_breaks_down_loses_nothing(run: AskedRun, most: int) -> None:
    with pytest.raises(CalprobeError, match="the fake server is gone"):
        grade(run, judge=ScriptedJudge(knows=KNOWS, most=most))
    assert run.grades is None
    second = ScriptedJudge(knows=KNOWS)
    found = grade(run, judge=second)
    assert second.asked.total() == 3 - most
    assert found.decided["judge"] == (4, 3)


def test_an_answer_without_verdict_is_asked_again(run: AskedRun, caplog: pytest.LogCaptureFixture) -> None:
    judge = ScriptedJudge(knows=KNOWS | {"In May": 0.0}, capabilities=replace(ABLE, complete_softmax=False))
    with caplog.at_level(logging.WARNING):
        found = grade(run, judge=judge)
    assert found.decided[UNDECIDED] == (1, 0)
    assert "1 answer without a verdict of the judge, which count as wrong" in caplog.text
    assert found.decided["judge"] == (3, 3)  # in words: the server shows no probabilities
    assert {row.score for row in found.rows} == {None}
    assert "word yes or no" in found.describe()


def test_failed_requests_are_asked_again(run: AskedRun) -> None:
    judge = ScriptedJudge(knows=KNOWS)
    grade(run, judge=judge)
    (folder,) = (run.path / "judges").iterdir()
    names = [reply.question for piece in open_asked(folder).pieces for reply in piece.replies]
    fresh = make_run(run.path.with_name("fresh"))
    failing = ScriptedJudge(knows=KNOWS, failing={"label": [names[0]]})
    assert UNDECIDED in grade(fresh, judge=failing).decided
    again = ScriptedJudge(knows=KNOWS)
    assert grade(fresh, judge=again).decided["judge"] == (4, 3)
    assert again.asked.total() == 1


def test_a_judge_that_says_something_else_is_warned_of(run: AskedRun, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        grade(run, judge=ScriptedJudge(knows=KNOWS, mass=0.2))
    assert "gives Yes and No 0.20 of its probability on average" in caplog.text
    assert run.grades is not None
    assert run.grades.judge_mass == pytest.approx(0.2)
    report = reported(run)
    assert "(0.20 in all on average; its words below 0.01)" in report.disclosure.about["grading"]
    warning = "The judge mostly does not answer what it is asked: Yes and No have .20 of its probability on average."
    assert report.disclosure.judge_warning == warning
    assert report.disclosure.to_json()["judge_mass"] == pytest.approx(0.2)


@pytest.mark.parametrize(("mass", "is_decided"), [(0.0, False), (0.0099, False), (0.0101, True)])
def test_a_ratio_of_next_to_nothing_is_no_verdict(run: AskedRun, mass: float, is_decided: bool) -> None:
    found = grade(run, judge=ScriptedJudge(knows=KNOWS, mass=mass))
    assert found.decided.get("judge", (0, 0)) == ((4, 3) if is_decided else (0, 0))
    assert found.decided.get(UNDECIDED, (0, 0)) == ((0, 0) if is_decided else (4, 0))
    assert found.judge_mass == pytest.approx(mass, abs=1e-4)
    warning = reported(run).disclosure.judge_warning
    assert ("4 of 4 answers have no verdict of it and count as wrong" in warning) is not is_decided
    assert warning in reported(run).disclosure.to_json()["warnings"]
    assert f"Warning: {warning}" in verdict(reported(run))


def test_a_judge_that_answers_is_not_warned_of(run: AskedRun) -> None:
    found = grade(run, judge=ScriptedJudge(knows=KNOWS))
    assert found.judge_mass == pytest.approx(0.9)
    assert reported(run).disclosure.judge_warning == ""
    assert "(0.90 in all on average" in reported(run).disclosure.about["grading"]


def test_grades_of_earlier_versions_say_nothing_of_the_mass(run: AskedRun) -> None:
    found = grade(run, judge=ScriptedJudge(knows=KNOWS, mass=0.2))
    write_grades(run.path, replace(found, how={name: text for name, text in found.how.items() if name != JUDGE_MASS}))
    disclosed = reported(run).disclosure
    assert (disclosed.judge_mass, disclosed.judge_warning, "judge_mass" in disclosed.to_json()) == (None, "", False)
    assert "of its probability" not in disclosed.about["grading"]


def test_words_are_a_verdict_where_the_probabilities_are_none(run: AskedRun) -> None:
    judge = ScriptedJudge(knows=KNOWS, capabilities=replace(ABLE, complete_softmax=False, top_logprobs=0))
    assert grade(run, judge=judge).judge_mass is None
    assert reported(run).disclosure.judge_warning == ""


def of_stages(out: Path, *said: tuple[str, int, str]) -> AskedRun:
    """A run of one open question, of replies by stage and sample."""
    lines = [{"set": "quiz", "question": "author", "stage": s, "sample": at, "text": text} for s, at, text in said]
    file = grades_file(out.with_suffix(".jsonl"), *lines)
    return open_asked(import_replies(file, out, [question_set(QUESTIONS)]).path)


def greedy_rows(run: AskedRun) -> list[bool]:
    frame = confidences_frame(asked_of("run", open_asked(run.path)), ReportOptions())
    return [bool(own) for own in frame[(frame.estimator == "lexsim.greedy") & frame.confidence.notna()].correct]


def test_grades_reach_greedy_answers(tmp_path: Path) -> None:
    run = of_stages(tmp_path / "run", ("answer", 0, "Bacon"), ("answer", 1, "Marlowe"), ("greedy", 0, "Shakespeare"))
    assert greedy_rows(run) == [False]  # by exact matching
    judge = ScriptedJudge(knows=KNOWS)
    found = grade(run, judge=judge)
    assert judge.asked.total() == 3
    assert len(found.rows) == 3
    assert greedy_rows(run) == [True]
    file = grades_file(tmp_path / "hand.jsonl", {"question": "author", "correct": True})
    assert [row.imported for row in grade(run, grades=file).rows] == [True, None, None]  # the first sample's alone


def test_conclusions_are_graded_where_they_were_asked_for(tmp_path: Path) -> None:
    reasoned = "Bacon wrote essays, and Marlowe wrote plays."
    stages = [(stage, at, text) for at in (0, 1) for stage, text in (("answer", reasoned), ("final", "Shakespeare"))]
    run = of_stages(tmp_path / "run", *stages, ("greedy", 0, reasoned), ("greedy_final", 0, "Shakespeare"))
    found = grade(run, judge=ScriptedJudge(knows=KNOWS))
    assert found.decided == {"judge": (3, 3)}
    report = report_asked([asked_of("run", open_asked(run.path))], ReportOptions()).runs[0]
    (cell,) = report.reports()
    assert (cell.reader, cell.accuracy["concluded"].value.value) == ("concluded", 1.0)
    assert cell.accuracy["short"].value.value == 0.0  # what was reasoned has no grade of its own
    assert "not graded" not in report.disclosure.about
    assert greedy_rows(run) == [True]
    assert different_answers(run)["quiz", "author"][1] == ["Shakespeare"]


def test_imported_grades_count_first_and_stay(run: AskedRun, tmp_path: Path) -> None:
    grade(run, judge=ScriptedJudge(knows=KNOWS))
    file = grades_file(
        tmp_path / "hand.jsonl",
        {"question": "capital", "variant": "plain", "correct": False, "by": "Ann"},
        {"set": "quiz", "question": "sum", "variant": "other", "correct": True},
        {"question": "author", "variant": "plain", "correct": True},
    )
    found = grade(run, grades=file)
    rows = {(row.variant, row.question): row for row in found.rows}
    assert (rows["plain", "capital"].automatic, rows["plain", "capital"].correct) == (True, False)
    assert (rows["plain", "capital"].by, rows["other", "sum"].by) == ("Ann", "hand.jsonl")
    assert rows["other", "author"].decided == "judge"  # a file alone leaves what the judge said
    assert found.agreement == (3, 1, 1)
    assert "of 3 with imported grades it has 1 right that are wrong, 1 the reverse" in found.describe()
    assert grade(run, GradeOptions("exact")).decided["imported"] == (3, 2)
    assert grade(run, GradeOptions("number")).decided["imported"] == (3, 2)


def test_grades_that_came_with_the_replies_count_first(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", correct=True)
    found = grade(run, GradeOptions("exact"))
    assert found.decided == {"imported": (8, 8)}
    assert found.agreement == (8, 0, 6)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"question": "capital"}, "no correct; every line names its question, and whether it is correct"),
        ({"question": "capital", "correct": 1}, "correct is 1; give true or false"),
        ({"question": "capital", "correct": True, "who": "x"}, "unknown key 'who'"),
        ({"question": "capital", "correct": True}, "no variant, and the run has"),
        ({"question": "capitol", "correct": True, "variant": "plain"}, "did you mean capital"),
        ({"question": "sum", "correct": True, "variant": "plane"}, "no variant 'plane'; did you mean plain"),
        ({"question": "sum", "correct": True, "variant": "plain", "sample": 1}, "no answer to grade of question 'sum'"),
    ],
)
def test_lines_that_grade_nothing_are_refused(run: AskedRun, tmp_path: Path, line: dict[str, Any], what: str) -> None:
    first = {"question": "year", "correct": True, "variant": "plain"}
    with pytest.raises(ProbeFormatError, match=r"hand\.jsonl:2: ") as error:
        grade(run, grades=grades_file(tmp_path / "hand.jsonl", first, line))
    assert what in str(error.value)
    assert run.grades is None


def test_a_grade_is_of_these_words(run: AskedRun) -> None:
    found = grade(run, GradeOptions("contains"))
    replies = [reply for piece in run.pieces for reply in piece.replies]
    assert len(found.of(replies)) == 8
    changed = [replace(reply, text=f"{reply.text}!") for reply in replies]
    assert found.of(changed) == {}


def test_a_damaged_file_says_how_to_go_on(run: AskedRun) -> None:
    grade(run)
    path = run.path / FILE_NAME
    for content in (path.read_bytes()[:-9], b"PAR1", path.read_bytes().replace(b"calprobe.grades", b"calprobe.others")):
        path.write_bytes(content)
        with pytest.raises(
            CalprobeError, match=r"grades.parquet: cannot be read: .*; delete the file and run `calprobe"
        ):
            _ = run.grades


def test_what_cannot_be_graded_is_refused(run: AskedRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--grader judge needs a model; give --judge MODEL"):
        grade(run, GradeOptions("judge"))
    with pytest.raises(UsageError, match="--grader rouge needs none; leave one of them out"):
        grade(run, GradeOptions("rouge"), judge=ScriptedJudge())
    with pytest.raises(UsageError, match=r"--grader exactly: choose one of exact, .*; did you mean exact"):
        GradeOptions("exactly")
    only_numbers = make_run(tmp_path / "numbers", {("plain", "sum"): "4"})
    with pytest.raises(UsageError, match="no answers to questions of kind open"):
        grade(only_numbers, GradeOptions("exact"))
    file = grades_file(tmp_path / "given.jsonl", {"set": "q", "question": "x", "text": "so", "correct": True})
    given = import_replies(file, tmp_path / "given")
    with pytest.raises(UsageError, match="no answers to questions of kind open or number"):
        grade(given.path)


def test_reports_read_the_grades(run: AskedRun) -> None:
    before = calprobe.report([run], calprobe.ReportOptions())
    cell = before.runs[0].sets["quiz"].cells["plain"]
    assert cell.accuracy["default"].value.value == 0.5
    grade(run, judge=ScriptedJudge(knows=KNOWS))
    after = calprobe.report([run], calprobe.ReportOptions())
    cells = after.runs[0].sets["quiz"].cells
    assert cells["plain"].accuracy["default"].value.value == 1.0
    assert cells["plain"].accuracy["default"].decided == {"judge": (2, 2), "exact": (1, 1), "number": (1, 1)}
    abstained = cells["other"].accuracy["default"].abstained
    assert abstained is not None
    assert abstained.value == pytest.approx(1 / 3)  # of the answers to open questions
    said = dict(after.runs[0].disclosure.lines())
    assert said["graded by"] == "judge 4 (3 right), number 2 (1 right), exact 1 (1 right), abstention 1 (0 right)"
    assert said["grading"].startswith("judge: toy by label probabilities of Yes and No (0.90 in all")
    json.dumps(after.to_json())


def test_the_latest_judge_is_a_grader_and_an_earlier_one_where_its_grades_are_imported(
    run: AskedRun, tmp_path: Path
) -> None:
    """Two judges of one run: the second replaces the grades of the first, unless these are given as grades."""
    first = grade(run, judge=ScriptedJudge(knows=KNOWS))
    other = ScriptedJudge(model=ModelRecord("other", weights_fingerprint="v" * 64))  # calls nothing right
    grade(run, judge=other)
    options = ReportOptions(resampling=Resampling(0), graders=("all",), variants=("plain",))
    (cell,) = report_asked([asked_of("run", open_asked(run.path))], options).runs[0].studies["graders"].cells
    assert "imported" not in cell.graders
    assert cell.graders["judge"].accuracy.value == 0.5  # two are right by rule
    lines = [{"question": row.question, "variant": row.variant, "correct": row.correct} for row in first.rows]
    grade(run, grades=grades_file(tmp_path / "first.jsonl", *lines))
    (cell,) = report_asked([asked_of("run", open_asked(run.path))], options).runs[0].studies["graders"].cells
    accuracy = {name: numbers.accuracy.value for name, numbers in cell.graders.items()}
    assert accuracy["judge"] == 0.5
    assert accuracy["imported"] == 1


def test_readings_say_who_decided(run: AskedRun) -> None:
    grade(run, judge=ScriptedJudge(knows=KNOWS))
    frame = calprobe.readings(run).set_index(["variant", "question"])
    assert frame.loc[("plain", "capital"), ["graded_by", "correct", "abstained"]].tolist() == ["judge", True, False]
    assert frame.loc[("plain", "capital"), "score"] == pytest.approx(0.75)
    assert frame.loc[("other", "capital"), ["graded_by", "correct", "abstained"]].tolist() == [
        "abstention",
        False,
        True,
    ]


def test_grading_again_takes_the_grader_of_before(run: AskedRun) -> None:
    first = grade(run, GradeOptions("contains"))
    assert grade(open_asked(run.path)).rows == first.rows
    judged = grade(run, judge=ScriptedJudge(knows=KNOWS)).decided
    with pytest.raises(UsageError, match="a judge has graded the answers; give --judge MODEL"):
        grade(open_asked(run.path))
    stored = open_asked(run.path).grades
    assert stored is not None
    assert stored.decided == judged
    assert "judge" not in grade(open_asked(run.path), GradeOptions("exact")).decided


def test_a_file_leaves_new_answers_to_the_grader_of_before(run: AskedRun, tmp_path: Path) -> None:
    before = grade(run, GradeOptions(grader="rouge", rouge_threshold=0.01))
    write_grades(run.path, replace(before, rows=before.rows[:2]))
    file = grades_file(tmp_path / "grades.jsonl", {"question": "capital", "variant": "plain", "correct": True})
    after = grade(open_asked(run.path), grades=file)
    assert [row.rule for row in after.rows] == [row.rule for row in before.rows]
    assert after.how["grader"] == "rouge"


def test_a_judge_reads_the_question_itself_where_a_paraphrase_has_no_text(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", {("plain", "author"): "Shakespeare"}, paraphrase=1)
    assert grade(run, judge=ScriptedJudge(knows=KNOWS)).decided == {"judge": (1, 1)}


def test_includes_reads_the_whole_reply(tmp_path: Path) -> None:
    text = "Let me think about it.\nIt was written by William Shakespeare in 1600."
    run = make_run(tmp_path / "run", {("plain", "author"): text, ("plain", "capital"): "Rome"})
    for grader, right in (("contains", False), ("includes", True)):
        grade(run, GradeOptions(grader=grader))
        assert decided(open_asked(run.path))["plain", "author"] == (grader, right)
    (made,) = calprobe.report([open_asked(run.path)], calprobe.ReportOptions()).runs
    assert dict(made.disclosure.lines())["graded by"] == "includes 2 (1 right)"
