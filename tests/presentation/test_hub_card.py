"""The block of a model card, read by the hub's own library."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from asked_samples import question_set, write_asked
from huggingface_hub import EvalResult, ModelCard, metadata_load, metadata_update
from run_samples import make_manifest, make_piece, without_tokens, write_run

import calprobe
from calprobe.analysis import ReportOptions
from calprobe.errors import UsageError
from calprobe.metrics import Resampling
from calprobe.presentation.hub_card import hub_card
from calprobe.runs import AskedRun, Run, RunFolder, SourceRecord, open_run

SCORES = ReportOptions(resampling=Resampling(0))
REPLIES = ReportOptions(resampling=Resampling(0))


def read_by_the_hub(block: str, folder: Path) -> tuple[str, list[EvalResult]]:
    """The model's name and the results, as the hub's library finds them in a README.md."""
    (folder / "README.md").write_text(f"---\nlicense: mit\n{block}---\n# A model\n", encoding="utf-8")
    card = ModelCard.load(folder / "README.md")
    assert metadata_load(folder / "README.md")["license"] == "mit"  # type: ignore[index]
    return card.data.model_name, card.data.eval_results


def scored(path: Path, **changes: Any) -> Run:
    """A run of another manifest."""
    manifest = replace(make_manifest(), **changes)
    folder = RunFolder.open(path, manifest)
    for name, number in manifest.pieces:
        record = manifest.relation(name)
        folder.write_piece(without_tokens(make_piece((name, record.n_instances, record.n_candidates), number)))
    found = open_run(path)
    assert isinstance(found, Run)
    return found


def test_each_number_of_scores_is_that_of_the_report(tmp_path: Path) -> None:
    run = open_run(write_run(tmp_path / "run"))
    assert isinstance(run, Run)
    name, results = read_by_the_hub(hub_card(run, SCORES, "https://example.org/run"), tmp_path)
    assert name == "tiny"
    (own,) = calprobe.report(run, SCORES).runs
    names = {"brier_score": "brier", "roc_auc": "auroc"}
    estimators = {estimator.name: estimator for estimator in own.estimators}
    for result in results:
        assert result.metric_args is not None
        estimator = estimators[result.metric_args["estimator"]]
        metric = names.get(result.metric_type, result.metric_type)
        assert result.metric_value == (estimator.coverage if metric == "coverage" else estimator.metrics[metric]).value
        assert result.metric_name.endswith(f"({estimator.name})")
    shown = [result for result in results if result.metric_args["estimator"] == "base"]
    assert [result.metric_type for result in shown] == [
        *("accuracy", "mean_confidence", "ace", "ece", "brier_score", "roc_auc")
    ]
    first = shown[0]
    assert (first.task_type, first.task_name) == ("text-generation", "knowledge probing")
    assert (first.dataset_type, first.dataset_name) == ("made-up", "made-up")
    assert first.dataset_config == "template set native (0,1)"
    assert (first.source_name, first.source_url) == ("calprobe 0.1.0", "https://example.org/run")
    assert shown[2].metric_args is not None
    assert shown[2].metric_args["ace_bins"] == 20
    assert first.metric_args == {
        "estimator": "base",
        "templates": "0",
        "probe": "made-up",
        "template_set": "native",
        "instances": 9,
        "reduction": "sum",
        "dtype": "float32",
        "calprobe": "0.1.0",
    }
    assert all(math.isfinite(result.metric_value) for result in results)


def test_a_known_probe_and_a_part_of_it_are_named_as_such(tmp_path: Path) -> None:
    made = make_manifest()
    changes = {
        "probe": SourceRecord("bear", "bb" * 32),
        "model": replace(made.model, kind="masked"),
        "limit": 2,
        "relations": tuple(replace(own, n_in_probe=60) for own in made.relations),
        "n_probe_relations": 60,
    }
    result = read_by_the_hub(hub_card(scored(tmp_path / "run", **changes), SCORES), tmp_path)[1][0]
    assert (result.task_type, result.dataset_type) == ("fill-mask", "lm-pub-quiz/BEAR")
    assert result.dataset_config == "BEAR, template set native (0,1), 2 of each relation (the first), 3 of 60 relations"
    assert result.source_url is None


def test_replies_have_their_readers_and_variants(tmp_path: Path) -> None:
    own = question_set()
    source = replace(own.source, repository="cais/mmlu", revision="c" * 40, split="test", rule="first", available=90)
    write_asked(tmp_path / "run", replace(own, source=source))
    run = open_run(tmp_path / "run")
    assert isinstance(run, AskedRun)
    results = read_by_the_hub(hub_card(run, REPLIES), tmp_path)[1]
    (report,) = calprobe.report(run, REPLIES).runs
    cells = {cell.variant: cell for cell in report.reports()}
    for result in results:
        assert result.metric_args is not None
        cell, args = cells[result.metric_args["variant"]], result.metric_args
        if result.metric_type == "accuracy":
            value = cell.accuracy[args["reader"]].value
        elif result.metric_type == "coverage":
            value = cell.estimators[args["estimator"]].coverage
        else:
            metric = {"brier_score": "brier", "roc_auc": "auroc"}.get(result.metric_type, result.metric_type)
            value = cell.estimators[args["estimator"]].metrics[metric]
        assert result.metric_value == value.value
    assert {result.metric_args["variant"] for result in results if result.metric_args} == set(cells)
    first = results[0]
    assert (first.dataset_type, first.dataset_split, first.dataset_revision) == ("cais/mmlu", "test", "c" * 40)
    assert (first.dataset_name, first.dataset_config) == ("sums", "6 of 90 questions")
    assert (first.metric_name, first.task_type) == (
        f"accuracy (last_marker, {next(iter(cells))})",
        "question-answering",
    )


def test_what_would_say_too_much_is_refused(tmp_path: Path) -> None:
    folder = RunFolder.open(tmp_path / "part", make_manifest())
    folder.write_piece(without_tokens(make_piece(("P30", 4, 3))))
    part, run = open_run(tmp_path / "part"), open_run(write_run(tmp_path / "run"))
    assert isinstance(part, Run)
    assert isinstance(run, Run)
    with pytest.raises(UsageError, match="a card of a partial run would say too much"):
        hub_card(part, SCORES)
    with pytest.raises(UsageError, match="no address"):
        hub_card(run, SCORES, "example.org")
    with pytest.raises(UsageError, match="--compat audit2026 is of runs of replies"):
        hub_card(run, ReportOptions(compat="audit2026"))


def test_the_hubs_library_puts_blocks_of_several_runs_into_one_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("---\nlicense: mit\n---\n# A model\n")
    load = ModelCard.load  # the card of the model on the hub is a file here
    monkeypatch.setattr(ModelCard, "load", lambda *_, **__: load(readme))
    monkeypatch.setattr(ModelCard, "push_to_hub", lambda card, *_, **__: card.save(readme))
    first, second = open_run(write_run(tmp_path / "a")), open_run(write_run(tmp_path / "b", numbers=(0,)))
    assert isinstance(first, Run)
    assert isinstance(second, Run)
    blocks = [hub_card(run, SCORES) for run in (first, second, first)]
    for block in blocks:
        metadata_update("owner/tiny", yaml.safe_load(block))
    (index,) = metadata_load(readme)["model-index"]  # type: ignore[index]
    assert [result["dataset"]["config"] for result in index["results"]] == [
        "template set native (0,1)",
        "template set native (0)",
    ]
    numbers = [yaml.safe_load(block)["model-index"][0]["results"][0]["metrics"] for block in blocks[:2]]
    assert [result["metrics"] for result in index["results"]] == numbers
    assert readme.read_text().endswith("# A model\n")
