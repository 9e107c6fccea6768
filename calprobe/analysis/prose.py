"""The texts around the numbers of runs: headings, notes and remarks, shared by all writers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from calprobe.analysis.compare_results import Scope
from calprobe.analysis.covariates import Covariate
from calprobe.analysis.number_text import number, ranges, signed_spelled, spelled
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.analysis.sensitivity import PromptSensitivity
from calprobe.analysis.slices import RunSlices, Slice
from calprobe.analysis.uncertainty import MeanUncertainty
from calprobe.cells.run_facts import RunFacts
from calprobe.confidence import BASE
from calprobe.messages import counted
from calprobe.metrics import LEAST_CLUSTERS, MANY_CLUSTERS, Resampling
from calprobe.words import ClusterKind

INDENT = "  "
DRAWN: dict[ClusterKind | None, str] = {
    None: "the instances",
    "instance": "the instances",
    "relation": "the relations, each drawn completely",
    "within-relation": "the instances within each relation",
}
GROUPS = {
    "intrinsic": "probabilities under one wording",
    "consistency": "agreement between paraphrases",
    "grounding": "statements that say how sure they are",
}
CHANCE_BELOW = 500  # instances below which much of a slice's ACE is chance
SLICE_METRICS = {"ace": "ACE", "ace_if_calibrated": "if cal.", "brier": "Brier"}  # of each estimator of a slice
COVARIATE_METRICS = {"confidence_gap": "conf - acc", "ace": "ACE", "ace_if_calibrated": "if cal."}


# Descriptions of runs.


def heading(run: RunFacts) -> tuple[str, str, str]:
    """Run, model and probe, in three lines; the first one says whether the run is complete or partial."""
    few, many = run.candidates
    space = counted(few, "candidate") if few == many else f"{few} to {many} candidates"
    note = f": {run.manifest.model.note}" if run.manifest.model.note else ""
    return (
        f"{run.label}: {state(run)}; {how_scored(run)}",
        f"model {run.model}, {run.manifest.model.kind or 'kind not known'}{note}",
        f"probe {run.manifest.probe.name}: {size(run)}, K = {space}{_same_tokens(run)}{_completions(run)}",
    )


def state(run: RunFacts) -> str:
    """complete; or what is missing or left out: PARTIAL, 3 of 8 relations; LIMITED: 8 of 60 relations."""
    return _lacking(run, "PARTIAL", "LIMITED") or "complete"


def left_out(run: RunFacts) -> str:
    """What a partial run lacks, and what was not asked for; empty if nothing is left out."""
    return _lacking(run, "partial run", "limited")


def _lacking(run: RunFacts, partial: str, limited: str) -> str:
    clauses = [f"{partial}, {run.relations} of {len(run.manifest.relations)} relations"] if run.partial else []
    if limits := run.manifest.limits():
        clauses.append(f"{limited}: {limits}")
    return "; ".join(clauses)


def how_scored(run: RunFacts) -> str:
    """Path, number type and templates of the scores."""
    numbers = ranges(template.number for template in run.manifest.templates)
    later = None if run.recorded is None else run.recorded.progress.later_path
    gave_way = "" if later is None else f"; the path failed, and {later} scored the rest"
    return f"{run.manifest.describe()}, template set {run.manifest.template_set.name} ({numbers}){gave_way}"


def size(found: RunFacts | Scope) -> str:
    """7,731 instances in 60 relations."""
    return f"{counted(found.instances, 'instance')} in {counted(found.relations, 'relation')}"


def size_and_state(run: RunFacts) -> str:
    """The run's size; notes a partial run and one of a part of the probe."""
    return f"{size(run)} ({note})" if (note := left_out(run)) else size(run)


def _same_tokens(run: RunFacts) -> str:
    """The number of candidates that the tokenizer cannot tell apart, if there are any; else empty."""
    count = run.manifest.n_same_tokens
    return f"; {counted(count, 'candidate')} with the same tokens as another" if count else ""


def cost(run: RunFacts) -> Iterable[str]:
    """What scoring has cost: 547,976 tokens of 48,230 statements scored in 31 s. Nothing for an import."""
    spent = run.progress
    if spent.statements:
        tokens, statements = counted(spent.tokens, "token"), counted(spent.statements, "statement")
        yield f"{tokens} of {statements} scored in {spent.wall_s or spent.score_s:,.0f} s"


def cost_of_templates(run: RunFacts) -> tuple[str, ...]:
    """What one wording has cost, the paraphrases and all templates: estimators read one or several; or nothing."""
    numbers = [template.number for template in run.manifest.templates]
    paraphrases = [template.number for template in run.manifest.templates if template.kind == "paraphrase"]
    total = run.cost_of(numbers)
    if total is None or len(numbers) < 2:
        return ()
    first = paraphrases[0] if paraphrases else numbers[0]
    groups = {f"template {first}": [first], f"{len(paraphrases)} paraphrases": paraphrases, "all templates": numbers}
    names = {tuple(group): name for name, group in reversed(groups.items()) if group}  # each set of templates once
    texts = [
        f"{run.cost_of(group).tokens:,} for {name}"  # type: ignore[union-attr]
        for group, name in sorted(names.items(), key=lambda item: len(item[0]))
    ]
    return (f"scored tokens: {', '.join(texts)}",)


def _completions(run: RunFacts) -> str:
    """Completions and cut contexts, if the run scores completions; else empty."""
    if not run.manifest.scores_completions:
        return ""
    return f"; completions scored, {counted(sum(run.cut_contexts.values()), 'context')} cut from the left"


# Reports.


def accuracies(run: RunReport) -> tuple[str, ...]:
    """Accuracy of base, and mean accuracy over the paraphrases."""
    lines = []
    if run.accuracy is not None:
        lines.append(f"accuracy {spelled(run.accuracy)}; chance {number(run.facts.chance_accuracy)} (mean 1/K)")
    if run.bear_score is not None:
        over = f"{run.facts.paraphrases} paraphrases"
        if run.facts.has_bear_score:
            lines.append(f"BEAR score {spelled(run.bear_score)}: mean accuracy over BEAR's own {over}")
        else:
            lines.append(f"mean accuracy over {over} {spelled(run.bear_score)}")
    if run.ties is not None and run.ties.instances:
        ties = counted(run.ties.instances, "instance")
        expected = number(run.ties.expected_accuracy)
        lines.append(f"ties: {ties} with several largest scores; expected accuracy {expected}")
    return tuple(lines)


def mean_accuracy_name(runs: Sequence[RunFacts]) -> str:
    """What the mean accuracy over the paraphrases is called: BEAR score, if all runs have one."""
    return "BEAR score" if all(run.has_bear_score for run in runs) else "mean accuracy"


def calibration_sentences(run: RunReport) -> tuple[str, ...]:
    """Whether base is over- or underconfident, and its ACE beside that of a calibrated model.

    None without draws, and in a report of chosen metrics that lacks one of these.
    """
    base = next((estimator.metrics for estimator in run.estimators if estimator.name == BASE), {})
    if not {"confidence_gap", "ace", "ace_if_calibrated", "ace_p"} <= base.keys() or math.isnan(base["ace_p"].value):
        return ()
    gap = base["confidence_gap"]
    verdict = "overconfident" if gap.low > 0 else "underconfident" if gap.high < 0 else "not over-/underconfident"
    return (
        f"base: confidence - accuracy {signed_spelled(gap)}, {verdict}",
        f"base: ACE {number(base['ace'].value)}, {number(base['ace_if_calibrated'].value)} if calibrated "
        f"(p {number(base['ace_p'].value)})",
    )


def error_notes(*, few_values: bool, chance: bool) -> Iterable[str]:
    """Which calibration error is shown of confidences with few values, and what chance makes of it."""
    if few_values:
        yield "ECE and not ACE: some confidences have fewer different values than ACE has bins."
    if chance:
        yield (
            "If cal.: the error that a perfectly calibrated model with these confidences shows by chance, mean and "
            "95 % of draws; p: how often it shows at least this error."
        )


def remarks(run: RunReport) -> Iterable[str]:
    """The numbers that a run lacks, and why; one clause for each."""
    if run.accuracy is None:
        yield "no accuracy and no estimators on one template: the run has neither template 0 nor a paraphrase"
    if run.bear_score is None:
        yield "no mean accuracy over paraphrases and no estimators over them: they need two paraphrases or more"


def score_notes(reduction: str, options: ReportOptions) -> Iterable[str]:
    """Notes on all numbers: the reduction, the normalisation of confidence, the intervals."""
    compat = f", compat {options.compat}" if options.compat else ""
    yield (
        f"Scores: reduction {reduction}{compat}. Confidence is normalised over the K candidates of each instance's own "
        "answer space: compare it between runs of one probe only."
    )
    if options.resampling.n_resamples:
        yield range_note(options.resampling, DRAWN[options.cluster])


def range_note(resampling: Resampling, units: str = "") -> str:
    """The note on intervals, with the units that are resampled."""
    resamples, of = counted(resampling.n_resamples, "resample"), units and f" of {units}"
    return f"Ranges: 95 % bootstrap intervals ({resamples}{of}, seed {resampling.seed})."


def options_made(options: ReportOptions) -> tuple[tuple[str, str], ...]:
    """The options that the numbers of runs of scores depend on, by name."""
    return (
        ("reduction", options.reduction + (f", compat {options.compat}" if options.compat else "")),
        ("bins of ACE", "by instances" if options.ace_bins is None else str(options.ace_bins)),
        intervals_made(options.resampling, DRAWN[options.cluster]),
    )


def intervals_made(resampling: Resampling, of: str = "") -> tuple[str, str]:
    """How the intervals were made, by its name; `of` is what was resampled."""
    drawn = f"95 % bootstrap, {resampling.n_resamples:,} resamples{of and f' of {of}'}, seed {resampling.seed}"
    return ("intervals", drawn if resampling.n_resamples else "none asked for")


def cluster_notes(relations: int, options: ReportOptions) -> Iterable[str]:
    """What a handful of relations does to intervals and p-values by relation; one clause, or none."""
    if options.cluster != "relation" or not options.resampling.n_resamples:
        return
    if relations < LEAST_CLUSTERS:
        yield f"no intervals and no p-values by relation: {counted(relations, 'relation')}, fewer than {LEAST_CLUSTERS}"
    elif relations < MANY_CLUSTERS:
        yield (
            f"intervals by relation are somewhat too narrow with {relations} relations, fewer than {MANY_CLUSTERS}, "
            "and p-values too small"
        )


def report_notes(report: Report) -> Iterable[str]:
    """Notes on the numbers of a report, for all formats."""
    yield from score_notes(report.options.reduction, report.options)
    yield from _unscored_answers(report)
    if any(estimator.failed for run in report.runs for estimator in run.estimators):
        yield (
            "Failed: no prediction (a tied or failed vote, or no scores); counted as incorrect with confidence 0, "
            "which looks perfectly calibrated. So a row with less coverage than others has no mark; the row below it "
            "is of the answered instances alone."
        )
    if any(run.ties is not None and run.ties.instances for run in report.runs):
        chosen = "the first" if report.options.ties == "first" else "drawn (--ties first takes the first)"
        yield (
            f"Ties: of candidates that share the largest score, the prediction is {chosen}; expected accuracy counts "
            "the right one of n tied candidates as 1/n."
        )
    runs = [run.facts for run in report.runs]
    if any(run.of_bear and run.paraphrases > 1 and not run.has_bear_score for run in runs):
        yield (
            "NOT A BEAR SCORE: the mean accuracy is of other wordings than BEAR's own, so it is not comparable with "
            "BEAR's leaderboard. Score with --template-set native --templates paraphrases for the BEAR score."
        )


def _unscored_answers(report: Report) -> Iterable[str]:
    """Why instances have no scores under --compat and mean_answer."""
    if report.options.compat is None or report.options.reduction != "mean_answer":
        return
    failed = [e.failed for run in report.runs for e in run.estimators if e.name in (BASE, "mixture")]
    if most := max(failed, default=0):
        yield (
            f"Cause of {counted(most, 'failure')}: compat {report.options.compat} leaves out the first token of each "
            "statement, and an answer of one token that stands first then has no token left for its mean."
        )


def wording_facts(sensitivity: PromptSensitivity, uncertainty: MeanUncertainty) -> Iterable[tuple[str, str]]:
    """The effects of paraphrasing: names and texts; parts of the previous one are indented."""
    for name, values, spread in (
        ("accuracy of base", sensitivity.accuracy, sensitivity.accuracy_spread),
        ("ACE of base", sensitivity.ace, sensitivity.ace_spread),
    ):
        yield name, f"{number(values.min())} to {number(values.max())}, spread {number(spread)}"
    yield "MSD", f"{spelled(sensitivity.msd)}, spread of p of template {sensitivity.reference}'s answer"
    yield "fidelity", f"{spelled(sensitivity.fidelity)}, how often it is above a random answer"
    yield "correlation", f"{number(sensitivity.mean_correlation)}, of base, mean over pairs of paraphrases"
    yield "entropy / ln K", spelled(uncertainty.total)
    yield f"{INDENT}aleatoric", f"{spelled(uncertainty.aleatoric)}, within paraphrases"
    epistemic = f"{spelled(uncertainty.epistemic)}, between paraphrases; rho {number(uncertainty.rho)}"
    yield f"{INDENT}epistemic", epistemic
    if sensitivity.failed:
        yield "failed", f"{counted(sensitivity.failed, 'instance')}, left out of all but accuracy and ACE"


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."


def listed(words: Sequence[str]) -> str:
    """One, two and three."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


# Estimators.


def group_title(group: str, estimators: Sequence[EstimatorReport]) -> str:
    """A group with what it reads: intrinsic (probabilities under one wording): template 0."""
    meaning = f" ({GROUPS[group]})" if group in GROUPS else ""
    return f"{group}{meaning}: {templates_read(estimators)}"


def templates_read(estimators: Sequence[EstimatorReport]) -> str:
    """The templates that the estimators of a group use: once for those with the same templates."""
    readers: dict[tuple[int, ...], list[str]] = {}
    for estimator in estimators:
        readers.setdefault(estimator.templates, []).append(estimator.name)
    if len(readers) == 1:
        return templates_named(estimators[0].templates)
    singles = [number for templates in readers for number in templates]
    if len(singles) == len(readers) == len(estimators) and all(a < b for a, b in pairwise(singles)):
        return f"{templates_named(singles)}, one each"
    return " or ".join(templates_named(templates) for templates in readers)


def templates_named(numbers: Sequence[int]) -> str:
    """template 0, or templates 0-4."""
    return f"template{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


def estimator_notes(estimator: EstimatorReport) -> Iterable[str]:
    """What stands below an estimator's name: 59 failed; T 1.55-1.71, its temperatures."""
    if estimator.failed:
        yield f"{estimator.failed:,} failed"
    if estimator.fitted:
        low, high = (
            f"{end:.0f}" if end >= 100 else f"{end:.3g}" for end in (min(estimator.fitted), max(estimator.fitted))
        )
        yield f"T {low}" if low == high else f"T {low}-{high}"


# Slices.


def slice_size(part: Slice) -> str:
    """Instances of a slice and mean K: 22, K 3.5."""
    return f"{part.instances:,}, K {mean_candidates(part)}"


def mean_candidates(part: Slice) -> str:
    """Mean K of a slice with one decimal, without it where it is 0."""
    return f"{part.mean_candidates:.1f}".removesuffix(".0")


SIZES_BELOW_NAMES = "Below a slice's name: its instances and the mean K of their answer spaces."


def slice_notes(found: RunSlices, options: ReportOptions) -> Iterable[str]:
    """Notes below a table of slices."""
    if found.covariate is not None:
        groups = sum(part.ends is not None for part in found.slices)
        yield from covariate_notes(found.covariate, groups, found.lacking, "instance")
    elif found.by == "domain":
        yield "A relation of two domains counts in both."
    yield from slice_ace_notes(options.slice_bins, {part.name: part.instances for part in found.slices})
    if options.cluster == "relation" and any(len(part.relations) < LEAST_CLUSTERS for part in found.slices):
        yield f"--cluster relation: a slice of fewer than {LEAST_CLUSTERS} relations has no interval."


def slice_ace_notes(bins: int | None, sizes: Mapping[str, int]) -> Iterable[str]:
    """How ACE of slices is binned, and which of them are small; sizes are instances by name."""
    told = "4 to 20 quantile bins, by instances" if bins is None else f"{bins} bins"
    yield f"ACE: {told}. If cal.: ACE of a perfectly calibrated model with these confidences, mean and 95 % of draws."
    if few := [name for name, size in sizes.items() if size < CHANCE_BELOW]:
        names = ", ".join(few[:5]) + (" .." if len(few) > 5 else "")
        yield (
            f"ACE of fewer than {CHANCE_BELOW} instances ({counted(len(few), 'slice')}: {names}) is too large by "
            "chance; within the range of if cal. it is no evidence of miscalibration."
        )


def covariate_notes(covariate: Covariate, groups: int, lacking: int, unit: str) -> Iterable[str]:
    """Where the values of a covariate come from, into how many groups numbers are cut, and how many units have none."""
    kind = "categories"
    if covariate.numeric:
        kind = f"numbers, cut at quantiles of these {unit}s into {counted(groups, 'group')}, equal ones together"
    yield f"By {covariate.name} of {covariate.file}: {kind}."
    if lacking:
        yield f"{counted(lacking, unit)} without {covariate.name} there: a slice of their own."


def trend_note(units: str, caution: str) -> str:
    """The note below a table of trends, with a sentence on what else a trend can show."""
    return (
        f"Spearman's rho, over the n {units} that have a value (10 or more): with correctness, with confidence, and "
        f"with confidence - correctness, which is above 0 where overconfidence grows. {caution}"
    )
