"""What an estimator is: one record for whatever was scored, asked or given, and the entry of its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Literal

# Of scores of candidates the first four, of replies the next; the last of a table that has the confidences.
Group = Literal[
    "intrinsic", "consistency", "grounding", "beyond the paper", "label", "stated", "p_true", "samples", "given"
]
# What a confidence means: the probability to be right, a rank alone, or an uncertainty without a scale, of which larger
# values are less sure.
Scale = Literal["probability", "order", "uncertainty"]


class Headline(IntEnum):
    """How early an estimator is shown. Whatever shows some shows those of its own level and of all before it."""

    BRIEF = 1  # on a page of many runs
    FIRST = 2  # in slices and calibration figures, and before a reader chooses others
    PAPER = 3  # in curves, and in the summary of runs: the columns of the paper's Table 1
    PAGE = 4  # in the figures on a page of few runs


@dataclass(frozen=True, slots=True)
class Estimator:
    """A way from evidence to confidences."""

    name: str  # the key in `report --json`; `{}` in an entry's, for what tells its estimators apart
    definition: str  # one line
    group: Group  # that reports show it in
    # From candidates' probabilities, or a cell of replies, to a `Confidence`. An entry's may take more, which `bind`
    # fills in.
    compute: Callable[..., Any]
    source: str = ""  # where it is defined; empty for calprobe's own
    scale: Scale = "probability"  # calibration has a meaning for probabilities alone
    needs: frozenset[str] = frozenset()  # what there must be beyond the evidence itself, such as embeddings
    lacks: frozenset[str] = frozenset()  # names of metrics, and of maps that recalibrate, that have no meaning for it
    on_request: bool = False  # whether it is computed only where it is asked for by name
    headline: Headline | None = None  # how early it is shown; None: where all are
    templates: tuple[int, ...] = ()  # numbers of the templates it reads
    marker: str | None = None  # what its template says of its own sureness: possibly, certainly, a percentage
    fitted: bool = False  # whether it is fitted to the right answers of the same run, on other folds
    votes: int | None = None  # paraphrases that must agree; None: an estimator without votes

    def __call__(self, evidence: Any) -> Any:
        """Its confidences, as `compute` gives them."""
        return self.compute(evidence)


def alone(entry: Entry, _source: object) -> Iterator[Estimator]:
    """The entry's estimator as it stands there."""
    yield entry.estimator


@dataclass(frozen=True, slots=True, eq=False)  # an entry is equal to itself alone
class Entry:
    """A row of a table of estimators: one, or several that differ in what stands for `{}`."""

    estimator: Estimator
    # The estimators that a run's templates, or a cell of replies, allow; none if they lack what these read.
    bind: Callable[[Entry, Any], Iterator[Estimator]] = alone
    headlines: Mapping[str, Headline] = field(default_factory=dict)  # by the estimator's full name

    def bound(self, compute: Callable[..., Any], word: str = "", meaning: str = "", **fields: Any) -> Estimator:
        """One of the entry's estimators: `word` stands for `{}` in its name, `meaning` in its definition."""
        estimator = self.estimator
        name = estimator.name.format(word)
        return replace(
            estimator,
            name=name,
            definition=estimator.definition.format(meaning),
            compute=compute,
            headline=self.headlines.get(name),
            **fields,
        )
