"""A report on a terminal or in a pipe: a few lines on what was scored, and a table that fits the width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from rich.console import Console
from rich.text import Text

from calprobe.analysis.against_terminal import against_footnotes, against_lines, against_notes
from calprobe.analysis.best import best_estimators
from calprobe.analysis.figures import Columns, number, ranges, spelled
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.paper_figures import RunAgainst
from calprobe.analysis.results import EstimatorReport, Report, RunReport
from calprobe.analysis.scored_run import RunFacts
from calprobe.analysis.sensitivity import PromptSensitivity
from calprobe.analysis.slices_terminal import slice_lines, slice_notes
from calprobe.analysis.uncertainty import MeanUncertainty
from calprobe.metrics import Metric
from calprobe.runs import Settings
from calprobe.wording import counted

# Columns by the order in which they get room; metrics that are not named come after these.
FIRST_COLUMNS = ("accuracy", "ace", "mean_confidence", "brier", "auroc", "ece", "smooth_ece", "nll", "aurc", "prr")
INDENT = "  "
BEST = "*"


def print_report(report: Report, console: Console) -> None:
    """Print a section for each run, then what holds for all of them."""
    shown = _fitting_metrics(report, console.width)
    columns = Columns(_name_width(report), tuple(metric.title for metric in shown))
    mark = "" if console.color_system else BEST  # bold says it where there is bold
    for run in report.runs:
        print_lines([*heading(run.facts), *accuracies(run), Text(), *_estimators(run, shown, columns, mark)], console)
        if run.sensitivity is not None and run.uncertainty is not None:
            print_lines([Text(), *_wording(run.sensitivity, run.uncertainty)], console)
        print_notes(remarks(run), console)
        if run.slices is not None:
            print_lines([Text(), *slice_lines(run.slices, console.width)], console)
            print_notes(slice_notes(run.slices, console.width, report.options), console, style="dim")
        print_against(run.against, console)
        console.print()
    print_notes(_notes(report, shown, mark), console, style="dim")


def print_against(found: RunAgainst | None, console: Console) -> None:
    """Print a run's numbers beside the paper's, where these were asked for."""
    if found is not None:
        console.print()
        print_notes(against_notes(found), console)
        print_lines(against_lines(found), console)
        print_notes(against_footnotes(found), console, style="dim")


def heading(run: RunFacts) -> Iterable[Text]:
    """What was scored and how; its first line tells a whole run from a partial one."""
    manifest, settings = run.manifest, run.manifest.settings
    state = f"PARTIAL, {run.relations} of {len(manifest.relations)} relations" if run.partial else "complete"
    numbers = ranges(template.number for template in manifest.templates)
    how = f"path {settings.path}, dtype {settings.dtype or 'not known'}, {_conditioning(settings)}"
    templates = f"template set {manifest.template_set.name} ({numbers})"
    yield Text.assemble((f"{run.label}: ", "bold"), (state, "bold red" if run.partial else ""), f"; {how}, {templates}")
    note = f": {manifest.model.note}" if manifest.model.note else ""
    yield Text(f"model {manifest.model.name}, {manifest.model.kind or 'kind not known'}{note}")
    few, many = run.candidates
    space = counted(few, "candidate") if few == many else f"{few} to {many} candidates"
    facts = f"{counted(run.instances, 'instance')} in {counted(run.relations, 'relation')}"
    yield Text(f"probe {manifest.probe.name}: {facts}, K = {space}{_completions(run)}")


def _completions(run: RunFacts) -> str:
    """What of the statements is scored, where that is not all of it, and what the model had no room for."""
    if not run.manifest.scores_completions:
        return ""
    return f"; completions scored, {counted(sum(run.cut_contexts.values()), 'context')} cut from the left"


def print_lines(lines: Iterable[Text], console: Console) -> None:
    """Print lines as they are, however wide."""
    for line in lines:
        console.print(line, soft_wrap=True)


def print_notes(notes: Iterable[str], console: Console, style: str = "") -> None:
    """Print sentences, wrapped to the width."""
    for note in notes:
        for line in textwrap.wrap(note, console.width, break_long_words=False, break_on_hyphens=False):
            console.print(Text(line, style=style), soft_wrap=True)


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


def _conditioning(settings: Settings) -> str:
    """What each token's score is given: the start token and what follows it, or all but what the metric masks."""
    if settings.pll_metric is not None:
        return f"PLL {settings.pll_metric}, word split {settings.word_split or 'not known'}"
    return f"start token {settings.start_token.text if settings.start_token else 'not known'}"


def accuracies(run: RunReport) -> Iterable[Text]:
    """How often the run is right: of base, and over the paraphrases."""
    if run.accuracy is not None:
        yield Text(f"accuracy {spelled(run.accuracy)}; chance {number(run.facts.chance_accuracy)} (mean 1/K)")
    if run.bear_score is not None:
        yield Text(f"BEAR score {spelled(run.bear_score)}: mean accuracy over {run.facts.paraphrases} paraphrases")


def _estimators(run: RunReport, shown: Sequence[Metric], columns: Columns, mark: str) -> Iterable[Text]:
    """The table, a section for each group of estimators."""
    best = [best_estimators(run, metric) for metric in shown]
    if run.estimators:
        yield columns.head("estimator")
    for group, members in groupby(run.estimators, key=lambda estimator: estimator.group):
        estimators = list(members)
        yield Text(f"{group}: {templates_read(estimators)}")
        for estimator in estimators:
            failed = f"{INDENT}{estimator.failed:,} failed" if estimator.failed else ""
            estimates = [estimator.metrics[metric.name] for metric in shown]
            places = [place for place, names in enumerate(best) if estimator.name in names]
            yield from columns.row(f"{INDENT}{estimator.name}", estimates, failed, places, mark)


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


def _wording(sensitivity: PromptSensitivity, uncertainty: MeanUncertainty) -> Iterable[Text]:
    """What the paraphrases change."""
    yield Text(f"wording: {templates_named(sensitivity.templates)}", style="bold")
    for name, text in wording_facts(sensitivity, uncertainty):
        yield Text(f"{INDENT}{name:<19}{text}")


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


def remarks(run: RunReport) -> Iterable[str]:
    """What a run does not have, and why."""
    if run.accuracy is None:
        yield "no accuracy, no estimator on one plain template: the run has neither template 0 nor a paraphrase"
    if run.bear_score is None:
        yield "no BEAR score, no estimator over paraphrases: they take two paraphrases or more"


def report_notes(report: Report, shown: Sequence[Metric]) -> Iterable[str]:
    """What holds for the numbers of a report, wherever they are shown."""
    yield from score_notes(report.options.reduction, report.options)
    if any(estimator.failed for run in report.runs for estimator in run.estimators):
        yield "Failed: no prediction (a vote without a winner, or no scores); counted as incorrect, confidence 0."
    for better in ("larger", "smaller"):
        if titles := [metric.title for metric in shown if metric.better == better]:
            yield f"{better.capitalize()} is better: {', '.join(titles)}."


def _notes(report: Report, shown: Sequence[Metric], mark: str) -> Iterable[str]:
    yield from report_notes(report, shown)
    yield f"{mark or 'Bold'}: the best of a run's column, by what is printed; not of accuracy, which is of the answers."
    if hidden := [metric.name for metric in report.metrics if metric not in shown]:
        yield f"Only with --format json or csv, or on a wider terminal: {', '.join(hidden)}."


def _name_width(report: Report) -> int:
    names = [f"{INDENT}{estimator.name}" for run in report.runs for estimator in run.estimators]
    return max(map(len, ["estimator", *names]))


def _fitting_metrics(report: Report, width: int) -> list[Metric]:
    """As many metrics as the width has room for, in the report's order; one at least."""
    taken = _name_width(report)
    order = {name: place for place, name in enumerate(FIRST_COLUMNS)}
    chosen: list[Metric] = []
    for metric in sorted(report.metrics, key=lambda metric: order.get(metric.name, len(order))):
        taken += Columns.width(metric.title)
        if taken <= width or not chosen:
            chosen.append(metric)
    return [metric for metric in report.metrics if metric in chosen]
