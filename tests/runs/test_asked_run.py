"""The folder of an asked run: written, read, damaged, merged and grown."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from asked_samples import PROMPTS, STAGES, choice, make_ask_manifest, piece_replies, question_set, reply, write_asked

from calprobe.errors import CalprobeError, UsageError
from calprobe.prompts import Overrides, overridden
from calprobe.runs import (
    Alternatives,
    AskedPiece,
    AskedRun,
    AskManifest,
    PieceReplies,
    Reply,
    open_asked,
    open_run,
    open_scores,
    reply_records,
)
from calprobe.runs.asked_growth import joined
from calprobe.runs.asked_questions import FILE_NAME, StoredSet, write_questions
from calprobe.runs.decode import DecodeError
from calprobe.runs.folder import RecordFolder
from calprobe.runs.journal import Journal
from calprobe.runs.listing import list_runs
from calprobe.runs.merge import merge_runs
from calprobe.runs.records import Piece
from calprobe.runs.reply_json import reply_from_json, reply_json
from calprobe.runs.shards import shard_path
from calprobe.studies.overview.catalogue import Filters, catalogue
from calprobe.studies.overview.runs_table import run_list_tables

DIRECT = Piece("sums.direct", 0)
Folder = RecordFolder[AskManifest, PieceReplies]


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    questions = question_set()
    folder = write_asked(tmp_path / "run", questions)
    assert folder.missing() == []
    run = open_run(tmp_path / "run")
    assert isinstance(run, AskedRun)
    assert (run.manifest, run.partial) == (make_ask_manifest(questions), False)
    assert run.questions["sums"].questions == questions.questions
    expected = [piece_replies(asked, questions.questions) for asked in run.manifest.asked]
    assert list(run.by_piece.values()) == expected
    assert [asked.variant for asked in run.by_piece] == ["direct", "steps"]
    first = run.pieces[0].replies[0]
    assert first.label_scores is not None
    assert first.label_scores.covered.tolist() == [[True, True, True, False]]
    assert repr(run).endswith("toy on sums, 6 questions, 2 variants>")
    assert "label probabilities: complete softmax, greedy, seed 0" in run.manifest.describe()


def test_what_a_backend_hides_stays_hidden(tmp_path: Path) -> None:
    asked = AskedPiece("sums", "direct", 0, ("answer",))
    questions = [choice(i) for i in range(3)]
    hidden = {"prompt_ids": None, "token_ids": None, "logprobs": None, "label_scores": None}
    rows = [reply("sums", q, "direct", "answer", **hidden) for q in questions]
    rows[1] = replace(rows[1], finish="error", error="the server said 500", text="", reasoning="so", correct=True)
    rows[2] = replace(rows[2], token_ids=(), logprobs=(), text="\x00 ünïcode \u2028 ")
    folder = Folder.open(tmp_path, make_ask_manifest(question_set(3), asked=(asked,)))
    folder.write_piece(PieceReplies.of(asked, rows))
    assert open_asked_pieces(folder) == tuple(rows)


def open_asked_pieces(folder: Folder) -> object:
    return AskedRun(folder.path, folder.manifest).pieces[0].replies


def test_a_shard_has_a_column_for_each_field_of_a_reply(tmp_path: Path) -> None:
    write_asked(tmp_path)
    columns = pq.read_schema(shard_path(tmp_path, *DIRECT)).names
    assert sorted(columns) == sorted(field.name for field in fields(Reply))


def test_shards_of_earlier_versions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, earlier in enumerate(reply_records._EARLIER):
        with monkeypatch.context() as patched:
            patched.setattr(reply_records, "_SCHEMA", earlier)
            folder = write_asked(tmp_path / str(place))
        assert pq.read_schema(shard_path(folder.path, *DIRECT)).names == earlier.names
        run = AskedRun(folder.path, folder.manifest)
        questions = question_set().questions
        assert list(run.pieces) == [piece_replies(asked, questions) for asked in run.manifest.asked]


def test_alternatives_and_thoughts_come_back_as_they_were(tmp_path: Path) -> None:
    asked = AskedPiece("sums", "direct", 0, ("answer",), alternatives=2)
    made = Alternatives.of([[(" a", 3, -0.5), ("b", 4, -1.0)], [("b", 4, -0.1)]], [0.9, 0.3], complete=True)
    hidden = Alternatives.of([[("b", None, -0.1)]], [0.3], complete=False)
    several = [made, None, hidden, Alternatives.of([], [], complete=True)]
    rows = [
        reply("sums", choice(at), "direct", "answer", alternatives=own, thought_tokens=at)
        for at, own in enumerate(several)
    ]
    folder = Folder.open(tmp_path, make_ask_manifest(question_set(4), asked=(asked,)))
    folder.write_piece(PieceReplies.of(asked, rows))
    assert open_asked_pieces(folder) == tuple(rows)


def test_equal_replies_make_equal_bytes_in_any_order(tmp_path: Path) -> None:
    write_asked(tmp_path / "one")
    folder = write_asked(tmp_path / "two", only=())
    for asked in folder.manifest.asked:
        rows = piece_replies(asked, question_set().questions).replies
        folder.write_piece(PieceReplies.of(asked, reversed(rows)))
    for piece in folder.manifest.pieces:
        assert shard_path(tmp_path / "one", *piece).read_bytes() == shard_path(tmp_path / "two", *piece).read_bytes()


@pytest.mark.parametrize("stage", ["answer", "stated:decimal"])
def test_a_reply_survives_json(stage: str) -> None:
    made = reply("sums", choice(1), "direct", stage)
    again = reply_from_json(reply_json(made))
    assert again == made
    assert reply_json(again) == reply_json(made)


def test_json_that_is_no_reply_is_refused() -> None:
    line = reply_json(reply("sums", choice(1), "direct", "answer"))
    for damaged in (line[:-1], "[]", line.replace('"least":[-9.5]', '"least":[]'), line.replace('"sample":0', "")):
        with pytest.raises(DecodeError):
            reply_from_json(damaged)
    with pytest.raises(ValueError, match="not JSON compliant"):
        reply_json(replace(reply("s", choice(1), "v", "answer"), logprobs=(float("nan"),)))


def test_a_piece_is_refused_unless_each_request_has_one_reply(tmp_path: Path) -> None:
    questions = question_set()
    folder = write_asked(tmp_path, questions, only=())
    asked = folder.manifest.asked[0]
    whole = piece_replies(asked, questions.questions)
    for rows, what in (
        (whole.replies[:-1], "must have 12 replies, got 11"),
        (whole.replies[::-1], "replies must be in order"),
        ((*whole.replies[:-1], whole.replies[-2]), "replies must be in order"),
        ((replace(whole.replies[0], variant="steps"), *whole.replies[1:]), "is of another piece"),
        ((replace(whole.replies[0], sample=3), *whole.replies[1:]), "sample 3 is not asked"),
        ((replace(whole.replies[0], error="no"), *whole.replies[1:]), "error must be there exactly"),
    ):
        with pytest.raises(ValueError, match=what):
            folder.write_piece(replace(whole, replies=rows))


def test_a_damaged_shard_is_missing_and_set_aside(tmp_path: Path) -> None:
    folder = write_asked(tmp_path)
    path = shard_path(tmp_path, *DIRECT)
    path.write_bytes(path.read_bytes()[:-20])
    run = open_run(tmp_path)
    assert run.partial
    assert run.missing == (DIRECT,)
    assert folder.missing() == [DIRECT]
    assert path.with_name("sums.direct.t0.parquet.bad").exists()


def test_questions_must_be_those_of_the_manifest(tmp_path: Path) -> None:
    write_asked(tmp_path)
    path = tmp_path / FILE_NAME
    text = path.read_text()
    path.write_text(text.replace("What is 1", "What is 2"))
    with pytest.raises(CalprobeError, match=r"questions\.json: damaged: its checksum is wrong"):
        _ = open_asked(tmp_path).questions
    write_questions(tmp_path, [StoredSet.of(question_set(5))])
    with pytest.raises(CalprobeError, match="not the questions of sums that the manifest describes"):
        _ = open_asked(tmp_path).questions
    path.write_text("[" * 100_000)
    with pytest.raises(CalprobeError, match="damaged, not JSON"):
        _ = open_asked(tmp_path).questions
    path.unlink()
    with pytest.raises(CalprobeError, match="is missing; run the same `calprobe ask` again"):
        _ = open_asked(tmp_path).questions


def test_texts_that_must_not_be_quoted_are_not_stored(tmp_path: Path) -> None:
    secret = question_set(quotable=False)
    write_asked(tmp_path, secret)
    text = (tmp_path / FILE_NAME).read_text()
    assert "plus" not in text
    (stored,) = open_asked(tmp_path).questions.values()
    assert [q.gold for q in stored.questions] == [q.gold for q in secret.questions]
    assert {len(q.options) for q in stored.questions} == {4}


def test_shares_are_merged(tmp_path: Path) -> None:
    questions = question_set(7)
    parts = [write_asked(tmp_path / f"{n}", questions, shard=f"{n}/3").path for n in (1, 2, 3)]
    assert open_asked(parts[0]).partial is False
    with pytest.raises(CalprobeError, match=r"2 pieces of 2 are in none of the runs.*\n?shard 3 of 3 was not given"):
        merge_runs(parts[:2], tmp_path / "part")
    merged = merge_runs(parts, tmp_path / "all")
    whole = write_asked(tmp_path / "whole", questions)
    run = open_asked(merged.path)
    assert (run.manifest, run.partial) == (whole.manifest, False)
    assert run.questions["sums"].questions == questions.questions
    for piece in whole.manifest.pieces:
        assert shard_path(merged.path, *piece).read_bytes() == shard_path(whole.path, *piece).read_bytes()
    again = merge_runs([merged.path, whole.path], tmp_path / "again")
    assert open_asked(again.path).pieces == run.pieces


def test_layers_by_torch_are_said_after_fused_ones(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    unknown = make_ask_manifest(question_set())  # on a CPU, or of an earlier version
    fused, by_torch = (
        replace(unknown, backend=replace(unknown.backend, layers=layers, head="kernel")) for layers in ("fused", None)
    )
    for at, begun in enumerate((fused, unknown)):
        Folder.open(tmp_path / str(at), begun)
        Folder.open(tmp_path / str(at), by_torch)
    (line,) = caplog.messages
    assert line.startswith("resuming with layers the model's own, the run started with fused: replies")


def test_other_runs_are_refused(tmp_path: Path) -> None:
    write_asked(tmp_path / "run")
    made = make_ask_manifest()
    for changes, what in (
        ({"model": replace(made.model, weights_fingerprint="x" * 64)}, "model: the run has toy"),
        ({"sampling": replace(made.sampling, seed=1)}, "seed: the run has 0, requested 1"),
    ):
        with pytest.raises(UsageError, match=what):
            Folder.open(tmp_path / "run", make_ask_manifest(**changes))
    other = replace(PROMPTS.variants[0], user="Tell me: {input}")
    prompts = replace(PROMPTS, variants=(other, PROMPTS.variants[1]))
    with pytest.raises(UsageError, match="variant direct: the text or its settings differ"):
        Folder.open(tmp_path / "run", make_ask_manifest(prompts=prompts))
    others = tuple(replace(variant, user="Tell me: {input}") for variant in PROMPTS.variants)
    named = ", ".join(variant.name for variant in others)
    said = (
        rf"different run\. prompts {PROMPTS.name}: they have changed since the run was asked; "
        rf"variants {named}: the text or its settings differ\.\nGive"
    )
    with pytest.raises(UsageError, match=said):
        Folder.open(tmp_path / "run", make_ask_manifest(prompts=replace(PROMPTS, variants=others)))
    for names, how in (
        ("direct", r"variant direct: the run has 8 new tokens, requested 3 \(--max-new-tokens\)"),
        (named, rf"variants {named}: other budgets of new tokens \(--max-new-tokens\)"),
    ):
        shorter = overridden(PROMPTS, Overrides(max_new_tokens=3, variants=names.split(", ")))
        with pytest.raises(UsageError, match=rf"different run\. {how}\.\nGive"):
            Folder.open(tmp_path / "run", make_ask_manifest(prompts=shorter))
    with pytest.raises(CalprobeError, match="a run of task ask, not of scores"):
        open_scores(tmp_path / "run")


def test_a_run_grows_by_questions_stages_and_variants(tmp_path: Path) -> None:
    few, many = question_set(4), question_set(6)
    direct = AskedPiece("sums", "direct", 0, ("answer",))
    small = make_ask_manifest(few, asked=(direct,))
    larger = make_ask_manifest(many)
    manifest, sets = joined(small, [StoredSet.of(few)], larger, [StoredSet.of(many)])
    assert manifest.asked == larger.asked
    assert sets[0].questions == many.questions
    assert manifest.covers(larger)
    assert not small.covers(larger)
    assert manifest.identity() == larger.identity()

    folder = Folder.open(tmp_path, small)
    folder.write_piece(piece_replies(direct, few.questions))
    before = shard_path(tmp_path, *DIRECT).read_bytes()
    grown = Folder.open(tmp_path, manifest)
    write_questions(tmp_path, sets)
    assert grown.missing() == [DIRECT, Piece("sums.steps", 0)]
    part = grown.part(DIRECT)
    assert part == piece_replies(direct, few.questions)
    assert shard_path(tmp_path, *DIRECT).read_bytes() == before
    assert open_asked(tmp_path).partial


def test_a_run_does_not_grow_where_it_would_get_gaps() -> None:
    few, many = question_set(4), question_set(6)
    direct, steps = (AskedPiece("sums", name, 0, stages) for name, stages in STAGES.items())
    small, larger = make_ask_manifest(few, asked=(direct, steps)), make_ask_manifest(many, asked=(direct,))
    with pytest.raises(UsageError, match="the run has 4 questions of sums under direct, steps with answer"):
        joined(small, [StoredSet.of(few)], larger, [StoredSet.of(many)])
    changed = replace(few, questions=(replace(few.questions[0], text="Else?"), *few.questions[1:]))
    with pytest.raises(UsageError, match="question q0 of sums is not what it was"):
        joined(small, [StoredSet.of(few)], small, [StoredSet.of(changed)])
    more = replace(direct, samples=3)
    one, other = make_ask_manifest(few, asked=(direct,)), make_ask_manifest(few, asked=(more,))
    assert joined(one, [StoredSet.of(few)], other, [StoredSet.of(few)])[0].asked == (more,)


def test_a_manifest_that_no_run_has_is_refused(tmp_path: Path) -> None:
    write_asked(tmp_path)
    path = tmp_path / "manifest.json"
    data = json.loads(path.read_text())
    del data["checksums"]
    for change, what in (
        ({"asked": [data["asked"][0]] * 2}, "two pieces have one name"),
        ({"sets": data["sets"] * 2}, "a name is there twice"),
        ({"asked": [data["asked"][0] | {"variant": "x"}]}, "is not of the run's sets and variants"),
        ({"asked": [data["asked"][0] | {"stages": []}]}, "stages or samples of 'sums.direct' are wrong"),
        ({"asked": 3}, "asked: expected a list"),
    ):
        path.write_text(json.dumps(data | change))
        with pytest.raises(CalprobeError, match=what):
            open_run(tmp_path)


def test_asked_runs_are_listed(tmp_path: Path) -> None:
    write_asked(tmp_path / "run", only=("direct",))
    (listed,) = list_runs(tmp_path).runs
    assert (listed.task, listed.kind, listed.model, listed.probe) == ("ask", "asked", "toy", "sums")
    assert (listed.instances, listed.pieces, listed.done, listed.complete) == (6, 2, 1, False)
    with closing(Journal.open(tmp_path / "run")) as journal:
        journal.add_all(piece_replies(make_ask_manifest().asked[1], question_set().questions).replies[:3])
    (listed,) = list_runs(tmp_path).runs
    assert (listed.replies, listed.requests, listed.complete) == (15, 30, False)
    (row,) = run_list_tables(catalogue(list_runs(tmp_path), {}, Filters()))[0].rows
    assert "partial 50 % (15 of 30 requests)" in row.cells


def test_the_replies_of_unfinished_pieces_are_merged(tmp_path: Path) -> None:
    questions = question_set(7)
    parts = [write_asked(tmp_path / f"{n}", questions, shard=f"{n}/3", only=("direct",)).path for n in (1, 2)]
    steps = open_asked(parts[0]).manifest.asked[1]
    asked = {r.question: r for r in piece_replies(steps, questions.questions).replies if r.stage == "answer"}
    failed = replace(asked["q0"], finish="error", error="gone", text="")
    for path, replies in zip(parts, ([asked["q0"], asked["q3"]], [failed, asked["q1"]]), strict=True):
        with closing(Journal.open(path)) as journal:
            journal.add_all(replies)
    merged = open_asked(merge_runs(parts, tmp_path / "part", partial=True).path)
    direct, others = merged.by_piece.values()
    assert len(direct.replies) == 2 * (3 + 2)
    assert {r.question: r for r in others.replies} == {q: asked[q] for q in ("q0", "q1", "q3")}
    again = open_asked(merge_runs([merged.path, *parts], tmp_path / "again", partial=True).path)
    assert again.by_piece == merged.by_piece
    other = replace(asked["q3"], text="C")
    with closing(Journal.open(parts[1])) as journal:
        journal.add(other)
    with pytest.raises(CalprobeError, match="the runs disagree: question q3"):
        merge_runs(parts, tmp_path / "no", partial=True)


def test_replies_in_the_journal_are_merged_in_place_of_failures_in_a_shard(tmp_path: Path) -> None:
    """As when requests failed, and asking for them again was interrupted."""
    folder = write_asked(tmp_path / "run")
    direct = open_asked(folder.path).by_piece[folder.manifest.asked[0]]
    failed = [
        replace(r, finish="error", error="gone", text="") if r.question in ("q0", "q1") else r for r in direct.replies
    ]
    folder.write_piece(replace(direct, replies=tuple(failed)))
    shutil.copytree(folder.path, tmp_path / "earlier")
    later = [r for r in direct.replies if r.question == "q0"]
    with closing(Journal.open(folder.path)) as journal:
        journal.add_all(later)
    for sources in ([folder.path], [folder.path, tmp_path / "earlier"], [tmp_path / "earlier", folder.path]):
        merged = open_asked(merge_runs(sources, tmp_path / f"merged {len(list(tmp_path.iterdir()))}").path)
        assert {r.question for r in merged.pieces[0].replies if r.finish == "error"} == {"q1"}
        assert not merged.partial
    with closing(Journal.open(folder.path)) as journal:  # of another prompt: no key tells which is the run's
        journal.add_all([replace(r, key=f"zz{r.key}", text="other") for r in later])
    kept = open_asked(merge_runs([folder.path], tmp_path / "kept").path)
    assert kept.pieces[0].replies == tuple(failed)


def test_label_scores_keep_infinities_and_types() -> None:
    made = reply_from_json(reply_json(reply("sums", choice(0), "direct", "answer"))).label_scores
    assert made is not None
    assert made.logprobs.dtype == np.float64
    assert made.positions.dtype == np.int64
    assert np.isneginf(made.logprobs[0, 3])
