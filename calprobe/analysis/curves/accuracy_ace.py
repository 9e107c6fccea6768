"""Accuracy against ACE over runs: are the more accurate models the better calibrated ones?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    AccuracyOf,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.analysis.curves.inputs import (
    Reported,
    Values,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
from calprobe.analysis.palette import BLACK, COLOURS
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.families import families
from calprobe.analysis.plots.labels import Label
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.named_points import write_names
from calprobe.analysis.plots.names import run_names
from calprobe.analysis.plots.style import FAINT, INK
from calprobe.analysis.scored_run import Runs, ScoredRun
from calprobe.confidence import BASE, Estimator, Headline, headline
from calprobe.messages import counted
from calprobe.metrics import Estimate, bootstrap_many, spearman

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


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rank correlation of accuracy and ACE over the runs, for one estimator."""

    estimator: str
    runs: int  # number of them
    rho: Estimate  # [-1, 1]; below 0: the more accurate, the better calibrated. NaN with fewer than four runs


@dataclass(frozen=True, slots=True)
class AccuracyAce(Curves):
    """Accuracy against ACE over runs. Columns: a row a (run, estimator), with the estimator's correlation in each."""

    kind = "accuracy-ace"
    COLUMNS = (
        *(*LEAD, "accuracy", "accuracy_low", "accuracy_high", "ace", "ace_low", "ace_high"),
        *("spearman", "spearman_low", "spearman_high", "model_kind", "accuracy_of"),
    )

    points: tuple[AccuracyAcePoint, ...]
    correlations: tuple[RankCorrelation, ...]  # one for each estimator
    accuracy_of: AccuracyOf = "own"

    def _parts(self) -> Iterable[Columns]:
        rho = {found.estimator: found.rho for found in self.correlations}
        for point in self.points:
            own = estimate_columns("accuracy", point.accuracy) | estimate_columns("ace", point.ace)
            of = {"model_kind": point.model_kind or "", "accuracy_of": self.accuracy_of}
            yield {**point.lead, **own, **estimate_columns("spearman", rho[point.estimator]), **of}


def accuracy_ace(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyAce:
    """Accuracy against the ACE of each estimator, a point a run, with their rank correlation.

    Kissling et al. 2026, Figure 4. The accuracy is that of the estimator's own answers, as in the paper's code: those
    over paraphrases have other answers than base, and votes that fail are wrong. `options.accuracy` of "base" takes
    the accuracy of base under every estimator.

    The correlation's interval is over models (`spearman`), those of the points over instances.

    Args:
        runs: run folders, open or by path; several, best all of one probe.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min; accuracy.
    Returns:
        A point for each run and estimator, and a correlation for each estimator over the runs that have both numbers:
        NaN with fewer than four.
    Raises:
        UsageError: no run, one named twice, one without template 0 or a paraphrase, or an estimator that a run does not
            have. DataMissingError, CalprobeError: as `report`.
    """
    metrics, points = metrics_named(("accuracy", "ace"), options.scores), []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, headline(Headline.PAPER), probabilities=True)
        if options.accuracy == "base":
            chosen_estimators(run, CurveOptions(estimators=(BASE,)), ())
        names = [estimator.name for estimator in chosen]
        asked = [BASE, *names] if options.accuracy == "base" else names
        samples = predictions(run.confidences(list(dict.fromkeys(asked))))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        points += [_point(run, estimator, values, options.accuracy) for estimator in chosen]
    return correlated(points, options.accuracy)


def _point(run: ScoredRun, estimator: Estimator, values: Values, accuracy: AccuracyOf) -> AccuracyAcePoint:
    own = estimator.name if accuracy == "own" else BASE
    kind = None if run.recorded is None else run.manifest.model.kind
    return AccuracyAcePoint(
        *lead_of(run, estimator), values[own]["accuracy"], values[estimator.name]["ace"], model_kind=kind
    )


def correlated(points: Sequence[AccuracyAcePoint], accuracy: AccuracyOf = "own") -> AccuracyAce:
    """The points with the rank correlation of each estimator that has any."""
    names = dict.fromkeys(point.estimator for point in points)
    return AccuracyAce(tuple(points), tuple(_correlation(name, points) for name in names), accuracy)


def _correlation(estimator: str, points: Sequence[AccuracyAcePoint]) -> RankCorrelation:
    both = [
        (point.accuracy.value, point.ace.value)
        for point in points
        if point.estimator == estimator and not math.isnan(point.accuracy.value + point.ace.value)
    ]
    accuracies, errors = zip(*both, strict=True) if both else ((), ())
    return RankCorrelation(estimator, len(both), spearman(accuracies, errors))


def reported_accuracy_ace(found: Reported) -> AccuracyAce:
    """The points of a run of a report, those of the paper's estimators."""
    run, values = found.run, found.values
    chosen = [run.estimators[name] for name in headline(Headline.PAPER) if name in values]
    return correlated([_point(run, own, values, "own") for own in chosen])


def join_accuracy_ace(several: Sequence[AccuracyAce]) -> AccuracyAce:
    """The points of several runs with their rank correlations."""
    return correlated([point for found in several for point in found.points])


FEWEST_RUNS = 4  # a rank correlation of fewer is undefined, and the figure nearly empty
PANEL_INCHES = 2.5
LEAST_INCHES = 1.9  # width of a panel
SPELLED_INCHES = 2.6  # of one that has room for the name of the correlation
BAR = "#c4c4c4"  # intervals: lighter than the lines that lead to names
KIND_MARKERS: Mapping[str | None, str] = {"causal": "o", "masked": "s", None: "D"}


def draw_accuracy_ace(result: AccuracyAce, look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each estimator, a point for each run, with the rank correlation in the title.

    The points bear the names of the runs; where there are many, or a name finds no free place, their numbers in the
    legend. Masked models have another marker than causal ones. Models of one family have a colour and a line.
    """
    size = (LEAST_INCHES, PANEL_INCHES)
    figure, panels, columns = frame.panel_figure(len(result.correlations), look, size, 0.4)
    names, runs = run_names(result.points, look), _looks(result.points)
    labelled: list[tuple[Axes, list[Label]]] = []
    for axes, found in zip(panels, result.correlations, strict=False):
        points = [own for own in result.points if own.estimator == found.estimator]
        points = [own for own in points if math.isfinite(own.accuracy.value) and math.isfinite(own.ace.value)]
        _draw_points(axes, points, runs)
        name = "Spearman's ρ" if look.width / columns > SPELLED_INCHES else "ρ ="
        frame.title_panel(axes, found.estimator, _spelled(found, name))
        labelled.append(
            (axes, [Label(names[own.run], own.accuracy.value, own.ace.value, runs[own.run].color) for own in points])
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

    def dots(self) -> dict[str, Any]:
        return {"color": self.color, "marker": self.marker, "linestyle": "none", "markersize": 4.5}


def _looks(points: Sequence[AccuracyAcePoint]) -> dict[str, _Look]:
    """A colour for each family, ink for models without one; a marker for each kind of model."""
    others = [color for color in COLOURS if color != BLACK]
    colors = {run: others[at % len(others)] for at, family in enumerate(_family_runs(points)) for run in family}
    return {own.run: _Look(colors.get(own.run, INK), KIND_MARKERS[own.model_kind]) for own in points}


def _family_runs(points: Sequence[AccuracyAcePoint]) -> list[list[str]]:
    """The runs of each family, the smaller models first. A model of two runs is in none: no order joins these."""
    runs: dict[str, list[str]] = {}
    for own in {own.run: own for own in points}.values():
        runs.setdefault(own.model, []).append(own.run)
    found = families(runs)
    return [[runs[model][0] for model in family] for family in found if all(len(runs[own]) == 1 for own in family)]


def _kind_samples(points: Sequence[AccuracyAcePoint], runs: Mapping[str, _Look]) -> dict[str, Artist]:
    kinds = dict.fromkeys(own.model_kind for own in points)
    names = {"causal": "causal model", "masked": "masked model", None: "kind not known"}
    samples: dict[str, Artist] = {
        names[kind]: frame.sample(**_Look(INK, KIND_MARKERS[kind]).dots()) for kind in kinds if len(kinds) > 1
    }
    if _family_runs(points):
        samples["models of one family"] = frame.sample(color=FAINT, linewidth=0.8)
    return samples


def _draw_points(axes: Axes, points: Sequence[AccuracyAcePoint], runs: Mapping[str, _Look]) -> None:
    from matplotlib.ticker import MaxNLocator

    by_run = {own.run: own for own in points}
    for x, y in ((own.accuracy, own.ace) for own in points):
        axes.plot([x.value, x.value], [y.low, y.high], color=BAR, linewidth=0.6, zorder=1.2)
        axes.plot([x.low, x.high], [y.value, y.value], color=BAR, linewidth=0.6, zorder=1.2)
    for family in _family_runs(points):
        own = [by_run[run] for run in family]
        path = [point.accuracy.value for point in own], [point.ace.value for point in own]
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


def _spelled(found: RankCorrelation, name: str) -> str:
    if math.isnan(found.rho.value):
        return f"{counted(found.runs, 'run')}: no correlation"
    return f"{name} {_signed(found.rho)}, n = {found.runs}"


def _signed(rho: Estimate) -> str:
    value = f"{rho.value:z.2f}".replace("-", "−")
    if math.isnan(rho.low):
        return value
    return f"{value} ({rho.low:z.2f} to {rho.high:z.2f})".replace("-", "−")
