"""What is said of runs and their numbers, word for word; every writer takes its sentences from here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compared_runs import run_of
from run_samples import write_run

from calprobe.analysis import Report, ReportOptions, RunReport, SliceOptions, compare_reductions, report
from calprobe.cells.asked_extent import NOT_A_SAMPLE
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Estimate, Resampling
from calprobe.runs import StartToken
from calprobe.runs.run_progress import Progress
from calprobe.show import prose
from calprobe.show.tables.labels import TableName
from calprobe.studies.scored import notes as scored_notes
from calprobe.studies.scored.against_table import against_notes, against_table
from calprobe.studies.scored.paper_figures import RunAgainst
from calprobe.studies.scored.reductions_table import reductions_remarks

QUICK = ReportOptions(resampling=Resampling(6))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(write_run(tmp_path_factory.mktemp("runs") / "complete"), QUICK)


@pytest.fixture(scope="module")
def run(found: Report) -> RunReport:
    return found.runs[0]


@pytest.fixture(scope="module")
def facts(run: RunReport) -> RunFacts:
    return replace(run.facts, label="runs/x")


def with_settings(run: RunFacts, **changes: Any) -> RunFacts:
    manifest = replace(run.manifest, settings=replace(run.manifest.settings, **changes))
    return replace(run, recorded=replace(run.recorded, manifest=manifest))


def with_model(run: RunFacts, **changes: Any) -> RunFacts:
    manifest = replace(run.manifest, model=replace(run.manifest.model, **changes))
    return replace(run, recorded=replace(run.recorded, manifest=manifest))


def test_the_heading_says_what_was_scored_and_how(facts: RunFacts) -> None:
    begun = with_settings(with_model(facts, note="rounded to Q4_1"), start_token=StartToken("[BOS]", 0))
    assert prose.heading(begun) == (
        "runs/x: complete; path padded, dtype float32, start token [BOS], template set native (0-1)",
        "model tiny, causal: rounded to Q4_1",
        "probe made-up: 9 instances in 3 relations, K = 3 to 5 candidates",
    )
    one = replace(facts, instances=1, relations=1, candidates=(1, 1))
    assert prose.heading(one)[2] == "probe made-up: 1 instance in 1 relation, K = 1 candidate"


def test_the_heading_of_a_part_of_a_probe(facts: RunFacts) -> None:
    fewer = tuple(replace(r, n_in_probe=60) for r in facts.manifest.relations)
    manifest = replace(facts.manifest, relations=fewer, limit=4, sample_seed=0, n_probe_relations=60)
    limited = replace(facts, recorded=replace(facts.recorded, manifest=manifest))
    said = "4 of each relation (sampled), 3 of 60 relations"
    assert prose.heading(limited)[0].startswith(f"runs/x: LIMITED: {said}; path padded")
    assert prose.size_and_state(limited) == f"9 instances in 3 relations (limited: {said})"
    assert prose.state(replace(limited, relations=1)) == f"PARTIAL, 1 of 3 relations, {NOT_A_SAMPLE}; LIMITED: {said}"
    assert prose.left_out(facts) == ""
    what = {"instances": 4, "drawn": "sample", "seed": 0, "relations": 3, "probe_relations": 60}
    assert (facts.to_json()["limited"], limited.to_json()["limited"]) == (None, what)


def test_the_heading_counts_candidates_with_the_same_tokens(facts: RunFacts) -> None:
    known = tuple(replace(r, n_same_tokens=place) for place, r in enumerate(facts.manifest.relations))
    twins = replace(facts, recorded=replace(facts.recorded, manifest=replace(facts.manifest, relations=known)))
    assert prose.heading(twins)[2].endswith("K = 3 to 5 candidates; 3 candidates with the same tokens as another")
    assert (twins.to_json()["same_tokens"], facts.to_json()["same_tokens"]) == (3, None)


def test_the_heading_of_a_partial_run(facts: RunFacts) -> None:
    partial = replace(facts, relations=1)
    assert prose.heading(partial)[0].startswith(f"runs/x: PARTIAL, 1 of 3 relations, {NOT_A_SAMPLE}; path padded")
    assert prose.size_and_state(partial) == "9 instances in 1 relation (partial run, 1 of 3 relations)"


@pytest.mark.parametrize(
    ("word_split", "shown"),
    [("unicode", "PLL original, word split unicode"), (None, "PLL original, word split not known")],
)
def test_a_masked_run_says_what_was_masked(facts: RunFacts, word_split: str | None, shown: str) -> None:
    masked = with_settings(facts, path="masked", pll_metric="original", word_split=word_split)
    assert prose.how_scored(masked) == f"path masked, dtype float32, {shown}, template set native (0-1)"


def test_accuracies(run: RunReport) -> None:
    estimate = Estimate(0.25, 0.1, 0.4)
    assert scored_notes.accuracies(replace(run, accuracy=estimate, bear_score=estimate)) == (
        "accuracy 0.2500 (.100-.400); chance 0.2704 (mean 1/K)",
        "mean accuracy over 2 paraphrases 0.2500 (.100-.400)",
    )


def test_only_bear_in_its_own_wordings_has_a_bear_score(run: RunReport, found: Report) -> None:
    def of_bear(template_set: str) -> RunReport:
        own = run.manifest
        manifest = replace(
            own, probe=replace(own.probe, name="bear"), template_set=replace(own.template_set, name=template_set)
        )
        return replace(run, facts=replace(run.facts, recorded=replace(run.facts.recorded, manifest=manifest)))

    native, ours = of_bear("native"), of_bear("calprobe")
    assert scored_notes.accuracies(native)[1].startswith("BEAR score 0.")
    assert scored_notes.accuracies(native)[1].endswith(": mean accuracy over BEAR's own 2 paraphrases")
    assert scored_notes.accuracies(ours)[1].startswith("mean accuracy over 2 paraphrases 0.")
    assert prose.mean_accuracy_name([native.facts]) == "BEAR score"
    assert prose.mean_accuracy_name([native.facts, ours.facts]) == "mean accuracy"
    notes = [list(scored_notes.report_notes(replace(found, runs=(one,))))[-1] for one in (native, ours, run)]
    assert [note.startswith("NOT A BEAR SCORE") for note in notes] == [False, True, False]
    assert "--template-set native" in notes[1]


def test_remarks_on_what_a_run_lacks(run: RunReport) -> None:
    assert list(scored_notes.remarks(run)) == []
    assert list(map(prose.sentence, scored_notes.remarks(replace(run, accuracy=None, bear_score=None)))) == [
        "No accuracy and no estimators on one template: the run has neither template 0 nor a paraphrase.",
        "No mean accuracy over paraphrases and no estimators over them: they need two paraphrases or more.",
    ]


def test_notes_on_a_handful_of_relations() -> None:
    options = replace(QUICK, cluster="relation")
    assert list(prose.cluster_notes(3, options)) == [
        "no intervals and no p-values by relation: 3 relations, fewer than 10"
    ]
    (narrow,) = prose.cluster_notes(17, options)
    assert narrow.startswith("intervals by relation are somewhat too narrow with 17 relations, fewer than 30")
    assert list(prose.cluster_notes(30, options)) == []
    assert list(prose.cluster_notes(3, QUICK)) == []
    assert list(prose.cluster_notes(3, replace(QUICK, cluster="within-relation"))) == []


def test_notes_on_scores_and_ranges() -> None:
    scores, ranges = prose.score_notes("mean", replace(QUICK, compat="kissling2026", cluster="relation"))
    assert scores.startswith("Scores: reduction mean, compat kissling2026. Confidence is normalised over the K cand")
    assert ranges == "Ranges: 95 % bootstrap intervals (6 resamples of the relations, each drawn completely, seed 0)."
    assert "(6 resamples of the instances, seed 0)" in list(prose.score_notes("sum", QUICK))[1]
    assert len(list(prose.score_notes("sum", ReportOptions(resampling=Resampling(0))))) == 1


def test_failed_is_explained_where_something_failed(found: Report) -> None:
    first = found.runs[0].estimators[0]
    for failed, last in (
        (0, "Ranges: "),
        (1, "Failed: no prediction (a tied or failed vote, or no scores); counted "),
    ):
        run = replace(found.runs[0], estimators=(replace(first, failed=failed),))
        assert list(scored_notes.report_notes(replace(found, runs=(run,))))[-1].startswith(last)


def test_the_cause_of_failures_under_compat_and_mean_answer(found: Report) -> None:
    base = replace(found.runs[0].estimators[0], name="base", failed=7)
    run = replace(found.runs[0], estimators=(base,))
    cause = (
        "Cause of 7 failures: compat kissling2026 leaves out the first token of each statement, and an answer of one"
    )
    for compat, reduction, said in (
        ("kissling2026", "mean_answer", True),
        ("kissling2026", "sum_answer", False),
        (None, "mean_answer", False),
    ):
        options = replace(found.options, compat=compat, reduction=reduction)
        notes = list(scored_notes.report_notes(replace(found, runs=(run,), options=options)))
        assert any(note.startswith(cause) for note in notes) == said


def test_what_stands_below_an_estimator(run: RunReport) -> None:
    base = replace(run.estimators[0], failed=0, fitted=())
    many = replace(base, instances=600)
    assert list(scored_notes.estimator_notes(many)) == []
    assert base.metrics["accuracy"].value == pytest.approx(5 / 9)
    assert list(scored_notes.estimator_notes(base)) == ["AUROC of 4 wrong"]
    fitted = replace(base, failed=1234, fitted=(1.551, 1.7149, 1.6))
    assert list(scored_notes.estimator_notes(fitted)) == ["1,234 failed", "T 1.55-1.71"]
    assert list(scored_notes.estimator_notes(replace(base, fitted=(1000.0, 1000.0)))) == ["T 1000 (limit)"]
    assert list(scored_notes.estimator_notes(replace(base, fitted=(0.0012, 1.5)))) == ["T 0.0012-1.5 (limit)"]


def test_groups_say_what_they_read(run: RunReport) -> None:
    base = replace(run.estimators[0], templates=(0,))
    assert scored_notes.group_title("intrinsic", [base]) == ("intrinsic (probabilities under one wording): template 0")
    assert scored_notes.group_title("beyond the paper", [base]) == "beyond the paper: template 0"


def test_the_cost_of_scoring(facts: RunFacts) -> None:
    spent = replace(facts.progress, statements=1200, tokens=34567, wall_s=8.4)
    known = replace(facts, recorded=replace(facts.recorded, progress=spent))
    assert list(prose.cost(known)) == ["34,567 tokens of 1,200 statements scored in 8 s"]
    assert known.to_json()["cost"] == {"statements": 1200, "tokens": 34567, "seconds": 8.4}
    imported = replace(facts, recorded=replace(facts.recorded, progress=Progress(pieces=4, statements=1200)))
    assert list(prose.cost(imported)) == []
    assert imported.to_json()["cost"] == {"statements": None, "tokens": None, "seconds": None}


def test_templates_that_estimators_read(run: RunReport) -> None:
    base = replace(run.estimators[0], templates=(0,))
    assert scored_notes.templates_read([base, replace(base, name="margin")]) == "template 0"
    assert scored_notes.templates_read([replace(base, templates=(0, 1, 2, 4))]) == "templates 0-2,4"
    other = replace(base, name="mixture", templates=(0, 1))
    assert scored_notes.templates_read([base, other]) == "template 0 or templates 0-1"
    markers = [replace(base, name=f"marker_{n}", templates=(n,)) for n in (5, 6, 7, 9)]
    assert scored_notes.templates_read(markers) == "templates 5-7,9, one each"
    assert scored_notes.templates_read(markers[:1:-1]) == "template 9 or template 7"


def test_what_the_wording_changes(run: RunReport) -> None:
    assert run.sensitivity is not None
    assert run.uncertainty is not None
    known = replace(run.sensitivity, accuracy=np.array([0.5, 0.25]), msd=Estimate(0.125, 0.1, 0.2), failed=1)
    facts = dict(prose.wording_facts(known, replace(run.uncertainty, epistemic=Estimate(0.5), rho=0.75)))
    assert facts["accuracy of base"] == "0.2500 to 0.5000, spread 0.2500"
    assert facts["MSD"] == "0.1250 (.100-.200), spread of p of template 0's answer"
    assert facts["  epistemic"] == "0.5000, between paraphrases; rho 0.7500"
    assert facts["failed"] == "1 instance, left out of all but accuracy and ACE"


def test_remarks_on_reductions(found: Report) -> None:
    (own,) = compare_reductions(found.runs[0].label, QUICK).runs
    assert list(reductions_remarks(own)) == ["base: template 0"]
    assert list(reductions_remarks(replace(own, template=None, unknown=("mean", "mean_answer")))) == [
        "no accuracy: the run has neither template 0 nor a paraphrase",
        "not known to this import: mean, mean_answer",
    ]


def test_notes_on_slices(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = run_of(tmp_path_factory.mktemp("runs") / "run")
    options = replace(QUICK, slices=SliceOptions("domain"))
    found = report(path, options).runs[0].slices
    assert found is not None
    domains, bins, biased = prose.slice_notes(found, options)
    assert domains == "A relation of two domains counts in both."
    assert bins.startswith("ACE: 4 to 20 quantile bins, by instances. If cal.: ACE of a perfectly calibrated model")
    assert biased.startswith("ACE of fewer than 500 instances (2 slices: Arts, Politics) is too large by chance; ")
    assert prose.slice_size(found.slices[0]) == "22, K 3.5"
    part = replace(found.slices[0], relations=("P30",), instances=500)
    single = replace(found, by="relation", slices=(part,))
    assert list(prose.slice_notes(single, replace(options, slice_bins=2, cluster="relation"))) == [
        "ACE: 2 bins. If cal.: ACE of a perfectly calibrated model with these confidences, mean and 95 % of draws.",
        "--cluster relation: a slice of fewer than 10 relations has no interval.",
    ]


def test_notes_on_the_papers_numbers(run: RunReport) -> None:
    found = RunAgainst("the paper", "gpt2", ("one thing", "another"), ("Left out.",), ())
    assert list(against_notes(found)) == [
        "Against the paper, model gpt2.",
        "DIFFERENT FROM THE PAPER: one thing; another.",
        "Left out.",
    ]
    assert against_table(run.facts, found, TableName("gpt2", "gpt2")).notes == ()
