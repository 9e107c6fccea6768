"""`compare_ways`: runs of scores and of replies over one probe, joined fact by fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calprobe.cells.asked import Asked, read_sets
from calprobe.cells.cell import Units
from calprobe.cells.cell_readers import check_used
from calprobe.cells.opening import AskedRuns, Runs, asked_runs, open_scored_runs
from calprobe.cells.run_facts import content_of
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators, known_metrics, known_names
from calprobe.measures.compare_numbers import drawn_of
from calprobe.measures.contrasts import Drawn, corrected
from calprobe.measures.estimates import few_values_of
from calprobe.metrics.error_shown import error_shown
from calprobe.metrics.metric import is_resampled
from calprobe.questions.types import Question
from calprobe.studies.asked.compare_asked import warnings_of
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.numbers import (
    every_pair,
    fair_pairs,
    rank_correlations,
    view_numbers,
    view_pair,
    way_numbers,
)
from calprobe.studies.four_ways.ranked import Offered, Ranked
from calprobe.studies.four_ways.said import Replies, facts_asked
from calprobe.studies.four_ways.shared_facts import Fact, Joined, Key, join
from calprobe.studies.four_ways.two_by_two import two_by_twos
from calprobe.studies.four_ways.way_options import DEFAULT_FOUR_WAYS, METRICS, FourWaysOptions
from calprobe.studies.four_ways.ways import Way, letter_of, numbered


def compare_ways(scored: Runs, asked: AskedRuns, options: FourWaysOptions = DEFAULT_FOUR_WAYS) -> FourWays:
    """The same facts ranked and answered: accuracy, calibration and order of each confidence, side by side.

    Facts that every run has are taken, each once. A run of scores ranks all candidates and, where a run of replies
    chooses from options, these options alone, by the same scores: both then have the same chance. Of several samples
    of a question, the answer is the most frequent one. Differences are paired by fact, on the same resamples; complete
    relations are resampled where there are 30 or more.

    Args:
        scored: runs of scores over one probe, open or by path; a mapping gives them names.
        asked: runs of replies to facts of that probe, likewise; of the same model or of another.
        options: which confidences, metrics, readers and variants; how to resample.
    Raises:
        UsageError: no run of either kind, runs of several probes, no fact that all have, or names of estimators,
            metrics, readers or variants that there are not. DataMissingError: no run at a path. CalprobeError: a run is
            damaged.

    `compare_ways("runs/gemma-mini", ["runs/gemma-choice", "runs/gemma-open"]).two_by_two[0].answers_if_ranked.value`
    is the share of the facts ranked right that are answered right.
    """
    opened = [Ranked.of(run) for run in open_scored_runs(scored, options.compare.scores)]
    return compare_opened(opened, asked_runs(asked), options)


def compare_opened(ranked: Sequence[Ranked], asked: Sequence[Asked], options: FourWaysOptions) -> FourWays:
    """The same of runs that are open. Raises UsageError."""
    options = replace(options, compare=replace(options.compare, correction=options.compare.correction or "holm"))
    labels = [side.run.label for side in ranked] + [run.label for run in asked]
    if twice := next((label for label in labels if labels.count(label) > 1), None):
        raise UsageError(f"{twice} is named twice: name each run once")
    cells, left_out = _cells(ranked, asked, options)
    all_ways = _Ways.of(ranked, cells, options)
    facts = tuple(_fact(ranked, key) for key in all_ways.joined.keys)
    drawn, ways = all_ways.drawn, all_ways.ways
    views = [view for way in ways for view in way.views]
    ace_bins = options.compare.scores.ace_bins
    few_values = any(few_values_of(way.cell, name, ace_bins) for way in ways for name in way.cell.estimators)
    of_differences = ("accuracy", "brier", error_shown(few_values=few_values), "auroc")
    metrics, compared = (
        known_metrics(options.compare.metrics or names, ace_bins, resampled=False)
        for names in (METRICS, of_differences)
    )
    resampled = [metric for metric in compared if is_resampled(metric)]
    pairs = every_pair(ways) if options.compare.pairs == "all" else fair_pairs(ways)
    return corrected(
        FourWays(
            runs=(*(side.run.facts for side in ranked), *(_compared_run(run, cells) for run in asked)),
            probe=ranked[0].run.manifest.probe.name,
            facts=facts,
            every=all_ways.joined.every,
            lacking=all_ways.joined.lacking,
            left_out=(*left_out, *all_ways.without_options),
            ways=tuple(way_numbers(way, drawn) for way in ways),
            views=tuple(view_numbers(ways, metrics, drawn.resampling)),
            pairs=tuple(view_pair(pair, resampled, drawn) for pair in pairs),
            correlations=rank_correlations(views, drawn),
            two_by_two=two_by_twos(ways, facts, drawn),
            unit=drawn.unit,
            metrics=metrics,
            few_values=few_values,
            wanted=options,
        )
    )


def _compared_run(run: Asked, cells: Sequence[Replies]) -> ComparedRun:
    """A run of replies, with the warnings of its sets that answer facts."""
    sets = {cell.found.name: cell.found for cell in cells if cell.run is run}
    return replace(ComparedRun.of(run), warnings=warnings_of(sets.values()))


@dataclass(frozen=True, slots=True)
class _Ways:
    """All ways to answer the facts that all runs have."""

    joined: Joined
    drawn: Drawn  # how the facts are resampled
    ways: tuple[Way, ...]
    without_options: tuple[str, ...]  # a clause for each ranking of options that there is not

    @classmethod
    def of(cls, ranked: Sequence[Ranked], cells: Sequence[Replies], options: FourWaysOptions) -> _Ways:
        of_scores, of_replies = _names(ranked, cells, options)
        differing = [_differing(ranked, cell) for cell in cells]
        sides = [side.holding() for side in ranked]
        sides += [cell.holding(faults) for cell, faults in zip(cells, differing, strict=True)]
        joined = join(sides)
        relation = np.array([key[0] for key in joined.keys], np.str_)
        drawn = drawn_of(relation, options.compare)
        lines = np.array([key[1] for key in joined.keys], np.int64)
        facts = Units(relation, lines, np.zeros(len(lines), np.int64), drawn.clusters)
        offers = list(_offers(cells, joined.keys))
        kinds = {side.run.label: [offer for offer in offers if side.knows(offer.values())] for side in ranked}
        # Rankings come first, so the letters of replies follow their number.
        first = len(ranked) + sum(map(len, kinds.values()))
        ways = []
        for side in ranked:
            ways.append(side.way(facts, of_scores[side.run.label]))
            for offer in kinds[side.run.label]:
                letters = [letter_of(first + at) for at, cell in enumerate(cells) if _offer(cell, joined.keys) == offer]
                ways.append(side.way_among(facts, of_scores[side.run.label], Offered(", ".join(letters), offer)))
        ways += [cell.way(facts, of_replies) for cell in cells]
        lacking = tuple(
            f"{side.run.label}: its candidates, or options of questions, are not known in words: "
            "it ranks all candidates"
            for side in ranked
            if len(kinds[side.run.label]) < len(offers)
        )
        return cls(joined, drawn, numbered(ways), lacking)


def _offers(cells: Iterable[Replies], keys: Sequence[Key]) -> Iterator[dict[Key, Question]]:
    """The questions with options, once for all ways that offer the same."""
    offers: list[dict[Key, Question]] = []
    for cell in cells:
        offer = _offer(cell, keys)
        if offer and offer not in offers:
            offers.append(offer)
            yield offer


def _offer(cell: Replies, keys: Sequence[Key]) -> dict[Key, Question]:
    """Each fact's options in a fixed order, whatever wording and order a question has; none of free answers."""
    if not cell.is_choice:
        return {}
    questions = cell.questions()
    return {key: _sorted(questions[key]) for key in keys}


def _sorted(question: Question) -> Question:
    if question.answer is None:
        return question
    order = sorted(range(len(question.options)), key=lambda place: question.options[place])
    options = tuple(question.options[place] for place in order)
    return Question(question.id, "", "choice", options, options, answer=order.index(question.answer))


def _differing(ranked: Sequence[Ranked], cell: Replies) -> dict[Key, str]:
    questions = cell.questions()
    reasons: dict[Key, str] = {}
    for side in ranked:
        reasons |= side.differing(questions)
    return reasons


def _fact(ranked: Sequence[Ranked], key: Key) -> Fact:
    side = next((side for side in ranked if side.texts.known), ranked[0])
    return side.fact(key)


def _cells(
    ranked: Sequence[Ranked], asked: Sequence[Asked], options: FourWaysOptions
) -> tuple[list[Replies], list[str]]:
    """The cells that answer facts of the runs' probe, and a clause for what does not."""
    if not ranked or not asked:
        raise UsageError("give one run of scores or more, and one run of replies or more, over the same facts")
    probes = {content_of(side.run.manifest.probe): side.run for side in ranked}
    if len(probes) > 1:
        first, second, *_ = probes.values()
        raise UsageError(
            f"{first.label} is of probe {first.manifest.probe.name}, {second.label} of another, "
            f"{second.manifest.probe.name}; compare runs of one probe"
        )
    replies, left_out, readers, variants = [], [], [], []
    for run in asked:
        sets = []
        for read_set in read_sets(run, options.compare.scores):
            source = next(question_set.source for question_set in run.sets if question_set.name == read_set.name)
            if source.probe is not None and ranked[0].run.manifest.probe.fingerprint not in (None, source.probe):
                left_out.append(f"{run.label}, {read_set.name}: facts of another probe than {ranked[0].run.label}'s")
                continue
            sets.append(read_set)
        cells, without = facts_asked(run, sets)
        left_out += without
        readers += [reader for read_set, variant in cells for reader in read_set.cells[variant].answers]
        variants += [variant for _, variant in cells]
        if options.variants is not None:
            cells = [(read_set, variant) for read_set, variant in cells if variant in options.variants]
        for cell in (Replies(run, read_set, variant, len(cells) > 1) for read_set, variant in cells):
            if cell.rows(cell.answers):
                replies.append(cell)
            else:  # no fact would have an answer in every way
                left_out.append(f"{run.label}, {cell.found.name}, {cell.variant}: no answers, all requests failed")
    if options.variants is not None:
        known_names("--variants", options.variants, variants)
    if not replies:
        probe = ranked[0].run.manifest.probe.name
        why = "; ".join(["no replies to facts of the probe that was scored", *left_out])
        raise UsageError(f"{why}\nask its facts: `calprobe ask --questions {probe} --as choice`")
    check_used(options.compare.scores.readers, readers)
    return replies, left_out


def _names(
    ranked: Sequence[Ranked], cells: Sequence[Replies], options: FourWaysOptions
) -> tuple[Mapping[str, Sequence[str]], Sequence[str] | None]:
    """The estimators of each run of scores by its label, and those of replies (None: the usual ones of each cell)."""
    estimators = options.compare.estimators
    usual = {side.run.label: side.usual for side in ranked}
    if estimators is None:
        return usual, None
    of_scores = dict.fromkeys(name for side in ranked for name in side.run.estimators)
    of_replies = dict.fromkeys(name for cell in cells for name in cell.estimators)
    names = known_estimators("the comparison", estimators, [*of_scores, *of_replies])
    chosen = {side.run.label: tuple(name for name in names if name in side.run.estimators) for side in ranked}
    reply_names = tuple(name for name in names if name in of_replies)
    return {label: names or usual[label] for label, names in chosen.items()}, reply_names or None
