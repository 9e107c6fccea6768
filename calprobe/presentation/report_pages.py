"""The pages of `calprobe report`: which sections they have of runs of scores, and of runs of replies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from calprobe.confidence import Headline, headline
from calprobe.measures.number_text import interval, number, p_text, signed, signed_interval
from calprobe.metrics import Estimate, Resampling
from calprobe.metrics.error_shown import chance_shown, with_chance
from calprobe.presentation.asked_figure_views import asked_figures, asked_figures_across
from calprobe.presentation.figure_views import figures_across, run_figures
from calprobe.presentation.page_heads import asked_head, manifests, page_title, run_head
from calprobe.presentation.slice_parts import slice_parts
from calprobe.show import prose
from calprobe.show.html import definitions
from calprobe.show.html.page import UNDEFINED, render
from calprobe.show.html.views import (
    BigNumber,
    Facts,
    FigureView,
    Heading,
    Page,
    Part,
    RunHead,
    Section,
    by_run,
    few,
    filled,
    side_by_side,
    with_name,
)
from calprobe.show.tables import Table
from calprobe.show.tables.labels import TableName, table_names
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.asked_tables import heading as asked_heading
from calprobe.studies.asked.figures import Pictures
from calprobe.studies.asked.overall import Overall, kinds_of, overall_of
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.asked.run_verdict import verdict_beside_numbers
from calprobe.studies.scored.against_table import against_table
from calprobe.studies.scored.answers_table import answers_table
from calprobe.studies.scored.averages_table import averages_table, models_table
from calprobe.studies.scored.contents import ReportContents, RunContents, Wanted
from calprobe.studies.scored.notes import calibration_sentences, remarks
from calprobe.studies.scored.report_tables import estimators_table
from calprobe.studies.scored.results import Report, RunReport
from calprobe.studies.scored.summary_table import summary_table

MANY_RUNS = 4  # of more, each shows its main numbers only, in less room: 16 runs stay a page that one can send
OF_VERDICTS = ("m-confidence_gap", "m-ace", "m-ece", "m-auroc")  # definitions of numbers that stand in sentences
ALL = Wanted(headline(Headline.PAGE), ("domain", "relation"), errors=10)
FEW = Wanted(headline(Headline.BRIEF), ("domain",), errors=5)
LESS = "Of so many runs each shows its main numbers; a page of few has all metrics, more estimators, and relations."
WORDING = (
    "How far the numbers move when the same facts are asked for in other words, and how much of the model's "
    "uncertainty the words make."
)


def page_wants(report: Report) -> Wanted:
    """What the page of a report draws, for `calprobe.studies.scored.contents.gather`."""
    return FEW if len(report.runs) > MANY_RUNS else ALL


def report_page(contents: ReportContents) -> str:
    """The page of runs of scores as HTML."""
    report = contents.report
    facts = [run.facts for run in report.runs]
    estimators = [estimator for run in report.runs for estimator in run.estimators]
    page = Page(
        title=page_title(facts),
        subtitle="What the model knows, and whether its confidence says so. "
        "Ranges are 95\u00a0% intervals; every name underlined with dots has its definition behind it.",
        sections=_report_sections(contents),
        definitions=definitions.distinct(
            [
                definitions.BEAR_SCORE,
                definitions.CHANCE,
                definitions.COVERAGE,
                *map(definitions.of_metric, report.metrics),
                *(definitions.of_estimator(e.name, e.definition, e.source) for e in estimators),
            ]
        ),
        made=prose.options_made(report.options),
        manifests=manifests(facts),
    )
    return render(page)


def _report_sections(contents: ReportContents) -> tuple[Section, ...]:
    report, runs = contents.report, contents.report.runs
    names = table_names("", [run.facts for run in runs])
    drawn = {run.label: _drawn(run, contents) for run in runs}
    heads = [_scored_head(run, at) for at, run in enumerate(runs)]
    notes = (*prose.score_notes(report.options.reduction, report.options), *([LESS] * (page_wants(report) is FEW)))
    words = [part for run in runs for part in _wording(run, several=len(runs) > 1)]
    estimators = (table for run in runs for table in _estimators(run, report, names[run.label]))
    views = {label: list(run_figures(run_contents)) for label, run_contents in drawn.items()}
    across, summaries, mark = list(figures_across(contents)), tuple(_summaries(report)), _mark(runs)
    shown_heads = with_figure(heads, views, across)
    figures = by_run({label: side_by_side(of_run) for label, of_run in views.items()})
    slices = (
        table
        for run in runs
        for table in slice_parts(run.facts, drawn[run.label].slices, report.options, names[run.label])
    )
    return (
        Section("runs", "Runs", (*(summaries if mark else ()), *shown_heads, *notes), "", mark),
        *filled(Section("across", "Across runs", (*side_by_side(across), *(() if mark else summaries)))),
        *filled(Section("figures", "Figures", figures)),
        Section("estimators", "Estimators", tuple(estimators), folded=len(runs) > 2),
        *filled(
            Section(
                "errors",
                "Surest errors",
                by_run({label: _errors(run_contents) for label, run_contents in drawn.items()}),
                folded=True,
            ),
            Section("wording", "Wording", tuple(words), lead=WORDING, folded=True),
            Section("slices", "Slices", tuple(slices), "Relations and domains", folded=True),
        ),
    )


def asked_page(
    report: AskedReport, pictures: Mapping[str, Pictures], replies: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The page of runs of replies as HTML; by the run's label its pictures, and the address of its replies."""
    runs, tables = report.runs, asked_tables(report)
    estimators = {name: e for run in runs for cell in run.cells for name, e in cell.estimators.items()}
    heads = [
        asked_head(
            run,
            at,
            asked_heading(run)[0],
            _asked_numbers(run, report.options.resampling),
            verdict_beside_numbers(run),
        )
        for at, run in enumerate(runs)
    ]
    heads = [replace(head, replies=replies.get(head.label, "")) for head in heads]
    views = {run.label: list(asked_figures(pictures[run.label])) for run in runs}
    across = list(asked_figures_across(report, pictures))
    shown_heads = with_figure(heads, views, across)
    figures = by_run({label: side_by_side(of_run) for label, of_run in views.items()})
    disclosures = {run.label: [Facts(tuple(run.disclosure.lines()))] for run in runs}
    page = Page(
        title=f"{few([run.model for run in runs], 'model')} on "
        f"{few([name for run in runs for name in run.sets], 'question set')}",
        subtitle="What the model answers, what it says of its confidence, and whether that is so. "
        "Ranges are 95 % intervals.",
        sections=(
            Section("runs", "Runs", shown_heads, "", _mark(runs)),
            *filled(Section("figures", "Figures", (*side_by_side(across), *figures))),
            Section("tables", "Tables", _tables_of(runs, tables), folded=True),
            Section("disclosure", "Disclosure", by_run(disclosures), folded=True),
        ),
        definitions=definitions.distinct(
            [
                definitions.ACCURACY,
                definitions.CHANCE_OF_QUESTIONS,
                definitions.COVERAGE,
                *map(definitions.of_metric, report.metrics),
                *(definitions.of_estimator(name, e.definition, e.source) for name, e in estimators.items()),
            ]
        ),
        made=(("readers", ", ".join(report.options.evaluators)),),
    )
    return render(page)


def with_figure(
    heads: Sequence[RunHead], views: Mapping[str, list[FigureView]], across: list[FigureView]
) -> tuple[RunHead | FigureView, ...]:
    """The heads, and the figure that stands beside their verdicts, which is taken from `views` or `across`.

    Of one run it is its first figure; of a few the first of all of them, in the place of numbers that verdicts say.
    """
    if len(heads) == 1 and (of_run := views[heads[0].label]):
        return (replace(heads[0], figure=of_run.pop(0)),)
    if 1 < len(heads) <= MANY_RUNS and across:
        return (*map(_briefly, heads), across.pop(0))
    return tuple(heads)


def _briefly(head: RunHead) -> RunHead:
    """The head without the numbers that its verdict says."""
    said = OF_VERDICTS if head.verdict else ()
    return replace(head, numbers=tuple(big for big in head.numbers if big.definition not in said))


def _mark(runs: Sequence[object]) -> str:
    """The class of the section of runs."""
    return "many" if len(runs) > MANY_RUNS else ""


def _scored_head(run: RunReport, place: int) -> RunHead:
    """With accuracy and mean accuracy over the paraphrases, as far as the run has them, and chance."""
    accuracies = (
        ("accuracy", run.accuracy, "m-accuracy"),
        (prose.mean_accuracy_name([run.facts]), run.bear_score, definitions.BEAR_SCORE.key),
        ("chance", Estimate(run.facts.chance_accuracy), definitions.CHANCE.key),
    )
    numbers = [BigNumber.of(name, estimate, key) for name, estimate, key in accuracies if estimate is not None]
    numbers = [replace(big, value=UNDEFINED) if big.value == number(math.nan) else big for big in numbers]
    numbers[-1] = replace(numbers[-1], lesser=True)
    head = run_head(run.facts, place)
    verdict = calibration_sentences(run, headline(Headline.FIRST))
    return replace(head, lines=(*head.lines, *remarks(run)), numbers=tuple(numbers), verdict=verdict)


def _drawn(run: RunReport, contents: ReportContents) -> RunContents:
    """What is drawn of a run; nothing of one without instances, of which all figures would be blank."""
    drawn = contents.runs.get(run.label) if run.instances else None
    return RunContents() if drawn is None else drawn.only(contents.estimators or page_wants(contents.report).estimators)


def _summaries(report: Report) -> Iterator[Table]:
    """The tables of several runs."""
    if len(report.runs) > 1:
        summary = summary_table(report)
        tables = (summary, models_table(report), averages_table(report, summary.columns))
        yield from filter(None, tables)


def _estimators(run: RunReport, report: Report, name: TableName) -> Iterator[Table]:
    """Estimators by metrics, and the paper's numbers where they were asked for."""
    if run.estimators and run.instances:
        table = replace(estimators_table(run, report, name), lead=())  # the run's head has these remarks
        first = [place for place, column in enumerate(table.columns) if column.first]
        yield table.with_columns(first) if page_wants(report) is FEW else table
        if run.against is not None:
            yield against_table(run.facts, run.against, name)


def _errors(drawn: RunContents) -> tuple[Table, ...]:
    return (answers_table(drawn.errors, "note"),) if drawn.errors is not None and drawn.errors.answers else ()


def _wording(run: RunReport, *, several: bool) -> Iterator[Heading | Facts]:
    """What the paraphrases change."""
    if run.sensitivity is not None and run.uncertainty is not None:
        templates = prose.templates_named(run.sensitivity.templates)
        yield Heading(with_name("{}, ", run.label) + templates if several else templates)
        facts = prose.wording_facts(run.sensitivity, run.uncertainty)
        yield Facts(tuple((name.strip(), text) for name, text in facts))


def _asked_numbers(run: AskedRunReport, resampling: Resampling) -> Iterator[BigNumber]:
    """The numbers that stand for the run, as in an overview, and chance."""
    overall = overall_of(run)
    if overall is None:
        return
    kinds = kinds_of(run, overall.of)
    on = f" on {' and '.join(kinds)} questions" if kinds else ""
    if overall.few and not kinds:
        on = f", of {overall.rows:,} of {overall.answers:,} answers"
    over = f", mean of {overall.cells} variants" if overall.cells > 1 else ""
    metrics = overall.metrics
    yield BigNumber.of(f"accuracy of {overall.of}{on}{over}", metrics["accuracy"], definitions.ACCURACY.key)
    if (gap := metrics.get("confidence_gap")) is not None:
        yield BigNumber("confidence - accuracy", signed(gap.value), signed_interval(gap), "m-confidence_gap")
        yield _error(overall, chance_shown(overall.questions, resampling))
        yield BigNumber.of("AUROC", metrics["auroc"], "m-auroc")
    if not math.isnan(overall.chance):
        yield BigNumber("chance", number(overall.chance), "", definitions.CHANCE_OF_QUESTIONS.key, lesser=True)


def _error(overall: Overall, chance: bool) -> BigNumber:
    """The calibration error, and below it what chance makes of it, where that is shown."""
    error, if_calibrated, p = with_chance(overall.error)
    value, below = overall.metrics[error], interval(overall.metrics[error])
    if chance and not math.isnan(by_chance := overall.metrics[if_calibrated].value):
        tested = "" if math.isnan(p_value := overall.metrics[p].value) else f", p {p_text(p_value, 4)}"
        below = ", ".join(text for text in (below, f"{number(by_chance)} if calibrated{tested}") if text)
    return BigNumber(error.upper(), number(value.value), below, f"m-{error}")


def _tables_of(runs: Sequence[AskedRunReport], tables: Sequence[Table]) -> tuple[Part, ...]:
    """Each run's own tables, then those across runs."""
    across = (table for table in tables if table.kind == "across")
    return (*by_run({run.label: _tables(run, tables) for run in runs}), *across)


def _tables(run: AskedRunReport, tables: Sequence[Table]) -> tuple[Table, ...]:
    """A run's own tables, without what its head and its disclosure say."""
    disclosed = {f"{title}: {text}." for title, text in run.disclosure.lines()}
    disclosed |= {f"Warning: {matches.warning}." for matches in run.disclosure.exact.values()}
    return tuple(
        replace(table, notes=tuple(note for note in table.notes if note not in disclosed))
        for table in tables
        if table.keys.get("run") == run.label
    )
