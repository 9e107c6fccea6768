"""Asking into a run folder: each request once, whatever happens in between."""

from __future__ import annotations

import json
import logging
import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from asked_samples import PROMPTS, choice, question_set
from fake_backend import ABLE, FakeBackend
from run_samples import write_run

from calprobe.asking import AskOptions, Interrupted, ask, plan_of
from calprobe.asking.ask_progress import AskProgress
from calprobe.backends.protocol import Pending
from calprobe.errors import CalprobeError, UsageError
from calprobe.prompts import fingerprint_of, load_prompts
from calprobe.questions import Question, QuestionOptions, QuestionSet
from calprobe.runs import AskedRun, ModelRecord, Reply, open_asked
from calprobe.runs.journal import Journal, journal_path
from calprobe.runs.journal_reading import read_journals
from calprobe.runs.known_replies import only_reply
from calprobe.runs.listing import list_runs
from calprobe.runs.manifest_records import ModelSize
from calprobe.runs.merge import merge_runs
from calprobe.runs.shards import shard_path
from calprobe.studies.overview.catalogue import Filters, catalogue
from calprobe.studies.overview.runs_table import run_list_tables

QUESTIONS = question_set(5)
ALL = AskOptions(prompts=PROMPTS, collect=("labels", "answer", "stated"), quiet=True)
PER_QUESTION = 2 + 3  # direct: answer, stated; steps: answer, final, stated


def shards(run: AskedRun) -> dict[str, bytes]:
    return {str(p): shard_path(run.path, *p).read_bytes() for p in run.manifest.pieces}


@pytest.fixture
def whole(tmp_path: Path) -> AskedRun:
    """A run that nothing happened to."""
    return ask(FakeBackend(), QUESTIONS, tmp_path / "whole", ALL)


def test_everything_is_asked_once(tmp_path: Path) -> None:
    backend = FakeBackend()
    run = ask(backend, QUESTIONS, tmp_path / "run", ALL)
    assert not run.partial
    assert sorted(backend.asked.values()) == [1] * PER_QUESTION * 5
    assert [(asked.variant, asked.stages) for asked in run.by_piece] == [
        ("direct", ("answer", "stated:decimal")),
        ("steps", ("answer", "final", "stated:decimal")),
    ]
    replies = [reply for piece in run.pieces for reply in piece.replies]
    assert {reply.key for reply in replies} == set(backend.asked)
    assert {reply.finish for reply in replies} == {"stop"}
    final = next(reply for reply in replies if reply.stage == "final" and reply.question == "q1")
    assert final.prompt.endswith("Final answer:")
    assert final.label_scores is not None
    assert run.progress.statements == PER_QUESTION * 5
    assert (run.manifest.backend.address, run.manifest.backend.settings["dtype"]) == ("nowhere", "float32")
    assert not (run.path / "journal").exists()
    assert not backend.closed  # the caller's own


def test_a_question_is_asked_under_its_variants_within_a_short_time(tmp_path: Path) -> None:
    class Noting(FakeBackend):
        def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
            for reply in super().replies(pending):
                order.append(reply.variant)
                yield reply

    order: list[str] = []
    ask(Noting(), question_set(80), tmp_path / "run", AskOptions(prompts=PROMPTS, collect=("answer",), quiet=True))
    turns = [(variant, len(list(turn))) for variant, turn in groupby(order)]
    assert [variant for variant, _ in turns] == ["direct", "steps"] * 3
    assert [length for variant, length in turns if variant == "direct"] == [32, 32, 16]


def test_a_second_time_nothing_is_asked(whole: AskedRun) -> None:
    before = shards(whole)
    again = FakeBackend()
    assert shards(ask(again, QUESTIONS, whole.path, ALL)) == before
    assert not again.asked


def test_the_order_of_replies_changes_nothing(whole: AskedRun, tmp_path: Path) -> None:
    for backwards in (2, 100):
        run = ask(FakeBackend(backwards=backwards), QUESTIONS, tmp_path / f"{backwards}", ALL)
        assert shards(run) == shards(whole)


@pytest.mark.parametrize("most", [0, 1, 7, 11, 24])
def test_a_backend_that_breaks_down_loses_nothing(whole: AskedRun, tmp_path: Path, most: int) -> None:
    out = tmp_path / "run"
    with pytest.raises(CalprobeError, match="the fake server is gone") as error:
        ask(FakeBackend(most=most, backwards=3), QUESTIONS, out, ALL)
    if most:
        assert f"{25 - most} of 25 replies are left, none that arrived is lost" in str(error.value)
        assert f"Run the same command again to resume in {out}" in str(error.value)
    in_shards = sum(len(piece.replies) for piece in open_asked(out).pieces)
    assert len(read_journals(out)) + in_shards == most
    second = FakeBackend()
    run = ask(second, QUESTIONS, out, ALL)
    assert second.asked.total() == 25 - most
    assert shards(run) == shards(whole)
    assert run.progress.statements == 25


def test_failures_are_kept_with_their_reason_and_asked_again(
    whole: AskedRun, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing = {"answer": ["q1"], "stated:decimal": ["q2"]}
    with caplog.at_level(logging.WARNING):
        run = ask(FakeBackend(failing=failing), QUESTIONS, tmp_path / "run", ALL)
    assert "2 requests failed (2 times: the fake server said 500); the same command asks for them again" in caplog.text
    assert not run.partial
    failed = {(r.question, r.variant, r.stage): r.error for p in run.pieces for r in p.replies if r.finish == "error"}
    assert failed == {
        ("q1", "direct", "answer"): "the fake server said 500",
        ("q1", "direct", "stated:decimal"): "not asked, because stage answer failed: the fake server said 500",
        ("q2", "direct", "stated:decimal"): "the fake server said 500",
    }
    again = FakeBackend()
    assert shards(ask(again, QUESTIONS, run.path, ALL)) == shards(whole)
    assert again.asked.total() == 3


def test_a_failure_that_stays_is_asked_once_each_time(tmp_path: Path) -> None:
    for _ in range(3):
        backend = FakeBackend(failing={"final": ["q0"] * 9})
        run = ask(backend, QUESTIONS, tmp_path / "run", ALL)
        assert [r.stage for p in run.pieces for r in p.replies if r.finish == "error"] == ["final"]
    assert backend.asked.total() == 1


def test_a_run_in_which_everything_fails_is_stopped(tmp_path: Path) -> None:
    many = question_set(40)
    failing = {"answer": [q.id for q in many.questions]}
    with pytest.raises(CalprobeError) as error:
        ask(FakeBackend(failing=failing), many, tmp_path / "run", ALL)
    assert "the first 20 requests all failed: the fake server said 500; no reply has arrived, all 200 are left.\n" in (
        str(error.value)
    )


def test_the_list_of_runs_tells_failed_requests_from_replies(tmp_path: Path) -> None:
    few = question_set(4)
    ids = [question.id for question in few.questions]
    options = AskOptions(prompts=PROMPTS, variants=("direct",), collect=("answer",), quiet=True)
    for name, failing in (("all", [*ids]), ("none", []), ("some", ids[:3])):
        ask(FakeBackend(failing={"answer": failing}), few, tmp_path / name, options)
    with pytest.raises(CalprobeError):
        ask(FakeBackend(failing={"answer": ids[:1]}, most=2), few, tmp_path / "stopped", options)
    found = catalogue(list_runs(tmp_path), {}, Filters(), headlines=False)
    assert [run.state for run in found.runs] == ["failed", "complete", "complete", "partial"]
    assert [run.to_json()["failed"] for run in found.runs] == [4, 0, 3, 1]
    assert [run.to_json()["complete"] for run in found.runs] == [False, True, True, False]
    (table,) = run_list_tables(found)
    assert [row.cells[0] for row in table.rows] == [
        "failed 0 % (0 of 4 requests, 4 failed)",
        "complete",
        "complete, 3 of 4 requests failed",
        "partial 25 % (1 of 4 requests, 1 failed)",
    ]
    assert any(note.startswith(f"FAILED {tmp_path / 'all'}: no request has a reply") for note in table.notes)


class Interrupting(FakeBackend):
    """Sends the signal while it answers the third request, and goes on with what it has been handed."""

    number = signal.SIGINT

    def replies(self, pending: object) -> Iterator[object]:
        for count, reply in enumerate(super().replies(pending), start=1):  # type: ignore[arg-type]
            if count == 3:
                os.kill(os.getpid(), self.number)
            yield reply


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_what_is_in_progress(whole: AskedRun, tmp_path: Path, number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        backend = Interrupting(backwards=3)
        backend.number = number
        with pytest.raises(Interrupted, match=r"19 of 25 replies are left, none that arrived is lost"):
            ask(backend, QUESTIONS, tmp_path / "run", ALL)
    finally:
        signal.signal(number, before)
    assert backend.asked.total() == 6  # three dialogues had been handed out
    assert shards(ask(FakeBackend(), QUESTIONS, tmp_path / "run", ALL)) == shards(whole)


def test_a_signal_cuts_off_what_costs_nothing_but_time(whole: AskedRun, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        backend = Interrupting(capabilities=replace(ABLE, stops_at_once=True), backwards=3)
        with pytest.raises(Interrupted, match=r"23 of 25 replies are left, none that arrived is lost"):
            ask(backend, QUESTIONS, tmp_path / "run", ALL)
    finally:
        signal.signal(signal.SIGINT, before)
    assert shards(ask(FakeBackend(), QUESTIONS, tmp_path / "run", ALL)) == shards(whole)


def test_a_changed_prompt_or_model_never_meets_old_replies(whole: AskedRun) -> None:
    first = replace(PROMPTS.variants[0], user="Well: {input}")
    changed = replace(PROMPTS, variants=(first, PROMPTS.variants[1]))
    with pytest.raises(UsageError, match="variant direct: the text or its settings differ"):
        ask(FakeBackend(), QUESTIONS, whole.path, replace(ALL, prompts=changed))
    with pytest.raises(UsageError, match=r"model: the run has toy \(wwwwwwwwwwww\), requested toy \(vvvvvvvvvvvv\)"):
        ask(FakeBackend(model=ModelRecord("toy", weights_fingerprint="v" * 64)), QUESTIONS, whole.path, ALL)
    weights = replace(FakeBackend().model, weights_fingerprint="v" * 64)  # as they are loaded
    words = (
        r"different run\. dtype: the run has float32, requested bfloat16\.\nTo go on, --dtype float32\. Give another"
    )
    for backend in (FakeBackend(dtype="bfloat16"), FakeBackend(dtype="bfloat16", model=weights)):
        with pytest.raises(UsageError, match=words):
            ask(backend, QUESTIONS, whole.path, ALL)
    with pytest.raises(UsageError, match="seed: the run has 0, requested 3"):
        ask(FakeBackend(), QUESTIONS, whole.path, replace(ALL, seed=3))


def test_another_budget_of_thoughts_is_another_run(tmp_path: Path) -> None:
    """A second budget would ask for everything again, in the place of the replies that are there."""
    able = replace(ABLE, ends_thoughts=True)

    def thinking(out: str, tokens: int | None, **changes: Any) -> AskedRun:
        options = replace(ALL, think_tokens=tokens, **changes)
        return ask(FakeBackend(capabilities=able), QUESTIONS, tmp_path / out, options)

    run = thinking("run", 10)
    assert run.manifest.sampling.think_tokens == 10
    assert "thoughts of 10 tokens at most" in run.manifest.describe()
    for tokens in (500, None):
        with pytest.raises(UsageError, match=f"think-tokens: the run has 10, requested {tokens or 'none'}"):
            thinking("run", tokens)
    assert not thinking("run", 10).partial
    without = thinking("without", None).manifest
    assert "think-tokens" not in without.identity()  # runs of earlier versions keep their hash
    with pytest.raises(UsageError, match="think-tokens: the run has none, requested 10"):
        thinking("without", 10)
    parts = [thinking(f"{tokens}", tokens, shard=f"{n}/2").path for n, tokens in ((1, 10), (2, 500))]
    with pytest.raises(UsageError, match=r"think-tokens: .*10 has 10, .*500 has 500"):
        merge_runs(parts, tmp_path / "merged")


def test_another_version_goes_on_with_a_warning(whole: AskedRun, caplog: pytest.LogCaptureFixture) -> None:
    newer = FakeBackend(versions={"fake": "2"})
    with caplog.at_level(logging.WARNING):
        ask(newer, QUESTIONS, whole.path, ALL)
    assert "resuming with backend versions fake 2, the run started with fake 1: replies that are asked" in caplog.text
    assert not newer.asked
    assert open_asked(whole.path).manifest.later_versions == ()  # it answered nothing


def test_every_version_that_answered_is_recorded(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for version, n_questions in (("1", 2), ("2", 3), ("2", 4), ("3", 5), ("1", 6)):
        ask(FakeBackend(versions={"fake": version}), question_set(n_questions), out, ALL)
    manifest = open_asked(out).manifest
    assert manifest.backend.versions == {"fake": "1"}
    assert manifest.later_versions == ({"fake": "2"}, {"fake": "3"})
    assert "backend fake (first fake 1)" in manifest.describe()
    assert manifest.describe().endswith("some replies by fake 2, some replies by fake 3")


def test_a_run_grows_and_asks_only_what_is_new(whole: AskedRun, tmp_path: Path) -> None:
    out, few = tmp_path / "run", question_set(3)
    only_direct = replace(ALL, variants=("direct",), collect=("labels", "answer"))
    sizes = []
    for questions, options in (
        (few, only_direct),
        (few, replace(only_direct, collect=ALL.collect)),
        (QUESTIONS, replace(only_direct, collect=ALL.collect)),
        (QUESTIONS, ALL),
        (few, only_direct),
    ):
        backend = FakeBackend()
        ask(backend, questions, out, options)
        sizes.append(backend.asked.total())
    assert sizes == [3, 3, 2 * 2, 3 * 5, 0]
    run = open_asked(out)
    assert shards(run) == shards(whole)
    assert run.manifest.identity_hash == whole.manifest.identity_hash
    assert not run.partial


SHOT = "{input}\nAnswer: {answer}"
FEW = replace(PROMPTS.variants[0], name="few", user="{fewshot_examples}\n{input}", shots=2, shot=SHOT)
WITH_FEW = replace(PROMPTS, variants=(*PROMPTS.variants, FEW))


def with_shots(numbers: Iterable[int]) -> QuestionSet:
    return replace(QUESTIONS, shots=tuple(choice(number) for number in numbers))


def test_what_would_change_the_requests_of_a_piece_is_refused(whole: AskedRun, tmp_path: Path) -> None:
    backend = FakeBackend()
    with pytest.raises(UsageError, match=r"probabilities of labels \(sums.direct\): the run has some, requested none"):
        ask(backend, QUESTIONS, whole.path, replace(ALL, collect=("answer", "stated")))
    with pytest.raises(UsageError, match=r"stated confidences \(sums.direct\): the run has none, requested some"):
        ask(backend, QUESTIONS, whole.path, replace(ALL, collect=("labels", "answer", "stated", "closed")))
    few, out = replace(ALL, prompts=WITH_FEW), tmp_path / "few"
    ask(FakeBackend(), with_shots((10, 11)), out, few)
    with pytest.raises(UsageError, match=r"examples in prompts \(sums.few\): others"):
        ask(backend, with_shots((10, 12)), out, few)
    with pytest.raises(UsageError, match=r"examples in prompts \(sums.few\): others"):
        ask(backend, with_shots((10, 11)), out, replace(few, prompts=replace(WITH_FEW, separator="\n--\n")))
    assert not ask(backend, with_shots((10, 11)), out, few).partial
    assert not ask(backend, with_shots((10, 12)), out, replace(few, variants=("direct",))).partial  # shows none
    assert not backend.asked


@pytest.mark.parametrize("resume", [True, False])
def test_a_run_of_scores_is_neither_resumed_nor_replaced(resume: bool, tmp_path: Path) -> None:
    scored = write_run(tmp_path / "scored")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError, match="contains a run of scores, not of replies; give another folder with --out"):
        ask("no-such/model", QUESTIONS, scored, replace(ALL, resume=resume))  # before the model is looked for
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_grown_run_has_the_fingerprint_of_its_prompts(tmp_path: Path) -> None:
    for name in ("direct", "steps"):
        grown = ask(FakeBackend(), QUESTIONS, tmp_path / "grown", replace(ALL, variants=(name,)))
    one = ask(FakeBackend(), QUESTIONS, tmp_path / "one", ALL)
    assert grown.manifest.prompts == one.manifest.prompts
    parts = [
        ask(FakeBackend(), QUESTIONS, tmp_path / name, replace(ALL, variants=(name,))).path
        for name in ("direct", "steps")
    ]
    merge_runs(parts, tmp_path / "merged")
    merged = open_asked(tmp_path / "merged").manifest.prompts
    assert merged.fingerprint == fingerprint_of(merged)


def test_a_run_has_the_final_cue_of_those_of_its_variants_that_use_it(tmp_path: Path) -> None:
    """The default asks nothing behind replies; variants of another set, with a cue, join it."""
    without = replace(PROMPTS, name="bare", fingerprint="b" * 64, variants=PROMPTS.variants[:1], final_cue="")
    plain, steps = replace(ALL, prompts=without), replace(ALL, variants=("steps",))
    for first, second, name in ((plain, steps, "plain first"), (steps, plain, "steps first")):
        parts = [
            ask(FakeBackend(), QUESTIONS, tmp_path / f"{name} {n}", own).path for n, own in enumerate((first, second))
        ]
        merge_runs(parts, tmp_path / f"{name} merged")
        ask(FakeBackend(), QUESTIONS, tmp_path / name, first)
        ask(FakeBackend(), QUESTIONS, tmp_path / name, second)
        for out in (tmp_path / name, tmp_path / f"{name} merged"):
            backend = FakeBackend()
            for options in (second, first):
                assert not ask(
                    backend, QUESTIONS, out, replace(options, variants=options.variants or ("direct",))
                ).partial
            assert not backend.asked
            assert open_asked(out).manifest.prompts.final_cue == PROMPTS.final_cue
    other = replace(PROMPTS, variants=(replace(PROMPTS.variants[1], name="others"),), final_cue="\n\nSo:")
    said = r"end of replies: {} the final cue '\\n\\nFinal answer:' with 4 new tokens{} the final cue '\\n\\nSo:'"
    with pytest.raises(UsageError, match=said.format("the run has", ", requested")):
        ask(FakeBackend(), QUESTIONS, tmp_path / "plain first", replace(ALL, prompts=other, variants=("others",)))
    parts.append(ask(FakeBackend(), QUESTIONS, tmp_path / "other", replace(ALL, prompts=other)).path)
    with pytest.raises(UsageError, match=said.format(".* has", ", .* has")):
        merge_runs([parts[0], parts[2]], tmp_path / "none")
    with pytest.raises(UsageError, match=said.format("the runs have", " and")):
        merge_runs([parts[1], parts[0], parts[2]], tmp_path / "none")


@pytest.mark.parametrize("failed", [False, True])
def test_replies_to_other_prompts_replace_none(whole: AskedRun, tmp_path: Path, failed: bool) -> None:
    replies = [reply for piece in whole.pieces for reply in piece.replies]
    strange = [replace(reply, key=f"zz{reply.key}", text="of another prompt") for reply in replies]
    if failed:
        strange = [replace(reply, text="", finish="error", error="500") for reply in strange]
    before = shards(whole)
    for out, missing in ((whole.path, 0), (tmp_path / "new", 25)):
        if missing:  # nothing but the other replies, of all requests
            with pytest.raises(CalprobeError):
                ask(FakeBackend(most=0), QUESTIONS, out, ALL)
        with closing(Journal.open(out)) as journal:
            journal.add_all(strange)
        backend = FakeBackend()
        assert shards(ask(backend, QUESTIONS, out, ALL)) == before
        assert backend.asked.total() == missing
        assert not (out / "journal").exists()


def test_a_failure_replaces_no_reply_to_another_prompt(whole: AskedRun) -> None:
    piece = whole.pieces[0]
    good, other = next(r for r in piece.replies if r.stage == "answer"), replace(piece.replies[0], key="other")
    failed = replace(good, key="new", text="", finish="error", error="500")
    assert only_reply([good, failed], "new") == good
    assert only_reply([failed], "new") == failed
    assert only_reply([good, other], None) is None  # no key tells which
    assert only_reply([good], "new") is None


def test_what_is_asked_in_part_stays_partial_and_safe(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(CalprobeError, match="the fake server is gone"):
        ask(FakeBackend(most=12), QUESTIONS, out, ALL)
    part = ask(FakeBackend(), QUESTIONS, out, replace(ALL, variants=("direct",)))
    assert part.partial
    backend = FakeBackend()
    assert not ask(backend, QUESTIONS, out, ALL).partial
    assert backend.asked.total() == 13


def test_shares_are_asked_apart_and_merged(whole: AskedRun, tmp_path: Path) -> None:
    parts, backend = [], FakeBackend()
    for number in (1, 2):
        parts.append(ask(backend, QUESTIONS, tmp_path / f"{number}", replace(ALL, shard=f"{number}/2")).path)
    assert sorted(backend.asked.values()) == [1] * 25
    merge_runs(parts, tmp_path / "merged")
    assert shards(open_asked(tmp_path / "merged")) == shards(whole)
    with pytest.raises(UsageError, match="the shares of a run do not grow"):
        ask(backend, question_set(7), parts[0], replace(ALL, shard="1/2"))
    with pytest.raises(UsageError, match="contains shard 1/2, not the complete run"):
        ask(backend, QUESTIONS, parts[0], ALL)


def test_starting_over_deletes_what_was_there(whole: AskedRun) -> None:
    backend = FakeBackend()
    run = ask(backend, question_set(2), whole.path, replace(ALL, resume=False))
    assert backend.asked.total() == 10
    assert run.manifest.n_questions == 2
    assert not run.partial


def test_a_damaged_shard_is_asked_again(whole: AskedRun, caplog: pytest.LogCaptureFixture) -> None:
    before, path = shards(whole), shard_path(whole.path, "sums.direct", 0)
    path.write_bytes(b"PAR1" + path.read_bytes()[4:-9])
    backend = FakeBackend()
    assert shards(ask(backend, QUESTIONS, whole.path, ALL)) == before
    assert backend.asked.total() == 10
    assert "renamed to sums.direct.t0.parquet.bad, will be asked again" in caplog.text


def test_a_damaged_journal_is_salvaged(whole: AskedRun, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "run"
    with pytest.raises(CalprobeError):
        ask(FakeBackend(most=5), QUESTIONS, out, ALL)
    path = journal_path(out, 0)
    content = bytearray(path.read_bytes())
    place = content.rindex(b'"stage":"answer"')
    content[place + 9 : place + 10] = b"X"
    path.write_bytes(content)
    backend = FakeBackend()
    run = ask(backend, QUESTIONS, out, ALL)
    assert "renamed to 0.sqlite3.bad; 4 replies in it could be read" in caplog.text
    assert backend.asked.total() == 21
    assert shards(run) == shards(whole)
    assert path.with_name("0.sqlite3.bad").exists()


def test_samples_and_paraphrases(tmp_path: Path) -> None:
    worded = tuple(replace(q, paraphrases=(f"Please: {q.text}",)) for q in QUESTIONS.questions)
    questions = replace(QUESTIONS, questions=worded)
    options = replace(ALL, variants=("direct",), samples=3, temperature=1.0, seed=7, paraphrases="hand")
    run = ask(FakeBackend(), questions, tmp_path / "run", options)
    assert [piece.paraphrase for piece in run.pieces] == [0, 1]
    assert {len(piece.replies) for piece in run.pieces} == {5 * 2 * 3}
    assert (run.manifest.sampling.temperature, run.manifest.sampling.seed) == (1.0, 7)
    texts = {r.prompt for r in run.pieces[1].replies if r.stage == "answer"}
    assert all("Please: What is" in text for text in texts)
    assert "temperature 1, top-p 1, seed 7" in run.manifest.describe()


def test_labels_alone_are_one_token(tmp_path: Path) -> None:
    run = ask(FakeBackend(), QUESTIONS, tmp_path / "run", replace(ALL, collect=("labels",)))
    assert [asked.stages for asked in run.by_piece] == [("label",), ("label",)]


def test_capabilities_are_checked_before_the_first_request(tmp_path: Path) -> None:
    for changes, what in (
        ({"complete_softmax": False}, "gives no log-probabilities of tokens; leave labels out"),
        ({"complete_softmax": False, "top_logprobs": 3}, "shows the 3 most probable tokens, fewer than the 4 labels"),
    ):
        backend = FakeBackend(capabilities=replace(ABLE, **changes))
        with pytest.raises(UsageError, match=what):
            ask(backend, QUESTIONS, tmp_path / "run", ALL)
        assert not backend.asked
    raw = replace(PROMPTS, variants=tuple(replace(v, raw=True) for v in PROMPTS.variants))
    with pytest.raises(UsageError, match="takes chat messages only, and the prompts are raw text"):
        ask(FakeBackend(capabilities=replace(ABLE, raw=False)), QUESTIONS, tmp_path / "run", replace(ALL, prompts=raw))


def test_a_backend_that_continues_no_reply_is_asked_for_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    backend = FakeBackend(capabilities=replace(ABLE, continues=False))
    with caplog.at_level(logging.INFO):
        run = ask(backend, QUESTIONS, tmp_path / "run", ALL)
    assert "toy on fake cannot continue a reply: the label is not asked for once more behind it (steps)" in caplog.text
    assert [asked.stages for asked in run.by_piece] == [("answer", "stated:decimal")] * 2
    assert run.manifest.describe().endswith(", no label behind the reply")
    again = FakeBackend(capabilities=backend.capabilities)
    assert not ask(again, QUESTIONS, run.path, ALL).partial
    assert not again.asked


def test_the_label_behind_a_reply_is_asked_of_choices_only(tmp_path: Path) -> None:
    numbers = tuple(Question(f"n{n}", f"How many is {n}?", "number", number=n) for n in range(3))
    options = replace(ALL, variants=("steps",), collect=("answer",))
    run = ask(FakeBackend(), replace(QUESTIONS, questions=numbers), tmp_path / "run", options)
    assert [asked.stages for asked in run.by_piece] == [("answer",)]


def test_a_question_without_paraphrases_is_named_by_its_number(tmp_path: Path) -> None:
    first, *others = QUESTIONS.questions
    some = replace(QUESTIONS, questions=(first, *(replace(q, paraphrases=("Please.",)) for q in others)))
    for questions, count in ((some, "1 of 5"), (QUESTIONS, "5 of 5")):
        with pytest.raises(UsageError, match=f"--paraphrases hand: {count} questions of sums have no other wording"):
            ask(FakeBackend(), questions, tmp_path / "run", replace(ALL, paraphrases="hand"))


def test_a_study_keeps_its_rule_of_drawing_and_records_other_questions(tmp_path: Path) -> None:
    options = replace(ALL, study="audit", prompts=PROMPTS, variants=("direct",))
    for chosen, rule, overrides in (
        (QuestionOptions(draw=2), "sample", ("--draw 2",)),
        (QuestionOptions(draw=2, draw_rule="nested"), "nested", ("--draw 2", "--draw-rule nested")),
        (QuestionOptions(limit=2), "first", ("--limit 2",)),
    ):
        run = ask(FakeBackend(), "mini", tmp_path / rule, options, question_options=chosen)
        assert run.manifest.sets[0].source.rule == rule
        assert run.manifest.overrides[-len(overrides) :] == overrides
    origin = run.manifest.origin()
    assert origin["study"] == "audit, overridden by --prompts made-up --variants direct --limit 2"
    assert origin["questions"] == "mini (2 questions, rule first)"


@pytest.mark.parametrize(("study", "drawn"), [("stated", 1000), ("wording", 1000), ("science-answers", 250)])
def test_a_study_draws_from_a_larger_set_and_takes_all_of_a_smaller_one(study: str, drawn: int, tmp_path: Path) -> None:
    options = AskOptions(study=study, collect=("answer",), paraphrases="none")
    for count in (drawn - 1, drawn + 1):
        file = tmp_path / f"of-{count}.jsonl"
        lines = [{"id": f"q{at}", "question": f"What is {at}?", "answer": [f"x{at}"]} for at in range(count)]
        file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        (asked,) = plan_of(file, options).sets
        assert len(asked.questions) == min(count, drawn)
        assert asked.source.rule == ("all" if count < drawn else "nested")


def test_progress_counts_replies_and_failures(tmp_path: Path) -> None:
    seen: list[AskProgress] = []
    options = replace(ALL, progress=seen.append)
    ask(FakeBackend(failing={"final": ["q1"]}), QUESTIONS, tmp_path / "run", options)
    assert [now.replies for now in seen] == list(range(1, 26))
    assert (seen[-1].total, seen[-1].tokens, seen[-1].failures, seen[-1].seconds_left) == (25, 24, 1, 0)
    assert seen[-1].rates.startswith("1 failed, ")


def test_a_size_that_is_given_later_is_recorded_and_asks_nothing(tmp_path: Path) -> None:
    plain = FakeBackend().model
    ask(FakeBackend(), QUESTIONS, tmp_path / "run", ALL)
    for size in (ModelSize(7_600_000_000, "given"), None, ModelSize(7_615_616_512, "given")):
        backend = FakeBackend(model=replace(plain, size=size))
        run = ask(backend, QUESTIONS, tmp_path / "run", ALL)
        assert not backend.asked
        assert not run.partial
        assert run.manifest.model.size is not None  # None leaves what is known
    assert run.manifest.model.size.parameters == 7_615_616_512


def test_the_manifest_says_what_a_study_had_overridden(tmp_path: Path) -> None:
    options = replace(ALL, study="audit", max_new_tokens=4)
    run = ask(FakeBackend(), QUESTIONS, tmp_path / "run", options)
    assert run.manifest.study == "audit"
    assert run.manifest.overrides == ("--prompts made-up", "--max-new-tokens 4")
    assert run.manifest.sampling.seed == 42
    json.loads((run.path / "manifest.json").read_text())


def test_a_run_of_an_earlier_version_of_the_prompts_is_told_apart_by_them(tmp_path: Path) -> None:
    shipped = load_prompts("audit")
    earlier = replace(
        shipped,
        final_cue="\n\nAnswer:",
        stated=tuple(replace(each, max_new_tokens=16) for each in shipped.stated),
    )
    options = AskOptions(collect=("answer", "stated"), quiet=True, shots=0)
    ask(FakeBackend(), question_set(2), tmp_path / "run", replace(options, prompts=earlier))
    said = (
        r"prompts audit: they have changed since the run was asked; variants .*format_change.*: the text or its "
        r"settings differ; stated decimal_01, percent_0_100: the run has 16 new tokens, requested 8 \(--stated-tokens\)"
    )
    with pytest.raises(UsageError, match=said):
        ask(FakeBackend(), question_set(2), tmp_path / "run", replace(options, prompts=shipped))


def test_a_stated_confidence_has_the_tokens_of_its_study_or_those_asked_for(tmp_path: Path) -> None:
    study = AskOptions(study="audit", variants=("surface_paraphrase",), quiet=True)
    for number, budget in ((None, 8), (16, 16)):
        seen: list[int] = []

        class Watched(FakeBackend):
            def _dialogue(self, pending: Pending, seen: list[int] = seen) -> Iterator[Reply]:
                seen += [own.decoding.max_new_tokens for own in pending.dialogue.follow_ups]
                yield from super()._dialogue(pending)

        run = ask(Watched(), question_set(1), tmp_path / f"of-{budget}", replace(study, stated_tokens=number))
        assert set(seen) == {4, budget}  # of the label behind the reply, and of confidences
        assert ("--stated-tokens 16" in run.manifest.overrides) == (number is not None)
    with pytest.raises(UsageError, match="--stated-tokens: no confidence is stated; collect stated, too, or leave"):
        ask(FakeBackend(), question_set(1), tmp_path / "none", AskOptions(stated_tokens=16, quiet=True))
    with pytest.raises(UsageError, match="--stated-tokens must be a whole number of at least 1, got 0"):
        AskOptions(stated_tokens=0)


def test_raw_prompts_are_plain_text_and_another_run(tmp_path: Path) -> None:
    options = replace(ALL, study="audit", raw_prompt=True)
    seen = []

    class Watched(FakeBackend):
        def _dialogue(self, pending: Pending) -> Iterator[Reply]:
            seen.append((pending.dialogue.raw, len(pending.dialogue.messages)))
            yield from super()._dialogue(pending)

    run = ask(Watched(), QUESTIONS, tmp_path / "run", options)
    assert set(seen) == {(True, 1)}
    assert "--raw-prompt" in run.manifest.overrides
    with pytest.raises(UsageError, match="takes chat messages only, and the prompts are raw text"):
        ask(FakeBackend(capabilities=replace(ABLE, raw=False)), QUESTIONS, tmp_path / "chat", options)
    with pytest.raises(UsageError, match="prompts"):
        ask(FakeBackend(), QUESTIONS, run.path, replace(options, raw_prompt=None))


def test_another_backends_reply_is_a_defect(tmp_path: Path) -> None:
    class Confused(FakeBackend):
        def replies(self, pending: object) -> Iterator[object]:
            for reply in super().replies(pending):  # type: ignore[arg-type]
                yield reply
                yield reply

    with pytest.raises(CalprobeError, match="answered a request that was not asked"):
        ask(Confused(), QUESTIONS, tmp_path / "run", ALL)

    class Lazy(FakeBackend):
        def replies(self, pending: object) -> Iterator[object]:
            for count, reply in enumerate(super().replies(pending)):  # type: ignore[arg-type]
                if count != 4:
                    yield reply

    with pytest.raises(CalprobeError, match="ended without answering 1 request"):
        ask(Lazy(), QUESTIONS, tmp_path / "lazy", ALL)
