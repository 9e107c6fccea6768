"""Logs of inspect_ai as runs: stored logs of the real package, read as objects; the package reads them elsewhere."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_logs import Logged, stored_log

from calprobe.cells.asked_folder import asked_of
from calprobe.errors import CalprobeError, ProbeFormatError, UsageError
from calprobe.interop.inspect_import import import_logs, read_log
from calprobe.interop.inspect_samples import Grading
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.runs import AskedRun, open_asked
from calprobe.studies.asked.report_asked import report_asked_run

OPTIONS = ReportOptions(resampling=Resampling(0))


def imported(path: Path, *names: str, grading: Grading | None = None) -> tuple[AskedRun, tuple[str, ...]]:
    made = import_logs({f"{name}.json": stored_log(name) for name in names}, path / "run", grading)
    return open_asked(made.run.path), made.notes


def changed(name: str, **values: Any) -> Any:
    """A log whose first sample's score has these values."""
    log = stored_log(name)
    (score,) = log.samples[0].scores.values()
    vars(score).update(values)
    return log


def test_choices_keep_the_grades_of_the_log(tmp_path: Path) -> None:
    run, notes = imported(tmp_path, "capitals")
    questions = {question.id: question for question in run.questions["capitals"].questions}
    assert questions["c1"].options == ("Lima", "Oslo", "Bern", "Rome")
    assert (questions["c1"].text, questions["c1"].gold) == ("Which city is the capital of Norway?", "B")
    replies = {reply.question: reply for reply in run.pieces[0].replies}
    assert [replies[f"c{n}"].correct for n in range(5)] == [True, True, False, True, False]
    assert replies["c3"].text.endswith("ANSWER: D")
    assert replies["c0"].logprobs == pytest.approx([math.log(0.9)] * 2)
    assert "What is the capital" not in replies["c0"].prompt
    assert "A) Lima" in replies["c0"].prompt
    assert (replies["c5"].finish, replies["c5"].text) == ("error", "")
    assert "no such place" in replies["c5"].error
    assert notes == ("capitals: 1 sample failed, no reply: RuntimeError('no such place')",)
    manifest = run.manifest
    assert (manifest.model.name, manifest.backend.name) == ("mockllm/model", "inspect_ai")
    assert manifest.is_import
    assert manifest.backend.versions == {"inspect_ai": "0.3.285"}
    assert '"dataset": "cities"' in manifest.backend.settings["capitals"]
    asked = asked_of("run", run)
    assert asked.about["asked by"] == "inspect_ai 0.3.285"
    cell = report_asked_run(asked, OPTIONS).sets["capitals"].cells["import"]
    assert (cell.rows, cell.failed) == (5, 1)
    assert not [name for name in cell.estimators if name.startswith("label")]  # no reply begins with a letter
    assert cell.accuracy["given"].value.value == 0.6


def test_letters_that_calprobe_reads_have_their_probabilities(tmp_path: Path) -> None:
    run, _ = imported(tmp_path, "capitals", grading=Grading(kept=False))
    assert {reply.correct for reply in run.pieces[0].replies} == {None}
    cell = report_asked_run(asked_of("run", run), OPTIONS).sets["capitals"].cells["import"]
    assert cell.accuracy["last_marker"].value.value == 0.6
    (reply,) = [own for own in run.pieces[0].replies if own.question == "c1"]
    scores = reply.label_scores
    assert scores is not None
    at_letter = np.exp(scores.logprobs[-1])
    assert at_letter == pytest.approx([0.4 / 3, 0.6, 0.4 / 3, 0.4 / 3])


def test_epochs_are_samples_and_stated_confidences_are_kept(tmp_path: Path) -> None:
    run, _ = imported(tmp_path, "sums")
    own = {(reply.question, reply.sample): reply for reply in run.pieces[0].replies if reply.stage == "answer"}
    assert [own[str(n), epoch].correct for n in (1, 2, 3) for epoch in (0, 1)] == [True, True, True, False, False, True]
    cell = report_asked_run(asked_of("run", run), OPTIONS).sets["sums"].cells["import"]
    stated = cell.estimators["stated_import"]
    # 0.9, 0.8, 0.7 right, 0.55 and 0.6 wrong; the sixth reply says that it is sure, and not how sure
    squares = [0.1**2, 0.2**2, 0.3**2, 0.55**2, 0.6**2]
    assert stated.metrics["brier"].value == pytest.approx(sum(squares) / 5)
    assert cell.failed == 0


@pytest.mark.parametrize(
    ("values", "correct_at", "expected"),
    [
        ({"value": "P"}, 0.5, True),
        ({"value": 0.4}, 0.5, False),
        ({"value": "yes"}, None, True),
        ({"value": True}, None, True),
        ({"value": {"correct": 0, "confidence": 0.25}}, None, False),
    ],
)
def test_grades_of_all_forms(tmp_path: Path, values: dict[str, Any], correct_at: float | None, expected: bool) -> None:
    made = import_logs({"a": changed("capitals", **values)}, tmp_path / "run", Grading(correct_at=correct_at))
    replies = open_asked(made.run.path).pieces[0].replies
    assert next(reply.correct for reply in replies if reply.question == made_first(made)) is expected


def made_first(made: Any) -> str:
    log = stored_log("capitals")
    return str(log.samples[0].id)


@pytest.mark.parametrize("confidence", [80, "0.8", True, math.nan])
def test_a_confidence_that_is_no_share_is_said(tmp_path: Path, confidence: Any) -> None:
    log = changed("sums", metadata={"confidence": confidence})
    (note,) = import_logs({"a": log}, tmp_path / "run").notes
    assert note.startswith("sums: 1 sample with a confidence that is no number from 0 to 1, left out (sample 1: ")


def test_a_sample_that_was_left_unscored_is_a_failed_request(tmp_path: Path) -> None:
    log = changed("sums", value=math.nan, reason="grader_failed")
    made = import_logs({"a": log}, tmp_path / "run")
    errors = [reply.error for reply in open_asked(made.run.path).pieces[0].replies if reply.stage == "answer"]
    assert [error for error in errors if error] == ["no grade by with_confidence (grader_failed)"]


def test_an_error_keeps_no_secret(tmp_path: Path) -> None:
    log = stored_log("sums")
    log.samples[0].error = Logged(message=f"No answer of https://me:hunter2@host/v1\nfrom {Path.home()}/x")
    made = import_logs({"a": log}, tmp_path / "run")
    assert made.notes == ("sums: 1 sample failed, no reply: No answer of https://***@host/v1",)


def test_limits_and_cut_replies_are_said(tmp_path: Path) -> None:
    log = stored_log("sums")
    log.status = "cancelled"
    log.samples[0].limit = Logged(type="token", limit=10.0)
    log.samples[1].output.choices[0].stop_reason = "max_tokens"
    made = import_logs({"a": log}, tmp_path / "run")
    assert made.notes == (
        "sums: the evaluation has the status cancelled; these are the samples that it logged",
        "sums: 1 sample ended at the limit `token`, counted as cut replies",
    )
    finishes = [reply.finish for reply in open_asked(made.run.path).pieces[0].replies if reply.stage == "answer"]
    assert finishes.count("length") == 2


def test_several_right_letters_and_more_options_than_letters_are_open(tmp_path: Path) -> None:
    log = stored_log("capitals")
    log.samples[0].target = ["A", "B"]
    log.samples[1].choices = [str(n) for n in range(30)]
    run = open_asked(import_logs({"a": log}, tmp_path / "run").run.path)
    kinds = {question.id: question.kind for question in run.questions["capitals"].questions}
    assert sorted(kinds.values()) == ["choice"] * 4 + ["open"] * 2


@pytest.mark.parametrize(
    ("log", "grading", "error", "said"),
    [
        (changed("capitals", value="P"), Grading(), ProbeFormatError, "neither right (1) nor wrong (0); give --corr"),
        (changed("capitals", value="maybe"), Grading(), ProbeFormatError, "the score 'maybe' is no grade"),
        (changed("capitals", value={"f1": 1}), Grading(), ProbeFormatError, "a score of f1; give the one that is the"),
        (stored_log("capitals"), Grading("match"), UsageError, "no scorer 'match'; there is choice"),
        (Logged(**{**vars(stored_log("sums")), "samples": []}), Grading(), ProbeFormatError, "a: no samples (status"),
    ],
)
def test_what_cannot_be_imported(
    tmp_path: Path, log: Any, grading: Grading, error: type[CalprobeError], said: str
) -> None:
    with pytest.raises(error) as raised:
        import_logs({"a": log}, tmp_path / "run", grading)
    assert said in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_logs_that_do_not_belong_together(tmp_path: Path) -> None:
    other = stored_log("sums")
    other.eval.model = "another/model"
    with pytest.raises(UsageError, match=r"several models \(mockllm/model, another/model\)"):
        import_logs({"a": stored_log("capitals"), "b": other}, tmp_path / "run")
    with pytest.raises(UsageError, match="b: another log is of task sums too"):
        import_logs({"a": stored_log("sums"), "b": stored_log("sums")}, tmp_path / "run")
    two = stored_log("sums")
    for sample in two.samples:
        sample.scores["match"] = next(iter(sample.scores.values()))
    with pytest.raises(UsageError, match="scored by with_confidence, match; give the one whose grades count"):
        import_logs({"a": two}, tmp_path / "run")
    shuffled = stored_log("capitals")
    shuffled.plan.steps[-1].params["shuffle"] = True
    with pytest.raises(UsageError, match="shuffled the options"):
        import_logs({"a": shuffled}, tmp_path / "run", Grading(kept=False))


def test_two_samples_of_one_id_are_refused(tmp_path: Path) -> None:
    log = stored_log("sums")
    log.samples[2].id = str(log.samples[0].id)  # "1" beside 1: two questions, which would be one
    with pytest.raises(ProbeFormatError, match="a: 2 samples have the id 1 in epoch 1; give each an id of its own"):
        import_logs({"a": log}, tmp_path / "run")


def test_half_a_character_becomes_a_replacement_character(tmp_path: Path) -> None:
    log = stored_log("capitals")
    log.samples[0].choices[0] = log.samples[0].input = log.samples[0].output.completion = "x\ud83d"
    run = open_asked(import_logs({"a": log}, tmp_path / "run").run.path)
    (question, *_), (reply, *_) = run.questions["capitals"].questions, run.pieces[0].replies
    assert (question.text, question.options[0], reply.text) == ("x\ufffd",) * 3


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    file = tmp_path / "quiz.eval"
    file.write_text("{}")
    with pytest.raises(ProbeFormatError, match="not a log of inspect_ai"):
        read_log(file)


def test_the_package_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    file = tmp_path / "quiz.json"
    file.write_text("{}")
    with pytest.raises(CalprobeError, match=r"pip install 'calprobe\[inspect\]'"):
        read_log(file)
