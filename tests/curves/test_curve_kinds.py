"""Each kind of curve, computed from runs: against the metrics' own functions and plain loops, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from compared_runs import run_of, with_model
from numpy.testing import assert_array_equal
from run_samples import make_manifest, make_piece, without_tokens

from calprobe.analysis import (
    CurveOptions,
    Curves,
    ReportOptions,
    accuracy_ace,
    accuracy_rejection,
    answer_option_curve,
    calibration,
    exposure,
    markers,
    options_curve,
    report,
)
from calprobe.confidence import estimate
from calprobe.curves import plot
from calprobe.curves.exposure import exposure_ranges
from calprobe.errors import UsageError
from calprobe.metrics import (
    Resampling,
    ace,
    ece,
    holm,
    reject_by_rank,
    reject_by_threshold,
    smooth_ece,
    wilson_interval,
)
from calprobe.metrics.bootstrap import draw_share
from calprobe.metrics.intervals import percentiles
from calprobe.runs import Manifest, RunFolder, ScoreTable, TemplateRecord, open_run

QUICK = ReportOptions(ace_bins=4, resampling=Resampling(8, 1))
OPTIONS = CurveOptions(QUICK)
MARKED = (("paraphrase", None), ("paraphrase", None), ("verbal", "certainly"), ("numeric", "75"), ("numeric", "0"))
EXPOSURES = {"P1376": (0, 1, 2, 3, 4, 5, 8, 9), "P30": (0,) * 12, "P36": tuple(range(10))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate("abcde"):
        run_of(folder / name, seed, with_model(name=f"model-{name}"))
    run_of(folder / "empty", edit=lambda piece: None)
    marked_run(folder / "marked")
    return folder


def marked_run(path: Path) -> None:
    shapes = (("P1376", 8, 5), ("P30", 12, 3))
    manifest = make_manifest(shapes, numbers=range(len(MARKED)))
    templates = tuple(TemplateRecord(number, *kind) for number, kind in enumerate(MARKED))
    written = RunFolder.open(path, replace(manifest, templates=templates))
    for shape in shapes:
        for number in range(len(MARKED)):
            answers = make_piece(shape, number).answer_idx
            written.write_piece(replace(without_tokens(make_piece(shape, number, 3)), answer_idx=answers))


def table(path: Path) -> ScoreTable:
    return open_run(path).table("sum")


KINDS: dict[str, Callable[[list[Path]], Curves]] = {
    "accuracy-rejection": lambda runs: accuracy_rejection(runs, OPTIONS),
    "calibration": lambda runs: calibration(runs, OPTIONS),
    "options": lambda runs: options_curve(runs, OPTIONS),
    "accuracy-ace": lambda runs: accuracy_ace(runs, OPTIONS),
    "exposure": lambda runs: exposure(runs, EXPOSURES, OPTIONS),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_the_same_points_whatever_is_beside_it(folder: Path, kind: str) -> None:
    both, alone = (KINDS[kind]([folder / name for name in names]).frame() for names in ("ab", "b"))
    own = both[both.run == str(folder / "b")].reset_index(drop=True)
    assert both.run.unique().tolist() == [str(folder / "a"), str(folder / "b")]
    assert own.model.unique().tolist() == ["model-b"]
    assert own.equals(alone)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "options"])
def test_without_instances_nothing_is_a_number(folder: Path, kind: str) -> None:
    frame = KINDS[kind]([folder / "empty"]).frame()
    numbers = [name for name in ("accuracy", "low", "high", "ace", "mean_confidence") if name in frame]
    assert frame[numbers].isna().all().all()


def test_rejection_is_that_of_the_metrics(folder: Path) -> None:
    found = accuracy_rejection(folder / "a", OPTIONS)
    confidences = estimate(table(folder / "a"))
    assert [line.estimator for line in found.lines] == ["base", "margin", "average_vote_2", "average_min"]
    for line in found.lines:
        own = confidences[line.estimator]
        expected = reject_by_threshold(own.confidence, own.correct)
        assert_array_equal(line.by_threshold.curve.accuracy, expected.accuracy)
        assert_array_equal(line.by_rank.accuracy, reject_by_rank(own.confidence, own.correct).accuracy)
        assert line.band.x[0] == 0
        assert line.band.y[0] == pytest.approx(own.correct.mean(), abs=1e-15)
        accuracy = line.by_threshold.curve.accuracy
        assert_array_equal(np.isnan(line.by_threshold.low), np.isnan(accuracy))
        assert (line.band.low <= line.band.high).all()
    # The band at threshold 0 is of the same resamples as the report's accuracy, which has an exact interval here.
    base = percentiles(draw_share(confidences["base"].correct.astype(np.float64), QUICK.resampling, None).resampled)
    assert (found.lines[0].by_threshold.low[0], found.lines[0].by_threshold.high[0]) == base


def test_votes_are_points_of_runs_with_paraphrases(folder: Path) -> None:
    (votes,) = accuracy_rejection(folder / "a", OPTIONS).votes
    confidences = estimate(table(folder / "a"))
    assert votes.votes.curve.threshold.tolist() == [2, 3]
    assert votes.templates == (0, 1, 2)
    for place, k in enumerate((2, 3)):
        own = confidences[f"average_vote_{k}"]
        assert votes.votes.curve.rejected[place] == pytest.approx(own.failed.mean(), abs=1e-15)
        assert votes.votes.curve.accuracy[place] == own.correct[~own.failed].mean()


def test_calibration_has_the_metrics_own_bins(folder: Path) -> None:
    found = calibration(folder / "a", CurveOptions(QUICK, ("margin",)))
    (line,) = found.lines
    own = estimate(table(folder / "a"))["margin"]
    reported = {e.name: e.metrics for e in report(folder / "a", QUICK).runs[0].estimators}["margin"]
    for drawn, expected, name in (
        (line.ace, ace(own.confidence, own.correct, 4), "ace"),
        (line.ece, ece(own.confidence, own.correct), "ece"),
    ):
        assert expected.bins is not None
        assert_array_equal(drawn.bins.edges, expected.bins.edges)
        assert_array_equal(drawn.bins.accuracy, expected.bins.accuracy)
        assert drawn.value == reported[name]
        assert drawn.bins.count.sum() == line.instances == 30
    right = np.rint(line.ace.bins.accuracy * line.ace.bins.count)
    assert_array_equal(line.ace.low, wilson_interval(right, line.ace.bins.count)[0])
    smooth = smooth_ece(own.confidence, own.correct)
    assert smooth.smoothed is not None
    assert line.smooth.value == reported["smooth_ece"]
    grid = smooth.smoothed.confidence
    seen = (grid >= own.confidence.min()) & (grid <= own.confidence.max())
    assert 0 < seen.sum() < len(seen)
    assert_array_equal(line.smooth.accuracy, np.where(seen, smooth.smoothed.accuracy, np.nan))


def test_options_are_the_experiments_with_the_counts_that_the_run_has(folder: Path) -> None:
    base, margin = options_curve(folder / "a", OPTIONS).lines
    assert base.options.tolist() == [2, 3, 4, 5]  # the largest answer space has five candidates
    assert (base.relations, base.instances, base.seeds) == (("P1376",), 8, tuple(range(30)))
    expected = answer_option_curve(folder / "a", (2, 3, 4, 5), range(30), QUICK)
    assert_array_equal(base.means.mean_confidence, expected.means["mean_base"])
    assert_array_equal(margin.means.ace, expected.means["ace_margin"])
    draws = np.array([draw.accuracy for draw in base.draws])
    assert_array_equal(draws, expected.draws.pivot(index="seed", columns="options", values="accuracy").to_numpy())
    assert_array_equal(base.means.accuracy, expected.means["accuracy"])
    assert base.low.ace.tolist() == [own.low for own in expected.estimates["ace_base"]]
    assert (base.low.accuracy <= base.means.accuracy).all()
    clustered = options_curve(folder / "a", CurveOptions(replace(QUICK, cluster="relation"), ("base",))).lines[0]
    assert np.isnan(clustered.low.accuracy).all()  # eight instances of one relation


def test_large_answer_spaces_are_thinned_in_fives(tmp_path: Path) -> None:
    shapes = (("P1376", 4, 12), ("P30", 4, 10), ("P36", 4, 9))
    (line,) = options_curve(run_of(tmp_path / "r", shapes=shapes), CurveOptions(QUICK, ("base",))).lines
    assert line.options.tolist() == [5, 10]
    assert line.relations == ("P1376", "P30")


def test_accuracy_and_ace_are_the_reports_and_correlated_over_runs(folder: Path) -> None:
    from scipy.stats import spearmanr

    runs = [folder / name for name in "abcde"]
    found = accuracy_ace(runs, CurveOptions(QUICK, ("margin",)))
    reported = [{e.name: e.metrics for e in run.estimators} for run in report(runs, QUICK).runs]
    assert [point.accuracy for point in found.points] == [metrics["margin"]["accuracy"] for metrics in reported]
    assert [point.ace for point in found.points] == [metrics["margin"]["ace"] for metrics in reported]
    (correlation,) = found.correlations
    pairs = [(point.accuracy.value, point.ace.value) for point in found.points]
    assert (correlation.estimator, correlation.runs) == ("margin", 5)
    assert correlation.rho.value == pytest.approx(spearmanr(*np.transpose(pairs)).statistic, abs=1e-12)
    turned = accuracy_ace(runs[::-1], CurveOptions(QUICK, ("margin",))).correlations
    assert turned[0].rho.value == pytest.approx(correlation.rho.value, abs=1e-15)
    few = accuracy_ace(runs[:3], OPTIONS)
    assert all(np.isnan(found.rho.value) and found.runs == 3 for found in few.correlations)


def test_accuracy_is_the_estimators_own_or_that_of_base(folder: Path) -> None:
    metrics = {e.name: e.metrics for e in report(folder / "a", QUICK).runs[0].estimators}
    assert metrics["average_vote_2"]["accuracy"] != metrics["base"]["accuracy"]
    for accuracy, of in (("own", "average_vote_2"), ("base", "base")):
        found = accuracy_ace(folder / "a", CurveOptions(QUICK, ("average_vote_2",), accuracy))
        assert found.points[0].accuracy == metrics[of]["accuracy"]
        assert found.frame()[["model_kind", "accuracy_of"]].values.tolist() == [["causal", accuracy]]


def test_among_fewer_options_the_points_are_those_of_the_curve_of_options(folder: Path, tmp_path: Path) -> None:
    shapes = (("P1376", 4, 12), ("P30", 4, 10), ("P36", 4, 4))
    runs = [run_of(tmp_path / f"r{seed}", seed, shapes=shapes) for seed in range(4)]
    as_factor = lambda manifest: replace(manifest, probe=replace(manifest.probe, name="factor"))  # noqa: E731
    other = run_of(tmp_path / "factor", change=as_factor, shapes=(("P36", 6, 4),))
    options = CurveOptions(QUICK, among=5)
    found = accuracy_ace([*runs, other], options)
    lines = {(line.run, line.estimator): line for line in options_curve(runs, CurveOptions(QUICK)).lines}
    for point in found.points[:-2]:
        line = lines[point.run, point.estimator]
        assert line.options[0] == point.options == 5
        numbers = (line.means.accuracy[0], line.means.ace[0], line.high.accuracy[0], line.low.ace[0])
        assert (point.accuracy.value, point.ace.value, point.accuracy.high, point.ace.low) == numbers
        assert (point.instances, point.relations) == (line.instances, len(line.relations))
    own = {e.name: e.metrics for e in report(other, QUICK).runs[0].estimators}
    for point in found.points[-2:]:
        assert (point.probe, point.options, point.ace) == ("factor", None, own[point.estimator]["ace"])
        assert (point.instances, point.relations) == (6, 1)
    assert found.frame()["instances"].tolist() == [point.instances for point in found.points]
    assert [(own.estimator, own.probe, own.runs) for own in found.correlations] == [
        *(("base", "made-up", 4), ("margin", "made-up", 4), ("base", "factor", 1), ("margin", "factor", 1))
    ]
    whole = {(point.run, point.estimator): point.ace for point in accuracy_ace([*runs, other], OPTIONS).points}
    assert whole[runs[0], "base"] != found.points[0].ace
    plot(found)
    with pytest.raises(UsageError, match="no estimator mixture"):
        accuracy_ace(runs, CurveOptions(QUICK, ("mixture",), among=5))


def test_a_run_with_few_options_is_not_named_beside_another_probe(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    as_factor = lambda manifest: replace(manifest, probe=replace(manifest.probe, name="factor"))  # noqa: E731
    runs = [run_of(tmp_path / "a"), run_of(tmp_path / "b", change=as_factor, shapes=(("P36", 6, 4),))]
    accuracy_ace(runs, CurveOptions(QUICK, among=3))
    assert not caplog.messages
    accuracy_ace(runs, OPTIONS)
    assert len(caplog.messages) == 1


def test_bins_have_a_band_for_all_of_them_at_once(folder: Path) -> None:
    (line,) = calibration(folder / "a", CurveOptions(QUICK, ("base",))).lines
    bins = line.ace.bins
    together = NormalDist().inv_cdf((1 + 0.95 ** (1 / (bins.count > 0).sum())) / 2)
    low, high = wilson_interval(bins.accuracy * bins.count, bins.count, together)
    np.testing.assert_allclose([line.ace.band_low, line.ace.band_high], [low, high], atol=1e-12)
    kept = bins.count > 0
    assert (line.ace.band_low[kept] < line.ace.low[kept]).any()
    assert (line.ace.band_low[kept] <= line.ace.low[kept]).all()


def test_markers_stand_beside_the_plain_statement(folder: Path) -> None:
    found = markers(folder / "marked", OPTIONS)
    assert [point.marker for point in found.points] == ["plain", "certainly", "0", "75"]
    assert [point.percentage for point in found.points[2:]] == [0.0, 75.0]
    confidences = estimate(table(folder / "marked"))
    plain, certainly = found.points[:2]
    assert plain.shift is None
    assert certainly.shift is not None
    assert certainly.templates == (2,)
    shift = confidences["marker_certainly"].confidence.mean() - confidences["base"].confidence.mean()
    assert certainly.shift.value == pytest.approx(shift, abs=1e-12)
    assert certainly.shift.low <= shift <= certainly.shift.high
    assert certainly.ace_shift is not None
    assert certainly.ace_shift.value == pytest.approx(certainly.ace.value - plain.ace.value, abs=1e-12)
    shifts = ("shift", "accuracy_shift", "ace_shift")
    p_values = [getattr(point, name).p_value for point in found.points[1:] for name in shifts]
    corrected = [getattr(point, f"{name}_p_holm") for point in found.points[1:] for name in shifts]
    assert corrected == holm(p_values).tolist()


def test_exposure_takes_the_facts_by_their_counts(folder: Path) -> None:
    (line,) = exposure(folder / "a", EXPOSURES, OPTIONS).lines
    scores = table(folder / "a")
    counts = np.array([EXPOSURES[name][at] for name, at in zip(scores.relation, scores.instance, strict=True)])
    base = estimate(scores)["base"]
    assert line.least.tolist() == [0, 1, 2, 3, 5, 9]
    assert line.most.tolist() == [0, 1, 2, 4, 8, 9]
    assert line.instances.sum() == len(counts)
    for place, (least, most) in enumerate(zip(line.least, line.most, strict=True)):
        kept = (counts >= least) & (counts <= most)
        assert line.told[place] == counts[kept].mean()
        assert line.accuracy[place].value == pytest.approx(base.correct[kept].mean(), abs=1e-15)
        assert line.mean_confidence[place].value == pytest.approx(base.confidence[kept].mean(), abs=1e-15)
    low, high = wilson_interval([base.correct[counts == 0].sum()], [(counts == 0).sum()])
    assert (line.accuracy[0].low, line.accuracy[0].high) == (low[0], high[0])


def test_ranges_double_and_never_overlap() -> None:
    counts = np.arange(70)
    ranges = exposure_ranges(counts)
    assert (np.diff(ranges) >= 0).all()
    assert [counts[ranges == which].max() for which in range(8)] == [0, 1, 2, 4, 8, 16, 32, 64]


@pytest.mark.usefixtures("two_clusters_enough")
def test_the_seed_decides_and_clusters_widen(folder: Path) -> None:
    seeds = [replace(QUICK, resampling=Resampling(8, seed)) for seed in (1, 1, 2)]
    first, again, other = (accuracy_rejection(folder / "a", CurveOptions(scores)).frame() for scores in seeds)
    assert first.equals(again)
    assert not first.equals(other)
    clustered = accuracy_rejection(folder / "a", CurveOptions(replace(QUICK, cluster="relation")))
    assert not clustered.frame().low.equals(first.low)
    none = accuracy_rejection(folder / "a", CurveOptions(replace(QUICK, resampling=Resampling(0))))
    assert none.frame().low.isna().all()


def test_partial_runs_are_named(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    part = run_of(tmp_path / "part", edit=lambda piece: None if piece.relation == "P30" else piece)
    found = calibration(part, OPTIONS)
    assert found.lines[0].instances == 18
    assert caplog.messages == [f"{part}: partial run: 2 of 3 relations"]


def test_runs_of_other_questions_are_named(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    alike, other = folder / "b", run_of(tmp_path / "other", shapes=(("P1376", 8, 5),))
    accuracy_ace([folder / "a", other, alike], OPTIONS)
    named = f"{other}: not the same probe or instances as {folder / 'a'}: the two do not compare"
    assert caplog.messages == [named]


def test_what_a_run_does_not_have_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a, for this curve, has no estimator average_vote_9; did you mean average_"):
        accuracy_rejection(folder / "a", CurveOptions(QUICK, ("base", "average_vote_9")))
    with pytest.raises(UsageError, match=r"for this curve, has no estimator entropy .*; give some of base, margin"):
        options_curve(folder / "a", CurveOptions(QUICK, ("entropy",)))
    with pytest.raises(UsageError, match="a: no epistemic template; score it with --templates 0,verbal,numeric"):
        markers(folder / "a", OPTIONS)
    with pytest.raises(UsageError, match="leave --estimator out"):
        markers(folder / "marked", CurveOptions(QUICK, ("base",)))
    with pytest.raises(UsageError, match="it has no complete relation"):
        options_curve(folder / "empty", OPTIONS)
    with pytest.raises(UsageError, match="the largest answer space has 1"):
        options_curve(run_of(tmp_path / "one", shapes=(("P30", 3, 1),)), OPTIONS)
    with pytest.raises(UsageError, match="no exposure count for P36, instance 1"):
        exposure(folder / "a", EXPOSURES | {"P36": (1,)}, OPTIONS)
    with pytest.raises(ValueError, match="exposures must not be negative; got -1"):
        exposure(folder / "a", EXPOSURES | {"P36": (-1,) * 10}, OPTIONS)


def test_only_markers_no_plain_template(tmp_path: Path) -> None:
    def only_markers(manifest: Manifest) -> Manifest:
        return replace(manifest, templates=(TemplateRecord(5, "verbal", "possibly"),))

    run = run_of(tmp_path / "r", change=only_markers, numbers=(5,))
    with pytest.raises(UsageError, match="no plain template"):
        markers(run, OPTIONS)
    with pytest.raises(UsageError, match=r"no estimator base, margin, average_vote_2, average_min .*; give"):
        calibration(run, OPTIONS)
