"""Wordings of questions out of a paraphrase file, checked: what is lost or there twice is dropped and counted."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from calprobe.answers.comparing import comparable
from calprobe.answers.short import normalised
from calprobe.errors import UsageError
from calprobe.messages import counted, shown
from calprobe.questions import Question, QuestionSet
from calprobe.questions.paraphrase_file import ParaphraseFile
from calprobe.runs.asked_records import ParaphraseRecord

log = logging.getLogger(__name__)

DUPLICATE, NAME, NUMBER, ENDING = "duplicate", "name lost", "number or date lost", "ending differs"
MOST = 0.9  # of the questions have so many wordings, where no number is given

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]+")
_STEM = 4  # letters of a name that stay in its other forms: British, Britain


@dataclass(slots=True)
class Checked:
    """The paraphrases of one question that are kept, and why others are not."""

    kept: tuple[str, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)  # odd, and kept


def checked(text: str, paraphrases: Sequence[str]) -> Checked:
    """The paraphrases that are no copies and keep each name, number and date of the question.

    Names are words with a capital letter behind the first word; their first four letters must be there. A question in
    lower case has none.

    >>> others = ["In 1905, who led Norway?", "Who led Norway?", "who led norway in 1905"]
    >>> found = checked("Who led Norway in 1905?", others)
    >>> found.kept, dict(found.dropped)
    (('In 1905, who led Norway?',), {'number or date lost': 1, 'duplicate': 1})
    """
    check, seen, kept = Checked(), {normalised(text)}, []
    for paraphrase in paraphrases:
        fault = DUPLICATE if normalised(paraphrase) in seen else _lost(text, paraphrase)
        seen.add(normalised(paraphrase))
        if fault:
            check.dropped[fault] += 1
            continue
        check.noted[ENDING] += text.rstrip().endswith("?") and not paraphrase.endswith("?")
        kept.append(paraphrase)
    check.kept, check.noted = tuple(kept), +check.noted
    return check


def _lost(text: str, paraphrase: str) -> str:
    """What of the question the paraphrase lacks; empty: nothing."""
    digits = set(_NUMBER.findall(text.replace(",", ""))) & numbers_of(text)
    if digits - numbers_of(paraphrase):
        return NUMBER
    return NAME if names_of(text, among=paraphrase) else ""


def numbers_of(text: str) -> set[str]:
    """Numbers, dates and words for numbers among them, in digits."""
    return set(_NUMBER.findall(comparable(text)))


def names_of(text: str, among: str) -> list[str]:
    """Names of the text that the other text does not have: by their first four letters, so that Britain is British."""
    stems = {word[:_STEM].casefold() for word in _WORD.findall(among)}
    return [name for name in _names(text) if name[:_STEM].casefold() not in stems]


def _names(text: str) -> Iterator[str]:
    """Words with a capital letter that no sentence begins with."""
    begins = True
    for match in _WORD.finditer(text):
        between = text[: match.start()].rstrip()
        begins = not between or between[-1] in ".!?:\"“'"
        if match[0][0].isupper() and len(match[0]) > 1 and not begins:
            yield match[0]


def _of_no_question(sets: Sequence[QuestionSet], file: ParaphraseFile) -> list[str]:
    """The ids of a file that no question has, of those that are asked."""
    ids = {(name, question.id) for own in sets for question in own.questions for name in (own.name, "")}
    return [name for own, name in file.lines if (own, name) not in ids]


def with_paraphrases(
    sets: Sequence[QuestionSet], file: ParaphraseFile, wordings: int | None = None
) -> tuple[tuple[QuestionSet, ...], ParaphraseRecord]:
    """The questions in the file's wordings, and what was kept of them. Questions with fewer wordings are left out.

    Args:
        sets: what is asked.
        file: from `calprobe.questions.paraphrase_file.read_paraphrases`.
        wordings: of each question, its own text among them; None: as many as nine of ten questions have.
    Raises:
        UsageError: no question of a set has so many.
    """
    if ids := _of_no_question(sets, file):
        text = ", ".join(repr(name) for name in ids[:3]) + (", .." if len(ids) > 3 else "")
        log.warning("%s: %s of no question that is asked: id %s", file.path, counted(len(ids), "line"), text)
    checks = {
        (question_set.name, q.id): checked(q.text, file.of(question_set.name, q))
        for question_set in sets
        for q in question_set.questions
    }
    counts = sorted((1 + len(check.kept) for check in checks.values()), reverse=True)
    n_wordings = wordings or max(2, counts[math.ceil(MOST * len(counts)) - 1])
    worded = tuple(_worded(question_set, checks, n_wordings, file) for question_set in sets)
    dropped = sum((check.dropped for check in checks.values()), Counter[str]())
    noted = sum((check.noted for check in checks.values()), Counter[str]())
    record = ParaphraseRecord(
        path=shown(str(file.path)),
        fingerprint=file.fingerprint,
        sources=file.sources,
        wordings=n_wordings,
        kept=sum(len(check.kept) for check in checks.values()),
        dropped=dict(sorted(dropped.items())),
        noted=dict(noted),
        left_out=sum(len(question_set.questions) for question_set in sets)
        - sum(len(question_set.questions) for question_set in worded),
    )
    return worded, record


def without_copies(sets: Sequence[QuestionSet]) -> tuple[QuestionSet, ...]:
    """The questions without wordings that are a copy of another one, as `checked` compares them."""
    distinct = tuple(
        replace(question_set, questions=tuple(map(_without_copies, question_set.questions))) for question_set in sets
    )
    before, after = (
        sum(len(q.paraphrases) for question_set in question_sets for q in question_set.questions)
        for question_sets in (sets, distinct)
    )
    if after < before:
        log.warning("%s the same as another wording of the question: not asked", counted(before - after, "paraphrase"))
    return distinct


def _without_copies(question: Question) -> Question:
    seen = {normalised(question.text)}
    paraphrases = []
    for paraphrase in question.paraphrases:
        if normalised(paraphrase) not in seen:
            paraphrases.append(paraphrase)
        seen.add(normalised(paraphrase))
    return replace(question, paraphrases=tuple(paraphrases))


def _worded(
    question_set: QuestionSet, checks: Mapping[tuple[str, str], Checked], n_wordings: int, file: ParaphraseFile
) -> QuestionSet:
    questions = tuple(
        replace(question, paraphrases=paraphrases[: n_wordings - 1])
        for question in question_set.questions
        if len(paraphrases := checks[question_set.name, question.id].kept) >= n_wordings - 1
    )
    if not questions:
        most = max((1 + len(checks[question_set.name, q.id].kept) for q in question_set.questions), default=0)
        raise UsageError(
            f"{file.path}: no question of {question_set.name} has {counted(n_wordings, 'wording')} by it "
            f"({most} at most, its own text among them); give the ids of the questions, or fewer --wordings"
        )
    return replace(question_set, questions=questions)
