"""A run's numbers beside those that the paper gives for its model, and in what the run departs from the paper's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from calprobe.cells.run_facts import RunFacts
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.messages import counted
from calprobe.metrics import ACE_BINS, Estimate
from calprobe.runs import Manifest
from calprobe.studies.scored.paper_figures import BesidePaper, Figure, PaperFigures, RunAgainst
from calprobe.studies.scored.reductions import ReductionsReport, RunReductions
from calprobe.studies.scored.results import Report, RunReport

# What the paper's numbers on BEAR were made of.
RELATIONS, INSTANCES = 60, 7731
PARAPHRASES = (0, 1, 2, 3, 4)
TEMPLATE_SET = "kissling2026"
TEMPLATE_FINGERPRINTS = frozenset(  # of its templates 0 to 4 and of all twelve, over BEAR's relations
    (
        "a55cf04b0acf51ef7a32bedbf763258cda58e0fa6f79f71e9c6246b09bd68d2f",
        "6499b5c363d12568df7a3bd561bd37fc0e0d4356c33338c79e8d7cebf14830ef",
    )
)
PLL_METRIC = "within_word_l2r"
FACTOR_SET = "wiki"
UNEXPLAINED = "gpt2"
GAP = (
    "A gap to the paper's gpt2 remains whatever the options: lm-pub-quiz's published scores of the same templates "
    "differ from the paper's too, on relations that no option moves. The cause is not known."
)

Found = TypeVar("Found", Report, ReductionsReport)


def against(found: Found, figures: PaperFigures) -> Found:
    """The report with each run's numbers beside the paper's.

    A run is of one of the paper's models if the last part of its model's name, hub id or path says so. Of BEAR there
    are tables 1, 3, 4 and, in a report by domain, 2; table 6 of FACTOR's wiki set; appendix B for the report's own
    reduction, or for all.

    Raises UsageError if no run is of one of the paper's models.
    """
    runs = [replace(run, against=_run_against(run, found.options, figures)) for run in found.runs]
    if not any(run.against and run.against.model for run in runs):
        models = ", ".join(run.manifest.model.name for run in found.runs)
        raise UsageError(f"--against: {models}: not among the paper's models; they are {', '.join(figures.models)}")
    return replace(found, runs=tuple(runs))


def _run_against(run: RunReport | RunReductions, options: ReportOptions, figures: PaperFigures) -> RunAgainst:
    model = figures.model(run.manifest.model.name, run.manifest.model.id)
    if model is None:
        note = f"{run.manifest.model.name} is not among the paper's models: {', '.join(figures.models)}"
        return RunAgainst(figures.source, None, (), (note,), ())
    factor = run.manifest.scores_completions
    chosen = [figure for figure in figures.models[model] if (figure.table == "6") == factor]
    if factor and not _is_wiki(run.manifest):
        note = f"Table 6 is of FACTOR's {FACTOR_SET} set; {run.manifest.relations[0].name} is another."
        return RunAgainst(figures.source, model, (), (note,), ())
    rows = [BesidePaper(figure, ours) for figure in chosen if (ours := _ours(run, figure, options)) is not None]
    departures = _departures_on_factor(run.facts, options) if factor else _departures_on_bear(run.facts, options)
    left_out = tuple(_left_out(run, chosen, {row.figure for row in rows}, options))
    if model == UNEXPLAINED and not factor:
        left_out += (GAP,)
    return RunAgainst(figures.source, model, tuple(departures), left_out, tuple(rows))


def _ours(run: RunReport | RunReductions, figure: Figure, options: ReportOptions) -> Estimate | None:
    """The run's number for a figure of the paper; None if it has none."""
    if isinstance(run, RunReductions):
        by_reduction = {numbers.reduction: numbers for numbers in run.reductions} if figure.table == "B" else {}
        numbers = next((of_reduction for name, of_reduction in by_reduction.items() if name == figure.of), None)
        return None if numbers is None else getattr(numbers, figure.metric)
    if options.reduction != (figure.of if figure.table == "B" else "sum"):
        return None
    if figure.table == "2":
        by_domain = run.slices is not None and run.slices.by == "domain" and run.slices.covariate is None
        domains = run.slices.slices if run.slices is not None and by_domain else ()
        domain = next((domain for domain in domains if domain.name == figure.of), None)
        if domain is None:
            return None
        return domain.estimators.get(figure.estimator, {}).get(figure.metric) if figure.estimator else domain.bear_score
    if not figure.estimator:
        return run.bear_score
    return next((e.metrics[figure.metric] for e in run.estimators if e.name == figure.estimator), None)


def _is_wiki(manifest: Manifest) -> bool:
    return any(FACTOR_SET in name.lower() for name in (manifest.probe.name, *(r.name for r in manifest.relations)))


def _departures_on_factor(run: RunFacts, options: ReportOptions) -> Iterator[str]:
    yield from _departures_of_reading(options)
    if cut := sum(run.cut_contexts.values()):
        yield f"{counted(cut, 'context')} cut from the left"


def _departures_on_bear(run: RunFacts, options: ReportOptions) -> Iterator[str]:
    manifest = run.manifest
    if manifest.probe.name.lower() != "bear":
        yield f"probe {manifest.probe.name}, the paper's is BEAR"
    elif run.instances != INSTANCES:
        partial = ", scores are missing" if run.partial else ""
        yield (
            f"part of BEAR: {counted(run.instances, 'instance')} in {counted(run.relations, 'relation')} of its "
            f"{INSTANCES:,} in {RELATIONS}{partial}"
        )
    numbers = tuple(t.number for t in sorted(manifest.templates, key=lambda t: t.number) if t.kind == "paraphrase")
    if numbers != PARAPHRASES:
        yield f"paraphrases {', '.join(map(str, numbers)) or 'none'}, the paper's are 0 to 4"
    template_set = manifest.template_set
    if template_set.name != TEMPLATE_SET and template_set.fingerprint not in TEMPLATE_FINGERPRINTS:
        yield f"template set {template_set.name}, the paper's is its own (--template-set {TEMPLATE_SET})"
    if manifest.settings.pll_metric not in (None, PLL_METRIC):
        yield f"PLL {manifest.settings.pll_metric}, the paper's is {PLL_METRIC}"
    if options.compat is None:
        yield "without --compat kissling2026, every token counts; lm-pub-quiz 0.3 left out each statement's first"
    yield from _departures_of_reading(options)
    if manifest.model.adapter is not None:
        yield f"with adapter {manifest.model.adapter}"


def _departures_of_reading(options: ReportOptions) -> Iterator[str]:
    if options.ace_bins != ACE_BINS:
        bins = "bins by instances" if options.ace_bins is None else counted(options.ace_bins, "bin")
        yield f"ACE of {bins}, the paper's has {ACE_BINS}"


def _left_out(
    run: RunReport | RunReductions, chosen: list[Figure], figures: set[Figure], options: ReportOptions
) -> Iterator[str]:
    """What of the paper's figures has no row, and what to do."""
    if isinstance(run, RunReductions):
        yield "Tables 1 to 4 are of one reduction: leave out --reduction all."
        if lacking := [figure.of for figure in chosen if figure.table == "B" and figure not in figures]:
            yield f"Not known to this import: {', '.join(map(str, dict.fromkeys(lacking)))}."
        return
    if options.reduction != "sum":
        yield "The paper's tables are of reduction sum, but for those of appendix B: leave out --reduction."
        return
    absent = [figure for figure in chosen if figure not in figures and figure.of is None]
    if names := [figure.estimator or "BEAR score" for figure in absent]:
        yield f"No number for {', '.join(dict.fromkeys(names))}: the run does not have the templates."
    domains = {figure.of for figure in chosen if figure.table == "2"}
    if domains and not any(figure.table == "2" for figure in figures):
        yield f"Table 2 is of one domain, {', '.join(map(str, domains))}: --by domain shows it."
