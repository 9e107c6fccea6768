"""The samples that lm-evaluation-harness logs of a multiple-choice task: one question a line, a request a choice.

Its loggers write numbers and targets as text ("-1.5", "2"), and no key says how the target names the right choice: by
place or by text. Both are tried, and held to the logged `acc`, which is 1 exactly where the largest log-likelihood is
the right choice's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.errors import ProbeFormatError
from calprobe.interop.reply_lines import LARGEST_LOGPROB
from calprobe.probes.json_files import read_json_lines

LARGEST_DOC = 2**31 - 1  # instances are int32
_OTHER_TASK = "not a multiple-choice task; import the samples of one"
MEND = "give a samples_*.jsonl as lm-evaluation-harness writes it"


@dataclass(frozen=True, slots=True)
class Question:
    """One document of a task, its choices scored."""

    where: str  # FILE:LINE
    doc_id: int
    texts: tuple[str, ...]  # [choices], the scored text of each, without blanks around it
    logprobs: tuple[float, ...]  # [choices], of each text after its context, nats; NaN and -inf as logged
    target: object  # as logged
    acc: object  # as logged; None if it was not
    in_context: bool  # the choices are in the contexts, and one text is scored after each (winogrande)
    contexts: tuple[str, ...] = ()  # [choices], before each scored text; empty where they are not text

    @property
    def predicted(self) -> int | None:
        """The place of the largest log-likelihood, the first on a tie; None if one is NaN."""
        return None if np.isnan(self.logprobs).any() else int(np.argmax(self.logprobs))


def read_questions(path: Path) -> tuple[list[Question], list[int]]:
    """The questions of a samples_*.jsonl, each document once, and the place of the right choice of each.

    Raises ProbeFormatError for a file of another form or kind of task, or one that does not state the right choice.
    """
    refuse_other_file(path)
    questions: dict[int, Question] = {}
    for line, row in read_json_lines(path):
        question = _read_question(row, f"{path}:{line}")
        # A line for each filter of the task; filters change what is made of the log-likelihoods, not these.
        earlier = questions.setdefault(question.doc_id, question)
        if (repr(earlier.logprobs), earlier.target) != (repr(question.logprobs), question.target):
            fault = f"doc_id {question.doc_id} again, with other scores or target than {earlier.where}"
            raise ProbeFormatError(f"{question.where}: {fault}; import each evaluation by itself")
    ordered = sorted(questions.values(), key=lambda question: question.doc_id)
    return ordered, _answers(ordered)


def refuse_other_file(path: Path) -> None:
    """Raise ProbeFormatError for a file that does not begin with a sample, of whatever kind of task."""
    with path.open("rb") as file:
        start = file.read(1)
    if not start:
        raise ProbeFormatError(f"{path}:1: the file is empty; run the task again with `lm_eval --log_samples`")
    if start == b"[":
        advice = "write its elements as lines (`jq -c .[]`)"
        raise ProbeFormatError(f"{path}:1: a JSON array, as lm-evaluation-harness wrote before 0.4.3; {advice}")
    for line, row in islice(read_json_lines(path), 1):
        _doc_id(row, f"{path}:{line}")


def _doc_id(row: dict[str, Any], where: str) -> int:
    doc_id = row.get("doc_id")
    if type(doc_id) is not int or not 0 <= doc_id <= LARGEST_DOC:
        raise ProbeFormatError(f"{where}: doc_id {_shown(doc_id)} is not a number from 0; {MEND}")
    return doc_id


def _read_question(row: dict[str, Any], where: str) -> Question:
    doc_id = _doc_id(row, where)
    logprobs = tuple(_logprobs(row.get("resps"), where))
    requests = list(_requests(row.get("arguments"), where))
    if len(requests) != len(logprobs):
        raise ProbeFormatError(f"{where}: {len(logprobs)} resps for {len(requests)} arguments; {MEND}")
    requests = requests[: _n_conditional(requests)]
    if len(requests) < 2:
        raise ProbeFormatError(f"{where}: one choice only, {_OTHER_TASK}")
    texts = tuple(text.strip() for _, text in requests)
    contexts_differ = any(context != requests[0][0] for context, _ in requests)
    return Question(
        where=where,
        doc_id=doc_id,
        texts=texts,
        logprobs=logprobs[: len(requests)],
        target=row.get("target"),
        acc=row.get("acc"),
        in_context=contexts_differ and len(set(texts)) == 1,
        contexts=tuple(context for context, _ in requests if isinstance(context, str)),
    )


def _logprobs(resps: object, where: str) -> Iterator[float]:
    """The log-likelihood of each request: of `[[[log-likelihood, greedy], repeats ..], ..]` the first repeat's."""
    if not isinstance(resps, list) or not resps:
        raise ProbeFormatError(f"{where}: resps must be a list of responses; {MEND}")
    for repeats in resps:
        pair = repeats[0] if isinstance(repeats, list) and repeats else None
        if not isinstance(pair, list) or len(pair) != 2:
            raise ProbeFormatError(f"{where}: resps hold no (log-likelihood, greedy) pairs: {_OTHER_TASK}")
        yield _number(pair[0], where)


def _number(value: object, where: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else np.inf
    except (ValueError, OverflowError):
        number = np.inf
    if number > LARGEST_LOGPROB:
        fault = f"{_shown(value)} in resps is not a log-likelihood"
        raise ProbeFormatError(f"{where}: {fault}; give natural logs of probabilities, 0 or less")
    return min(number, 0.0)  # NaN stays


def _requests(arguments: object, where: str) -> Iterator[tuple[object, str]]:
    """Context and scored text of each request, in either form that the harness has had."""
    listed = arguments
    if isinstance(arguments, dict):
        listed = [arguments.get(f"gen_args_{place}") for place in range(len(arguments))]
    if not isinstance(listed, list):
        raise ProbeFormatError(f"{where}: arguments must hold gen_args_0, gen_args_1, ..; {MEND}")
    for request in listed:
        pair = [request.get("arg_0"), request.get("arg_1")] if isinstance(request, dict) else request
        if not isinstance(pair, list) or len(pair) < 2 or not isinstance(pair[1], str):
            raise ProbeFormatError(f"{where}: arguments must be (context, choice) pairs; {MEND}")
        yield pair[0], pair[1]


def _n_conditional(requests: Sequence[tuple[object, str]]) -> int:
    """How many requests score a choice after its context.

    For `acc_mutual_info` as many follow that score the same choices after nothing.
    """
    half = len(requests) // 2
    conditional, alone = requests[:half], requests[half:]
    is_doubled = conditional != alone and alone == [("", text) for _, text in conditional]
    return half if is_doubled else len(requests)


def _answers(questions: Sequence[Question]) -> list[int]:
    """The place of the right choice of each question, under the one way to read targets that fits them all."""
    readings = [[read(question) for question in questions] for read in (_by_place, _by_text)]
    fitting = [answers for answers in readings if all(map(_fits, questions, answers))]
    if not fitting:
        raise ProbeFormatError(_why_none(questions, readings))
    for question, first, last in zip(questions, fitting[0], fitting[-1], strict=True):
        if first != last:
            fault = f"target {_shown(question.target)} may be a place or a choice's text, and no acc tells which"
            raise ProbeFormatError(f"{question.where}: {fault}; log the metric acc")
    return [answer for answer in fitting[0] if answer is not None]


def _by_place(question: Question) -> int | None:
    if question.in_context:
        return _by_acc(question)
    target = question.target
    if isinstance(target, str) and target.isascii() and target.isdigit() and len(target) < 10:
        target = int(target)
    return target if type(target) is int and 0 <= target < len(question.texts) else None


def _by_text(question: Question) -> int | None:
    if question.in_context:
        return _by_acc(question)
    target = question.target.strip() if isinstance(question.target, str) else None
    return question.texts.index(target) if target in question.texts else None


def _by_acc(question: Question) -> int | None:
    """Of two, the right one follows from which was predicted and whether that was right."""
    if len(question.texts) != 2 or question.predicted is None or question.acc not in (0, 1):
        return None
    return question.predicted if question.acc == 1 else 1 - question.predicted


def _fits(question: Question, answer: int | None) -> bool:
    if answer is None:
        return False
    return question.acc is None or question.predicted is None or question.acc == (question.predicted == answer)


def _why_none(questions: Sequence[Question], readings: Sequence[Sequence[int | None]]) -> str:
    """The first question without a known right choice, and the reason."""
    for question, answers in zip(questions, zip(*readings, strict=True), strict=True):
        if not any(_fits(question, answer) for answer in answers):
            place = next((answer for answer in answers if answer is not None), None)
            return f"{question.where}: {_fault(question, place)}; calprobe takes tasks with one right choice"
    mixed = next(q for q, answer in zip(questions, readings[0], strict=True) if not _fits(q, answer))
    return f"{mixed.where}: target {_shown(mixed.target)} is a choice's text, other lines have places; give all alike"


def _fault(question: Question, answer: int | None) -> str:
    target, last = _shown(question.target), len(question.texts) - 1
    if question.in_context:
        return (
            f"which of {last + 1} contexts is the right one is in no key, and acc {_shown(question.acc)} does not tell"
        )
    if answer is None and target.strip('"').startswith("["):
        return f"target {target} names several choices"
    if answer is None:
        return f"target {target} is neither the place of a choice, 0 to {last}, nor the text of one"
    if question.acc not in (0, 1):
        return f"acc {_shown(question.acc)} is neither 0 nor 1: more than the choice of target {target} is right"
    return f"acc {_shown(question.acc)} contradicts target {target}: the most likely choice is {question.predicted}"


def _shown(value: object) -> str:
    """A value of the file, short."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
