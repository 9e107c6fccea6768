"""Replies of a model that was asked for a question in other words, checked: which of them ask the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from calprobe.answers import comparable
from calprobe.answers.rewording import read_rewording
from calprobe.asking.paraphrase_wordings import checked, names_of, numbers_of
from calprobe.questions import Question
from calprobe.runs import Reply

FAILED, EMPTY, CUT = "no reply", "nothing said", "cut off"
NO_QUESTION, ANSWERED = "no question", "gives the answer"
ADDED = "name or number added"
OTHER = "another question"
DRIFT = "meaning differs"
ENTAILED = 0.5  # probability of entailment, in both directions, above which the meaning is the same

_STEM = 4  # letters
_FREQUENT = {
    *("about", "been", "could", "does", "from", "have", "into", "many", "much", "question", "should", "some", "such"),
    *("that", "their", "there", "these", "they", "this", "those", "were", "what", "when", "where", "which", "whom"),
    *("whose", "will", "with", "would", "your"),
}

# Of pairs of premise and hypothesis: the probability that the first entails the second.
Entailment = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


@dataclass(slots=True)
class Rewordings:
    """Those of one question that passed, in the order of samples, and why others did not."""

    question: Question
    kept: tuple[str, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)


def checked_rewordings(
    replies: Mapping[str, Sequence[Reply]], questions: Sequence[Question], entailment: Entailment | None = None
) -> list[Rewordings]:
    """What passed of each question's replies.

    A rewording is dropped that was cut off, is no question where the original is one, has an accepted answer that the
    original has not, lacks or adds a name or a number, has no longer word in common with the original (by its first
    four letters), or repeats the original or another; and, with a model of entailment, one that the original does not
    entail, or that does not entail it.

    Args:
        replies: by question, in the order of samples.
        questions: the originals, with their answers.
        entailment: judges pairs of texts; None: meaning is not judged.
    """
    reworded = [_one(question, replies.get(question.id, ())) for question in questions]
    if entailment is not None:
        _drop_drifted(reworded, entailment)
    return reworded


def _one(question: Question, replies: Sequence[Reply]) -> Rewordings:
    dropped, rewordings = Counter[str](), []
    for reply in replies:
        rewording = "" if reply.finish == "error" else read_rewording(reply.text, "\n" in question.text)
        if fault := _fault(question, reply, rewording):
            dropped[fault] += 1
        else:
            rewordings.append(rewording)
    check = checked(question.text, rewordings)
    return Rewordings(question, check.kept, dropped + check.dropped)


def _fault(question: Question, reply: Reply, rewording: str) -> str:
    """What is wrong with a rewording by itself; empty: nothing."""
    if reply.finish == "error":
        return FAILED
    if not rewording:
        return EMPTY
    if reply.finish == "length" and not rewording.endswith("?"):
        return CUT
    if question.text.rstrip().endswith("?") and not rewording.endswith("?"):
        return NO_QUESTION
    if any(_has(rewording, answer) and not _has(question.text, answer) for answer in _answers(question)):
        return ANSWERED
    if _adds(question.text, rewording):
        return ADDED
    return OTHER if _stems(question.text) and not _stems(question.text) & _stems(rewording) else ""


def _answers(question: Question) -> Iterator[str]:
    if question.kind == "choice" and question.answer is not None:
        yield question.options[question.answer]
    yield from question.accepted


def _has(text: str, answer: str) -> bool:
    """Whether the answer stands in the text, as complete words."""
    plain = comparable(answer)
    return bool(plain) and f" {plain} " in f" {comparable(text)} "


def _adds(text: str, rewording: str) -> bool:
    """Whether there is a number or a name that the original has not."""
    return bool(numbers_of(rewording) - numbers_of(text)) or bool(names_of(rewording, among=text))


def _stems(text: str) -> set[str]:
    """The first letters of the words that say what a question is about."""
    return {word[:_STEM] for word in comparable(text).split() if len(word) >= _STEM and word not in _FREQUENT}


def _drop_drifted(reworded: Sequence[Rewordings], entailment: Entailment) -> None:
    pairs = [
        pair for rewordings in reworded for text in rewordings.kept for pair in _ways(rewordings.question.text, text)
    ]
    judged = iter(entailment(pairs)) if pairs else iter(())
    for rewordings in reworded:
        verdicts = [min(next(judged), next(judged)) > ENTAILED for _ in rewordings.kept]
        rewordings.dropped[DRIFT] += verdicts.count(False)
        rewordings.kept = tuple(text for text, holds in zip(rewordings.kept, verdicts, strict=True) if holds)
        rewordings.dropped = +rewordings.dropped


def _ways(text: str, rewording: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (text, rewording), (rewording, text)
