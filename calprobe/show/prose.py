"""The texts around the numbers of runs: headings, notes and remarks, shared by all writers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from calprobe.cells.asked_extent import NOT_A_SAMPLE
from calprobe.cells.run_facts import RunFacts
from calprobe.measures.compare_results import Scope
from calprobe.measures.covariates import TREE, Covariate
from calprobe.measures.number_text import number, ranges, spelled
from calprobe.measures.options import ReportOptions
from calprobe.measures.sensitivity import PromptSensitivity
from calprobe.measures.slices import RunSlices, Slice
from calprobe.measures.uncertainty import MeanUncertainty
from calprobe.messages import counted
from calprobe.metrics import LEAST_CLUSTERS, MANY_CLUSTERS, Resampling
from calprobe.metrics.gap_tree import ERRORS, UNCUT
from calprobe.metrics.group_gaps import LEAST_OF_GROUP
from calprobe.words import ClusterKind

INDENT = "  "
DRAWN: dict[ClusterKind | None, str] = {
    None: "the instances",
    "instance": "the instances",
    "relation": "the relations, each drawn completely",
    "within-relation": "the instances within each relation",
}
CHANCE_BELOW = 500  # instances below which much of a slice's ACE is chance
SLICE_METRICS = {"ace": "ACE", "ace_if_calibrated": "if cal.", "brier": "Brier"}  # of each estimator of a slice
COVARIATE_METRICS = {"confidence_gap": "conf - acc", "ace": "ACE", "ace_if_calibrated": "if cal."}


# Descriptions of runs.


def heading(run: RunFacts) -> tuple[str, str, str]:
    """Run, model and probe, in three lines; the first one says whether the run is complete or partial."""
    few, many = run.candidates
    space = counted(few, "candidate") if few == many else f"{few} to {many} candidates"
    of = f", K = {space}" if run.instances else ""
    note = f": {run.manifest.model.note}" if run.manifest.model.note else ""
    return (
        f"{run.label}: {state(run)}; {how_scored(run)}",
        f"model {run.model}, {run.manifest.model.kind or 'kind not known'}{note}",
        f"probe {run.manifest.probe.name}: {size(run)}{of}{_same_tokens(run)}{_completions(run)}",
    )


def state(run: RunFacts) -> str:
    """complete; or what is missing or left out: PARTIAL, 3 of 8 relations; LIMITED: 8 of 60 relations."""
    return _lacking(run, "PARTIAL", "LIMITED", f", {NOT_A_SAMPLE}") or "complete"


def left_out(run: RunFacts) -> str:
    """What a partial run lacks, and what was not asked for; empty if nothing is left out."""
    return _lacking(run, "partial run", "limited")


def unfinished(run: RunFacts) -> str:
    """How a run goes on of which scores are missing, and what is left out till then: a clause; empty if complete."""
    if not run.partial:
        return ""
    asked = len(run.manifest.relations)
    told = "no relation is complete yet, so there are no numbers"
    if run.instances:
        told = f"{asked - run.relations} of {counted(asked, 'relation')} are incomplete and left out"
    if run.manifest.shard is not None:
        return f"{told}: when all shards are done, `calprobe merge` joins them"
    return f"{told}: run the `calprobe score` of this run again, and it goes on"


def _lacking(run: RunFacts, partial: str, limited: str, told: str = "") -> str:
    clauses = [f"{partial}, {run.relations} of {len(run.manifest.relations)} relations{told}"] if run.partial else []
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
    if spent.counted:
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


# Notes on numbers.


def mean_accuracy_name(runs: Sequence[RunFacts]) -> str:
    """What the mean accuracy over the paraphrases is called: BEAR score, if all runs have one."""
    return "BEAR score" if all(run.has_bear_score for run in runs) else "mean accuracy"


def error_notes(*, few_values: bool, chance: bool) -> Iterable[str]:
    """Which calibration error is shown of confidences with few values, and what chance makes of it."""
    if few_values:
        yield "ECE and not ACE: some confidences have fewer different values than ACE has bins."
    if chance:
        yield (
            "If cal.: the error that a perfectly calibrated model with these confidences shows by chance, mean and "
            "95 % of draws; p: how often it shows at least this error, of each row by itself."
        )


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


def templates_named(numbers: Sequence[int]) -> str:
    """template 0, or templates 0-4."""
    return f"template{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"


# Slices.


def slice_size(part: Slice) -> str:
    """Instances of a slice and mean K: 22, K 3.5."""
    return f"{part.instances:,}, K {mean_candidates(part)}"


def mean_candidates(part: Slice) -> str:
    """Mean K of a slice with one decimal, without it where it is 0."""
    return f"{part.mean_candidates:.1f}".removesuffix(".0")


SIZES_BELOW_NAMES = "Below a slice's name: its instances and the mean K of their answer spaces."


def tree_notes(names: Sequence[str]) -> Iterator[str]:
    """How a tree has found groups of these names, and what is in the names."""
    yield (
        "By tree: cut where confidence - accuracy differs most, by all that is known. a: found in one half and "
        "measured in the other, b: the reverse, so that the gaps owe nothing to the search."
    )
    if any(re.search(r" \+\d+( and |$)", name) for name in names):
        yield "+2 in a name: and two more categories."
    if uncut := [name for name in names if name in UNCUT]:
        yield (
            f"{listed(uncut)}: no cut in the other half has {LEAST_OF_GROUP} instances on both sides that differ by "
            f"{ERRORS} standard errors."
        )


def slice_notes(found: RunSlices, options: ReportOptions) -> Iterable[str]:
    """Notes below a table of slices."""
    if found.covariate is not None:
        groups = sum(part.ends is not None for part in found.slices)
        yield from covariate_notes(found.covariate, groups, found.lacking, "instance")
    elif found.by == "domain":
        yield "A relation of two domains counts in both."
    elif found.by == TREE.name:
        yield from tree_notes([part.name for part in found.slices])
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
