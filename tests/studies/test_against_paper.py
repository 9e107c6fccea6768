"""A run's numbers beside the paper's: which figure stands beside which number, and what is said of differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from compared_runs import run_of, with_model, with_relations
from printed_tables import printed

from calprobe.analysis import Report, ReportOptions, RunReport, SliceOptions, compare_reductions, report
from calprobe.errors import UsageError
from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz
from calprobe.metrics import Estimate, Resampling
from calprobe.runs import Manifest, SourceRecord, TemplateRecord
from calprobe.studies.scored.against import GAP, against
from calprobe.studies.scored.paper_figures import (
    BesidePaper,
    Figure,
    PaperFigures,
    RunAgainst,
    paper_figures,
)
from calprobe.studies.scored.report_tables import report_sections
from calprobe.words import Reduction

QUICK = Resampling(6)
AS_THE_PAPER = ReportOptions(compat="kissling2026", resampling=QUICK, slices=SliceOptions("domain"))
GPT2 = with_model(name="gpt2", id="openai-community/gpt2")
NUMBERS = (0, 1, 2, 3, 4)


def of_bear(manifest: Manifest) -> Manifest:
    sources = {"probe": SourceRecord("bear", "dd" * 32), "template_set": SourceRecord("kissling2026", "ee" * 32)}
    return replace(GPT2(manifest), **sources)


@pytest.fixture(scope="module")
def paper() -> PaperFigures:
    return paper_figures()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """gpt2's made-up scores as if of all of BEAR, under five paraphrases."""
    path = run_of(tmp_path_factory.mktemp("runs") / "gpt2", numbers=NUMBERS, change=of_bear)
    complete = report(path, AS_THE_PAPER)
    return replace(complete, runs=(replace(complete.runs[0], facts=replace(complete.runs[0].facts, instances=7731)),))


def changed(found: Report, change: Callable[[Manifest], Manifest], **options: Any) -> Report:
    (run,) = found.runs
    recorded = replace(run.facts.recorded, manifest=change(run.manifest))
    runs = (replace(run, facts=replace(run.facts, recorded=recorded)),)
    return replace(found, runs=runs, options=replace(found.options, **options))


def beside(found: Report, paper: PaperFigures) -> RunAgainst:
    own = against(found, paper).runs[0].against
    assert own is not None
    return own


def test_bundled_figures(paper: PaperFigures) -> None:
    assert len(paper.models) == 16
    scores = {model: figure.value for model, own in paper.models.items() for figure in own if figure.table == "3"}
    assert len(scores) == 16
    # Not the domains' accuracies, which stand at these models' places in the tables as they were published here.
    small = ("gpt2", "gpt2-medium", "gpt2-large", "opt-125m", "opt-350m", "gpt2-xl")
    assert [scores[model] for model in small] == [0.128, 0.184, 0.215, 0.156, 0.19, 0.253]
    domains = {model: {f.of for f in own if f.table == "2"} for model, own in paper.models.items()}
    assert domains["gpt2-large"] == {"Biographical"}
    assert sum(map(bool, domains.values())) == 10
    assert all(0 <= figure.value <= 1 for own in paper.models.values() for figure in own)


def test_bundled_layout_is_read_back_as_written(paper: PaperFigures) -> None:
    written = json.loads(json.dumps(paper.to_json()))
    assert written["figures"]["gpt2"][0] == ["1", "base", "ace", None, 0.295]
    assert sum(map(len, written["figures"].values())) == sum(map(len, paper.models.values()))


@pytest.mark.parametrize(
    ("names", "model"),
    [
        (("facebook/opt-125m", None), "opt-125m"),
        (("gpt2", "openai-community/gpt2"), "gpt2"),
        (("mine", "/models/gpt2-xl/"), "gpt2-xl"),
        (("FacebookAI/RoBERTa-base",), "roberta-base"),
        (("gpt2-small", None), None),
        (("tiny-clm", "/models/tiny-clm"), None),
    ],
)
def test_models_go_by_the_last_part_of_a_name(paper: PaperFigures, names: tuple[str, ...], model: str | None) -> None:
    assert paper.model(*names) == model


def test_each_figure_stands_beside_its_number(found: Report, paper: PaperFigures) -> None:
    own, (run,) = beside(found, paper), found.runs
    metrics = {estimator.name: estimator.metrics for estimator in run.estimators}
    ours = {(r.figure.table, r.figure.estimator, r.figure.metric, r.figure.of): r.ours for r in own.rows}
    assert own.model == "gpt2"
    assert own.departures == ()
    assert own.left_out == (GAP,)
    assert ours["1", "base", "ace", None] == metrics["base"]["ace"]
    assert ours["1", "consistency_min", "brier", None] == metrics["consistency_min"]["brier"]
    assert ours["3", "", "bear_score", None] == run.bear_score
    assert ours["4", "average_vote_5", "brier", None] == metrics["average_vote_5"]["brier"]
    assert ours["B", "base", "accuracy", "sum"] == run.accuracy
    assert run.slices is not None
    arts = run.slices.slices[0]
    assert arts.name == "Arts"
    assert ours["2", "", "bear_score", "Arts"] == arts.bear_score
    assert ours["2", "margin", "brier", "Arts"] == arts.estimators["margin"]["brier"]
    expected = [f for f in paper.models["gpt2"] if f.table in "1234" or f.of == "sum"]
    assert [row.figure for row in own.rows] == expected
    assert len(expected) == 10 + 3 + 1 + 6 + 2


@pytest.mark.parametrize(
    ("interval", "inside"), [((0.2, 0.3), True), ((0.29, 0.31), True), ((0.296, 0.4), False), ((), None)]
)
def test_difference_and_interval(interval: tuple[float, ...], inside: bool | None) -> None:
    row = BesidePaper(Figure("1", "base", "ace", 0.295), Estimate(0.297, *interval))
    assert row.difference == pytest.approx(0.002, abs=1e-12)
    assert row.inside is inside
    assert row.to_json()["inside"] is inside
    assert row.to_json()["ours"]["ci95"] == (list(interval) or None)


def with_numbers(*numbers: int) -> Callable[[Manifest], Manifest]:
    return lambda manifest: replace(manifest, templates=tuple(TemplateRecord(n, "paraphrase") for n in numbers))


@pytest.mark.parametrize(
    ("change", "options", "clause"),
    [
        (lambda m: replace(m, probe=SourceRecord("mini", "ff" * 32)), {}, "probe mini, the paper's is BEAR"),
        (with_numbers(0, 2), {}, "paraphrases 0, 2, the paper's are 0 to 4"),
        (
            lambda m: replace(m, template_set=SourceRecord("calprobe", "ff" * 32)),
            {},
            "template set calprobe, the paper's is its own (--template-set kissling2026)",
        ),
        (
            lambda m: m,
            {"compat": None},
            "without --compat kissling2026, every token counts; lm-pub-quiz 0.3 left out each statement's first",
        ),
        (lambda m: m, {"ace_bins": 10}, "ACE of 10 bins, the paper's has 20"),
        (with_model(name="gpt2", adapter="mine"), {}, "with adapter mine"),
        (
            lambda m: replace(m, settings=replace(m.settings, pll_metric="original")),
            {},
            "PLL original, the paper's is within_word_l2r",
        ),
    ],
)
def test_each_departure_is_said(
    found: Report,
    paper: PaperFigures,
    change: Callable[[Manifest], Manifest],
    options: dict[str, Any],
    clause: str,
) -> None:
    own = beside(changed(found, change, **options), paper)
    assert own.departures == (clause,)
    assert own.rows


def test_templates_may_be_the_papers_by_content(found: Report, paper: PaperFigures, shared: Path) -> None:
    from calprobe.probes import load_probe
    from calprobe.statements import load_template_set

    bear = load_probe(shared / "bear" / "BEAR")
    templates = load_template_set(str(shared / "paper" / "metadata_relations_12_templates.json"), bear)
    names = [relation.name for relation in bear.relations]
    for numbers in (range(5), range(12)):
        source = SourceRecord("twelve.json", templates.fingerprint(names, numbers))
        assert beside(changed(found, lambda m, s=source: replace(m, template_set=s)), paper).departures == ()  # type: ignore[misc]


def test_what_has_no_number_is_named_with_the_fix(tmp_path: Path, paper: PaperFigures) -> None:
    path = run_of(tmp_path / "gpt2", numbers=(0,), change=of_bear)
    own = beside(report(path, ReportOptions(compat="kissling2026", resampling=QUICK)), paper)
    assert own.left_out[0].startswith("No number for average_vote_2, average_min, consistency_vote_2, ")
    assert own.left_out[1] == "Table 2 is of one domain, Arts: --by domain shows it."
    assert {row.figure.table for row in own.rows} == {"1", "B"}
    assert own.departures[0] == "part of BEAR: 30 instances in 3 relations of its 7,731 in 60"
    mean = beside(report(path, ReportOptions("mean", resampling=QUICK)), paper)
    assert {(row.figure.table, row.figure.of) for row in mean.rows} == {("B", "mean")}


def test_appendix_b_of_all_reductions(tmp_path: Path, paper: PaperFigures) -> None:
    path = run_of(tmp_path / "gpt2", numbers=NUMBERS, change=of_bear)
    (run,) = against(compare_reductions(path, ReportOptions(resampling=QUICK)), paper).runs
    assert run.against is not None
    assert [(r.figure.of, r.figure.metric) for r in run.against.rows] == [
        (reduction, metric) for reduction in get_args(Reduction) for metric in ("accuracy", "ace")
    ]
    by_reduction = {numbers.reduction: numbers for numbers in run.reductions}
    assert all(row.ours == getattr(by_reduction[row.figure.of], row.figure.metric) for row in run.against.rows)  # type: ignore[index]
    assert run.to_json()["against"]["model"] == "gpt2"


def of_factor(name: str) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        return replace(with_relations(scored="completion")(GPT2(manifest)), probe=SourceRecord(name, "dd" * 32))

    return change


def test_factor_has_table_6(tmp_path: Path, paper: PaperFigures) -> None:
    wiki = run_of(tmp_path / "wiki", numbers=(0,), change=of_factor("wiki_factor"))
    found = report(wiki, ReportOptions(resampling=QUICK))
    own, (run,) = beside(found, paper), found.runs
    assert run.accuracy == own.rows[0].ours
    assert [(r.figure.table, r.figure.estimator, r.figure.metric) for r in own.rows] == [
        ("6", "base", "accuracy"),
        ("6", "base", "ace"),
        ("6", "margin", "ace"),
        ("6", "base", "brier"),
        ("6", "margin", "brier"),
    ]
    assert own.rows[0].figure.value == 0.2695
    assert own.departures == ()
    assert own.left_out == ()


def test_another_set_of_factor_is_not_compared(tmp_path: Path, paper: PaperFigures) -> None:
    own = beside(
        report(run_of(tmp_path / "expert", change=of_factor("factor")), ReportOptions(resampling=QUICK)), paper
    )
    assert own.rows == ()
    assert own.left_out == ("Table 6 is of FACTOR's wiki set; P1376 is another.",)


def test_a_model_that_the_paper_lacks(tmp_path: Path, found: Report, paper: PaperFigures) -> None:
    other = report(run_of(tmp_path / "other"), AS_THE_PAPER)
    with pytest.raises(UsageError, match=r"^--against: tiny: not among the paper's models; they are bert-base-cased, "):
        against(other, paper)
    both = against(replace(found, runs=(*found.runs, *other.runs)), paper)
    assert [run.against.model for run in both.runs if run.against] == ["gpt2", None]
    assert both.runs[1].against is not None
    assert both.runs[1].against.left_out[0].startswith("tiny is not among the paper's models: bert-base-cased, ")


def drawn(found: Report) -> str:
    return printed(report_sections(found))


def test_the_table_and_the_json(found: Report, paper: PaperFigures) -> None:
    text = drawn(against(found, paper))
    rows = beside(found, paper).rows
    (line,) = [line for line in text.splitlines() if line.startswith("  average_min ACE ")]
    row = next(r for r in rows if (r.figure.estimator, r.figure.metric) == ("average_min", "ace"))
    cells = line.split()
    assert (cells[2], *cells[4:6]) == (f"{row.ours.value:.4f}", "0.1000", f"{row.difference:+.4f}")
    assert "DIFFERENT FROM THE PAPER" not in text
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "against" not in found.to_json()[found.runs[0].label]
    written = against(found, paper).to_json()[found.runs[0].label]["against"]
    assert [one["paper"] for one in written["rows"]] == [row.figure.value for row in rows]
    assert json.loads(json.dumps(written, allow_nan=False)) == written


def test_published_scores_of_gpt2_are_a_part_of_bear(shared: Path, tmp_path: Path, paper: PaperFigures) -> None:
    import_lm_pub_quiz(shared / "lm_pub_quiz_gpt2", tmp_path / "gpt2")
    found = report(tmp_path / "gpt2", ReportOptions(resampling=QUICK))
    text = " ".join(drawn(against(found, paper)).split())
    assert "DIFFERENT FROM THE PAPER: part of BEAR: 1,053 instances in 10 relations of its 7,731 in 60; " in text
    own = beside(found, paper)
    assert isinstance(found.runs[0], RunReport)
    assert {row.figure.value: row.ours for row in own.rows}[0.14901] == found.runs[0].accuracy
