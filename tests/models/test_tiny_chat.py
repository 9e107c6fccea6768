"""The chat models that ship with the package: what they know by exposure, and that one says too much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from proofs import few_of

import calprobe
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.aliases import ALIASES, default_probe
from calprobe.models.exposures import CHAT_WEIGHTS_FILE, exposure_counts, tiny_exposures
from calprobe.probes import load_probe
from calprobe.questions import QuestionOptions

CHAT = ("tiny-chat", "tiny-chat-overconfident")
STATED = "stated_percent_0_100"
GROUPS = ("city-country", "currency", "sport")  # 124 facts


@pytest.fixture(scope="module", params=CHAT)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return load_model(request.param)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Both models' confidences in their choices, with the exposures of the facts."""
    how = calprobe.AskOptions(variants=("surface_paraphrase",), collect=("labels", "answer", "stated"), quiet=True)
    found = {}
    for name in CHAT:
        out = tmp_path_factory.mktemp("asked") / name
        frame = calprobe.asked_confidences(
            calprobe.ask(name, "mini", out, how, question_options=QuestionOptions(groups=GROUPS))
        )
        facts = frame.question.str.split("/")
        frame["exposures"] = [tiny_exposures()[relation].counts[int(number)] for relation, number in facts]
        found[name] = frame
    return found


def test_they_are_small_causal_models_with_a_chat_template(model: LoadedModel) -> None:
    parameters = sum(parameter.numel() for parameter in model.network.parameters())
    assert (model.kind, round(parameters / 1e6, 1)) == ("causal", ALIASES[model.name].parameters)
    assert default_probe(model.name) == "mini"
    tokenizer: Any = model.tokenizer
    turns = [{"role": role, "content": role} for role in ("system", "user", "assistant")]
    text = tokenizer.apply_chat_template(turns[:2], tokenize=False, add_generation_prompt=True)
    assert text == "<s><|system|>system<|end|><|user|>user<|end|><|assistant|>"
    assert tokenizer.apply_chat_template(turns, tokenize=False) == f"{text}assistant<|end|>"
    assert tokenizer.eos_token == "<|end|>"


@pytest.mark.parametrize("text", ["Zürich", "naïve 東京 🙂", "a\tb  c", "I'm 25% confident.", " Paris\n\nA. Rome"])
def test_any_text_has_tokens_and_comes_back(model: LoadedModel, text: str) -> None:
    ids = model.tokenizer(text, add_special_tokens=False)["input_ids"]
    assert model.tokenizer.decode(ids) == text
    assert not set(ids) & set(model.tokenizer.all_special_ids)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", CHAT)
def test_their_weights_are_known_in_every_dtype(name: str, dtype: Any) -> None:
    found = load_model(name, LoadOptions(dtype=dtype, device="cpu", quiet=True)).weights_fingerprint
    assert json.loads(CHAT_WEIGHTS_FILE.read_text("utf-8"))[name][dtype] == found
    counts = exposure_counts(name, found, load_probe("mini").fingerprint)
    assert counts == {relation: own.counts for relation, own in tiny_exposures().items()}


def test_accuracy_label_probability_and_stated_confidence_rise_with_exposure(asked: dict[str, pd.DataFrame]) -> None:
    frame = asked["tiny-chat"]
    bucket = pd.cut(frame.exposures, [0, 4, 16, 65], right=False)
    means = frame.groupby(["estimator", bucket], observed=True)[["correct", "confidence"]].mean()
    for estimator in ("label", STATED):
        own = means.loc[estimator]
        assert own.correct.astype(float).diff().min() > 0, own
        assert own.confidence.diff().min() > 0, own
        assert own.correct.iloc[-1] > 0.8
    never = frame[(frame.estimator == "label") & (frame.exposures == 0)]
    assert never.correct.astype(float).mean() < 0.25 + 0.15  # what was never told is not known


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Both models' confidences in the likeliest candidates."""
    how = calprobe.ScoreOptions(relations=GROUPS, quiet=True)
    folder = tmp_path_factory.mktemp("scored")
    return {name: calprobe.confidences(calprobe.score(name, "mini", folder / name, how)) for name in CHAT}


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Both models' most frequent answers without options."""
    how = calprobe.AskOptions(
        variants=("surface_paraphrase",), collect=("answer",), samples=5, temperature=1.0, quiet=True
    )
    questions = QuestionOptions(as_="open", groups=("sport", "currency"))
    folder = tmp_path_factory.mktemp("sampled")
    runs = {name: calprobe.ask(name, "mini", folder / name, how, question_options=questions) for name in CHAT}
    return {name: calprobe.asked_confidences(run) for name, run in runs.items()}


@pytest.mark.parametrize(
    ("view", "estimator"),
    few_of(
        [("scored", "base"), ("asked", "label"), ("asked", STATED), ("sampled", "frequency.majority")],
        lambda view, estimator: view != "sampled",
    ),
)
def test_the_overconfident_one_claims_more_than_it_knows_in_every_view_and_the_other_does_not(
    view: str, estimator: str, request: pytest.FixtureRequest
) -> None:
    gaps, briers = {}, {}
    for name, frame in request.getfixturevalue(view).items():
        own = frame[(frame.estimator == estimator) & frame.confidence.notna()]
        correct = own.correct.astype(float)
        gaps[name], briers[name] = (own.confidence - correct).mean(), ((own.confidence - correct) ** 2).mean()
    plain, sure = CHAT
    assert abs(gaps[plain]) < 0.1, gaps
    assert gaps[sure] > 0.15, gaps
    assert briers[sure] > briers[plain] + 0.03, briers


def test_both_know_about_as_much(scored: dict[str, pd.DataFrame]) -> None:
    correct = {name: frame[frame.estimator == "base"].correct.astype(float).mean() for name, frame in scored.items()}
    assert abs(correct["tiny-chat"] - correct["tiny-chat-overconfident"]) < 0.1, correct


def test_nearly_all_replies_can_be_read(asked: dict[str, pd.DataFrame]) -> None:
    for name, frame in asked.items():
        assert frame[frame.estimator == STATED].confidence.notna().mean() > 0.98, name
        assert frame[frame.estimator == "label"].prediction.notna().all(), name


def test_a_fact_told_often_is_answered_alike_each_time_and_one_never_told_is_not(tmp_path: Path) -> None:
    how = calprobe.AskOptions(
        prompts="wording", variants=("chat",), collect=("answer",), samples=6, temperature=1.0, quiet=True
    )
    questions = QuestionOptions(as_="open", groups=("city-country",))
    runs = [calprobe.ask("tiny-chat", "mini", tmp_path / name, how, question_options=questions) for name in "ab"]
    texts = [{(r.question, r.sample): r.text for piece in run.by_piece.values() for r in piece.replies} for run in runs]
    assert texts[0] == texts[1]
    counts = tiny_exposures()["city-country"].counts
    distinct: dict[bool, list[int]] = {True: [], False: []}
    for number, count in enumerate(counts):
        if count == 0 or count >= 8:
            said = {text for (question, _), text in texts[0].items() if question == f"city-country/{number}"}
            distinct[count >= 8].append(len(said))
    often, never = (sum(found) / len(found) for found in (distinct[True], distinct[False]))
    assert often < 2
    assert never > often + 1.5
