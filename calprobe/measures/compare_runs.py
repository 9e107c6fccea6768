"""Runs side by side, in pairs, or one run with itself: base against instruct, checkpoints, causal against masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calprobe.cells.opening import Runs, open_scored_runs
from calprobe.confidence import Headline, available_estimators, headline
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_metrics
from calprobe.measures.compare_match import Comparable, Shared, comparable_part
from calprobe.measures.compare_numbers import compare_pair
from calprobe.measures.compare_pairs import chosen_pairs
from calprobe.measures.compare_results import Comparison
from calprobe.measures.compare_within import WITHIN_METRICS, contrasts_within
from calprobe.measures.contrasts import corrected
from calprobe.measures.meaningful import refuse_meaningless
from calprobe.measures.options import DEFAULT_COMPARISON, CompareOptions, Pair
from calprobe.metrics import Metric

METRICS = ("brier", "ace")


def compare(runs: Runs, options: CompareOptions = DEFAULT_COMPARISON) -> Comparison:
    """Accuracy, Brier score and ACE of runs in pairs, with paired bootstrap differences and corrected p-values.

    Two runs are a pair, whatever they are. Of more, each masked run is compared with the causal run of the nearest
    accuracy (`match_nearest`), the paper's section 6, or runs of one kind with the first of them, unless pairs are
    named. Accuracy is the BEAR score or, where a pair has fewer than two paraphrases, that of base. Beside all
    relations there is the domain with the smallest difference in accuracy; a relation of two domains counts in
    both. Differences are first minus second on the same resamples (`calprobe.metrics.paired_differences`); instances
    with scores that agree in both runs within their error are equal in them (`tied_instances`). Relations are resampled
    where there are 30 or more, else instances. The correction counts every p-value of the comparison.

    Of a single run: its estimators against each other, its epistemic markers against the plain statement, and the slope
    of mean confidence on the percentage that a statement names; or, with `options.templates`, pairs of its templates.

    Args:
        runs: run folders, open or by path; one or more, each once.
        options: pairs, what to do with runs that are not alike, estimators, metrics, domains, how to read the scores.
    Returns:
        The pairs in the order in which they were named, or of their masked runs. Without instances all values are NaN.
    Raises:
        UsageError: no run, one named twice, pairs, estimators or metrics that there are not, no pair to be found, or
            runs of other probes, instances or templates, unless `options.intersect` is set and they have some in
            common. DataMissingError: no run at a path. CalprobeError: a run is damaged, or an import that lacks the
            scores which reduction and compat need.

    `compare(["runs/gpt2-bear", "runs/bert-base-cased-bear"]).pairs[0].everything.accuracy` is a contrast of accuracies.
    """
    scored = {run.label: Comparable(run) for run in open_scored_runs(runs, options.scores)}
    facts = tuple(comparable.run.facts for comparable in scored.values())
    options = replace(options, correction=options.correction or ("max-t" if len(scored) == 1 else "holm"))
    if len(scored) == 1:
        (alone,) = scored.values()
        metrics = known_metrics(options.metrics or WITHIN_METRICS, options.scores.ace_bins)
        within = contrasts_within(alone.run, metrics, options)
        return corrected(Comparison(facts, (), {}, metrics, options, within))
    if options.templates is not None:
        raise UsageError("--templates compares templates of one run with each other: name one RUN")
    chosen = chosen_pairs(scored, options)
    shared = {pair: comparable_part(scored[pair[0]], scored[pair[1]], options.intersect) for pair in chosen.pairs}
    metrics = known_metrics(options.metrics or METRICS, options.scores.ace_bins)
    estimators = _chosen_estimators(shared, scored, metrics, options)
    pairs = tuple(
        compare_pair((scored[first].run, scored[second].run), overlap, estimators, metrics, options)
        for (first, second), overlap in shared.items()
    )
    remarks = (chosen.remark,) if chosen.remark else ()
    return corrected(Comparison(facts, pairs, chosen.unpaired, metrics, options, remarks=remarks))


def _chosen_estimators(
    shared: Mapping[Pair, Shared],
    scored: Mapping[str, Comparable],
    metrics: Sequence[Metric],
    options: CompareOptions,
) -> tuple[str, ...]:
    """The estimators asked for, or the paper's, as far as the pairs' templates give them."""
    available = {
        estimator.name: estimator  # a dict keeps their order
        for (first, second), overlap in shared.items()
        for estimator in available_estimators(
            [scored[first].run.table.templates[row] for row in overlap.first.rows],
            shared=all(scored[name].run.table.shares_candidates for name in (first, second)),
        )
    }
    names = list(headline(Headline.FIRST) if options.estimators is None else options.estimators)
    chosen = tuple(name for name in names if name in available)
    if not chosen or (options.estimators is not None and len(chosen) < len(names)):
        lacking = ", ".join(name for name in names if name not in available)
        raise UsageError(
            f"compare: no pair has the templates, or shared candidates, for {lacking}; "
            f"give --estimator of {', '.join(available)}"
        )
    if options.estimators is not None:
        for name in chosen:
            refuse_meaningless(metrics, available[name])
    return chosen
