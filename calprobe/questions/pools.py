"""Questions that can be asked, before a draw: those of a file, of a public set's split, or the facts of a probe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from calprobe.errors import ProbeFormatError, UsageError
from calprobe.messages import counted, did_you_mean, shown
from calprobe.questions.columns import Surroundings
from calprobe.questions.gold import QuestionFault
from calprobe.questions.options import AskedAs
from calprobe.questions.question_file import read_question_file
from calprobe.questions.question_rows import DELIMITERS, JSON_LINES, ColumnFault, Row, kind_of_file, read_rows
from calprobe.questions.table_layouts import Layout
from calprobe.questions.tables import read_table
from calprobe.questions.types import Question, QuestionKind


@dataclass(frozen=True, slots=True)
class Pool:
    """Questions to choose from, made when they are taken."""

    groups: Sequence[str]  # of each question
    question: Callable[[int], Question]  # by place
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # name -> SHA-256 (hex)
    of_each: Callable[[int, int], Sequence[int]] | None = None  # of facts: places of N of each relation, by a seed
    left_out: int = 0  # rows that cannot be asked

    @property
    def size(self) -> int:
        """How many questions there are."""
        return len(self.groups)


def pool_of(questions: Sequence[Question], notes: tuple[str, ...], files: Mapping[str, str], left_out: int = 0) -> Pool:
    """A pool of questions that are there already."""
    groups = [question.group for question in questions]
    return Pool(groups, questions.__getitem__, notes, files, left_out=left_out)


def own_pool(path: Path, columns: Mapping[str, str], place: Surroundings) -> Pool:
    """The questions of a user's file. Raises as `read_question_file`, and as `read_table` for tables."""
    files = {path.name: sha256_of(path)}
    kind = kind_of_file(path)
    if kind in JSON_LINES and not columns:
        questions, notes = read_question_file(path)
        return pool_of(questions, notes, files)
    table = read_table(list(read_rows([path])), columns, place, str(path), texts=kind in DELIMITERS, lenient=False)
    return pool_of(table.questions, table.notes, files, table.left_out)


def table_pool(rows: Sequence[Row], columns: Mapping[str, str], place: Surroundings, name: str) -> Pool:
    """The questions of public rows by columns that a user names; raises as `read_table`."""
    table = read_table(rows, columns, place, name, texts=False, lenient=True)
    return pool_of(table.questions, table.notes, {}, table.left_out)


def public_pool(paths: Mapping[str, Path], layout: Layout, place: Surroundings, as_: AskedAs | None) -> Pool:
    """The questions of a public set's files, by name; as `layout_pool`."""
    pool = layout_pool(read_rows(list(paths.values())), layout, place, as_)
    return replace(pool, files={name: sha256_of(path) for name, path in paths.items()})


def layout_pool(rows: Iterable[Row], layout: Layout, place: Surroundings, as_: AskedAs | None) -> Pool:
    """The questions of a public set's rows.

    Rows that cannot be asked, for they have no gold answer, and rows with the id of an earlier one are left out, and a
    note says how many.

    Raises:
        ProbeFormatError: a file cannot be read, or has other columns.
        UsageError: the set has no questions of the wanted kind.
    """
    reader = layout.readers[kind_asked(layout, as_, place.set)]
    questions: dict[str, Question] = {}
    faults: list[str] = []
    repeated = 0
    for row in rows:
        try:
            question = reader(row, place)
        except ColumnFault as fault:
            problem = f"not of the layout of {layout.name}: {fault}"
            raise ProbeFormatError(
                f"{row.where}: {problem}; give a file of it, or one in calprobe's own format"
            ) from fault
        except QuestionFault as fault:
            faults.append(f"{row.where}: {fault}")
            continue
        repeated += question.id in questions
        questions.setdefault(question.id, question)
    if not questions:
        raise ProbeFormatError(
            f"{faults[0] if faults else place.set}: and no other row can be asked; choose another split"
        )
    notes = tuple(_left_out(faults, repeated))
    return pool_of(list(questions.values()), notes, {}, len(faults))


def kind_asked(layout: Layout, as_: AskedAs | None, name: str) -> QuestionKind:
    """The kind that a set is asked in. Raises UsageError if it cannot be asked as wanted."""
    if as_ is None:
        return next(iter(layout.readers))
    if as_ not in layout.readers:
        raise UsageError(f"--as {as_}: {name} has questions of kind {' or '.join(layout.readers)}; leave --as out")
    return as_


def grouped(pool: Pool, groups: Sequence[str], name: str) -> list[int]:
    """The places of a pool's questions in these groups, all if none is named.

    Raises UsageError if there is no question in them.
    """
    if not groups:
        return list(range(pool.size))
    places = [place for place, group in enumerate(pool.groups) if group in groups]
    if not places:
        names = [group for group in dict.fromkeys(pool.groups) if group]
        if not names:
            raise UsageError(f"--groups {','.join(groups)}: the questions of {name} have no groups")
        listed = ", ".join(names[:8]) + (", .." if len(names) > 8 else "")
        meant = did_you_mean(groups[0], names) or f"; it has {listed}"
        raise UsageError(f"--groups {','.join(groups)}: {name} has no such group{meant}")
    return places


def sha256_of(path: Path) -> str:
    """SHA-256 (hex) of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _left_out(faults: Sequence[str], repeated: int) -> Iterator[str]:
    if faults:
        yield f"Left out because they cannot be asked: {counted(len(faults), 'row')}, the first at {shown(faults[0])}."
    if repeated:
        yield f"Left out because an earlier row has the same id: {counted(repeated, 'row')}."
