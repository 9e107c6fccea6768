"""The same made-up facts scored and asked, with rankings and answers that are chosen by hand.

| fact | ranked first | of the options | chosen |
|---|---|---|---|
| capital 0, 1 | right | right | right |
| capital 2, 3, 4 | right | right | wrong |
| capital 5 | a candidate that no option is | right | wrong |
| colour 0 | right | right | right |
| colour 1 | right | right | wrong |
| colour 2, 3 | an option | wrong | right |
| colour 4 | an option | wrong | wrong |
| colour 5 | an option | wrong | nothing that can be read |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import asked_replies as made
import numpy as np
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.cells.asked import Asked
from calprobe.probes import Instance, Probe, Relation
from calprobe.probes.fingerprints import fingerprint
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs import RunFolder, SourceRecord
from calprobe.runs.replies import Reply
from calprobe.runs.stored_texts import write_labels

SHAPES = (("capital", 6, 6), ("colour", 6, 4))
RANKED = {"capital": (1, 1, 1, 1, 1, 0), "colour": (1, 1, 0, 0, 0, 0)}
OF_OPTIONS = {"capital": (1, 1, 1, 1, 1, 1), "colour": (1, 1, 0, 0, 0, 0)}
CHOSEN = {"capital": (1, 1, 0, 0, 0, 0), "colour": (1, 0, 1, 1, 0, 0)}
KEYS = [(name, at) for name, n, _ in SHAPES for at in range(n)]
TOP, RIGHT = 0.5, 0.2  # probability of the first candidate, and of the right one where that is another


def candidates(name: str) -> tuple[str, ...]:
    """The answer space of a relation."""
    return tuple(f"{name} {letter}" for letter in "uvwxyz"[: {n: k for n, _, k in SHAPES}[name]])


def answer_of(name: str, instance: int) -> int:
    """The place of the right candidate."""
    return instance % len(candidates(name))


def probabilities(name: str, instance: int) -> list[float]:
    """Of the candidates under template 0; the wrong one that is ranked first stands behind the right one."""
    width, answer = len(candidates(name)), answer_of(name, instance)
    ranked = bool(RANKED[name][instance])
    first = answer if ranked else (answer + 1) % width
    found = [0.0] * width
    found[first] = TOP + instance / 100
    if not ranked:
        found[answer] = RIGHT
    rest = [place for place in range(width) if not found[place]]
    left = 1 - sum(found)
    for order, place in enumerate(rest, 1):
        found[place] = left * order / sum(range(1, len(rest) + 1))
    return found


def probe() -> Probe:
    """Both relations, with texts."""
    relations = tuple(
        Relation(
            name,
            candidates(name),
            tuple(Instance(at, f"{name} subject {at}", answer_of(name, at)) for at in range(n)),
            ("[X] has [Y].", "Of [X] it is [Y]."),
        )
        for name, n, _ in SHAPES
    )
    return Probe("made-up", relations, fingerprint(relations))


def scored(
    path: Path, *, labels: bool = True, model: str = "tiny", only: Sequence[str] = ("capital", "colour")
) -> Path:
    """A run of two templates; under the second one the candidates' scores are half as far apart."""
    shapes = [shape for shape in SHAPES if shape[0] in only]
    manifest = make_manifest(shapes)
    own = probe()
    manifest = replace(
        manifest,
        probe=SourceRecord(own.name, own.fingerprint),
        model=replace(manifest.model, name=model),
    )
    folder = RunFolder.open(path, manifest)
    for name, n, width in shapes:
        for template in (0, 1):
            piece = without_tokens(make_piece((name, n, width), template))
            scores = np.array([math.log(p) for at in range(n) for p in probabilities(name, at)]) / (1 + template)
            answers = np.repeat([answer_of(name, at) for at in range(n)], width).astype(np.int32)
            folder.write_piece(
                replace(piece, sum=scores, mean=scores, sum_answer=scores, mean_answer=scores, answer_idx=answers)
            )
    if labels:
        write_labels(path, own)
    return path


def options_of(name: str, instance: int) -> tuple[tuple[str, ...], int]:
    """Four options, and the place of the right one. Of a capital, the candidate behind the right one is none."""
    known, answer = candidates(name), answer_of(name, instance)
    others = [
        place for place in range(len(known)) if place != answer and (name == "colour" or place != (answer + 1) % 6)
    ]
    chosen = [known[place] for place in others[:3]]
    place = instance % 4
    return (*chosen[:place], known[answer], *chosen[place:]), place


def question(name: str, instance: int, kind: str = "choice") -> Question:
    """A fact as a question."""
    text = f"What has {name} subject {instance}?"
    if kind == "open":
        accepted = (candidates(name)[answer_of(name, instance)],)
        return Question(f"{name}/{instance}", text, "open", accepted=accepted, group=name)
    options, place = options_of(name, instance)
    return Question(f"{name}/{instance}", text, "choice", options, made.LETTERS, answer=place, group=name)


def fact_set(kind: str = "choice", keys: Sequence[tuple[str, int]] = KEYS) -> QuestionSet:
    """The facts as questions."""
    source = SetSource("0" * 64, probe=probe().fingerprint)
    return QuestionSet("quiz", tuple(question(name, at, kind) for name, at in keys), source)


def said(found: Question, name: str, instance: int) -> str:
    """The letter that is chosen: the right one, the next one, or nothing that can be read."""
    if (name, instance) == ("colour", 5):
        return "I would rather not say."
    assert found.answer is not None
    return made.LETTERS[found.answer if CHOSEN[name][instance] else (found.answer + 1) % 4]


def confidence_of(place: int) -> str:
    """What is stated of the fact at a place among all; of the last but one it is no number."""
    return "quite sure" if place == 10 else str(round(0.05 + 0.08 * place, 2))


def choosing(
    label: str = "chosen", keys: Sequence[tuple[str, int]] = KEYS, variants: Sequence[str] = ("plain",)
) -> Asked:
    """Letters with label probabilities (0.6 for the letter that is said, or A) and stated confidences."""
    questions = fact_set(keys=keys)
    replies = []
    for variant in variants:
        for own, (name, at) in zip(questions.questions, keys, strict=True):
            text = said(own, name, at)
            masses = [0.6 if letter == (text if len(text) == 1 else "A") else 0.1 for letter in made.LETTERS]
            replies.append(
                made.reply(own.id, text, variant=variant, label_scores=made.scores(masses), token_ids=(made.FORM,))
            )
            stated = confidence_of(KEYS.index((name, at)))
            replies.append(made.reply(own.id, stated, variant=variant, stage="stated:decimal"))
    return _run(label, questions, replies)


def answering(label: str = "open", samples: int = 3) -> Asked:
    """Free answers, several to a fact: of `capital` all right; of `colour` two of three wrong and alike."""
    questions = fact_set("open")
    replies = []
    for own, (name, at) in zip(questions.questions, KEYS, strict=True):
        right, wrong = own.accepted[0], f"no {name} {at}"
        texts = [right] * samples if name == "capital" else [right, *[wrong] * (samples - 1)]
        replies += [made.reply(own.id, text, sample=place) for place, text in enumerate(texts)]
    return _run(label, questions, replies)


def _run(label: str, questions: QuestionSet, replies: Sequence[Reply]) -> Asked:
    variants = made.prompts(made.PLAIN, made.OTHER)
    return Asked(label, "tiny", (questions,), tuple(replies), variants)
