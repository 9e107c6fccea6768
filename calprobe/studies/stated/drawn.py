"""A statistic of one set of answers with its draws, from which it gets an interval, alone or as a mean over sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calprobe.metrics import Estimate, Metric
from calprobe.metrics.intervals import Draws, interval, least_beyond, reference
from calprobe.metrics.known_means import mean_over_sets
from calprobe.metrics.metric import ReferenceMetric


@dataclass(frozen=True, slots=True)
class Drawn:
    """A statistic before its interval is taken."""

    draws: Draws
    answers: int  # that it is of
    metric: Metric | None = None  # None: the plain percentiles; a reference: the draws are its error's
    prompts: int = 1  # that it is a mean over

    @property
    def estimate(self) -> Estimate:
        """The value with its 95 % interval; of a reference what chance makes of the error that was drawn."""
        if isinstance(self.metric, ReferenceMetric):
            return reference(self.draws, self.metric)
        return interval(self.draws, self.metric)


def macro(several: Sequence[Drawn], seed: int) -> Drawn:
    """The plain mean over sets."""
    answers = sum(drawn.answers for drawn in several)
    draws = mean_over_sets([drawn.draws for drawn in several], seed)
    return Drawn(draws, answers, several[0].metric, prompts=several[0].prompts)


def over_prompts(several: Sequence[Drawn]) -> Drawn:
    """The plain mean over prompts, which were drawn together; NaN where one of them is undefined."""
    if len(several) == 1:
        return several[0]
    draws = [statistic.draws for statistic in several]
    by_chance = [statistic.by_chance for statistic in draws if statistic.by_chance is not None]
    equal = len({len(statistic.resampled) for statistic in draws}) == 1
    mean = Draws(
        float(np.mean([statistic.value for statistic in draws])),
        np.mean([statistic.resampled for statistic in draws], axis=0) if equal else np.empty(0),
        np.mean(by_chance, axis=0) if equal and len(by_chance) == len(draws) else None,
        beyond=least_beyond(draws),
        trials=max((statistic.trials for statistic in draws), default=0),
        ends=next((statistic.ends for statistic in draws if statistic.is_withheld), None),
    )
    return Drawn(mean, min(statistic.answers for statistic in several), several[0].metric, prompts=len(several))
