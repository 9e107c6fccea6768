"""Made-up questions, prompts and replies, and the run folders that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.prompts.types import PromptSet, Stated, Variant
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs import AskedPiece, AskManifest, LabelScores, ModelRecord, PieceReplies, Reply
from calprobe.runs.asked_questions import StoredSet, write_questions
from calprobe.runs.asked_records import BackendRecord, QuestionSetRecord, SamplingRecord
from calprobe.runs.folder import RecordFolder

LETTERS = ("A", "B", "C", "D")


def choice(number: int) -> Question:
    """A question with four options; the right one goes round."""
    options = tuple(f"{number + offset}" for offset in range(4))
    return Question(
        f"q{number}", f"What is {number} plus {number % 4}?", "choice", options, LETTERS, number % 4, group="sums"
    )


def question_set(n: int = 6, name: str = "sums", quotable: bool = True) -> QuestionSet:
    return QuestionSet(name, tuple(choice(i) for i in range(n)), SetSource("f" * 64, quotable=quotable))


PROMPTS = PromptSet(
    "made-up",
    "p" * 64,
    variants=(
        Variant("direct", "{input}\nAnswer:", 8),
        Variant("steps", "{input}\nThink step by step.", 16, final=True),
    ),
    stated=(Stated("decimal", "How sure are you, from 0 to 1?", "x", 8),),
    final_cue="\n\nFinal answer:",
    format_changes=("steps",),
)
STAGES = {"direct": ("answer", "stated:decimal"), "steps": ("answer", "final", "stated:decimal")}


def record_of(stored: StoredSet, **more: Any) -> QuestionSetRecord:
    return QuestionSetRecord(
        stored.name, len(stored.questions), stored.fingerprint, stored.source, shots=stored.shots, **more
    )


def make_ask_manifest(*sets: QuestionSet, **changes: Any) -> AskManifest:
    """The manifest of a run of all variants on these sets; the changes are fields."""
    sets = sets or (question_set(),)
    made = AskManifest(
        model=ModelRecord("toy", id="owner/toy", weights_fingerprint="w" * 64),
        backend=BackendRecord("fake", {"fake": "1"}, {"dtype": "float32"}, complete_softmax=True),
        sets=tuple(record_of(StoredSet.of(found)) for found in sets),
        prompts=PROMPTS,
        asked=tuple(AskedPiece(found.name, name, 0, stages) for found in sets for name, stages in STAGES.items()),
        sampling=SamplingRecord(),
        versions={"calprobe": "1"},
        created="2026-11-22T00:00:00+00:00",
    )
    return replace(made, **changes)


def label_scores(question: Question, position: int = 0) -> LabelScores:
    """Three quarters for the right label, one label unseen."""
    logprobs = np.full((1, 4), math.log(0.05))
    logprobs[0, question.answer] = math.log(0.75)
    logprobs[0, (question.answer or 0) - 1] = -np.inf
    forms = tuple((10 + i, 20 + i) for i in range(4))
    least, starts = np.array([-9.5]), np.array([0])
    ranks = np.arange(4).reshape(1, 4)
    return LabelScores(LETTERS, forms, np.array([position]), logprobs, least, starts, ranks)


def reply(set_name: str, question: Question, variant: str, stage: str, sample: int = 0, **changes: Any) -> Reply:
    """A made-up reply: right, and sure of it."""
    text = "0.9" if stage.startswith("stated") else question.gold
    made = Reply(
        key=f"{set_name} {question.id} {variant} {stage} {sample}",
        set=set_name,
        question=question.id,
        variant=variant,
        stage=stage,
        sample=sample,
        text=text,
        finish="stop",
        prompt=question.text,
        prompt_ids=tuple(map(ord, question.text[:5])),
        token_ids=(1, 2),
        logprobs=(-0.25, -0.1),
        label_scores=label_scores(question) if stage in ("answer", "final") else None,
        tokens_in=5,
        tokens_out=2,
    )
    return replace(made, **changes)


def replies_of(asked: AskedPiece, questions: Iterable[Question]) -> Iterator[Reply]:
    for question in questions:
        for stage in asked.stages:
            for sample in range(asked.samples):
                yield reply(asked.set, question, asked.variant, stage, sample)


def piece_replies(asked: AskedPiece, questions: Iterable[Question]) -> PieceReplies:
    return PieceReplies.of(asked, replies_of(asked, questions))


def write_asked(
    path: Path, *sets: QuestionSet, only: tuple[str, ...] | None = None, **changes: Any
) -> RecordFolder[AskManifest, PieceReplies]:
    """A run folder with the pieces of all variants, or of those in `only`; a share has its share of the questions."""
    sets = sets or (question_set(),)
    manifest = make_ask_manifest(*sets, **changes)
    folder = RecordFolder[AskManifest, PieceReplies].open(path, manifest)
    write_questions(path, [StoredSet.of(found) for found in sets])
    for asked in manifest.asked:
        if only is None or asked.variant in only:
            questions = next(found.questions for found in sets if found.name == asked.set)
            if manifest.shard:
                number, count = map(int, manifest.shard.split("/"))
                questions = questions[number - 1 :: count]
            folder.write_piece(piece_replies(asked, questions))
    return folder


def stated_run(path: Path, *said: str) -> Path:
    """A run of replies, two of three right, whose stated confidences go round."""
    asked, questions = AskedPiece("sums", "direct", 0, ("answer", "stated:decimal")), question_set(60)
    folder = RecordFolder[AskManifest, PieceReplies].open(path, make_ask_manifest(questions, asked=(asked,)))
    write_questions(path, [StoredSet.of(questions)])
    replies = []
    for place, question in enumerate(questions.questions):
        answer = LETTERS[((question.answer or 0) + (place % 3 == 0)) % 4]
        replies.append(reply("sums", question, "direct", "answer", text=answer, label_scores=None))
        replies.append(reply("sums", question, "direct", "stated:decimal", text=said[place % len(said)]))
    folder.write_piece(PieceReplies.of(asked, replies))
    return folder.path
