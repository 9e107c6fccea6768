"""Replies that another tool has made as a run of calprobe, so that they can be read and measured."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from calprobe.interop.reply_lines import STATED, ReplyLine, read_reply_lines
from calprobe.messages import counted, did_you_mean, shown
from calprobe.prompts.types import PromptSet, Stated, Variant
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs import Alternatives, AskedPiece, AskManifest, LabelScores, ModelRecord, PieceReplies, Reply
from calprobe.runs.alternatives import least_entropy
from calprobe.runs.asked_questions import StoredSet, write_questions
from calprobe.runs.asked_records import ANSWERED, UNKNOWN_TOOL, BackendRecord
from calprobe.runs.end_of_turn import ends_turn
from calprobe.runs.folder import RecordFolder
from calprobe.runs.replies import Finish
from calprobe.runs.reply_json import whole, whole_texts
from calprobe.runs.thoughts import END_OF_THOUGHT, Split, without_thought
from calprobe.runs.window import tokens_in_front
from calprobe.version import __version__

log = logging.getLogger(__name__)

_MISSING = "the imported file has no such reply"


class AskedFolder(RecordFolder[AskManifest, PieceReplies]):
    """The folder of an asked run that is being written."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made the replies."""

    model: str
    tool: str = UNKNOWN_TOOL
    versions: Mapping[str, str] = field(default_factory=dict)  # of the tool
    settings: Mapping[str, str] = field(default_factory=dict)  # how it asked, each as text or JSON
    revision: str | None = None  # of the model


@dataclass(frozen=True, slots=True)
class NotedImport:
    """A run that was made of another tool's files, and what a reader of its numbers should know."""

    run: RecordFolder[AskManifest, PieceReplies]
    notes: tuple[str, ...]  # a sentence each: samples that failed, limits, files that are not complete


def import_replies(
    path: Path, out: Path, questions: Sequence[QuestionSet] = (), model: str = "unknown"
) -> RecordFolder[AskManifest, PieceReplies]:
    """Make an asked run at `out` of a file of replies, whole or not at all.

    A question without a reply is no part of the run; one that lacks some of the stages or samples that others have gets
    failed requests in their place, which reports count.

    Args:
        path: JSON lines, one a reply, see docs/reference/files.md.
        out: the run folder, empty or absent.
        questions: with the right answers; none where every line has `correct`.
        model: what answered.
    Raises:
        ProbeFormatError: a line cannot be read, or names a question that the sets do not have; names file, line and
            fix. UsageError: `out` is not empty.
    """
    return make_run(list(read_reply_lines(path)), out, questions, Origin(model))


def make_run(
    lines: Sequence[ReplyLine], out: Path, questions: Sequence[QuestionSet], origin: Origin
) -> RecordFolder[AskManifest, PieceReplies]:
    """Make an asked run at `out` of replies, whole or not at all; see `import_replies`."""
    sets = _asked_sets(lines, questions)
    by_key = {(own.name, question.id): question for own in sets for question in own.questions}
    replies = [whole_texts(reply) for line in lines for reply in _replies(line, by_key[line.set, line.question])]
    split = sum(own.reasoning is not None for own in replies)
    if split:
        without_end = sum(own.reasoning_is_open for own in replies)
        log.info(
            "thoughts kept apart in %s of %s replies, %s of them without an end",
            *(f"{n:,}" for n in (split, len(replies), without_end)),
        )
    stored = [StoredSet.of(own) for own in sets]
    pieces = list(_pieces(replies))
    model = shown(origin.model)
    manifest = AskManifest(
        model=ModelRecord(model, id=model, revision=origin.revision),
        backend=BackendRecord(origin.tool, origin.versions, origin.settings, imported=True),
        sets=tuple(entry.record for entry in stored),
        prompts=_prompts(replies),
        asked=tuple(pieces),
        versions={"calprobe": __version__},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    records = [_record(piece, replies, sets) for piece in pieces]
    return AskedFolder.write_whole(out, manifest, records, also=lambda folder: write_questions(folder, stored))


def set_of_log(name: str, questions: Iterable[Question]) -> QuestionSet:
    """The questions that a log itself holds, as a set; what files cannot hold of their texts becomes U+FFFD."""
    cleaned = tuple(
        replace(
            question,
            text=whole(question.text),
            options=tuple(map(whole, question.options)),
            accepted=tuple(map(whole, question.accepted)),
        )
        for question in questions
    )
    fingerprint = hashlib.sha256(repr(cleaned).encode("utf-8", "backslashreplace")).hexdigest()
    return QuestionSet(name, cleaned, SetSource(fingerprint, available=len(cleaned)))


def _asked_sets(lines: Sequence[ReplyLine], sets: Sequence[QuestionSet]) -> list[QuestionSet]:
    """The sets with the questions that have replies; made of the lines where none are given."""
    by_name = {own.name: own for own in sets}
    by_set: dict[str, dict[str, ReplyLine]] = {}
    for line in lines:
        if sets and line.set not in by_name:
            hint = did_you_mean(line.set, by_name) or f"; --questions has {', '.join(by_name)}"
            line.fail(f"no question set {line.set!r}{hint}")
        if not sets and line.stage in ("answer", "label") and line.correct is None:
            line.fail("no correct, and no --questions with the right answers; give one of them")
        by_set.setdefault(line.set, {}).setdefault(line.question, line)
    if not sets:
        labels = _labels_of(lines)
        return [
            _made_up(name, [_unknown(key, labels.get((name, key), ())) for key in own]) for name, own in by_set.items()
        ]
    return [_those_asked(by_name[name], own) for name, own in by_set.items()]


def _labels_of(lines: Iterable[ReplyLine]) -> dict[tuple[str, str], tuple[str, ...]]:
    """All labels that any line has of a question, in the order they come."""
    labels: dict[tuple[str, str], dict[str, None]] = {}
    for line in lines:
        labels.setdefault((line.set, line.question), {}).update(dict.fromkeys(line.labels))
    return {key: tuple(names) for key, names in labels.items()}


def _unknown(key: str, labels: tuple[str, ...]) -> Question:
    """A question of which nothing is known but which replies are right."""
    return Question(key, "", "open", labels=labels, accepted=("",))


def _made_up(name: str, questions: Sequence[Question]) -> QuestionSet:
    ids = "\n".join(sorted(question.id for question in questions))
    return QuestionSet(name, tuple(questions), SetSource(hashlib.sha256(ids.encode()).hexdigest()))


def _those_asked(question_set: QuestionSet, lines: Mapping[str, ReplyLine]) -> QuestionSet:
    ids = {question.id for question in question_set.questions}
    for key, line in lines.items():
        if key not in ids:
            line.fail(f"{question_set.name} has no question {key!r}{did_you_mean(key, ids) or ''}; check --questions")
    answered = tuple(question for question in question_set.questions if question.id in lines)
    if len(answered) == len(question_set.questions):
        return QuestionSet(question_set.name, answered, question_set.source)
    log.info(
        "%s: %s of %s have replies",
        question_set.name,
        f"{len(answered):,}",
        counted(len(question_set.questions), "question"),
    )
    available = max(question_set.source.available, len(question_set.questions))
    source = replace(question_set.source, available=available, rule=ANSWERED, seed=None, places=None)
    return QuestionSet(question_set.name, answered, source)


def _replies(line: ReplyLine, question: Question) -> Iterator[Reply]:
    """The line's reply, and its stated confidence as one of its own."""
    yield _reply(line, line.stage, line.text, question)
    if line.stated is not None:
        yield _reply(line, f"stated:{STATED}", line.stated, None)


def _reply(line: ReplyLine, stage: str, text: str, question: Question | None) -> Reply:
    is_main = question is not None
    # What is given apart is apart: markers in the text are then words of the answer.
    split = without_thought(text) if is_main and line.reasoning is None else Split(line.reasoning, text, False)
    return Reply(
        key=hashlib.sha256(repr((*line.key, stage, text)).encode("utf-8", "backslashreplace")).hexdigest(),
        set=line.set,
        question=line.question,
        variant=line.variant,
        stage=stage,
        text=split.text,
        finish=_finish(line) if is_main else "stop",
        paraphrase=line.paraphrase,
        sample=line.sample,
        prompt=line.prompt if is_main else "",
        token_ids=line.tokens if is_main else None,
        logprobs=line.logprobs if is_main else None,
        reasoning=split.reasoning if is_main else None,
        reasoning_is_open=split.is_open,
        label_scores=_scores(line, question) if question is not None else None,
        correct=line.correct if is_main else None,
        alternatives=_alternatives(line, split) if is_main else None,
        error=line.error if is_main else "",
    )


def _finish(line: ReplyLine) -> Finish:
    if line.error:
        return "error"
    return "length" if line.finish == "length" else "stop"


def _alternatives(line: ReplyLine, split: Split) -> Alternatives | None:
    """Those of the line, behind a thought that was taken off its text; entropies are the least that they allow."""
    if line.alternatives is None:
        return None
    listed = line.alternatives
    if line.reasoning is None and split.reasoning is not None:
        front = _tokens_of_thought([alternatives[0][0] for alternatives in listed], split.text)
        listed = () if front is None else listed[front:]
        if not listed:
            return None
    positions = [[(text, None, logprob) for text, logprob in alternatives] for alternatives in listed]
    return Alternatives.of(
        positions, [least_entropy([p for *_, p in alternatives]) for alternatives in positions], complete=False
    )


def _tokens_of_thought(tokens: Sequence[str], text: str) -> int | None:
    """How many tokens stand in front of the reply's text, behind which an end token may stand; None: not known."""
    for end in range(len(tokens), 0, -1) if text else ():
        front = tokens_in_front(tokens[:end], text)
        if front is not None:
            # Where a list has no more than the thought, its last words may be those of the reply.
            return front if END_OF_THOUGHT.search("".join(tokens[:front])) else None
        if not ends_turn(tokens[end - 1]):
            break
    return None


def _scores(line: ReplyLine, question: Question) -> LabelScores | None:
    """The labels' log-probabilities at the first position; a label that the line lacks was not seen."""
    if not line.labels:
        return line.label_scores
    if unknown := [label for label in line.labels if label not in question.labels]:
        line.fail(f"labels has {unknown[0]!r}; the labels of question {question.id} are {', '.join(question.labels)}")
    values = np.array([[line.labels.get(label, -np.inf) for label in question.labels]])
    missing = len(line.labels) < len(question.labels)
    least = np.array([min(line.labels.values()) if missing else -np.inf])
    return LabelScores(question.labels, (), np.array([0], np.int64), values, least)


def _prompts(replies: Sequence[Reply]) -> PromptSet:
    """What is known of the prompts: the names of variants and of stated confidences."""
    variants = tuple(dict.fromkeys(reply.variant for reply in replies))
    stages = dict.fromkeys(reply.stage for reply in replies)
    stated = tuple(stage.removeprefix("stated:") for stage in stages if stage.startswith("stated:"))
    fingerprint = hashlib.sha256(repr((variants, stated)).encode("utf-8", "backslashreplace")).hexdigest()
    return PromptSet(
        UNKNOWN_TOOL,
        fingerprint,
        tuple(Variant(name, "", 0) for name in variants),
        tuple(Stated(name, "", "x", 0) for name in stated),
    )


def _pieces(replies: Sequence[Reply]) -> Iterator[AskedPiece]:
    """What was asked under each variant and paraphrase: all stages and samples that any question has."""
    by_piece: dict[tuple[str, str, int], list[Reply]] = {}
    for reply in replies:
        by_piece.setdefault((reply.set, reply.variant, reply.paraphrase), []).append(reply)
    for place, members in by_piece.items():
        yield AskedPiece(
            *place, tuple(dict.fromkeys(reply.stage for reply in members)), 1 + max(r.sample for r in members)
        )


def _record(piece: AskedPiece, replies: Sequence[Reply], sets: Sequence[QuestionSet]) -> PieceReplies:
    """The replies of a piece; what the file lacks is a failed request."""
    place = (piece.set, piece.variant, piece.paraphrase)
    by_key = {(r.question, r.stage, r.sample): r for r in replies if (r.set, r.variant, r.paraphrase) == place}
    questions = next(own for own in sets if own.name == piece.set).questions
    requests = [(q.id, stage, sample) for q in questions for stage, sample in piece.requests]
    return PieceReplies.of(piece, (by_key.get(own) or _missing(piece, own) for own in requests))


def _missing(piece: AskedPiece, request: tuple[str, str, int]) -> Reply:
    question, stage, sample = request
    key = hashlib.sha256(repr((piece.piece, request)).encode("utf-8", "backslashreplace")).hexdigest()
    return Reply(key, piece.set, question, piece.variant, stage, "", "error", piece.paraphrase, sample, error=_MISSING)
