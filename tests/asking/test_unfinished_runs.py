"""Reports of runs that were stopped, or are being asked: what the journal holds counts, and nothing else changes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from asked_samples import PROMPTS, question_set
from fake_backend import ABLE, FakeBackend

from calprobe.asking import AskOptions, ask
from calprobe.backends.protocol import Pending
from calprobe.backends.request import Request
from calprobe.cells.asked import Asked
from calprobe.cells.asked_folder import asked_of
from calprobe.cli.output import tables_text
from calprobe.errors import CalprobeError
from calprobe.interop.asked_exports import reply_table
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.runs import AskedRun, Reply, open_asked
from calprobe.runs.journal import journal_path
from calprobe.runs.journal_reading import read_journals
from calprobe.runs.replies import TOO_LONG
from calprobe.runs.shards import shard_path
from calprobe.studies.asked.asked_tables import NO_REPLIES, asked_tables, heading
from calprobe.studies.asked.frames import confidences_frame
from calprobe.studies.asked.report_asked import report_asked, report_asked_run

QUESTIONS = question_set(40)
OPTIONS = AskOptions(prompts=PROMPTS, collect=("labels", "answer", "stated"), quiet=True)
QUICK = ReportOptions(resampling=Resampling(20))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> AskedRun:
    return ask(FakeBackend(), QUESTIONS, tmp_path_factory.mktemp("whole") / "run", OPTIONS)


def stopped(path: Path, most: int) -> AskedRun:
    """A run whose backend broke down after so many replies."""
    with pytest.raises(CalprobeError, match="the fake server is gone"):
        ask(FakeBackend(most=most), QUESTIONS, path, OPTIONS)
    return open_asked(path)


def numbers(asked: Asked) -> Mapping[str, object]:
    """What a report says of the replies, without how many are missing."""
    found = report_asked_run(asked, QUICK).to_json()
    return {key: found[key] for key in ("sets", "shifts")}


def only_those_of(whole: AskedRun, other: AskedRun) -> Asked:
    """The complete run without the replies that another one lacks."""
    there = {reply.key for record in other.by_piece.values() for reply in record.replies}
    asked = asked_of("run", whole)
    return replace(asked, replies=tuple(reply for reply in asked.replies if reply.key in there))


@pytest.mark.parametrize("most", [1, 100, 199])
def test_a_stopped_run_is_reported_as_far_as_it_is(whole: AskedRun, tmp_path: Path, most: int) -> None:
    run = stopped(tmp_path / "run", most)
    asked = asked_of("run", run)
    assert len(asked.replies) == most
    assert asked.partial
    assert run.partial
    assert numbers(asked) == numbers(only_those_of(whole, run))


def test_what_is_missing_is_counted_and_never_wrong(tmp_path: Path) -> None:
    # 32 questions under `direct` with two stages, then 8 under `steps` with three: the ninth has its answer alone.
    run = stopped(tmp_path / "run", 64 + 8 * 3 + 1)
    report = report_asked_run(asked_of("run", run), QUICK)
    (said,) = heading(report)
    assert (
        "PARTIAL, replies to 32 of 40 questions under 2 of 2 variants (89 of 200 requests), not a sample: which come "
        in said
    )
    assert "first goes by length or order, and intervals do not allow for that" in said
    steps = report.sets["sums"].cells["steps"]
    assert (steps.rows, steps.failed, steps.accuracy["last_marker"].asked) == (9, 0, 9)
    assert steps.accuracy["constrained"].asked == 8
    stated = steps.estimators["stated_decimal"]
    assert (stated.rows, stated.coverage.value, stated.reasons) == (8, 1.0, {})
    said = dict(report.disclosure.lines())["missing"]
    assert said == "replies of sums, steps: answer 31, final 32, stated:decimal 32; these are left out"
    missing = report.to_json()["disclosure"]["missing"]["sums"]
    assert missing["direct"] == {"answer": 8, "stated:decimal": 8}


def test_a_lost_answer_is_no_failure(tmp_path: Path) -> None:
    asked = asked_of("run", stopped(tmp_path / "run", 64))
    first = asked.replies[0]
    cell = report_asked_run(replace(asked, replies=asked.replies[1:]), QUICK).sets["sums"].cells["direct"]
    assert first.stage == "answer"
    assert (cell.rows, cell.failed) == (31, 0)


@pytest.fixture
def being_asked(tmp_path: Path) -> Iterator[Path]:
    """A run folder that another process is writing."""
    out = tmp_path / "run"
    child = os.fork()
    if child == 0:
        try:
            ask(FakeBackend(pause_s=0.005), QUESTIONS, out, OPTIONS)
        finally:
            os._exit(0)
    try:
        while not journal_path(out, 0).exists():
            time.sleep(0.01)
        yield out
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_run_is_reported_while_it_is_asked(whole: AskedRun, being_asked: Path) -> None:
    counts = []
    while not counts or counts[-1] < 150:
        run = open_asked(being_asked)
        asked = asked_of("run", run)
        counts.append(len(asked.replies))
        assert numbers(asked) == numbers(only_those_of(whole, run))
        assert len(counts) < 200
    assert counts == sorted(counts)
    assert counts[0] < 150


def test_reading_changes_nothing_in_the_folder(tmp_path: Path) -> None:
    run = stopped(tmp_path / "run", 50)
    files = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    for path in run.path.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    assert len(open_asked(run.path).by_piece) == 1
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == files
    for path in run.path.rglob("*"):
        path.chmod(0o755)


def test_a_run_that_grows_keeps_what_it_had(tmp_path: Path) -> None:
    ask(FakeBackend(), question_set(10), tmp_path / "run", OPTIONS)
    run = stopped(tmp_path / "run", 6)
    assert [len(record.replies) for record in run.by_piece.values()] == [2 * 13, 3 * 10]
    assert run.pieces == ()


def test_prompts_that_must_not_be_quoted_are_not_read_from_the_journal(tmp_path: Path) -> None:
    with pytest.raises(CalprobeError, match="the fake server is gone"):
        ask(FakeBackend(most=9), question_set(5, quotable=False), tmp_path / "run", OPTIONS)
    assert any(reply.prompt for reply in read_journals(tmp_path / "run"))
    asked = asked_of("run", open_asked(tmp_path / "run"))
    assert {reply.prompt for reply in asked.replies} == {""}
    table = reply_table(asked.replies, asked.sets)
    for column in ("prompt_ids", "question_text", "options"):
        assert set(table[column].to_pylist()) == {None}
    assert confidences_frame(asked, ReportOptions())["question_text"].isna().all()


def test_a_damaged_journal_is_named_with_what_could_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = stopped(tmp_path / "run", 60)
    path = journal_path(run.path, 0)
    for each in path.parent.iterdir():
        if each != path:
            each.unlink()
    path.write_bytes(b"no database" * 100)
    assert open_asked(run.path).by_piece == {}
    assert f"{path}: damaged (file is not a database); 0 of its replies could be read" in caplog.text


def test_a_damaged_shard_is_named_with_the_questions_that_it_has(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = ask(FakeBackend(), question_set(5), tmp_path / "run", OPTIONS)
    path = shard_path(run.path, *run.manifest.pieces[0])
    path.write_bytes(path.read_bytes()[:-9])
    report = report_asked_run(asked_of("run", open_asked(run.path)), QUICK)
    assert f"{path}: it cannot be read: " in caplog.text
    assert "; its replies to 5 questions of sums under direct are left out" in caplog.text
    assert "PARTIAL, replies to 5 of 5 questions under 1 of 2 variants (15 of 25 requests)" in heading(report)[0]


class Short(FakeBackend):
    """A backend whose context has no room for the prompts of q7 and q9 under `direct`."""

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        for each in pending:
            dialogue = each.dialogue
            if dialogue.question in ("q7", "q9") and dialogue.variant == "direct":
                tokens = 1000 + int(dialogue.question[1:])
                error = f"{TOO_LONG}: it has {tokens:,} tokens, and toy takes 900 with the reply"
                yield Request.first(dialogue, 0).failed(error, tokens_in=tokens)
            else:
                yield from super().replies([each])


def test_prompts_without_room_are_named_with_what_helps(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = ask(Short(), question_set(12), tmp_path / "run", OPTIONS)
    assert (
        "2 requests cannot be asked, now or again: the prompt is too long: it has 1,009 tokens, and toy takes 900 with "
        "the reply (question q9 under direct); 2 questions (q7, q9) under direct\n"
        "use fewer --shots, other --variants, or a model with a longer context"
    ) in caplog.text
    assert "the same command asks for them again" not in caplog.text
    report = report_asked_run(asked_of("run", run), QUICK)
    cell = report.sets["sums"].cells["direct"]
    assert (cell.rows, cell.failed, cell.failure_reasons) == (10, 2, {TOO_LONG: 4})
    said = dict(report.disclosure.lines())["failures"]
    assert said.startswith(
        "4 requests failed (answer 2, stated:decimal 2; 4 times: the prompt is too long) and are left out"
    )


def test_prompts_without_room_are_not_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ask(Short(), question_set(12), tmp_path / "run", OPTIONS)
    caplog.clear()
    again = Short()
    run = ask(again, question_set(12), tmp_path / "run", OPTIONS)
    assert not again.asked
    assert "cannot be asked" not in caplog.text
    assert sum(reply.is_too_long for piece in run.by_piece.values() for reply in piece.replies) == 2


def test_prompts_without_room_are_asked_again_where_the_user_gives_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As for vLLM, whose max-model-len decides no other reply. q7 has 1,007 tokens, q9 1,009."""
    small = Short(capabilities=replace(ABLE, room=900))
    ask(small, question_set(12), tmp_path / "run", OPTIONS)
    assert "2 requests cannot be asked, unless --backend-option max-model-len is larger: the prompt" in caplog.text
    for room, left, n_asked in ((1007, ["q7", "q9"], 0), (1008, ["q9"], 2), (2000, [], 2)):
        larger = FakeBackend(capabilities=replace(ABLE, room=room))
        run = ask(larger, question_set(12), tmp_path / "run", OPTIONS)
        replies = [reply for piece in run.by_piece.values() for reply in piece.replies]
        assert [reply.question for reply in replies if reply.is_too_long] == left
        assert larger.asked.total() == n_asked  # the answer, and what is asked about it


def test_a_run_without_replies_says_so_in_one_sentence(tmp_path: Path) -> None:
    asked = replace(asked_of("run", stopped(tmp_path / "run", 1)), replies=())
    (table,) = asked_tables(report_asked([asked], QUICK))
    assert (table.rows, table.printed_notes[:1]) == ((), (NO_REPLIES,))
    assert not any(note.startswith("ECE: ") for note in table.printed_notes)


def test_a_run_stopped_before_its_journal_had_a_table_is_one_without_replies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What a process leaves that is killed between making the file and committing the table."""
    path = stopped(tmp_path / "run", 1).path
    journal_path(path, 0).write_bytes(b"")
    (table,) = asked_tables(report_asked([asked_of("run", open_asked(path))], QUICK))
    assert (table.rows, table.printed_notes[:1]) == ((), (NO_REPLIES,))
    assert caplog.text == ""
    assert not ask(FakeBackend(), QUESTIONS, path, OPTIONS).partial


def test_a_run_stopped_before_its_questions_were_written_goes_on(tmp_path: Path) -> None:
    path = stopped(tmp_path / "run", 1).path
    (path / "questions.json").unlink()
    with pytest.raises(CalprobeError, match=r"questions\.json: is missing; run the same `calprobe ask` again"):
        asked_of("run", open_asked(path))
    assert not ask(FakeBackend(), QUESTIONS, path, OPTIONS).partial


def test_fine_print_is_in_files_and_not_on_terminals(whole: AskedRun) -> None:
    report = report_asked([asked_of("run", whole)], QUICK)
    last = asked_tables(report)[-1]
    said = [f"{title}: {text}." for title, text in report.runs[0].disclosure.lines()]
    assert set(said) <= set(last.printed_notes)
    on_terminal = tables_text([last])
    assert "answers: read by" in on_terminal
    assert "ECE: 10 bins" not in on_terminal
    assert "How all was made: --format markdown" in on_terminal


def test_a_model_that_has_room_for_no_prompt_stops_at_once(tmp_path: Path) -> None:
    class Tiny(FakeBackend):
        def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
            for each in pending:
                error = f"{TOO_LONG}: it has 60 tokens, and toy takes 30 with the reply"
                yield Request.first(each.dialogue, 0).failed(error, tokens_in=60)

    with pytest.raises(
        CalprobeError, match=r"first 20 requests all failed: the prompt is too long: .*\n.*fewer --shots"
    ):
        ask(Tiny(), question_set(30), tmp_path / "run", OPTIONS)
