"""The numbers of two cells on the rows that both have; p-values are corrected in `analysis.contrasts`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calprobe.arrays import Ints, Mask
from calprobe.cells.asked import AskedCell
from calprobe.cells.cell import sample_of, shared_places
from calprobe.confidence import NO_PREDICTION
from calprobe.confidence.asked import Answers
from calprobe.confidence.asked.reply_table import ReplyTable
from calprobe.measures.compare_results import Agreement, Contrast
from calprobe.measures.contrasts import Drawn, Sides, agreement_of, contrasts_of
from calprobe.measures.options import CompareOptions
from calprobe.metrics import ACCURACY, Metric
from calprobe.questions.types import Question
from calprobe.studies.asked.compared import CellPair

# Scores of the same weights differ by 1e-4 nats at most (`calprobe.measures.compare_match`), a probability of two by
# half as much.
SAME = 5e-5


def compare_cells(
    first: AskedCell,
    second: AskedCell,
    readers: Sequence[str] | None,
    estimators: Sequence[str],
    metrics: Sequence[Metric],
    options: CompareOptions,
) -> CellPair:
    """Accuracy under readers that both have (None: the first), and each estimator's metrics, on the rows of both.

    A number goes by the rows of which both have it: replies to be read, or confidences.
    """
    pair = _Pair.of(first, second, options)
    common = [name for name in first.answers if name in second.answers]
    readers = common[:1] if readers is None else [name for name in common if name in readers]
    compared = [name for name in estimators if all(name in cell.confidences for cell in (first, second))]
    contrasts = (
        *(contrast for reader in readers for contrast in pair.accuracy(reader)),
        *(contrast for name in compared for contrast in pair.calibration(name, metrics)),
    )
    rows = [cell.table.rows for cell in (first, second)]
    return CellPair(
        set=first.table.set,
        first=first.table.variant,
        second=second.table.variant,
        questions=len({first.table.rows[at].question.id for at in pair.places[0].tolist()}),
        rows=len(pair.places[0]),
        alone=(len(rows[0]) - len(pair.places[0]), len(rows[1]) - len(pair.places[1])),
        contrasts=contrasts,
        counts={reader: int(pair.both_asked(reader).sum()) for reader in readers}
        | {name: int(pair.both_read(name).sum()) for name in compared},
        agreement={reader: pair.agreement(reader) for reader in readers},
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells, and where the rows that both have are in each."""

    cells: tuple[AskedCell, AskedCell]
    places: tuple[Ints, Ints]
    drawn: Drawn  # of these rows

    @classmethod
    def of(cls, first: AskedCell, second: AskedCell, options: CompareOptions) -> _Pair:
        first_places, second_places = shared_places([first.units, second.units])
        rows = first.table.rows, second.table.rows
        same = [
            (one, two)
            for one, two in zip(first_places, second_places, strict=True)
            if is_same_question(rows[0][one].question, rows[1][two].question)
        ]
        places = np.array(same, np.int64).reshape(-1, 2).T
        sampled = first.units.clusters is not None
        drawn = Drawn.of(options, first.units.group[places[0]] if sampled else None, sampled=sampled)
        return cls((first, second), (places[0], places[1]), drawn)

    def accuracy(self, reader: str) -> Iterator[Contrast]:
        """How often answers are right."""
        kept = self.both_asked(reader)
        first, second = (answers.correct[at[kept]] for answers, at in self._answers(reader))
        sides = Sides((first.astype(np.float64), first), (second.astype(np.float64), second))
        return self._contrasts(reader, sides, kept, [ACCURACY])

    def calibration(self, name: str, metrics: Sequence[Metric]) -> Iterator[Contrast]:
        """An estimator's metrics, each side with the correctness of the answer that its confidence speaks of."""
        estimator, kept = self.cells[0].estimators[name], self.both_read(name)
        one, two = (cell.confidences[name].at(at[kept]) for cell, at in zip(self.cells, self.places, strict=True))
        first, second = (sample_of(confidence, scale=estimator.scale) for confidence in (one, two))
        ties = None
        if estimator.scale == "probability":  # of an uncertainty metrics take ranks, which tell nothing of its size
            ties = (np.abs(one.confidence - two.confidence) <= SAME) & (one.correct == two.correct)
        return self._contrasts(name, Sides(first, second, (estimator,), ties), kept, metrics)

    def both_asked(self, reader: str) -> Mask:
        """Rows of which both have a reply that the reader reads."""
        first, second = (answers.asked[at] for answers, at in self._answers(reader))
        return first & second

    def both_read(self, name: str) -> Mask:
        """Rows of which both have the confidence."""
        first, second = (cell.confidences[name].read[at] for cell, at in zip(self.cells, self.places, strict=True))
        return first & second

    def agreement(self, reader: str) -> Agreement:
        """How two sides' answers agree; McNemar's test takes single questions."""
        kept = self.both_asked(reader)
        pairs = [(answers, at[kept]) for answers, at in self._answers(reader)]
        first, second = (answers.correct[at] for answers, at in pairs)
        values = (_said(answers, cell.table, at) for (answers, at), cell in zip(pairs, self.cells, strict=True))
        same = np.array([one is not None and one == two for one, two in zip(*values, strict=True)], np.bool_)
        return agreement_of(same, first, second, tested=self.drawn.clusters is None)

    def _answers(self, reader: str) -> list[tuple[Answers, Ints]]:
        """What a reader makes of either cell, and where the rows of both are in it."""
        return [(cell.answers[reader], at) for cell, at in zip(self.cells, self.places, strict=True)]

    def _contrasts(self, name: str, sides: Sides, kept: Mask, metrics: Sequence[Metric]) -> Iterator[Contrast]:
        if kept.any():
            yield from contrasts_of({name: sides}, metrics, self.drawn.at(kept))


def _said(answers: Answers, table: ReplyTable, places: Ints) -> Iterator[str | float | None]:
    """The answers of some rows: options, in their words or, where these are not kept, by place; or as read."""
    for at in places.tolist():
        option = int(answers.prediction[at])
        read = option == NO_PREDICTION
        yield answers.readings[at].value if read else table.rows[at].question.options[option] or option


def is_same_question(first: Question, second: Question) -> bool:
    """Whether two questions of one id are the same, whatever their options are called in prompts, and their order."""
    return _content(first) == _content(second)


def _content(question: Question) -> Question:
    plain = replace(question, labels=(), group="", paraphrases=())
    if question.answer is None or not all(question.options):  # texts that are not kept tell nothing of the order
        return plain
    return replace(
        plain, options=tuple(sorted(question.options)), answer=None, accepted=(question.options[question.answer],)
    )
