"""`calprobe report` of asked runs as a page: heads, figures, tables, the disclosure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from calprobe.analysis.asked.answer_pictures import length_panels_of_runs, value_panels_of_runs
from calprobe.analysis.asked.overall import Overall, overall_of
from calprobe.analysis.asked.pictures import Pictures, size_panels
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.results import AskedRunReport
from calprobe.analysis.asked.science.label_results import LabelStudy
from calprobe.analysis.asked.science.pictures import design_matrices, kind_panels
from calprobe.analysis.curves.grouped_boxes import GroupedBoxes
from calprobe.analysis.curves.grouped_dots import GroupedDots
from calprobe.analysis.curves.share_figure import SHARES
from calprobe.analysis.curves.size_figure import SizePanel, spelled_rho
from calprobe.analysis.curves.stacked_shares import StackedShares
from calprobe.analysis.html import asked_charts, charts, definitions
from calprobe.analysis.html.page import render
from calprobe.analysis.html.stated_view import stated_figures
from calprobe.analysis.html.views import BigNumber, Choice, Definition, FigureView, PageView, RunView, WordingView
from calprobe.analysis.number_text import interval, number, signed, signed_interval
from calprobe.analysis.palette import series_places
from calprobe.analysis.run_names import states_of
from calprobe.analysis.tables.asked import asked_tables, heading
from calprobe.analysis.tables.types import Table
from calprobe.cells.asked_extent import COMPLETE, state_of
from calprobe.messages import counted
from calprobe.metrics import Estimate, Resampling
from calprobe.metrics.error_shown import chance_shown, with_chance

CHANCE = Definition("m-chance_accuracy", "chance", "accuracy of guessing: mean over the questions of 1/K, K options")
ACCURACY = Definition("m-accuracy", "accuracy", "share of rows with a right answer; an answer not read is incorrect")


def asked_page(report: AskedReport, pictures: dict[str, Pictures]) -> str:
    """The whole page as HTML; `pictures` by the run's label."""
    return render("asked.html.j2", _page(report, pictures))


def _page(report: AskedReport, pictures: dict[str, Pictures]) -> PageView:
    from calprobe.version import __version__

    tables = asked_tables(report)
    runs = tuple(
        _run(run, at, tables, pictures[run.label], report.options.resampling) for at, run in enumerate(report.runs)
    )
    states = states_of(report.runs)
    joint = tuple(_sizes(panel) for panel in size_panels(report.across, states))
    studies = [run.labels for run in report.runs if run.labels is not None]
    joint += tuple(_kinds(studies, states))
    joint += tuple(_values(value_panels_of_runs(report.runs, states)))
    joint += tuple(_lengths(length_panels_of_runs(report.runs, states)))
    joint += tuple(
        FigureView(own.title, asked_charts.matrix(own), "Mean raw probability on the labels, by run and prompt design.")
        for own in design_matrices(studies, states)
    )
    sections = [
        ("runs", "Runs", True),
        ("figures", "Figures", any(run.figures for run in runs) or bool(joint)),
        ("tables", "Tables", True),
        ("disclosure", "Disclosure", True),
        ("definitions", "Definitions", True),
        ("made", "How it was made", True),
    ]
    models = list(dict.fromkeys(run.model for run in report.runs))
    sets = list(dict.fromkeys(name for run in report.runs for name in run.sets))
    return PageView(
        title=f"{_few(models, 'model')} on {_few(sets, 'question set')}",
        subtitle="What the model answers, what it says of its confidence, and whether that is so. "
        "Ranges are 95 % intervals.",
        contents=tuple((anchor, name) for anchor, name, there in sections if there),
        runs=runs,
        notes=(),
        definitions=_definitions(report),
        made=(("calprobe", __version__), ("readers", ", ".join(report.options.evaluators))),
        manifests=(),
        figures=joint,
        across=tuple(table for table in tables if table.kind == "across"),
    )


def _few(names: list[str], what: str) -> str:
    return " and ".join(names) if len(names) < 3 else counted(len(names), what)


def _run(run: AskedRunReport, at: int, tables: tuple[Table, ...], found: Pictures, resampling: Resampling) -> RunView:
    own = tuple(table for table in tables if table.keys.get("run") == run.label)
    state = state_of(run.extent)
    head = heading(run)[0].removeprefix(f"{run.label}: ").replace(f", {state}", "")
    return RunView(
        anchor=f"run-{at}",
        label=run.label,
        state=state,
        partial=not state.startswith(COMPLETE),
        how=head,
        lines=(),
        numbers=tuple(_numbers(run, resampling)),
        tables=tuple(_without_disclosure(table, run) for table in own),
        figures=tuple(_figures(found)),
        wording=WordingView("Disclosure", tuple(run.disclosure.lines())),
    )


def _without_disclosure(table: Table, run: AskedRunReport) -> Table:
    from dataclasses import replace

    said = {f"{title}: {text}." for title, text in run.disclosure.lines()}
    notes = tuple(note for note in table.notes if note not in said)
    return replace(table, heading=(), notes=notes, fine_print=())


def _numbers(run: AskedRunReport, resampling: Resampling) -> Iterator[BigNumber]:
    """The numbers that stand for the run, as in an overview, and chance."""
    found = overall_of(run)
    if found is None:
        return
    over = f", mean of {found.cells} variants" if found.cells > 1 else ""
    yield _big(f"accuracy of {found.of}{_on_kinds(run, found.of)}{over}", found.metrics["accuracy"], ACCURACY.key)
    if (gap := found.metrics.get("confidence_gap")) is not None:
        yield BigNumber("confidence - accuracy", signed(gap.value), signed_interval(gap), "m-confidence_gap")
        yield _error(found, chance_shown(found.questions, resampling))
        yield _big("AUROC", found.metrics["auroc"], "m-auroc")
    yield BigNumber("chance", number(found.chance), "", CHANCE.key, lesser=True)


def _on_kinds(run: AskedRunReport, name: str) -> str:
    """The kinds of questions that have the confidence, where others have not."""
    cells = [own.cells[variant] for own in run.sets.values() for variant in own.usual]
    estimators = [(kind, part.estimators) for cell in cells for kind, part in cell.kinds.items()]
    having = dict.fromkeys(kind for kind, known in estimators if name in known)
    return f" on {' and '.join(having)} questions" if having and len(having) < len({*dict(estimators)}) else ""


def _big(title: str, found: Estimate, key: str) -> BigNumber:
    return BigNumber(title, number(found.value), interval(found), key)


def _error(found: Overall, chance: bool) -> BigNumber:
    """The calibration error, and below it what chance makes of it, where that is shown."""
    error, if_calibrated, p = with_chance(found.error)
    value, below = found.metrics[error], interval(found.metrics[error])
    if chance and not math.isnan(by_chance := found.metrics[if_calibrated].value):
        tested = "" if math.isnan(p_value := found.metrics[p].value) else f", p {number(p_value)}"
        below = ", ".join(text for text in (below, f"{number(by_chance)} if calibrated{tested}") if text)
    return BigNumber(error.upper(), number(value.value), below, f"m-{error}")


def _figures(found: Pictures) -> Iterator[FigureView]:
    overlaid = () if found.stated is not None else found.calibration.lines
    for name in dict.fromkeys(line.run for line in overlaid):
        lines = [line for line in found.calibration.lines if line.run == name]
        places = series_places([line.estimator for line in lines])
        yield FigureView(
            f"Reliability on {name}",
            charts.calibration(lines, places, "question" if found.calibration.of == "questions" else "row"),
            "Accuracy against mean confidence of quantile bins, as many as the number of rows allows, and where "
            "confidences have few values of ECE's bins; pooled over the variants that are read well enough. A stated "
            "confidence that is nowhere read so is left out. On the "
            "dotted line the two are equal. Below: the share of the rows in bins of equal width."
            + (f" {found.calibration.said}; intervals allow for it." if found.calibration.said else ""),
            tuple(Choice(line, place, charts.key(place)) for line, place in places.items()),
        )
    for own in found.readers:
        yield FigureView(
            f"Readers on {own.title}",
            asked_charts.grouped_dots(own, f"Accuracy on {own.title} under each variant, by reader of answers."),
            "Accuracy of the same replies under each reader of answers, with 95 % intervals; dotted: chance.",
            tuple(Choice(reader, place, charts.key(place)) for place, reader in enumerate(own.legend)),
        )
    for matrix in found.matrices:
        yield FigureView(matrix.title, asked_charts.matrix(matrix), "Variants by sets; the darker, the nearer to 1.")
    for panel in found.budgets:
        yield FigureView(
            f"Plans on {panel.title}",
            asked_charts.budget(panel),
            f"AUROC ({panel.reading}) of each uncertainty, with n_s samples of each of n_p wordings taken from the "
            "same replies: means over draws, with 95 % intervals over questions.",
            tuple(Choice(name, at, charts.key(at)) for name, at in zip(panel.measures, panel.places, strict=True)),
        )
    for shares in found.shares:
        exact = " Dashed: the exact shares, of label probabilities." if shares.exact else ""
        yield FigureView(
            f"Share of the wording on {shares.title}",
            asked_charts.share(shares),
            "Of samples taken from the same replies: means over draws, with bars of one standard deviation. By chance: "
            f"what the ratio is where no wording matters.{exact}",
            tuple(Choice(name, at, charts.key(at)) for at, name in enumerate(SHARES.values())),
        )
    yield from _dots(
        found.labels,
        "Labels",
        "Share of the probability that each label gets, normalised over the labels, and share of "
        "the questions of which it is the right one.",
    )
    yield from _dots(
        found.perturbed,
        "Perturbations",
        "Accuracy of all samples of a variant, and AUROC of one uncertainty, each sample "
        "with its own correctness, with 95 % intervals over questions. (n_p, n_s): AUROC of n_s samples of each of n_p "
        "wordings.",
    )
    yield from _values(found.values)
    yield from _lengths(found.lengths)
    if found.stated is not None:
        yield from stated_figures(found.stated)


def _dots(panels: Sequence[GroupedDots], what: str, caption: str) -> Iterator[FigureView]:
    for own in panels:
        keys = tuple(Choice(name, place, charts.key(place)) for place, name in enumerate(own.legend))
        yield FigureView(f"{what}: {own.title}", asked_charts.grouped_dots(own, caption), caption, keys)


def _values(panels: Sequence[StackedShares]) -> Iterator[FigureView]:
    for own in panels:
        yield FigureView(
            f"Values of {own.title}, by {own.of}",
            asked_charts.stacked_shares(own),
            "Of the confidences that could be read, the share of each value (of P(True): of each tenth of the scale, "
            "by its upper end); the larger, the darker. Other: how many values have less than 5 % each.",
        )


def _lengths(panels: Sequence[GroupedBoxes]) -> Iterator[FigureView]:
    for own in panels:
        yield FigureView(
            f"{own.title[:1].upper()}{own.title[1:]}, by {own.group}",
            asked_charts.grouped_boxes(own),
            "Boxes are between the quartiles, with a line at the median; lines reach to the least and the most.",
            tuple(Choice(name, at, charts.key(at)) for at, name in enumerate(own.series)),
        )


def _sizes(panel: SizePanel) -> FigureView:
    first = panel.series[0]
    return FigureView(
        f"Size and spread on {panel.title}",
        asked_charts.sizes(panel),
        f"Largest minus smallest accuracy over variants, against the number of parameters, embeddings included. "
        f"{spelled_rho(first.rho, first.reader, len(panel.names))}.",
        tuple(Choice(series.reader, series.place, charts.key(series.place)) for series in panel.series),
    )


def _kinds(studies: list[LabelStudy], states: Mapping[str, str]) -> Iterator[FigureView]:
    """Base, instruct and reasoning models side by side."""
    for panel in kind_panels(studies, states):
        yield FigureView(
            panel.title,
            asked_charts.grouped_dots(panel, f"{panel.title}: a dot a run, by how the model was asked."),
            "Each run by the prompt design that it understands best, with 95 % intervals; models of one family side by "
            "side.",
            tuple(Choice(kind, place, charts.key(place)) for place, kind in enumerate(panel.legend)),
        )


def _definitions(report: AskedReport) -> tuple[Definition, ...]:
    estimators = {name: own for run in report.runs for cell in run.cells for name, own in cell.estimators.items()}
    return definitions.distinct(
        [
            ACCURACY,
            CHANCE,
            definitions.COVERAGE,
            *(definitions.of_metric(metric) for metric in report.metrics),
            *(Definition(f"e-{name}", name, f"{own.definition}.", own.source) for name, own in estimators.items()),
        ]
    )
