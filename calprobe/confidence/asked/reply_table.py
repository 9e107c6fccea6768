"""The replies of a run, put in order: a cell for each set and variant, in it a row for each answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from calprobe.questions.turning import turned
from calprobe.questions.types import Question, QuestionSet
from calprobe.runs.grades import StoredGrade
from calprobe.runs.replies import Reply
from calprobe.runs.stages import ANSWER as ANSWER
from calprobe.runs.stages import FINAL as FINAL
from calprobe.runs.stages import GREEDY as GREEDY
from calprobe.runs.stages import GREEDY_FINAL as GREEDY_FINAL
from calprobe.runs.stages import LABEL as LABEL
from calprobe.runs.stages import P_TRUE as P_TRUE
from calprobe.runs.stages import STATED as STATED
from calprobe.runs.stages import stated_stage


@dataclass(frozen=True, slots=True)
class Row:
    """One answer: what was said to a question in one sample, and what was said of it afterwards."""

    question: Question
    paraphrase: int
    sample: int
    replies: Mapping[str, Reply]  # by stage, those that did not fail
    failed: Mapping[str, Reply]  # by stage, those that did
    grades: Mapping[str, StoredGrade] = field(default_factory=dict)  # by stage, as `calprobe grade` has stored them
    plain: bool = False  # whether the prompt was plain text, so that the reply goes on as a text does

    @property
    def first(self) -> Reply:
        """The reply itself, or where labels alone were asked for, the one that has them."""
        return self.replies[ANSWER] if ANSWER in self.replies else self.replies[LABEL]

    @property
    def key(self) -> tuple[str, int, int]:
        """What the row is of, for rows of other variants to be paired with."""
        return self.question.id, self.paraphrase, self.sample


@dataclass(frozen=True)
class ReplyTable:
    """The answers to one set of questions under one variant, in the order of the set."""

    set: str
    variant: str
    rows: tuple[Row, ...]
    failed: int  # requests for an answer that failed; they have no row
    failures: Mapping[str, int] = field(default_factory=dict)  # all requests that failed, by stage
    reasons: Mapping[str, int] = field(default_factory=dict)  # all requests that failed, by reason

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def is_sampled(self) -> bool:
        """Whether any question, or any claim about an option, has several answers."""
        return len({row.question.id for row in self.rows}) < len(self.rows)

    def has(self, stage: str) -> bool:
        """Whether any row has a reply at that stage, or failed there."""
        return any(stage in row.replies or stage in row.failed for row in self.rows)

    @cached_property
    def judges_options(self) -> bool:
        """Whether every row is a verdict on one option of a question."""
        return bool(self.rows) and all(row.question.of for row in self.rows)

    @cached_property
    def stated(self) -> tuple[str, ...]:
        """Names of the prompts that asked for a confidence in the reply itself, sorted."""
        stages = {stage for row in self.rows for stage in (*row.replies, *row.failed)}
        prompts = (stated_stage(stage) for stage in stages)
        return tuple(sorted(prompt.prompt for prompt in prompts if prompt is not None and not prompt.condition))

    def at(self, places: Sequence[int]) -> ReplyTable:
        """The cell with the rows at these places alone."""
        return replace(self, rows=tuple(self.rows[place] for place in places))


def reply_tables(
    sets: Iterable[QuestionSet],
    replies: Iterable[Reply],
    grades: Mapping[str, StoredGrade] = MappingProxyType({}),
    turns: Mapping[str, int] = MappingProxyType({}),
    perturbations: Mapping[str, Sequence[str]] = MappingProxyType({}),
    plain: Collection[str] = (),
) -> dict[str, dict[str, ReplyTable]]:
    """The cells of a run, by set, then by variant; sets in their order, variants in that of their first reply.

    `grades` are by the key of the reply; `turns`, by variant, are how far the options of its questions were moved up;
    `perturbations`, by name, are variants that stand for wordings: two or more of them become one cell of that name;
    `plain` are the variants that were asked as plain text.

    Raises ValueError for a reply to a question that no set has.
    """
    sets = tuple(sets)
    cells: dict[tuple[str, str], dict[tuple[str, int, int], dict[str, Reply]]] = {}
    for reply in replies:
        rows = cells.setdefault((reply.set, reply.variant), {})
        rows.setdefault((reply.question, reply.paraphrase, reply.sample), {})[reply.stage] = reply
    questions = {
        own.name: {question.id: (place, question) for place, question in enumerate(own.questions)} for own in sets
    }
    for name, variant in cells:
        for question, _, _ in cells[name, variant]:
            if name not in questions or question not in questions[name]:
                raise ValueError(f"a reply is to question {question!r} of {name!r}, which the run does not have")
    tables: dict[str, dict[str, ReplyTable]] = {own.name: {} for own in sets}
    for (name, variant), rows in cells.items():
        own = questions[name]
        if turns.get(variant):
            own = {key: (place, turned(question, turns[variant])) for key, (place, question) in own.items()}
        tables[name][variant] = _table(name, variant, rows, own, grades, plain=variant in plain)
    for name, found_cells in tables.items():
        for joint, members in perturbations.items():
            _join(found_cells, joint, [member for member in members if member in found_cells], questions[name])
    return {name: own for name, own in tables.items() if own}


def _join(
    tables: dict[str, ReplyTable], name: str, members: Sequence[str], questions: Mapping[str, tuple[int, Question]]
) -> None:
    """Put one cell in the place of some, each of which stands for wordings of its own."""
    if len(members) < 2:
        return
    taken = [tables.pop(member) for member in members]
    step = 1 + max((row.paraphrase for table in taken for row in table.rows), default=0)
    rows = [
        replace(row, paraphrase=place * step + row.paraphrase)
        for place, table in enumerate(taken)
        for row in table.rows
    ]
    rows.sort(key=lambda row: (questions[row.question.id][0], row.paraphrase, row.sample))
    failures, reasons = Counter[str](), Counter[str]()
    for table in taken:
        failures.update(table.failures)
        reasons.update(table.reasons)
    failed = sum(table.failed for table in taken)
    tables[name] = ReplyTable(taken[0].set, name, tuple(rows), failed, failures, dict(reasons.most_common()))


def _table(
    name: str,
    variant: str,
    rows: Mapping[tuple[str, int, int], Mapping[str, Reply]],
    questions: Mapping[str, tuple[int, Question]],
    grades: Mapping[str, StoredGrade],
    *,
    plain: bool,
) -> ReplyTable:
    ordered = sorted(rows, key=lambda key: (questions[key[0]][0], key[1], key[2]))
    all_rows = [_row(questions[key[0]][1], key, rows[key], grades, plain=plain) for key in ordered]
    answered = tuple(row for row in all_rows if ANSWER in row.replies or LABEL in row.replies)
    failures = Counter(stage for row in all_rows for stage in row.failed)
    reasons = Counter(reply.reason for row in all_rows for reply in row.failed.values())
    lost = [row for row in all_rows if ANSWER in row.failed or LABEL in row.failed]
    return ReplyTable(name, variant, answered, len(lost), failures, dict(reasons.most_common()))


def _row(
    question: Question,
    key: tuple[str, int, int],
    replies: Mapping[str, Reply],
    grades: Mapping[str, StoredGrade],
    *,
    plain: bool,
) -> Row:
    failed = {stage: reply for stage, reply in replies.items() if reply.finish == "error"}
    graded = {stage: grades[reply.key] for stage, reply in replies.items() if reply.key in grades}
    arrived = {stage: reply for stage, reply in replies.items() if stage not in failed}
    return Row(question, key[1], key[2], arrived, failed, graded, plain)
