"""Scripted models that state confidences by a known rule, as runs of made-up open questions in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from asked_samples import make_ask_manifest

from calprobe.cells.asked import Asked
from calprobe.prompts import load_prompts
from calprobe.prompts.types import PromptSet, Stated
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs import AskedPiece, AskManifest, ModelRecord, PieceReplies
from calprobe.runs.asked_questions import StoredSet, write_questions
from calprobe.runs.folder import RecordFolder
from calprobe.runs.replies import Reply
from calprobe.runs.stages import StatedStage

TARGET, COUNTERFACTUAL, ABSTAIN = "target", "counterfactual", "abstain1"
CONDITIONS = ("", TARGET, COUNTERFACTUAL, ABSTAIN)
# Ten answers of each of three confidences, right as often as these say: calibrated to the last answer.
LEVELS = (0.1, 0.5, 0.9)
CALIBRATED = tuple((level, at < round(10 * level)) for level in LEVELS for at in range(10))
Rule = Callable[[float, bool, Stated, str], float]  # confidence, right, prompt, condition -> what is stated, in [0, 1]


@dataclass(frozen=True, slots=True)
class Scripted:
    """What a scripted model says."""

    plan: Sequence[tuple[float, bool]]  # of each question: its confidence, and whether its answer is right
    rule: Rule


def calibrated(confidence: float, right: bool, prompt: Stated, condition: str) -> float:
    """The plan's confidence in the own answer; 0.95 in the right one, 0.02 in any other."""
    return {"": confidence, TARGET: 0.95}.get(condition, 0.02)


def constant(confidence: float, right: bool, prompt: Stated, condition: str) -> float:
    """Always 0.9."""
    return 0.9


def ignores_reversal(confidence: float, right: bool, prompt: Stated, condition: str) -> float:
    """The number that the scale would have asked for the other way round."""
    said = calibrated(confidence, right, prompt, condition)
    return 1 - said if prompt.is_reversed else said


def copies_gold(confidence: float, right: bool, prompt: Stated, condition: str) -> float:
    """As sure of any answer as of the right one, which the plan says."""
    return confidence


def words_of(prompt: Stated, confidence: float) -> str:
    """The reply that states a confidence on the prompt's scale."""
    said = round(1 - confidence if prompt.is_reversed else confidence, 12)
    if prompt.forward_scale in ("expressions", "letters"):
        place = next(at for at, value in enumerate(prompt.expressions.values()) if value == said)
        return list(prompt.expressions)[place] if prompt.forward_scale == "expressions" else "abcdefghijklm"[place]
    return {"x": f"{said:g}", "x/100": f"{100 * said:g}%", "x/10": f"{10 * said:g}"}[prompt.forward_scale]


def questions_of(n: int, name: str = "facts") -> QuestionSet:
    """Open questions."""
    found = tuple(Question(f"q{at}", f"What is number {at}?", "open", accepted=(f"gold {at}",)) for at in range(n))
    return QuestionSet(name, found, SetSource("0" * 64))


def replies_of(
    model: Scripted, prompts: PromptSet, own: QuestionSet, conditions: Sequence[str] = CONDITIONS
) -> Iterator[Reply]:
    """Every reply of a scripted model to a set of questions."""
    for at, (question, (confidence, right)) in enumerate(zip(own.questions, model.plan, strict=True)):
        answer = f"gold {at}" if right else f"other {at}"
        yield _reply(own.name, question.id, "answer", answer)
        for prompt in prompts.stated:
            for condition in conditions:
                said = words_of(prompt, model.rule(confidence, right, prompt, condition))
                yield _reply(own.name, question.id, StatedStage(prompt.name, condition).stage, said)


def _reply(name: str, question: str, stage: str, text: str) -> Reply:
    return Reply(f"{name} {question} {stage}", name, question, "direct", stage, text, "stop")


def stated_prompts() -> PromptSet:
    """The study's own prompts."""
    return load_prompts("stated")


def scripted_run(
    models: Mapping[str, Scripted], label: str = "run", change: Callable[[Reply], Reply | None] = lambda own: own
) -> Asked:
    """A run with a set of questions for each scripted model; `change` may alter replies, or drop one with None."""
    prompts = stated_prompts()
    sets = tuple(questions_of(len(model.plan), name) for name, model in models.items())
    replies = [
        changed
        for own, model in zip(sets, models.values(), strict=True)
        for reply in replies_of(model, prompts, own)
        if (changed := change(reply)) is not None
    ]
    return Asked(label, "scripted", sets, tuple(replies), prompts)


def saying(text: str, stage: str, questions: Sequence[str]) -> Callable[[Reply], Reply]:
    """A change: these questions' replies at a stage say something else."""
    return lambda own: replace(own, text=text) if own.stage == stage and own.question in questions else own


def write_scripted(path: Path, models: Mapping[str, Scripted], name: str = "scripted") -> Path:
    """The run folder of scripted models, a set of questions each."""
    asked = scripted_run(models)
    assert asked.prompts is not None
    conditions = [StatedStage(prompt.name, own).stage for own in CONDITIONS for prompt in asked.prompts.stated]
    pieces = tuple(AskedPiece(own.name, "direct", 0, ("answer", *conditions)) for own in asked.sets)
    manifest = make_ask_manifest(*asked.sets, prompts=asked.prompts, asked=pieces, model=ModelRecord(name))
    folder = RecordFolder[AskManifest, PieceReplies].open(path, manifest)
    write_questions(path, [StoredSet.of(own) for own in asked.sets])
    for piece in pieces:
        folder.write_piece(PieceReplies.of(piece, [own for own in asked.replies if own.set == piece.set]))
    return path


def in_conversation(model: Scripted, prompts: PromptSet) -> Callable[[list[dict[str, str]]], str]:
    """What a scripted model says in a conversation about one of `questions_of`, whoever has answered in its name."""
    by_text = {prompt.text: prompt for prompt in prompts.stated}

    def says(messages: list[dict[str, str]]) -> str:
        found = re.search(r"number (\d+)", messages[0]["content"])
        assert found is not None
        place = int(found[1])
        confidence, right = model.plan[place]
        gold, own = f"gold {place}", f"gold {place}" if right else f"other {place}"
        if (prompt := by_text.get(messages[-1]["content"])) is None:
            return own
        given = messages[1]["content"]
        condition = {gold: TARGET, own: ""} | dict.fromkeys(prompts.abstentions, ABSTAIN)
        return words_of(prompt, model.rule(confidence, right, prompt, condition.get(given, COUNTERFACTUAL)))

    return says
