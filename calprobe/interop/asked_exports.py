"""An asked run's replies and label probabilities as flat tables. Columns are a contract that scripts depend on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from calprobe.questions.turning import turned
from calprobe.questions.types import Question, QuestionSet
from calprobe.runs.replies import Reply
from calprobe.runs.stages import P_TRUE, stated_stage

Place = tuple[str, str, str, int, int, str]  # of a reply: set, question, variant, paraphrase, sample, stage
# What a row is about, in words: columns at the end of `replies` and `confidences`.
IN_WORDS = ("question_text", "options", "gold", "answer", "group")
REPLIES = pa.schema(
    [
        pa.field("set", pa.string()),
        pa.field("question", pa.string()),
        pa.field("variant", pa.string()),
        pa.field("paraphrase", pa.int32()),
        pa.field("sample", pa.int32()),
        pa.field("stage", pa.string()),
        pa.field("prompt_ids", pa.list_(pa.int32())),
        pa.field("prompt", pa.string()),
        pa.field("text", pa.string()),
        pa.field("token_ids", pa.list_(pa.int32())),
        pa.field("logprobs", pa.list_(pa.float64())),
        pa.field("finish", pa.string()),
        pa.field("reasoning", pa.string()),
        *(pa.field(name, pa.string()) for name in IN_WORDS),
        pa.field("correct", pa.bool_()),
    ]
)
LABELS = pa.schema(
    [
        pa.field("set", pa.string()),
        pa.field("question", pa.string()),
        pa.field("variant", pa.string()),
        pa.field("stage", pa.string()),
        pa.field("label", pa.string()),
        pa.field("logprob", pa.float64()),
        pa.field("forms", pa.list_(pa.int32())),
        pa.field("covered", pa.bool_()),
        pa.field("gold", pa.bool_()),
        pa.field("paraphrase", pa.int32()),
        pa.field("sample", pa.int32()),
    ]
)
_NAMED = 6  # columns that say of which reply a row is
ALTERNATIVES = pa.schema(
    [
        *(LABELS.field(name) for name in ("set", "question", "variant", "paraphrase", "sample", "stage")),
        pa.field("position", pa.int32()),
        pa.field("rank", pa.int32()),
        pa.field("token", pa.string()),
        pa.field("token_id", pa.int32()),
        pa.field("logprob", pa.float64()),
        pa.field("entropy", pa.float64()),
    ]
)


def reply_table(
    replies: Iterable[Reply],
    sets: Iterable[QuestionSet],
    turns: Mapping[str, int] = MappingProxyType({}),
    answers: Mapping[Place, tuple[str | None, bool | None]] = MappingProxyType({}),
) -> pa.Table:
    """The `replies` export: a row for each reply, failed ones too; null where a server hides something.

    Rows of a set, variant and paraphrase stand together, in the order of the set's questions.

    Args:
        replies: of a run.
        sets: the questions that they are to.
        turns: by variant, how far the options of its questions were moved up.
        answers: what was read as the answer, and whether it is right, of the replies that give one.
    """
    order: dict[tuple[str, str], tuple[int, Question]] = {}
    secret: set[str] = set()  # sets whose texts must not be published
    for of_set in sets:
        secret |= set() if of_set.source.quotable else {of_set.name}
        order |= {(of_set.name, question.id): (at, question) for at, question in enumerate(of_set.questions)}
    pieces: dict[tuple[str, str, int], list[Reply]] = {}
    for reply in replies:
        pieces.setdefault((reply.set, reply.variant, reply.paraphrase), []).append(reply)
    own = REPLIES.names[: -len(IN_WORDS) - 1]
    rows: list[Mapping[str, Any]] = []
    for piece in pieces.values():
        for reply in sorted(piece, key=lambda reply: order[reply.set, reply.question][0]):
            question = turned(order[reply.set, reply.question][1], turns.get(reply.variant, 0))
            answer, correct = answers.get(place_of(reply), (None, None))
            words = dict(zip(IN_WORDS, in_words(question, answer, quotable=reply.set not in secret), strict=True))
            rows.append({name: _plain(getattr(reply, name)) for name in own} | words | {"correct": correct})
    return _table(REPLIES, rows)


def place_of(reply: Reply) -> Place:
    """What a reply is to."""
    return reply.set, reply.question, reply.variant, reply.paraphrase, reply.sample, reply.stage


def in_words(question: Question, answer: str | None, *, quotable: bool) -> tuple[str | None, ...]:
    """The columns IN_WORDS; options, as they were shown, are a JSON object of texts by label (null: none).

    Of a set whose texts must not be published, without these.
    """
    is_known = question.answer is not None or question.number is not None or any(question.accepted)
    gold = question.gold if is_known and (quotable or question.kind == "choice") else None
    if not quotable:
        return None, None, gold, answer, question.group
    options = question.shown_options
    shown = json.dumps(options, ensure_ascii=False) if options else None
    return question.text, shown, gold, answer, question.group


def label_table(
    replies: Iterable[Reply], sets: Iterable[QuestionSet], turns: Mapping[str, int] = MappingProxyType({})
) -> pa.Table:
    """The `labels` export: a row for each label at the first position of each stage that has label probabilities.

    `logprob` is the natural log of the label's unnormalised mass, null where a window lacked it (`covered` is false).
    `gold` is null where labels are no options: of confidences, and of whether an answer is true.
    """
    questions = {
        (question_set.name, question.id): question for question_set in sets for question in question_set.questions
    }
    rows: list[Mapping[str, Any]] = []
    for reply in replies:
        place = (reply.set, reply.question, reply.variant, reply.stage)
        if reply.label_scores is None:
            continue
        question = turned(questions[reply.set, reply.question], turns.get(reply.variant, 0))
        of_options = question.answer is not None and reply.stage != P_TRUE and stated_stage(reply.stage) is None
        gold = question.gold if of_options else None
        rows += _labels(dict(zip(LABELS.names, place, strict=False)), reply, gold)
    return _table(LABELS, rows)


def alternative_tables(replies: Iterable[Reply]) -> Iterator[pa.Table]:
    """The `alternatives` export, a table for each reply that has some: a row for each token at each position.

    `position` counts the tokens behind a thought; at `rank` 0 is the token that was generated; `entropy` is that of the
    position.
    """
    for reply in replies:
        alternatives = reply.alternatives
        if alternatives is None:
            continue
        positions, ranks = np.nonzero(alternatives.places >= 0)
        places = alternatives.places[positions, ranks]
        ids = np.array(alternatives.ids or [0], np.int32)[places if alternatives.ids else np.zeros_like(places)]
        named = list(ALTERNATIVES)[:_NAMED]
        columns = [pa.repeat(pa.scalar(getattr(reply, field.name), field.type), len(places)) for field in named]
        columns += [
            pa.array(positions, pa.int32()),
            pa.array(ranks, pa.int32()),
            pa.array([alternatives.texts[place] for place in places.tolist()], pa.string()),
            pa.array(ids, pa.int32(), mask=np.full(len(places), not alternatives.ids)),
            pa.array(alternatives.logprobs[positions, ranks].astype(np.float64)),
            pa.array(alternatives.entropies[positions].astype(np.float64)),
        ]
        yield pa.Table.from_arrays(columns, schema=ALTERNATIVES)


def _labels(place: Mapping[str, str], reply: Reply, gold: str | None) -> Iterator[dict[str, Any]]:
    scores = reply.label_scores
    if scores is None or not reply.begins_with_labels:
        return
    for at, label in enumerate(scores.labels):
        logprob = float(scores.logprobs[0, at])
        yield {
            **place,
            "label": label,
            "logprob": logprob if math.isfinite(logprob) else None,
            "forms": list(scores.forms[at]) if scores.forms else [],
            "covered": math.isfinite(logprob),
            "gold": None if gold is None else label == gold,
            "paraphrase": reply.paraphrase,
            "sample": reply.sample,
        }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _table(schema: pa.Schema, rows: list[Mapping[str, Any]]) -> pa.Table:
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)
