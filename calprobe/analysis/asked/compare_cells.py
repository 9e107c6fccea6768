"""The numbers of two cells on the rows that both have; p-values are corrected in `analysis.compare_corrected`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from calprobe.analysis.asked.compared import CellPair
from calprobe.analysis.compare_results import Agreement, Contrast, Equivalence, by_chance_of
from calprobe.analysis.meaningful import of_scale
from calprobe.analysis.options import CompareOptions
from calprobe.cells.asked import AskedCell
from calprobe.cells.cell import sample_of, shared_places
from calprobe.confidence import NO_PREDICTION
from calprobe.confidence.asked import Answers
from calprobe.confidence.asked.reply_table import ReplyTable
from calprobe.metrics import ACCURACY, Metric, PairedDraws, mcnemar
from calprobe.metrics.bootstrap import Predictions, draw_samples
from calprobe.metrics.intervals import Draws, interval
from calprobe.questions.types import Question

FIRST, SECOND = "first", "second"
Kept = npt.NDArray[np.bool_]  # [rows that both have]
Places = npt.NDArray[np.int64]


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
    found = _Pair.of(first, second, options)
    both = [name for name in first.answers if name in second.answers]
    readers = both[:1] if readers is None else [name for name in both if name in readers]
    shown = [name for name in estimators if all(name in own.confidences for own in (first, second))]
    contrasts = (
        *(own for reader in readers for own in found.accuracy(reader)),
        *(own for name in shown for own in found.calibration(name, metrics)),
    )
    rows = [own.table.rows for own in (first, second)]
    return CellPair(
        set=first.table.set,
        first=first.table.variant,
        second=second.table.variant,
        questions=len({first.table.rows[at].question.id for at in found.places[0].tolist()}),
        rows=len(found.places[0]),
        alone=(len(rows[0]) - len(found.places[0]), len(rows[1]) - len(found.places[1])),
        contrasts=contrasts,
        counts={reader: int(found.both_asked(reader).sum()) for reader in readers}
        | {name: int(found.both_read(name).sum()) for name in shown},
        agreement={reader: found.agreement(reader) for reader in readers},
    )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two cells, and where the rows that both have are in each."""

    first: AskedCell
    second: AskedCell
    places: tuple[Places, Places]
    clusters: npt.NDArray[np.str_] | None
    options: CompareOptions

    @classmethod
    def of(cls, first: AskedCell, second: AskedCell, options: CompareOptions) -> _Pair:
        own, other = shared_places([first.units, second.units])
        rows = first.table.rows, second.table.rows
        same = [
            (one, two)
            for one, two in zip(own, other, strict=True)
            if is_same_question(rows[0][one].question, rows[1][two].question)
        ]
        places = np.array(same, np.int64).reshape(-1, 2).T
        clusters = None if first.units.clusters is None else first.units.group
        return cls(first, second, (places[0], places[1]), None if clusters is None else clusters[places[0]], options)

    def accuracy(self, reader: str) -> Iterator[Contrast]:
        """How often answers are right."""
        kept = self.both_asked(reader)
        right = [own.correct[kept] for own in self._answers(reader)]
        samples = {name: (own.astype(np.float64), own) for name, own in zip((FIRST, SECOND), right, strict=True)}
        yield from self._contrasts(reader, samples, kept, [ACCURACY])

    def calibration(self, name: str, metrics: Sequence[Metric]) -> Iterator[Contrast]:
        """An estimator's metrics, each side with the correctness of the answer that its confidence speaks of."""
        found = [own.confidences[name] for own in (self.first, self.second)]
        scale, kept = self.first.estimators[name].scale, self.both_read(name)
        samples = {
            side: sample_of(own.at(at), kept, scale)
            for side, own, at in zip((FIRST, SECOND), found, self.places, strict=True)
        }
        yield from self._contrasts(name, samples, kept, of_scale(metrics, scale))

    def both_asked(self, reader: str) -> Kept:
        """Rows of which both have a reply that the reader reads."""
        first, second = (own.asked for own in self._answers(reader))
        return first & second

    def both_read(self, name: str) -> Kept:
        """Rows of which both have the confidence."""
        first, second = (own.confidences[name].read for own in (self.first, self.second))
        return first[self.places[0]] & second[self.places[1]]

    def agreement(self, reader: str) -> Agreement:
        """How two sides' answers agree; McNemar's test takes single questions."""
        kept = self.both_asked(reader)
        if not kept.any():
            return Agreement(*[float("nan")] * 4)
        sides = self._answers(reader)
        first, second = (own.correct[kept] for own in sides)
        said = [[own.values[at] for at in np.flatnonzero(kept)] for own in sides]
        same = [one is not None and one == two for one, two in zip(*said, strict=True)]
        counts = int((first & ~second).sum()), int((~first & second).sum())
        return Agreement(
            same_prediction=float(np.mean(same)),
            both_right=float((first & second).mean()),
            first_right=counts[0] / len(first),
            second_right=counts[1] / len(first),
            mcnemar_p=mcnemar(*counts) if self.clusters is None else float("nan"),
        )

    def _answers(self, reader: str) -> tuple[_Answers, _Answers]:
        one, two = (
            _Answers.of(own.answers[reader], own.table, at)
            for own, at in zip((self.first, self.second), self.places, strict=True)
        )
        return one, two

    def _contrasts(
        self, name: str, samples: Mapping[str, Predictions], kept: Kept, metrics: Sequence[Metric]
    ) -> Iterator[Contrast]:
        if not kept.any():
            return
        clusters = None if self.clusters is None else self.clusters[kept]
        draws = draw_samples(metrics, samples, self.options.scores.resampling, clusters)
        for metric in metrics:
            one, two = draws[FIRST][metric.name], draws[SECOND][metric.name]
            contrast = self._contrast(name, metric, PairedDraws.of(one, two, metric), (one, two))
            questions = int(kept.sum()) if clusters is None else len(np.unique(clusters))
            yield replace(contrast, by_chance=by_chance_of(metric.name, (one, two), questions, self.options))

    def _contrast(self, name: str, metric: Metric, draws: PairedDraws, sides: tuple[Draws, Draws]) -> Contrast:
        margin, by = self.options.margin, self.options.correction or "holm"
        return Contrast(
            name,
            metric.name,
            interval(sides[0], metric),
            interval(sides[1], metric),
            draws.difference(),
            equivalence=None if margin is None else Equivalence(margin, draws.equivalence(margin)),
            corrected_by=by,
            draws=draws,
        )


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a reader makes of the rows that both cells have."""

    values: tuple[str | float | None, ...]  # options, in their words or, where these are not kept, by place; or as read
    correct: Kept
    asked: Kept

    @classmethod
    def of(cls, answers: Answers, cell: ReplyTable, places: Places) -> _Answers:
        values = tuple(
            answers.readings[at].value
            if answers.prediction[at] == NO_PREDICTION
            else cell.rows[at].question.options[answers.prediction[at]] or int(answers.prediction[at])
            for at in places.tolist()
        )
        return cls(values, answers.correct[places], answers.asked[places])


def is_same_question(first: Question, second: Question) -> bool:
    """Whether two questions of one id are the same, whatever their options are called in prompts, and their order."""
    return _content(first) == _content(second)


def _content(question: Question) -> Question:
    own = replace(question, labels=(), group="", paraphrases=())
    if question.answer is None or not all(question.options):  # texts that are not kept tell nothing of the order
        return own
    return replace(
        own, options=tuple(sorted(question.options)), answer=None, accepted=(question.options[question.answer],)
    )
