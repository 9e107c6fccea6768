"""The answers of a run that can be graded, and what a rule says of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from calprobe.answers import Grade, Reading, grade, read
from calprobe.answers.readers import CONCLUDES
from calprobe.answers.short import first_paragraph
from calprobe.grading.grade_options import GradeOptions
from calprobe.questions import Question
from calprobe.runs import AskedPiece, AskedRun, Reply
from calprobe.runs.grades import StoredGrade
from calprobe.runs.stages import ANSWER, FINAL, GREEDY, GREEDY_FINAL, ONCE
from calprobe.runs.task import text_hash


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """An answer with its question, what was read of it, and the grade of a rule."""

    question: Question
    reply: Reply
    reading: Reading
    grade: Grade

    @property
    def is_left_open(self) -> bool:
        """Whether exact matching says neither that it is right nor that it is no answer."""
        return self.question.kind == "open" and self.grade.rule == "exact" and not self.grade.correct

    @property
    def place(self) -> tuple[str, str, str, int, int]:
        """Set, question, variant, paraphrase and sample; a greedy answer has the place of the first sample."""
        reply = self.reply
        return reply.set, reply.question, reply.variant, reply.paraphrase, reply.sample

    @property
    def is_greedy(self) -> bool:
        """Whether it is the greedy answer that stands beside samples."""
        return self.reply.stage in ONCE

    def stored(self, final: Grade, imported: tuple[bool, str] | None) -> StoredGrade:
        """The row of the file: the grade of rule or judge, and the imported one with its author."""
        return StoredGrade(
            self.reply.key,
            text_hash(self.reply.text),
            *self.place,
            automatic=final.correct,
            rule=final.rule,
            score=final.score,
            matched=final.matched,
            imported=None if imported is None else imported[0],
            by="" if imported is None else imported[1],
        )


def graded_answers(run: AskedRun, options: GradeOptions) -> Iterator[GradedAnswer]:
    """The answers to open questions and to numbers, greedy ones too, each graded by rule.

    Where a conclusion was asked for behind the reply, that is the answer. An answer to a choice is right if its label
    is. An import without its questions has none that could be graded.
    """
    plain = plain_variants(run)
    for piece, record in run.by_piece.items():
        questions = run.questions[piece.set].questions
        by_id = {question.id: question for question in questions}
        for reply in record.replies:
            question = by_id[reply.question]
            is_known = question.kind == "number" or any(question.accepted)
            if reply.finish != "error" and question.kind != "choice" and is_known:
                reader = answer_readers(piece, question).get(reply.stage, "")
                if reader != "":
                    is_plain = piece.variant in plain
                    reading = read(reply, question, reader, plain=is_plain)
                    whole = first_paragraph(reply.text) if is_plain else reply.text
                    by_rule = grade(reading, question, rules=options.rules, whole=whole)
                    yield GradedAnswer(question, reply, reading, by_rule)


def plain_variants(run: AskedRun) -> frozenset[str]:
    """The variants that were asked as plain text; what is imported was asked in a way that is not known."""
    return frozenset() if run.manifest.is_import else run.manifest.asked_plainly


def answer_readers(asked: AskedPiece, question: Question) -> dict[str, str | None]:
    """The stages with the answers to a question that is no choice, and the reader of each; None: that of its kind.

    >>> from calprobe.runs.reply_records import AskedPiece
    >>> from calprobe.questions import Question
    >>> answer_readers(AskedPiece("s", "v", 0, ("answer", "final")), Question("1", "How many?", "number", number=3))
    {'final': 'extracted', 'greedy_final': 'extracted'}
    """
    if FINAL in asked.stages:  # only choices have labels behind a cue
        return dict.fromkeys((FINAL, GREEDY_FINAL), CONCLUDES[question.kind])
    return dict.fromkeys((ANSWER, GREEDY))
