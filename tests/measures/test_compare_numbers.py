"""The numbers of a comparison: plain loops over the same resamples, and what must hold of any difference."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from compared_runs import DOMAINS, run_of, with_model, with_relations

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare, report
from calprobe.confidence import confidences
from calprobe.errors import UsageError
from calprobe.measures.compare_results import Contrast
from calprobe.measures.json_values import value_json
from calprobe.metrics import Resampling, ace, holm
from calprobe.runs import open_run
from calprobe.show.compare_prose import comparison_notes

N_RESAMPLES = 60
SCORES = ReportOptions(ace_bins=4, resampling=Resampling(N_RESAMPLES, seed=3))
OPTIONS = CompareOptions(by_domain=True, estimators=("average_min", "base", "consistency_vote_2"), scores=SCORES)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    return run_of(folder / "a", 0), run_of(folder / "b", 1)


@pytest.fixture(scope="module")
def found(runs: tuple[str, str]) -> Comparison:
    return compare(runs, OPTIONS)


def table_of(path: str, estimator: str, domain: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidence, correctness and prediction, read off the export."""
    frame = confidences(open_run(path))
    frame = frame[frame["estimator"] == estimator]
    if domain is not None:
        frame = frame[[domain in DOMAINS[relation] for relation in frame["relation"]]]
    return frame["confidence"].to_numpy(), frame["correct"].to_numpy(), frame["prediction"].to_numpy()


def bear_shares(path: str, domain: str | None) -> np.ndarray:
    table = open_run(path).table()
    shares = []
    for place, relation in enumerate(table.relation):
        if domain is not None and domain not in DOMAINS[str(relation)]:
            continue
        own = table.scores[:, table.offsets[place] : table.offsets[place + 1]]
        shares.append(np.mean([int(row.argmax()) == table.answer_idx[place] for row in own]))
    return np.array(shares)


def check_mean_difference(contrast: Contrast, first: np.ndarray, second: np.ndarray) -> None:
    """Values, intervals and p of a mean over instances, from resamples written out."""
    drawn = np.random.default_rng(3).integers(len(first), size=(N_RESAMPLES, len(first)))
    pairs = [(first[chosen].mean(), second[chosen].mean()) for chosen in drawn]
    for estimate, values, resampled in (
        (contrast.first, first, [a for a, _ in pairs]),
        (contrast.second, second, [b for _, b in pairs]),
        (contrast.difference, first - second, [a - b for a, b in pairs]),
    ):
        low, high = np.percentile(resampled, [2.5, 97.5])
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((values.mean(), low, high), abs=1e-12)
    differences = [a - b for a, b in pairs]
    fewer = min(sum(d <= 1e-12 for d in differences), sum(d >= -1e-12 for d in differences))
    assert contrast.difference.p_value == pytest.approx(min(1, 2 * (1 + fewer) / (1 + N_RESAMPLES)), abs=1e-15)


@pytest.mark.parametrize("domain", [None, "Arts", "Politics"])
def test_numbers_are_those_of_plain_loops(runs: tuple[str, str], found: Comparison, domain: str | None) -> None:
    (scope,) = [scope for scope in found.pairs[0].scopes if scope.domain == domain]
    relations = [relation for relation, domains in DOMAINS.items() if domain is None or domain in domains]
    assert (scope.relations, scope.instances) == (len(relations), len(bear_shares(runs[0], domain)))
    assert scope.accuracy is not None
    check_mean_difference(scope.accuracy, *(bear_shares(path, domain) for path in runs))
    assert list(scope.estimators) == ["average_min", "base", "consistency_vote_2"]
    for name, metrics in scope.estimators.items():
        sides = [table_of(path, name, domain)[:2] for path in runs]
        check_mean_difference(metrics["brier"], *((confidence - correct) ** 2 for confidence, correct in sides))
        errors = [ace(confidence, correct, 4).value for confidence, correct in sides]
        assert [metrics["ace"].first.value, metrics["ace"].second.value] == errors
        assert metrics["ace"].difference.value == pytest.approx(errors[0] - errors[1], abs=1e-15)
        assert metrics["ace"].difference.low <= metrics["ace"].difference.value <= metrics["ace"].difference.high


@pytest.mark.parametrize("domain", [None, "Politics"])
def test_agreement_by_loops(runs: tuple[str, str], found: Comparison, domain: str | None) -> None:
    (scope,) = [scope for scope in found.pairs[0].scopes if scope.domain == domain]
    counts = dict.fromkeys(("same_prediction", "both_right", "first_right", "second_right"), 0)
    (_, right, own), (_, other_right, other) = (table_of(path, "base", domain) for path in runs)
    for a, b, prediction, other_prediction in zip(right, other_right, own, other, strict=True):
        counts["same_prediction"] += int(prediction == other_prediction)
        counts["both_right"] += int(a and b)
        counts["first_right"] += int(a and not b)
        counts["second_right"] += int(b and not a)
    assert scope.agreement is not None
    exact = scipy.stats.binomtest(counts["first_right"], counts["first_right"] + counts["second_right"]).pvalue
    shares = {name: count / len(own) for name, count in counts.items()}
    assert value_json(scope.agreement) == pytest.approx(shares | {"mcnemar_p": exact})
    assert all(0 < count < len(own) for count in counts.values())


def test_numbers_are_those_of_the_reports(runs: tuple[str, str], found: Comparison) -> None:
    everything = found.pairs[0].everything
    assert everything.accuracy is not None
    one, other = report(runs, SCORES).runs
    assert (one.bear_score, other.bear_score) == (everything.accuracy.first, everything.accuracy.second)
    for estimator, theirs in zip(one.estimators, other.estimators, strict=True):
        for metric, contrast in everything.estimators.get(estimator.name, {}).items():
            assert (estimator.metrics[metric], theirs.metrics[metric]) == (contrast.first, contrast.second)


def test_nearest_domain_is_that_of_the_least_difference(runs: tuple[str, str], found: Comparison) -> None:
    gaps = {
        domain: abs(np.subtract(*(bear_shares(path, domain).mean() for path in runs)))
        for domain in ("Arts", "Politics")
    }
    assert len(set(gaps.values())) == 2
    assert found.pairs[0].nearest_domain == min(gaps, key=lambda domain: gaps[domain])
    (nearest,) = compare(runs, replace(OPTIONS, by_domain=False)).pairs[0].domains
    assert nearest.domain == found.pairs[0].nearest_domain
    (same,) = [scope for scope in found.pairs[0].domains if scope.domain == nearest.domain]
    assert nearest.accuracy is not None
    assert same.accuracy is not None
    # Fewer p-values, so another correction of the same ones.
    assert replace(nearest.accuracy, p_holm=0.0) == replace(same.accuracy, p_holm=0.0)


def test_holm_counts_every_p_value(found: Comparison) -> None:
    contrasts = [contrast for pair in found.pairs for scope in pair.scopes for contrast in scope.contrasts]
    assert found.tests == len(contrasts) == 3 * (1 + 3 * 2)
    expected = holm([contrast.difference.p_value for contrast in contrasts])
    assert [contrast.p_holm for contrast in contrasts] == expected.tolist()
    assert all(contrast.p_holm >= contrast.difference.p_value for contrast in contrasts)


def test_a_pair_turned_round_gives_the_negative(runs: tuple[str, str], found: Comparison) -> None:
    turned = compare(runs[::-1], OPTIONS)
    for scope, other in zip(found.pairs[0].scopes, turned.pairs[0].scopes, strict=True):
        for contrast, negative in zip(scope.contrasts, other.contrasts, strict=True):
            assert (contrast.first, contrast.second) == (negative.second, negative.first)
            own, theirs = contrast.difference, negative.difference
            assert (own.value, own.low, own.high) == pytest.approx(
                (-theirs.value, -theirs.high, -theirs.low), abs=1e-12
            )
            assert (own.p_value, contrast.p_holm) == (theirs.p_value, negative.p_holm)
        assert scope.agreement is not None
        assert other.agreement is not None
        assert (scope.agreement.first_right, scope.agreement.both_right) == (
            other.agreement.second_right,
            other.agreement.both_right,
        )


@pytest.mark.usefixtures("two_clusters_enough")
@pytest.mark.parametrize("cluster", [None, "relation", "within-relation"])
def test_a_run_and_its_copy_do_not_differ(runs: tuple[str, str], tmp_path: Path, cluster: str | None) -> None:
    options = replace(OPTIONS, scores=replace(SCORES, cluster=cluster))
    (pair,) = compare([runs[0], run_of(tmp_path / "copy")], options).pairs
    for scope in pair.scopes:
        assert scope.ties == scope.instances
        for contrast in scope.contrasts:
            assert (contrast.difference.value, contrast.difference.p_value, contrast.p_holm) == (0.0, 1.0, 1.0)
            assert math.isnan(contrast.difference.low)
        assert scope.agreement is not None
        assert (scope.agreement.same_prediction, scope.agreement.first_right) == (1.0, 0.0)


@pytest.mark.usefixtures("two_clusters_enough")
def test_complete_relations_are_drawn_on_request(runs: tuple[str, str], found: Comparison) -> None:
    (pair,) = compare(runs, replace(OPTIONS, scores=replace(SCORES, cluster="relation"))).pairs
    clustered, single = pair.everything.accuracy, found.pairs[0].everything.accuracy
    assert clustered is not None
    assert single is not None
    assert clustered.difference.value == single.difference.value
    assert clustered.difference.low != single.difference.low
    assert clustered.difference.p_value == clustered.difference.p_value  # not NaN


def test_a_handful_of_relations_has_no_p_and_no_tests(runs: tuple[str, str]) -> None:
    found = compare(runs, replace(OPTIONS, scores=replace(SCORES, cluster="relation")))
    assert found.tests == 0
    for contrast in found.pairs[0].everything.contrasts:
        assert math.isnan(contrast.difference.p_value)
        assert math.isnan(contrast.first.low)
        assert not contrast.significant


@pytest.mark.proof
def test_thirty_relations_are_resampled_unless_instances_are_asked_for(tmp_path: Path) -> None:
    shapes = [(f"P{number}", 3, 3) for number in range(100, 130)]
    paths = [run_of(tmp_path / name, seed, shapes=shapes) for seed, name in enumerate("ab")]

    def found(cluster: str | None) -> Comparison:
        return compare(paths, CompareOptions(scores=replace(SCORES, cluster=cluster)))

    default, by_relation, single = found(None), found("relation"), found("instance")
    assert [own.pairs[0].everything.unit for own in (default, by_relation, single)] == [
        "relation",
        "relation",
        "instance",
    ]
    assert value_json(default.pairs[0]) == value_json(by_relation.pairs[0])
    assert default.units == ("relation",)
    both = [own.pairs[0].everything for own in (default, single)]
    assert both[0].contrasts[0].difference.low != both[1].contrasts[0].difference.low
    assert [math.isnan(scope.agreement.mcnemar_p) for scope in both if scope.agreement] == [True, False]
    notes = " ".join(comparison_notes(default))
    assert "of the relations, each drawn completely" in notes
    fewer = compare(
        [run_of(tmp_path / f"{n}few", n, shapes=shapes[:29]) for n in (0, 1)], CompareOptions(scores=SCORES)
    )
    assert fewer.pairs[0].everything.unit == "instance"


def many(folder: Path, kinds: dict[str, str | None]) -> list[str]:
    """A run for each name, of that kind, with scores of its own."""
    return [run_of(folder / name, seed, with_model(kind=kind)) for seed, (name, kind) in enumerate(kinds.items())]


def test_masked_runs_find_the_causal_run_of_the_nearest_bear_score(tmp_path: Path) -> None:
    paths = many(tmp_path, {"c0": "causal", "m1": "masked", "c2": "causal", "m3": "masked", "none": None})
    scores = [float(bear_shares(path, None).mean()) for path in paths]
    found = compare(paths, CompareOptions(scores=ReportOptions(resampling=Resampling(0))))
    nearest = {m: min((0, 2), key=lambda c: (abs(scores[c] - scores[m]), c)) for m in (1, 3)}
    assert {(pair.first, pair.second) for pair in found.pairs} <= {(paths[nearest[m]], paths[m]) for m in (1, 3)}
    assert len(found.pairs) == len(set(nearest.values()))
    paired = {label for pair in found.pairs for label in (pair.first, pair.second)}
    assert set(found.unpaired) == set(paths) - paired
    assert found.unpaired[paths[4]] == "its kind, causal or masked, is not known"
    assert [run.label for run in found.runs] == paths


def test_without_resamples_there_is_nothing_to_correct(runs: tuple[str, str]) -> None:
    found = compare(runs, CompareOptions(scores=ReportOptions(resampling=Resampling(0))))
    assert found.tests == 0
    assert list(found.pairs[0].everything.estimators) == ["base", "margin", "average_min"]
    assert all(
        math.isnan(contrast.p_holm) and not contrast.significant for contrast in found.pairs[0].everything.contrasts
    )


def test_named_pairs_are_compared_in_their_order(tmp_path: Path) -> None:
    a, b, c = many(tmp_path, {"a": "causal", "b": "causal", "c": "causal"})
    quick = CompareOptions(scores=ReportOptions(resampling=Resampling(0)))
    unnamed = compare([a, b, c], quick)
    assert [(pair.first, pair.second) for pair in unnamed.pairs] == [(b, a), (c, a)]
    assert unnamed.remarks[0].startswith(f"None of 3 runs is masked: each is compared with the first one, {a}.")
    every = compare([a, b, c], replace(quick, pairs="all"))
    assert [(pair.first, pair.second) for pair in every.pairs] == [(a, b), (a, c), (b, c)]
    based = compare([a, b, c], replace(quick, baseline="b"))
    assert [(pair.first, pair.second) for pair in based.pairs] == [(a, b), (c, b)]
    assert (every.remarks, based.remarks, based.unpaired) == ((), (), {})
    found = compare([a, b, c], replace(quick, pairs=((c, a),)))
    assert [(pair.first, pair.second) for pair in found.pairs] == [(c, a)]
    assert found.unpaired == {b: "in none of the pairs named"}


def test_pairs_under_intersect_are_of_runs_with_something_in_common(tmp_path: Path) -> None:
    quick = CompareOptions(intersect=True, scores=ReportOptions(resampling=Resampling(0)))
    causal, masked = many(tmp_path, {"c": "causal", "m": "masked"})
    apart = run_of(tmp_path / "apart", 2, with_model(kind="masked"), shapes=(("P36", 10, 7),))
    found = compare([causal, masked, apart], quick)
    assert [(pair.first, pair.second) for pair in found.pairs] == [(causal, masked)]
    assert found.unpaired == {apart: "no causal run has an accuracy on the same instances"}
    other = run_of(tmp_path / "other", 3, with_model(kind="masked"), shapes=(("P30", 5, 9),))
    with pytest.raises(UsageError, match="no causal and masked run have an accuracy on the same instances"):
        compare([causal, apart, other], quick)


def test_one_template_has_no_bear_score_and_markers_no_accuracy(tmp_path: Path) -> None:
    options = CompareOptions(scores=SCORES)
    one = [run_of(tmp_path / f"one{seed}", seed, numbers=(0,)) for seed in (0, 1)]
    (pair,) = compare(one, options).pairs
    assert (pair.accuracy_of, list(pair.everything.estimators)) == ("base", ["base", "margin"])
    base = [run.accuracy for run in report(one, SCORES).runs]
    assert pair.everything.accuracy is not None
    assert [pair.everything.accuracy.first, pair.everything.accuracy.second] == base

    def as_marker(manifest):
        return replace(manifest, templates=(replace(manifest.templates[0], kind="verbal", marker="possibly"),))

    markers = [run_of(tmp_path / f"marker{seed}", seed, as_marker, numbers=(5,)) for seed in (0, 1)]
    with pytest.raises(UsageError, match="for base, margin, average_min; give --estimator of marker_"):
        compare(markers, options)
    (pair,) = compare(markers, replace(options, estimators=("marker_possibly",))).pairs
    assert (pair.accuracy_of, pair.everything.accuracy, pair.everything.agreement) == (None, None, None)
    assert (pair.nearest_domain, pair.domains) == (None, ())
    assert pair.everything.estimators["marker_possibly"]["brier"].difference.p_value <= 1


def test_estimators_that_there_are_not(runs: tuple[str, str]) -> None:
    with pytest.raises(
        UsageError,
        match="no pair has the templates, or shared candidates, for marker_75, sure; give --estimator of base, mar",
    ):
        compare(runs, CompareOptions(estimators=("base", "marker_75", "sure")))


@pytest.mark.parametrize("first_shares", [True, False])
def test_pmi_needs_candidates_that_instances_share_in_both_runs(tmp_path: Path, first_shares: bool) -> None:
    both = {"shared": lambda manifest: manifest, "own": with_relations(cardinality=None)}
    runs = [run_of(tmp_path / name, seed, change) for seed, (name, change) in enumerate(both.items())]
    with pytest.raises(
        UsageError, match="no pair has the templates, or shared candidates, for pmi; give --estimator of base"
    ):
        compare(runs if first_shares else runs[::-1], CompareOptions(estimators=("base", "pmi")))


def test_domains_of_an_import_are_the_other_runs(runs: tuple[str, str], tmp_path: Path) -> None:
    without = run_of(tmp_path / "without", 1, with_relations(domains=()))
    for pair in (compare([runs[0], without], OPTIONS).pairs[0], compare([without, runs[0]], OPTIONS).pairs[0]):
        assert [scope.domain for scope in pair.domains] == ["Arts", "Politics"]
    neither = run_of(tmp_path / "neither", 2, with_relations(domains=()))
    (pair,) = compare([without, neither], OPTIONS).pairs
    assert (pair.nearest_domain, pair.domains) == (None, ())


def test_without_instances_all_is_undefined(tmp_path: Path) -> None:
    paths = [run_of(tmp_path / name, edit=lambda piece: None) for name in "ab"]
    found = compare(paths, CompareOptions(scores=SCORES))
    (pair,) = found.to_json()["pairs"]
    assert pair["all"]["instances"] == 0
    nothing = {"value": None, "ci95": None}
    contrast = {"first": nothing, "second": nothing, "difference": nothing | dict.fromkeys(("p", "p_holm", "p_max_t"))}
    assert pair["all"]["accuracy"] == pair["all"]["estimators"]["margin"]["ace"] == contrast
    assert set(pair["all"]["agreement"].values()) == {None}
    assert pair["domains"] == {}


def test_runs_are_named_each_once(runs: tuple[str, str]) -> None:
    for given in (runs[:1] * 2, []):
        with pytest.raises(UsageError, match="name one run or more, each once"):
            compare(given)


def test_json(runs: tuple[str, str], found: Comparison) -> None:
    content = found.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert list(content) == ["runs", "pairs", "unpaired", "tests", "correction", "within"]
    assert (content["correction"], content["within"]) == ("holm", None)
    assert list(content["runs"]) == list(runs)
    assert content["runs"][runs[0]]["instances"] == 30
    (pair,) = content["pairs"]
    assert (pair["first"], pair["second"], pair["templates"]) == (*runs, [0, 1, 2])
    assert (pair["accuracy_of"], pair["differences"]) == ("bear_score", [])
    assert list(pair["domains"]) == ["Arts", "Politics"]
    brier, contrast = pair["all"]["estimators"]["base"]["brier"], found.pairs[0].everything.estimators["base"]["brier"]
    difference = contrast.difference
    assert brier["first"] == {"value": contrast.first.value, "ci95": [contrast.first.low, contrast.first.high]}
    assert brier["difference"] == {
        "value": difference.value,
        "ci95": [difference.low, difference.high],
        "p": difference.p_value,
        "p_holm": contrast.p_holm,
        "p_max_t": contrast.p_max_t,
    }
