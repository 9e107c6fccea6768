"""Contrasts within one run: of its estimators, of markers with the plain statement, of its templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Confidence, Distributions, Estimator, Headline, available_estimators, headline
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators
from calprobe.measures.compare_numbers import agreement_of_base, drawn_of, sides_of
from calprobe.measures.compare_pairs import check_pairs, pairs_with
from calprobe.measures.compare_results import Contrast, Grounding, WithinPair, WithinRun
from calprobe.measures.contrasts import Drawn, Sides, contrasts_of
from calprobe.measures.meaningful import refuse_meaningless
from calprobe.measures.options import CompareOptions, Pair
from calprobe.metrics import ACCURACY, Metric, mean_draws
from calprobe.metrics.intervals import UNDEFINED
from calprobe.runs import TemplateRecord

WITHIN_METRICS = ("accuracy", "brier", "ace")
OF_TEMPLATES = (BASE, "margin")  # what two templates are compared by, unless estimators are named
PERCENTAGES = 2  # numeric markers that a slope needs


def contrasts_within(run: ScoredRun, metrics: Sequence[Metric], options: CompareOptions) -> WithinRun:
    """A run's estimators against each other and its markers against the plain statement; or pairs of its templates.

    Raises UsageError for estimators or templates that the run does not have, or if there is nothing to compare.
    """
    within = _Within(run, metrics, options, drawn_of(run.instances.group, options))
    if options.templates is not None:
        return WithinRun(run.facts, within.drawn.unit, templates=tuple(within.template_pairs(options.templates)))
    chosen = options.pairs is not None or options.baseline is not None or options.estimators is not None
    pairs = within.chosen_pairs() if chosen else within.headline_pairs()
    markers = [] if chosen else within.marker_pairs()
    if not pairs and not markers:
        raise UsageError(f"compare: {run.label} has no two estimators to compare; name another run, or --estimator")
    return WithinRun(
        run.facts,
        within.drawn.unit,
        estimators=tuple(map(within.pair, pairs)),
        markers=tuple(map(within.pair, markers)),
        grounding=None if chosen else within.grounding(),
        failed=within.failed(dict.fromkeys(name for pair in (*pairs, *markers) for name in pair)),
    )


@dataclass(frozen=True, slots=True)
class _Within:
    run: ScoredRun
    metrics: Sequence[Metric]
    options: CompareOptions
    drawn: Drawn

    def headline_pairs(self) -> list[Pair]:
        """The paper's estimators, each with those that are simpler: average_min - margin, average_min - base, .."""
        names = [name for name in headline(Headline.FIRST) if name in self.run.estimators]
        return list(combinations(names[::-1], 2))

    def marker_pairs(self) -> list[Pair]:
        """Each marker with the plain statement."""
        if BASE not in self.run.estimators:
            return []
        return [(name, BASE) for name, estimator in self.run.estimators.items() if estimator.marker is not None]

    def chosen_pairs(self) -> list[Pair]:
        """The pairs that the options name."""
        pairs, baseline, names = self.options.pairs, self.options.baseline, self.options.estimators
        if isinstance(pairs, tuple):
            self._check(name for pair in pairs for name in pair)
            check_pairs(pairs, list(self.run.estimators))
            return list(pairs)
        estimators = list(names if names is not None else headline(Headline.FIRST))
        estimators = estimators if names is not None else [name for name in estimators if name in self.run.estimators]
        self._check([*estimators, *([baseline] if baseline else [])])
        if baseline is not None:
            return pairs_with(baseline, estimators)
        if len(estimators) < 2:
            raise UsageError("compare: one RUN compares its estimators with each other: name two --estimator or more")
        return list(combinations(estimators, 2))

    def pair(self, names: Pair) -> WithinPair:
        """Two estimators by all metrics."""
        first, second = (self.run.confidence(name) for name in names)
        estimators = tuple(self.run.estimators[name] for name in names)
        for estimator in estimators:
            refuse_meaningless(self.metrics, estimator)
        sides = sides_of(first, second, estimators)
        return WithinPair(*names, tuple(contrasts_of({None: sides}, self.metrics, self.drawn)))

    def template_pairs(self, numbers: Sequence[tuple[int, int]]) -> Iterator[WithinPair]:
        """Two templates by the metrics of estimators that read one template."""
        names = self.options.estimators or OF_TEMPLATES
        if len({frozenset(pair) for pair in numbers}) < len(numbers):
            raise UsageError("--templates: two templates are paired twice; name each pair once")
        estimators = self._of_one_template(names)
        for pair in numbers:
            first, second = (self._under_template(number, estimators) for number in pair)
            sides: dict[str | None, Sides] = {
                name: sides_of(first[name], second[name], [estimators[name]]) for name in names
            }
            contrasts = [
                contrast
                for contrast in contrasts_of(sides, self.metrics, self.drawn)
                if not _is_repeated(contrast, sides)
            ]
            agreement = agreement_of_base(first[BASE], second[BASE], self.drawn)
            yield WithinPair(f"template {pair[0]}", f"template {pair[1]}", tuple(contrasts), agreement)

    def failed(self, names: Iterable[str]) -> dict[str, int]:
        """By estimator, instances without a prediction; those that have none are left out."""
        return {name: count for name in names if (count := int(self.run.confidence(name).failed.sum()))}

    def grounding(self) -> Grounding | None:
        """The slope of mean confidence on the percentage; None with fewer than two percentages."""
        named = {
            int(estimator.marker): name
            for name, estimator in self.run.estimators.items()
            if estimator.marker is not None and estimator.marker.isdecimal()
        }
        if len(named) < PERCENTAGES:
            return None
        stated = np.array(list(named)) / 100
        weights = (stated - stated.mean()) / ((stated - stated.mean()) ** 2).sum()
        confidence = np.array([self.run.confidence(name).confidence for name in named.values()])
        slopes = (weights[:, None] * confidence).sum(axis=0)  # the slope of the means is the mean of these
        draws = mean_draws(slopes, self.drawn.resampling, self.drawn.clusters)
        neither, drawn = UNDEFINED, replace(self.drawn, margin=None)
        return Grounding(tuple(named), drawn.contrast(None, "grounding", (neither, neither), draws))

    def _of_one_template(self, names: Sequence[str]) -> dict[str, Estimator]:
        """The estimators and base, bound to the only template of a table."""
        available = {estimator.name: estimator for estimator in available_estimators([TemplateRecord(0, "paraphrase")])}
        if lacking := [name for name in names if name not in available]:
            raise UsageError(
                f"--templates compares estimators of one template: {', '.join(available)}; not {', '.join(lacking)}"
            )
        estimators = {name: available[name] for name in dict.fromkeys((BASE, *names))}
        for name in names:
            refuse_meaningless(self.metrics, estimators[name])
        return estimators

    def _under_template(self, number: int, estimators: Mapping[str, Estimator]) -> dict[str, Confidence]:
        """What they say, as if the run had this template alone and it were plain."""
        table = self.run.table
        rows = [row for row, template in enumerate(table.templates) if template.number == number]
        if not rows:
            numbers = ", ".join(str(template.number) for template in table.templates)
            raise UsageError(f"--templates: {self.run.label} has no template {number}; it has {numbers}")
        plain = replace(table.templates[rows[0]], kind="paraphrase", marker=None)
        alone = replace(table, scores=table.scores[rows], templates=(plain,))
        distributions = Distributions.from_table(alone, self.options.scores.ties)
        return {name: estimator(distributions) for name, estimator in estimators.items()}

    def _check(self, names: Iterable[str]) -> None:
        known_estimators(self.run.label, list(dict.fromkeys(names)), self.run.estimators)


def _is_repeated(contrast: Contrast, sides: Mapping[str | None, Sides]) -> bool:
    """Whether it is the accuracy of the answers that base gives too."""
    if contrast.metric != ACCURACY.name or contrast.estimator == BASE or BASE not in sides:
        return False
    pair, base = sides[contrast.estimator], sides[BASE]
    return np.array_equal(pair.first[1], base.first[1]) and np.array_equal(pair.second[1], base.second[1])
