"""The questions of an asked run, stored in its folder: questions.json, so that reports need no other file.

Of a set that must not be quoted, the texts of questions and options are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from calprobe.errors import CalprobeError, UsageError
from calprobe.questions.types import Question, QuestionSet, SetSource
from calprobe.runs.asked_records import QuestionSetRecord, questions_fingerprint
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.side_files import SideObject
from calprobe.runs.task import text_hash

_FILE = SideObject("questions", "restore the file, or ask again into another folder")
FILE_NAME = _FILE.file_name
# Fields of a source that later versions added, left out of the file where they are empty.
_LATER = ("config", "left_out", "columns")


@dataclass(frozen=True, slots=True)
class StoredSet:
    """The questions of one set as a run folder keeps them."""

    name: str
    source: SetSource
    questions: tuple[Question, ...]
    hashes: tuple[str, ...]  # of each question with all its texts, see `question_hash`
    shots: tuple[str, ...] = ()  # ids of the examples in prompts
    wordings: tuple[tuple[str, ...], ...] = ()  # hashes of each question's other wordings; empty: none has any

    @classmethod
    def of(cls, questions: QuestionSet) -> StoredSet:
        """The set as it is stored."""
        hashes = tuple(question_hash(question) for question in questions.questions)
        stored = questions.questions if questions.source.quotable else tuple(map(_unquoted, questions.questions))
        wordings = tuple(tuple(map(text_hash, question.paraphrases)) for question in questions.questions)
        shots = tuple(shot.id for shot in questions.shots)
        return cls(questions.name, questions.source, stored, hashes, shots, wordings if any(wordings) else ())

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of all its questions, in any order."""
        return questions_fingerprint(self.hashes)

    @property
    def record(self) -> QuestionSetRecord:
        """What a manifest says of the set."""
        count, roots = len(self.questions), self.as_set().n_roots
        n_roots = roots if roots < count else None
        return QuestionSetRecord(self.name, count, self.fingerprint, self.source, self.shots, n_roots)

    @property
    def by_id(self) -> Mapping[str, str]:
        """The hash of each question by its id."""
        return {question.id: digest for question, digest in zip(self.questions, self.hashes, strict=True)}

    @property
    def wordings_by_id(self) -> Mapping[str, tuple[str, ...]]:
        """The hashes of each question's other wordings by its id."""
        wordings = self.wordings or ((),) * len(self.questions)
        return {question.id: hashes for question, hashes in zip(self.questions, wordings, strict=True)}

    def as_set(self) -> QuestionSet:
        """The set, without examples."""
        return QuestionSet(self.name, self.questions, self.source)

    def first(self, n_questions: int) -> StoredSet:
        """The set with its first questions only."""
        return replace(
            self,
            questions=self.questions[:n_questions],
            hashes=self.hashes[:n_questions],
            wordings=self.wordings[:n_questions],
        )

    def differing(self, other: StoredSet) -> str | None:
        """The id of the first question that is another under the same id, or has other wordings; None if none has.

        One may have more wordings, as long as those of the other are its first.
        """
        hashes, wordings, own_wordings = other.by_id, other.wordings_by_id, self.wordings_by_id
        for question, digest in self.by_id.items():
            if question in hashes:
                pairs = zip(own_wordings[question], wordings[question], strict=False)
                if digest != hashes[question] or any(first != second for first, second in pairs):
                    return question
        return None

    def joined(self, other: StoredSet) -> StoredSet:
        """This set's questions, each in the wordings of both, then those of the other that it lacks."""
        other_questions = {question.id: question for question in other.questions}
        reworded = tuple(_in_more_wordings(question, other_questions.get(question.id)) for question in self.questions)
        hashes = self.by_id
        added = [(q, h) for q, h in zip(other.questions, other.hashes, strict=True) if q.id not in hashes]
        questions = (*reworded, *(question for question, _ in added))
        own_wordings, other_wordings = self.wordings_by_id, other.wordings_by_id
        wordings = tuple(max(own_wordings.get(q.id, ()), other_wordings.get(q.id, ()), key=len) for q in questions)
        return replace(
            self,
            questions=questions,
            hashes=(*self.hashes, *(digest for _, digest in added)),
            shots=tuple(dict.fromkeys((*self.shots, *other.shots))),
            wordings=wordings if any(wordings) else (),
        )


def question_hash(question: Question) -> str:
    """16 digits of the SHA-256 (hex) of all fields of a question, its other wordings apart: more may come later."""
    return text_hash(json.dumps(asdict(replace(question, paraphrases=())), sort_keys=True, ensure_ascii=False))


def _in_more_wordings(question: Question, other: Question | None) -> Question:
    """The question with the other's wordings, if these are more."""
    has_more = other is not None and len(other.paraphrases) > len(question.paraphrases)
    return replace(question, paraphrases=other.paraphrases) if other is not None and has_more else question


def write_questions(folder: Path, sets: Sequence[StoredSet]) -> None:
    """Write the questions into a run folder, atomically, unless they are there already.

    Raises CalprobeError if the file cannot be written.
    """
    _FILE.write(folder, {"sets": [_as_written(stored) for stored in sets]})


def _as_written(stored: StoredSet) -> dict[str, Any]:
    """All fields; of a source those of later versions only where it has them, so that old files are written alike."""
    fields = asdict(stored)
    fields["source"] = {name: value for name, value in fields["source"].items() if value or name not in _LATER}
    return fields


def read_questions(folder: Path) -> tuple[StoredSet, ...]:
    """The questions in a run folder. Raises CalprobeError if the file is missing or damaged."""
    sets = _FILE.read(folder, _checked)
    if sets is None:
        problem = "is missing; run the same `calprobe ask` again, or restore the file"
        raise CalprobeError(f"{folder / FILE_NAME}: {problem}")
    return sets


def keep_questions(sources: Iterable[Path], folder: Path) -> None:
    """Write the questions that several run folders have into another.

    Raises UsageError for a question that is not the same in all of them, else as `read_questions`, `write_questions`.
    """
    sets: dict[str, StoredSet] = {}
    for source in sources:
        for stored in read_questions(source):
            earlier = sets.get(stored.name, stored)
            if (question := earlier.differing(stored)) is not None:
                raise UsageError(
                    f"{source}: question {question} of {stored.name} is not what it is in the other runs (its text, "
                    "options or paraphrases differ); leave this folder out"
                )
            sets[stored.name] = earlier.joined(stored)
    write_questions(folder, tuple(sets.values()))


def _unquoted(question: Question) -> Question:
    return replace(question, text="", options=("",) * len(question.options), context="", paraphrases=())


def _checked(fields: Any) -> tuple[StoredSet, ...]:
    sets = decode(_Content, fields).sets
    for stored in sets:
        if len(stored.hashes) != len(stored.questions) or len(stored.by_id) < len(stored.questions):
            raise DecodeError(f"set {stored.name!r:.60}: a question is there twice, or has no hash")
        if stored.wordings and len(stored.wordings) != len(stored.questions):
            raise DecodeError(f"set {stored.name!r:.60}: wordings must be of each question or of none")
        for question in stored.questions:
            if fault := _fault(question):
                raise DecodeError(f"set {stored.name!r:.60}, question {question.id!r:.60}: {fault}")
    return sets


@dataclass(frozen=True, slots=True)
class _Content:
    sets: tuple[StoredSet, ...]


def _fault(question: Question) -> str:
    n_options = len(question.options)
    if question.kind == "choice":
        if question.answer is None or not 0 <= question.answer < n_options or len(question.labels) != n_options:
            return "its answer or its labels do not fit its options"
    elif question.kind == "number":
        if question.number is None:
            return "it has no number"
    elif not question.accepted:
        return "it has no accepted answers"
    return ""
