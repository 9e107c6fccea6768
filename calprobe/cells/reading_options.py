"""What of a report's options decides how scores and replies are read; `ReportOptions` has these."""

from __future__ import annotations

from typing import Protocol

from calprobe.words import Calibrate, ClusterKind, Compat, Reduction, Ties


class ScoreReading(Protocol):
    """How the scores of a run become confidences."""

    @property
    def reduction(self) -> Reduction:
        """Of token scores to a statement's."""

    @property
    def score_rules(self) -> Compat | None:
        """The rules of a paper on scores."""

    @property
    def ties(self) -> Ties:
        """Which of the candidates that share the largest score is the prediction."""

    @property
    def cluster(self) -> ClusterKind | None:
        """How resamples go by relation."""


class ReplyReading(Protocol):
    """How the replies of a run become answers and confidences."""

    @property
    def readers(self) -> tuple[str, ...] | None:
        """That were asked for by name."""

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Of choices, the one that confidences go by first."""

    @property
    def by_paper(self) -> bool:
        """Whether the rules are those of the audit's paper."""

    @property
    def by_study(self) -> bool:
        """Whether the rules are those of the study of science questions."""

    @property
    def window(self) -> int | None:
        """How many most probable tokens labels are looked for among."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Estimators beside the usual ones."""

    @property
    def calibrate(self) -> Calibrate | None:
        """The map from uncertainties to confidences."""

    @property
    def variants(self) -> tuple[str, ...] | None:
        """These alone; None: all."""


class RunReading(ScoreReading, ReplyReading, Protocol):
    """How any run becomes confidences."""
