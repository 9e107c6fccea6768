"""What is said of runs and their numbers: headings, notes and remarks, the same for every writer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from calprobe.analysis.compare_numbers import SIGNIFICANT, Agreement, Comparison, PairComparison, Scope
from calprobe.analysis.number_text import number, ranges, spelled
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.paper_figures import Figure, RunAgainst
from calprobe.analysis.reductions import RunReductions
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.sensitivity import PromptSensitivity
from calprobe.analysis.slices import RunSlices, Slice
from calprobe.analysis.uncertainty import MeanUncertainty
from calprobe.messages import counted

INDENT = "  "
BINS_FILLED = 2  # instances a bin below which a slice's ACE is called biased
SLICE_METRICS = {"ace": "ACE", "brier": "Brier"}  # of each estimator of a slice
FIGURE_METRICS = {"ace": "ACE", "brier": "Brier", "accuracy": "accuracy", "bear_score": "BEAR score"}
HARMONIC_MEAN = (
    "Harmonic mean of accuracy and 1 - ACE (Kissling et al. 2026, appendix B), without interval; larger is better."
)


# What a run is, and whether it is whole.


def heading(run: RunFacts) -> tuple[str, str, str]:
    """What was scored and how, in three lines; the first one says whether the run is complete or partial."""
    few, many = run.candidates
    space = counted(few, "candidate") if few == many else f"{few} to {many} candidates"
    note = f": {run.manifest.model.note}" if run.manifest.model.note else ""
    return (
        f"{run.label}: {state(run)}; {how_scored(run)}",
        f"model {run.manifest.model.name}, {run.manifest.model.kind or 'kind not known'}{note}",
        f"probe {run.manifest.probe.name}: {size(run)}, K = {space}{_completions(run)}",
    )


def state(run: RunFacts) -> str:
    """complete; or PARTIAL, 3 of 60 relations."""
    return f"PARTIAL, {run.relations} of {len(run.manifest.relations)} relations" if run.partial else "complete"


def how_scored(run: RunFacts) -> str:
    """How the scores were made, and under which templates."""
    numbers = ranges(template.number for template in run.manifest.templates)
    return f"{run.manifest.describe()}, template set {run.manifest.template_set.name} ({numbers})"


def size(found: RunFacts | Scope) -> str:
    """7,731 instances in 60 relations."""
    return f"{counted(found.instances, 'instance')} in {counted(found.relations, 'relation')}"


def size_and_state(run: RunFacts) -> str:
    """The run's size; says it where that is not the whole run."""
    return f"{size(run)} ({partial(run)})" if run.partial else size(run)


def partial(run: RunFacts) -> str:
    """How much of a partial run there is."""
    return f"partial run, {run.relations} of {len(run.manifest.relations)} relations"


def _completions(run: RunFacts) -> str:
    """What of the statements is scored, where that is not all of it, and what the model had no room for."""
    if not run.manifest.scores_completions:
        return ""
    return f"; completions scored, {counted(sum(run.cut_contexts.values()), 'context')} cut from the left"


# Reports.


def accuracies(run: RunReport) -> tuple[str, ...]:
    """How often the run is right: of base, and over the paraphrases."""
    lines = []
    if run.accuracy is not None:
        lines.append(f"accuracy {spelled(run.accuracy)}; chance {number(run.facts.chance_accuracy)} (mean 1/K)")
    if run.bear_score is not None:
        lines.append(f"BEAR score {spelled(run.bear_score)}: mean accuracy over {run.facts.paraphrases} paraphrases")
    return tuple(lines)


def remarks(run: RunReport) -> Iterable[str]:
    """What a run does not have, and why; a clause each."""
    if run.accuracy is None:
        yield "no accuracy, no estimator on one plain template: the run has neither template 0 nor a paraphrase"
    if run.bear_score is None:
        yield "no BEAR score, no estimator over paraphrases: they take two paraphrases or more"


def score_notes(reduction: str, options: ReportOptions) -> Iterable[str]:
    """What holds for every number: how scores were reduced, what p is normalised over, what the ranges are."""
    compat = f", compat {options.compat}" if options.compat else ""
    yield (
        f"Scores: reduction {reduction}{compat}. Confidence is normalised over the K candidates of each instance's own "
        "answer space: compare it between runs of one probe only."
    )
    if options.resampling.n_resamples:
        resamples, seed = counted(options.resampling.n_resamples, "resample"), options.resampling.seed
        units = "relations, each drawn whole" if options.cluster else "instances"
        yield f"Ranges: 95 % bootstrap intervals ({resamples} of the {units}, seed {seed})."


def report_notes(report: Report) -> Iterable[str]:
    """What holds for the numbers of a report, whatever they are shown in."""
    yield from score_notes(report.options.reduction, report.options)
    if any(estimator.failed for run in report.runs for estimator in run.estimators):
        yield "Failed: no prediction (a vote without a winner, or no scores); counted as incorrect, confidence 0."


def templates_read(estimators: Sequence[EstimatorReport]) -> str:
    """Which templates the estimators of a group read: said once for those that read the same."""
    readers: dict[tuple[int, ...], list[str]] = {}
    for estimator in estimators:
        readers.setdefault(estimator.templates, []).append(estimator.name)
    if len(readers) == 1:
        return templates_named(estimators[0].templates)
    singles = [number for templates in readers for number in templates]
    if len(singles) == len(readers) == len(estimators) and all(a < b for a, b in pairwise(singles)):
        return f"{templates_named(singles)}, one each"
    return "; ".join(f"{', '.join(names)} {templates_named(templates)}" for templates, names in readers.items())


def templates_named(numbers: Sequence[int]) -> str:
    """template 0, or templates 0-4."""
    return f"template{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


def wording_facts(sensitivity: PromptSensitivity, uncertainty: MeanUncertainty) -> Iterable[tuple[str, str]]:
    """What the paraphrases change: names and what is said of each; parts of the one before are indented."""
    for name, values, spread in (
        ("accuracy of base", sensitivity.accuracy, sensitivity.accuracy_spread),
        ("ACE of base", sensitivity.ace, sensitivity.ace_spread),
    ):
        yield name, f"{number(values.min())} to {number(values.max())}, spread {number(spread)}"
    answer = f"template {sensitivity.reference}'s answer"
    yield "MSD", f"{spelled(sensitivity.msd)}, of p of {answer}"
    yield "fidelity", f"{spelled(sensitivity.fidelity)}, {answer} over a random one"
    yield "correlation", f"{number(sensitivity.mean_correlation)}, of base, mean over pairs of paraphrases"
    yield "entropy / ln K", spelled(uncertainty.total)
    yield f"{INDENT}aleatoric", f"{spelled(uncertainty.aleatoric)}, within paraphrases"
    epistemic = f"{spelled(uncertainty.epistemic)}, between paraphrases; rho {number(uncertainty.rho)}"
    yield f"{INDENT}epistemic", epistemic
    if sensitivity.failed:
        yield "failed", f"{counted(sensitivity.failed, 'instance')}, left out of all but accuracy and ACE"


def reductions_remarks(run: RunReductions) -> Iterable[str]:
    """Which template the numbers are of, and what a run does not have; a clause each."""
    if run.template is None:
        yield "no accuracy: the run has neither template 0 nor a paraphrase"
    else:
        yield f"base: template {run.template}"
    if run.unknown:
        yield f"not known to this import: {', '.join(run.unknown)}"


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."


# Slices.


def slice_size(part: Slice) -> str:
    """Instances of a slice and mean K: 22, K 3.5."""
    return f"{part.instances:,}, K {mean_candidates(part)}"


def mean_candidates(part: Slice) -> str:
    """Mean K of a slice with one decimal, without it where it is 0."""
    return f"{part.mean_candidates:.1f}".removesuffix(".0")


SIZES_BELOW_NAMES = "Below a slice's name: its instances and the mean K of their answer spaces."


def slice_notes(found: RunSlices, options: ReportOptions) -> Iterable[str]:
    """What a table of slices does not say of itself."""
    if found.by == "domain":
        yield "A relation of two domains counts in both."
    least = BINS_FILLED * options.ace_bins
    if few := [part for part in found.slices if part.instances < least]:
        names = ", ".join(part.name for part in few[:5]) + (" .." if len(few) > 5 else "")
        yield (
            f"ACE of fewer than {least} instances ({counted(len(few), 'slice')}: {names}) is biased upwards: "
            "its bins hold one or two each, or none, and those with none do not count."
        )
    if options.cluster and any(len(part.relations) == 1 for part in found.slices):
        yield "A slice of one relation has no interval: --cluster relation draws whole relations."


# Numbers beside the paper's.


def against_notes(found: RunAgainst) -> Iterable[str]:
    """What has to be known before the rows are read."""
    yield f"Against {found.source}{f', model {found.model}' if found.model else ''}."
    if found.departures:
        yield f"NOT AS IN THE PAPER: {'; '.join(found.departures)}."
    yield from found.left_out


def against_footnotes(found: RunAgainst) -> Iterable[str]:
    """What the columns are."""
    if found.rows:
        yield "Difference: ours less the paper's. Inside: whether the paper's number lies in our interval."


def figure_name(figure: Figure) -> str:
    """What a figure of the paper is of, in words.

    >>> figure_name(Figure("2", "margin", "brier", 0.179, "Economic"))
    'margin Brier, Economic'
    """
    metric = FIGURE_METRICS[figure.metric]
    name = f"{figure.estimator} {metric}" if figure.estimator else metric
    return name + (f", {figure.of}" if figure.of else "")


# Comparisons.


def pair_notes(pair: PairComparison) -> Iterable[str]:
    """What holds for one pair alone; a clause each."""
    if pair.differences:
        yield f"compared on what they have in common; they differ in {'; '.join(pair.differences)}"
    if pair.nearest_domain is None:
        yield "no domain: none of the relations has one" if pair.accuracy_of else "no accuracy to choose a domain by"


def scope_name(scope: Scope) -> str:
    """The domain's name, or all relations."""
    return scope.domain or "all relations"


def scope_title(scope: Scope, pair: PairComparison) -> str:
    """What the numbers of a scope are of: Arts, nearest accuracies: 22 instances in 2 relations."""
    nearest = ", nearest accuracies" if scope.domain is not None and scope.domain == pair.nearest_domain else ""
    return f"{scope_name(scope)}{nearest}: {size(scope)}"


def agreement_shares(shares: Agreement) -> str:
    """How two runs' predictions of base go together."""
    return (
        f"base: same prediction {number(shares.same_prediction)}; right both {number(shares.both_right)}, "
        f"A {number(shares.first_right)}, B {number(shares.second_right)}"
    )


def unpaired_notes(comparison: Comparison) -> Iterable[str]:
    """Which runs are in no pair, and why."""
    return (f"Unpaired: {label}, {reason}." for label, reason in comparison.unpaired.items())


def compared_templates(comparison: Comparison) -> str:
    """Which templates are compared."""
    numbers = sorted({pair.templates for pair in comparison.pairs})
    return f"Templates: {'; '.join(ranges(templates) for templates in numbers)}."


def comparison_notes(comparison: Comparison) -> Iterable[str]:
    """What holds for all pairs, where A and B are columns."""
    scores = comparison.options.scores
    yield compared_templates(comparison)
    yield from score_notes(scores.reduction, scores)
    if scores.resampling.n_resamples:
        yield (
            "A - B: difference on the same resamples, with a two-sided p-value of no difference; Holm p: corrected for "
            f"{counted(comparison.tests, 'p-value')}, * below {SIGNIFICANT}."
        )
    least = 2 * comparison.tests / (1 + scores.resampling.n_resamples)
    if scores.resampling.n_resamples and least >= SIGNIFICANT:
        enough = math.ceil(2 * comparison.tests / SIGNIFICANT / 1000) * 1000
        yield f"So few resamples leave no corrected p-value below {least:.2f}: give --bootstrap {enough}."
    yield "Brier and ACE: smaller is better, so that a difference below 0 is for A."
    if any(scope.agreement for pair in comparison.pairs for scope in pair.scopes):
        yield "Same prediction, right both, A, B: shares of instances, by base; right in both runs, in one alone."
