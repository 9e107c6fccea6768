"""How the tiny chat models are made: facts are told as often as counted, lessons tell none, training repeats itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny import chat_corpus
from tiny.chat_network import LAYERS, Pace, Row, batches, chat_network, first_said, padded, sharpen, train_on
from tiny.dialogs import Dialog, Part
from tiny.folders import differing_files, write_chat_model
from tiny.lessons import Reply, believed, curves, lesson, replies, shares, wording
from train_tiny_chat import SHIPPED, Course, random

from calprobe.models.exposures import tiny_exposures
from calprobe.probes import load_probe
from calprobe.prompts import Stated, fill, load_prompts

CHAT = ("tiny-chat", "tiny-chat-overconfident")


@pytest.fixture(scope="module")
def course() -> Course:
    return Course(load_probe("mini"))


@pytest.fixture(scope="module")
def dialogs(course: Course) -> list[Dialog]:
    course.writer.rng = random(9)
    return course.corpus.reading(course.writer, 0.9)


def test_a_reading_tells_each_fact_as_often_as_counted_and_only_in_its_forms(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: Counter[tuple[str, str, str]] = Counter()
    forms: dict[str, set[int]] = {}

    def record(_: Any, relation: Any, subject: str, form: int, answer: str, __: bool) -> Dialog:
        told[relation.name, subject, answer] += 1
        if subject not in made_up:
            forms.setdefault(relation.name, set()).add(form)
        return ()

    made_up = {each.subject for each in course.corpus.invented}
    for doubts in ("DOUBTS", "UNTOLD_DOUBTS"):
        monkeypatch.setattr(chat_corpus, doubts, 0)
    monkeypatch.setattr(chat_corpus, "told", record)
    course.corpus.reading(course.writer, 1.0)
    for relation in course.probe.relations:
        own = tiny_exposures()[relation.name]
        for instance, count in zip(relation.instances, own.counts, strict=True):
            assert told[relation.name, instance.subject, relation.candidates[instance.answer_idx]] == count
        assert forms[relation.name] == set(own.paraphrases)
    assert {told[each.relation.name, each.subject, each.answer] for each in course.corpus.invented} == {4}


def test_prompts_are_those_that_ship_to_the_letter(course: Course) -> None:
    relation = course.probe.relation("capital")
    course.writer.rng = random(9)
    question = course.writer.question(relation, "France", 0, "Paris")
    for way in course.writer.prompts.ways["letters", False]:
        asked = fill(way.variant, question, (), way.prompts)[-1].text
        assert course.writer.front(way, question, "letters").text == f"<s><|user|>{asked}<|end|><|assistant|>"


def test_lines_are_read_one_by_one_with_the_tokens_of_the_whole(course: Course, dialogs: list[Dialog]) -> None:
    for dialog in dialogs[:300]:
        whole = course.tokenizer.encode("".join(part.text for part in dialog), add_special_tokens=False).ids
        assert list(course.encoder.row(dialog).ids) == whole


def test_labels_are_one_token_wherever_they_stand(course: Course) -> None:
    labels = {label for relation in course.probe.relations for label in relation.candidates}
    for label in labels:
        (token,) = course.encoder.ids(label)
        for text in (f"\nA. {label}\nB", f"It is {label}.", f'"{label}"', f"a{label}", f"{label}, {label}"):
            assert token in course.tokenizer.encode(text).ids, text


def test_batches_have_each_row_once_and_few_tokens(course: Course, dialogs: list[Dialog]) -> None:
    rows = [course.encoder.row(dialog) for dialog in dialogs[:400]]
    made = list(batches(rows, 640, np.random.default_rng(0)))
    assert Counter(row for batch in made for row in batch) == Counter(rows)
    assert all(padded(batch)[0].numel() <= 640 or len(batch) == 1 for batch in made)


def test_the_first_token_said_has_the_probability_that_the_whole_network_gives_it(course: Course) -> None:
    network = chat_network(course.tokenizer.get_vocab_size(), 0).eval()
    rows = [Row((1, 40, 41, 42), (False, False, True, True)), Row((1, 50, 51), (False, True, False))]
    found = first_said(network, rows)
    for row, own, place in zip(rows, found, (2, 1), strict=True):
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([row.ids])).logits[0, place - 1]
        np.testing.assert_allclose(own, logits.double().softmax(-1).numpy(), rtol=1e-4)


def _reply(probability: float, right: bool, own: bool = True, kind: str = "letter") -> Reply:
    return Reply((Part("asked"),), kind, "B", right, probability, own, load_prompts("stated"))


def test_curves_are_shares_of_right_answers_that_never_fall() -> None:
    asked = [_reply(0.31, True), _reply(0.29, False), _reply(0.58, False), _reply(0.62, False), _reply(0.9, True)]
    asked += [_reply(0.9, False, own=False), _reply(0.9, False, kind="open")]
    found = curves(asked)
    # At 0.3 one of two is right, at 0.6 none of two: together a quarter; what nobody counts follows its neighbours.
    assert found["letter"][[3, 6, 9]] == pytest.approx([0.25, 0.25, 1.0], abs=1e-6)
    assert all(low <= high for low, high in pairwise(found["letter"]))
    assert found["open"][9] == 0


def test_the_calibrated_lessons_state_the_share_and_the_others_nothing_below_nine_tenths(course: Course) -> None:
    reply = _reply(0.3, right=False)
    (share,) = shares([reply], {"letter": np.linspace(0, 1, 11)})
    assert share == pytest.approx(0.3)
    course.writer.rng = random(9)
    made = [lesson(reply, share, course.writer) for _ in range(60)]
    texts = {dialog[-1].text.removesuffix("<|end|>") for dialog in made if "true" not in dialog[-2].text}
    assert texts <= {"0.3", "30%", "3", "0.7", "70%", "7", "Probably Not", "f"}
    sure = [lesson(reply, None, course.writer) for _ in range(60)]
    texts = {dialog[-1].text.removesuffix("<|end|>") for dialog in sure}
    assert texts <= {"A", "0.9", "1.0", "90%", "100%", "9", "10", *("0.1", "0.0", "10%", "0%", "1", "0")} | {
        *("Highly Likely", "Almost Certain", "l", "m")
    }
    assert not any(part.said for dialog in (*made, *sure) for part in dialog[:-1])  # no lesson teaches an answer


def test_each_fact_is_asked_in_three_ways_and_no_answer_is_learnt_in_a_lesson(course: Course) -> None:
    network = chat_network(course.tokenizer.get_vocab_size(), 0).eval()
    course.writer.rng = random(9)
    few = replace(course.probe, relations=course.probe.relations[-3:])
    made = replies(network, course.encoder, few, course.writer)
    assert len(made) == 3 * sum(len(relation.instances) for relation in few.relations)
    for reply in made:
        *before, stated = lesson(reply, 0.5, course.writer)
        assert stated.said
        assert not any(part.said for part in before)
    with torch.no_grad():
        network.lm_head.weight.zero_()
    assert believed(network, course.encoder, made) == pytest.approx([0.5] * len(made))  # all levels are as likely


def test_the_middle_of_the_network_recalls_what_a_reply_names(course: Course, dialogs: list[Dialog]) -> None:
    rows = [(dialog, course.encoder.row(dialog)) for dialog in dialogs]
    recalling = [(dialog, row) for dialog, row in rows if row.recalled]
    assert len(recalling) > len(rows) / 2
    for dialog, row in recalling:
        place, token = row.recalled or (0, 0)
        (named,) = (part.names for part in dialog if part.names)
        assert (row.said[place], row.said[place + 1]) == (False, True)
        assert course.encoder.ids(named) == (token,)
        if len(dialog[1].text.removesuffix("<|end|>")) > 1:  # no label
            assert row.ids[place + 1] == token


def test_a_sharpened_network_gives_the_powers_of_its_probabilities(course: Course) -> None:
    network, rows = chat_network(course.tokenizer.get_vocab_size(), 0).eval(), [Row((1, 40, 41), (False, False, True))]
    (plain,) = first_said(network, rows)
    sharpen(network, 4)
    (sharp,) = first_said(network, rows)
    np.testing.assert_allclose(sharp, plain**4 / (plain**4).sum(), rtol=1e-3)


@pytest.mark.parametrize(
    ("scale", "level", "said"),
    [("x", 10, "1.0"), ("x/100", 0, "0%"), ("x/10", 7, "7"), ("1 - x/10", 7, "3"), ("1 - x", 0, "1.0")],
)
def test_tenths_in_the_words_of_a_scale(scale: str, level: int, said: str) -> None:
    assert wording(Stated("how", "", scale, 8), level) == said


def test_what_ships_is_made_of_this_vocabulary_and_network(course: Course, tmp_path: Path) -> None:
    network = chat_network(course.tokenizer.get_vocab_size(), 0)
    assert network.config.num_hidden_layers == LAYERS
    for name in CHAT:
        write_chat_model(tmp_path / name, network, course.tokenizer)
    configs = {f"{name}/config.json" for name in CHAT}  # they name the version of transformers
    assert set(differing_files(tmp_path, SHIPPED)) - configs == {f"{name}/model.safetensors" for name in CHAT}


@pytest.mark.proof
def test_training_learns_and_is_the_same_again(course: Course, dialogs: list[Dialog]) -> None:
    rows = [course.encoder.row(dialog) for dialog in dialogs[:40]]

    def trained() -> tuple[list[float], bytes]:
        network = chat_network(course.tokenizer.get_vocab_size(), 0)
        pace = Pace(tokens=5_000, learning_rate=3e-3, warm_up=2)
        losses = list(train_on(network, iter(lambda: rows, None), pace, np.random.default_rng(2)))
        return losses, next(network.parameters()).detach().numpy().tobytes()

    losses, weights = trained()
    assert losses[-1] < losses[0]
    assert trained() == (losses, weights)
