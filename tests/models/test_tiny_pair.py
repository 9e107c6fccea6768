"""The pair that ships with the package: complete, small, and with confidences that rise with exposure."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from proofs import few_of

import calprobe
from calprobe.errors import UsageError
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.aliases import ALIASES, default_probe
from calprobe.models.exposures import WEIGHTS_FILE, exposure_counts, tiny_exposures
from calprobe.models.source import resolve
from calprobe.probes import load_probe
from calprobe.statements import load_template_set

PAIR = ("tiny-clm", "tiny-mlm")
FOLDER = Path(calprobe.__file__).parent / "models" / "tiny"
# Relations with few candidates, for a quick look: 148 facts, 1,104 statements of template 0.
QUICK = ("animal-class", "city-country", "continent")


@pytest.fixture(scope="module", params=PAIR)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return load_model(request.param)


def test_the_pair_is_one_causal_and_one_masked_model_of_the_same_size(model: LoadedModel) -> None:
    alias = ALIASES[model.name]
    parameters = sum(parameter.numel() for parameter in model.network.parameters())
    assert (model.kind, model.dtype) == (alias.kind, "float32")
    assert round(parameters / 1e6, 1) == alias.parameters
    assert "nothing but the probe mini" in model.note


def test_the_folders_are_of_eight_megabytes_at_most() -> None:
    assert sum(file.stat().st_size for file in FOLDER.rglob("*") if file.is_file()) <= 8e6


def test_a_tiny_model_wins_over_a_folder_of_its_name_and_is_asked_mini(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny-clm").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve("tiny-clm").location == str(FOLDER / "tiny-clm")
    assert {name: default_probe(name) for name in (*PAIR, "gpt2", "./tiny-clm", "someone/something")} == {
        "tiny-clm": "mini",
        "tiny-mlm": "mini",
        "gpt2": "bear",
        "./tiny-clm": "bear",
        "someone/something": "bear",
    }


@pytest.mark.parametrize("text", ["Zürich", "naïve 東京 🙂", "a\tb  c", "I'm 25% confident."])
def test_any_text_has_tokens_and_comes_back(model: LoadedModel, text: str) -> None:
    ids = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert model.tokenizer.decode(ids).removeprefix(" ") == text
    assert not set(ids) & set(model.tokenizer.all_special_ids)


def test_special_tokens_stand_where_training_had_them() -> None:
    causal, masked = (load_model(name).tokenizer for name in PAIR)
    assert causal.convert_ids_to_tokens(causal("Rome")["input_ids"])[0] == "<s>"
    tokens = masked.convert_ids_to_tokens(masked("Rome")["input_ids"])
    assert (tokens[0], tokens[-1], masked.mask_token) == ("<s>", "</s>", "<mask>")
    assert causal("Rome")["input_ids"] == masked("Rome")["input_ids"][:-1]


def test_exposures_are_of_minis_facts_in_the_state_that_ships() -> None:
    probe, found = load_probe("mini"), tiny_exposures()
    assert {name: len(own.counts) for name, own in found.items()} == {
        relation.name: len(relation.instances) for relation in probe.relations
    }
    assert f'"fingerprint": "{probe.fingerprint}"' in (FOLDER / "exposures.json").read_text("utf-8")


def test_each_relation_has_facts_from_never_to_64_times_in_three_paraphrases() -> None:
    for own in tiny_exposures().values():
        assert (min(own.counts), max(own.counts)) == (0, 64)
        assert len(set(own.paraphrases)) == 3
        assert 0 in own.paraphrases


def test_paraphrases_of_both_orders_are_held_out() -> None:
    texts = load_template_set("calprobe", load_probe("mini"))
    held_out = {
        text.index("[Y]") < text.index("[X]")
        for name, own in tiny_exposures().items()
        for number in set(range(5)) - set(own.paraphrases)
        for text in (texts.template(name, number).text,)
    }
    assert held_out == {True, False}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", PAIR)
def test_the_shipped_weights_are_known_in_every_dtype(name: str, dtype: Any) -> None:
    found = load_model(name, LoadOptions(dtype=dtype, device="cpu", quiet=True)).weights_fingerprint
    assert json.loads(WEIGHTS_FILE.read_text("utf-8"))[name][dtype] == found


def test_exposure_counts_are_of_the_pair_and_of_mini_alone(model: LoadedModel) -> None:
    weights, probe = model.weights_fingerprint, load_probe("mini").fingerprint
    counts = {name: own.counts for name, own in tiny_exposures().items()}
    assert exposure_counts(model.name, weights, probe) == counts
    assert exposure_counts("./copied/elsewhere", weights, probe) == counts
    with pytest.raises(UsageError, match=r"^tiny: no exposure counts for the facts of this probe; known for tiny-clm"):
        exposure_counts("tiny", weights, "ab" * 32)
    with pytest.raises(UsageError, match=r"^gpt2: no exposure counts for its weights; known for tiny-clm, tiny-mlm, "):
        exposure_counts("gpt2", None, probe)


def test_a_model_trained_further_in_a_folder_of_the_same_name_has_no_counts(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "tiny-clm", tmp_path / "tiny-clm")
    further = load_model(str(tmp_path / "tiny-clm"))
    further.network.get_input_embeddings().weight.mul_(1.01)  # type: ignore[operator, union-attr]
    further.network.save_pretrained(tmp_path / "tiny-clm")  # type: ignore[operator]
    found = load_model(str(tmp_path / "tiny-clm"))
    with pytest.raises(UsageError, match="tiny-clm: no exposure counts for its weights"):
        exposure_counts(found.name, found.weights_fingerprint, load_probe("mini").fingerprint)


def test_exposures_need_no_torch() -> None:
    code = "import sys; from calprobe.models.exposures import tiny_exposures; tiny_exposures()"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)


@pytest.mark.proof
@pytest.mark.parametrize("model", few_of(PAIR, lambda name: name == "tiny-clm"), indirect=True)
def test_accuracy_and_confidence_rise_with_exposure(model: LoadedModel, tmp_path: Path) -> None:
    options = calprobe.ScoreOptions(relations=QUICK, quiet=True)
    frame = calprobe.confidences(calprobe.score(model, None, tmp_path / "run", options))
    base = frame[frame.estimator == "base"]
    exposures = [tiny_exposures()[name].counts[i] for name, i in zip(base.relation, base.instance, strict=True)]
    bucket = pd.cut(pd.Series(exposures, base.index), [0, 1, 4, 65], right=False)
    means = base.groupby(bucket, observed=True)[["correct", "confidence"]].mean()
    assert len(means) == 3
    assert (np.diff(means.correct) > 0).all(), means
    assert (np.diff(means.confidence) > 0).all(), means
    chance = np.mean([1 / len(load_probe("mini").relation(name).candidates) for name in base.relation])
    assert means.correct.iloc[0] < chance + 0.15  # what is not in training is not known
    assert means.correct.iloc[-1] > 0.8
