"""Accuracy against ACE over runs: are the more accurate models the better calibrated ones?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import BASE, Estimator, Headline, headline
from calprobe.curves.answer_option_curve import MEASURED
from calprobe.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    AccuracyOf,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.curves.fewer_options import among_options, check_options
from calprobe.curves.inputs import (
    Reported,
    Values,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
from calprobe.measures.model_families import families, family_of
from calprobe.messages import counted
from calprobe.metrics import Estimate, bootstrap_many, spearman
from calprobe.show.palette import BLACK, COLOURS
from calprobe.show.plots import frame
from calprobe.show.plots.label_places import Label
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.named_points import write_names
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class AccuracyAcePoint(Line):
    """One run under one estimator: is the more accurate model the better calibrated one?"""

    accuracy: Estimate  # of the estimator's own answers, or of base's
    ace: Estimate  # of the estimator
    model_kind: str | None  # causal or masked; None where the run does not say
    probe: str = ""
    options: int | None = None  # answer options that the run's larger answer spaces were cut to; None: its own
    instances: int = 0  # that the numbers are of: with `options` those of relations with enough candidates
    relations: int = 0


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rank correlation of accuracy and ACE over the runs of one probe, for one estimator."""

    estimator: str
    runs: int  # number of them
    rho: Estimate  # [-1, 1]; below 0: the more accurate, the better calibrated. NaN with fewer than four runs
    probe: str = ""


@dataclass(frozen=True, slots=True)
class AccuracyAce(Curves):
    """Accuracy against ACE over runs. Columns: a row a (run, estimator), with its correlation over the probe's runs."""

    kind = "accuracy-ace"
    COLUMNS = (
        *(*LEAD, "accuracy", "accuracy_low", "accuracy_high", "ace", "ace_low", "ace_high"),
        *("spearman", "spearman_low", "spearman_high", "model_kind", "accuracy_of", "probe", "options"),
        *("instances", "relations"),
    )

    points: tuple[AccuracyAcePoint, ...]
    correlations: tuple[RankCorrelation, ...]  # one for each estimator and probe
    accuracy_of: AccuracyOf = "own"

    def _parts(self) -> Iterable[Columns]:
        rho = {(correlation.estimator, correlation.probe): correlation.rho for correlation in self.correlations}
        for point in self.points:
            columns = estimate_columns("accuracy", point.accuracy) | estimate_columns("ace", point.ace)
            of = {"model_kind": point.model_kind or "", "accuracy_of": self.accuracy_of, "probe": point.probe}
            options = math.nan if point.options is None else point.options
            yield {
                **point.lead,
                **columns,
                **estimate_columns("spearman", rho[point.estimator, point.probe]),
                **of,
                "options": options,
                "instances": point.instances,
                "relations": point.relations,
            }


def accuracy_ace(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyAce:
    """Accuracy against the ACE of each estimator, a point a run, with their rank correlation.

    Kissling et al. 2026, Figure 4. The accuracy is that of the estimator's own answers, as in the paper's code: those
    over paraphrases have other answers than base, and votes that fail are wrong. `options.accuracy` of "base" takes
    the accuracy of base under every estimator.

    The correlation's interval is over models (`spearman`), those of the points over instances. Runs of several probes
    have a correlation for each. `options.among` cuts larger answer spaces to so many options (`among_options`), as in
    Figure 12: accuracy and ACE of runs with other answer spaces are not comparable otherwise.

    Args:
        runs: run folders, open or by path; several, of one probe or, best with `among`, of several.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min, with `among` base and margin; accuracy.
    Returns:
        A point for each run and estimator, and a correlation for each estimator and probe over the runs that have both
        numbers: NaN with fewer than four.
    Raises:
        UsageError: no run, one named twice, one without template 0 or a paraphrase, or an estimator that a run does not
            have; fewer options than two, or such an estimator that is neither base nor margin. DataMissingError,
            CalprobeError: as `report`.
    """
    metrics, points = metrics_named(("accuracy", "ace"), options.scores), []
    defaults = headline(Headline.PAPER) if options.among is None else MEASURED
    if options.among is not None:
        check_options(options.among, options.estimators or ())
    for run in read_runs(runs, options.scores, several_probes=options.among is not None):
        chosen = chosen_estimators(run, options, defaults, probabilities=True)
        if options.accuracy == "base":
            chosen_estimators(run, CurveOptions(estimators=(BASE,)), ())
        names = [estimator.name for estimator in chosen]
        if options.among is not None and (few := among_options(run, options.among, names, options.scores)) is not None:
            whole = [_point(run, estimator, few.values, "own") for estimator in chosen]
            points += [
                replace(point, options=options.among, instances=few.instances, relations=few.relations)
                for point in whole
            ]
            continue
        needed = [BASE, *names] if options.accuracy == "base" else names
        samples = predictions(run.confidences(list(dict.fromkeys(needed))))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        points += [_point(run, estimator, values, options.accuracy) for estimator in chosen]
    return correlated(points, options.accuracy)


def _point(run: ScoredRun, estimator: Estimator, values: Values, accuracy: AccuracyOf) -> AccuracyAcePoint:
    source = estimator.name if accuracy == "own" else BASE
    kind = None if run.recorded is None else run.manifest.model.kind
    return AccuracyAcePoint(
        *lead_of(run, estimator),
        values[source]["accuracy"],
        values[estimator.name]["ace"],
        model_kind=kind,
        probe="" if run.recorded is None else run.manifest.probe.name,
        instances=len(run.instances),
        relations=len(run.relations),
    )


def correlated(points: Sequence[AccuracyAcePoint], accuracy: AccuracyOf = "own") -> AccuracyAce:
    """The points with the rank correlation of each estimator that has any, over the runs of each probe."""
    groups = dict.fromkeys((point.estimator, point.probe) for point in points)
    return AccuracyAce(tuple(points), tuple(_correlation(*group, points) for group in groups), accuracy)


def _correlation(estimator: str, probe: str, points: Sequence[AccuracyAcePoint]) -> RankCorrelation:
    pairs = [
        (point.accuracy.value, point.ace.value)
        for point in points
        if (point.estimator, point.probe) == (estimator, probe)
        and not math.isnan(point.accuracy.value + point.ace.value)
    ]
    accuracies, errors = zip(*pairs, strict=True) if pairs else ((), ())
    return RankCorrelation(estimator, len(pairs), spearman(accuracies, errors), probe)


def reported_accuracy_ace(found: Reported) -> AccuracyAce:
    """The points of a run of a report, those of the paper's estimators."""
    run, values = found.run, found.values
    chosen = [run.estimators[name] for name in headline(Headline.PAPER) if name in values]
    return correlated([_point(run, estimator, values, "own") for estimator in chosen])


def join_accuracy_ace(several: Sequence[AccuracyAce]) -> AccuracyAce:
    """The points of several runs with their rank correlations."""
    return correlated([point for result in several for point in result.points])


FEWEST_RUNS = 4  # a rank correlation of fewer is undefined, and the figure nearly empty
PANEL_INCHES = 2.5
LEAST_INCHES = 1.9  # width of a panel
SPELLED_INCHES = 2.6  # of one that has room for the name of the correlation
FILLS = ("full", "none", "left", "top")  # of the first probe, the second, ..
BAR = "#c4c4c4"  # intervals: lighter than the lines that lead to names
KIND_MARKERS: Mapping[str | None, str] = {"causal": "o", "masked": "s", None: "D"}


def draw_accuracy_ace(result: AccuracyAce, look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each estimator, a point for each run, with the rank correlation in the title.

    The points bear the names of the runs; where there are many, or a name finds no free place, their numbers in the
    legend. Masked models have another marker than causal ones. Models of one family have a colour and a line. Of
    several probes, the points of the first are filled, and those of the others hollow, each with lines of its own.
    """
    size = (LEAST_INCHES, PANEL_INCHES)
    estimators = list(dict.fromkeys(correlation.estimator for correlation in result.correlations))
    figure, panels, columns = frame.panel_figure(len(estimators), look, size, 0.4)
    names, runs = run_names(result.points, look), _looks(result.points)
    labelled: list[tuple[Axes, list[Label]]] = []
    for axes, estimator in zip(panels, estimators, strict=False):
        points = [point for point in result.points if point.estimator == estimator]
        points = [point for point in points if math.isfinite(point.accuracy.value) and math.isfinite(point.ace.value)]
        _draw_points(axes, points, runs)
        name = "Spearman's ρ" if look.width / columns > SPELLED_INCHES else "ρ ="
        correlations = [correlation for correlation in result.correlations if correlation.estimator == estimator]
        frame.title_panel(axes, estimator, _of_probes(correlations, name))
        labelled.append(
            (
                axes,
                [
                    Label(names[point.run], point.accuracy.value, point.ace.value, runs[point.run].color)
                    for point in points
                ],
            )
        )
    accuracy = "Accuracy" if result.accuracy_of == "own" else "Accuracy of base"
    frame.outer_labels(panels, columns, f"{accuracy} (higher is better)", "ACE (lower is better)")
    frame.title_figure(figure, look)
    named = {names[run]: frame.sample(**runs[run].dots()) for run in names}
    write_names(figure, labelled, named, _kind_samples(result.points, runs))
    return figure


@dataclass(frozen=True, slots=True)
class _Look:
    """How the points of a run are drawn."""

    color: str
    marker: str
    fill: str = "full"  # as matplotlib names it: by probe

    def dots(self) -> dict[str, Any]:
        style = {"color": self.color, "marker": self.marker, "linestyle": "none", "markersize": 4.5}
        if self.fill == "full":
            return style
        return style | {"fillstyle": self.fill, "markerfacecoloralt": "white", "markeredgewidth": 1.1}


def _looks(points: Sequence[AccuracyAcePoint]) -> dict[str, _Look]:
    """A colour for each family, ink for models without one; a marker for each kind of model, a fill for each probe."""
    palette = [color for color in COLOURS if color != BLACK]
    joined = {run for family in _family_runs(points) for run in family}
    called = {point.run: family_of(point.model) for point in points if point.run in joined}
    places = {family: at for at, family in enumerate(dict.fromkeys(called.values()))}
    colors = {run: palette[places[family] % len(palette)] for run, family in called.items()}
    fills = dict(zip(_probes(points), cycle(FILLS), strict=False))
    return {
        point.run: _Look(colors.get(point.run, INK), KIND_MARKERS[point.model_kind], fills[point.probe])
        for point in points
    }


def _probes(points: Sequence[AccuracyAcePoint]) -> list[str]:
    return list(dict.fromkeys(point.probe for point in points))


def _family_runs(points: Sequence[AccuracyAcePoint]) -> list[list[str]]:
    """The runs of each family and probe, smaller models first. A model of two runs is in none: no order joins these."""
    groups = []
    for probe in _probes(points):
        runs: dict[str, list[str]] = {}
        for point in {point.run: point for point in points if point.probe == probe}.values():
            runs.setdefault(point.model, []).append(point.run)
        ordered = families(runs)
        groups += [
            [runs[model][0] for model in models] for models in ordered if all(len(runs[model]) == 1 for model in models)
        ]
    return groups


def _kind_samples(points: Sequence[AccuracyAcePoint], runs: Mapping[str, _Look]) -> dict[str, Artist]:
    kinds = dict.fromkeys(point.model_kind for point in points)
    names = {"causal": "causal model", "masked": "masked model", None: "kind not known"}
    samples: dict[str, Artist] = {
        names[kind]: frame.sample(**_Look(INK, KIND_MARKERS[kind]).dots()) for kind in kinds if len(kinds) > 1
    }
    probes = {point.probe: (point.options, runs[point.run].fill) for point in points}
    for probe, (options, fill) in probes.items():
        if len(probes) > 1 or options is not None:
            among = "" if options is None else f" among {options} options"
            samples[f"{probe}{among}"] = frame.sample(**_Look(FAINT, "o", fill).dots())
    if _family_runs(points):
        samples["models of one family"] = frame.sample(color=FAINT, linewidth=0.8)
    return samples


def _draw_points(axes: Axes, points: Sequence[AccuracyAcePoint], runs: Mapping[str, _Look]) -> None:
    from matplotlib.ticker import MaxNLocator

    by_run = {point.run: point for point in points}
    for x, y in ((point.accuracy, point.ace) for point in points):
        axes.plot([x.value, x.value], [y.low, y.high], color=BAR, linewidth=0.6, zorder=1.2)
        axes.plot([x.low, x.high], [y.value, y.value], color=BAR, linewidth=0.6, zorder=1.2)
    for family in _family_runs(points):
        members = [by_run[run] for run in family]
        path = [point.accuracy.value for point in members], [point.ace.value for point in members]
        axes.plot(*path, color=runs[family[0]].color, linewidth=0.8, alpha=0.7, zorder=1.6)
    for point in points:
        axes.plot([point.accuracy.value], [point.ace.value], **runs[point.run].dots())
    axes.margins(0.12)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5))
    axes.autoscale_view()
    axes.set(xlim=_in_shares(axes.get_xlim()), ylim=_in_shares(axes.get_ylim()))


def _in_shares(limits: tuple[float, float]) -> tuple[float, float]:
    """The axis shows where the points are, and nothing beyond 0 and 1 but a margin."""
    return max(limits[0], -frame.MARGIN), min(limits[1], 1 + frame.MARGIN)


def _of_probes(correlations: Sequence[RankCorrelation], name: str) -> str:
    """The correlation; of several probes the value of each: BEAR −0.41, n = 16; factor −0.52, n = 10."""
    if len(correlations) == 1:
        return _spelled(correlations[0], name)
    values = [
        f"{correlation.probe} {_signed(replace(correlation.rho, low=math.nan))}, n = {correlation.runs}"
        for correlation in correlations
    ]
    return f"ρ: {'; '.join(values)}".replace("nan", "none")


def _spelled(correlation: RankCorrelation, name: str) -> str:
    if math.isnan(correlation.rho.value):
        return f"{counted(correlation.runs, 'run')}: no correlation"
    return f"{name} {_signed(correlation.rho)}, n = {correlation.runs}"


def _signed(rho: Estimate) -> str:
    value = f"{rho.value:z.2f}".replace("-", "−")
    if math.isnan(rho.low):
        return value
    return f"{value} ({rho.low:z.2f} to {rho.high:z.2f})".replace("-", "−")
