"""SmolLM2-135M-Instruct answers questions: against plain forward passes and `generate`, one prompt at a time."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from real_models import smollm2
from tiny_backends import LETTERS, asked, dialogue, next_logprobs

from calprobe.answers import closed_replies
from calprobe.backends import Decoding, Dialogue, FollowUp, Message
from calprobe.backends.local import TransformersBackend
from calprobe.models import LoadedModel
from calprobe.prompts import load_prompts
from calprobe.runs.replies import Reply

pytestmark = [pytest.mark.weights, pytest.mark.proof]

N_QUESTIONS = 5
TIE = 1e-4  # nats; two next tokens that are nearer may change places with the batch
FOLLOW_UPS = (
    FollowUp("final", "\n\nFinal answer:", Decoding(2), continues=True, labels=LETTERS),
    FollowUp("stated", "How sure are you, from 0 to 1?", Decoding(6)),
)


@cache
def backend() -> TransformersBackend:
    return TransformersBackend(smollm2())


def mmlu(shared: Path, n_questions: int, **changes: Any) -> list[Dialogue]:
    with gzip.open(shared / "questions" / "mmlu_test.jsonl.gz", "rt", encoding="utf-8") as lines:
        questions = [json.loads(line) for line in lines]
    drawn = random.Random(0).sample(questions, n_questions)
    return [mmlu_dialogue(f"q{place}", question, **changes) for place, question in enumerate(drawn)]


def mmlu_dialogue(name: str, question: dict[str, Any], **changes: Any) -> Dialogue:
    options = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, question["options"], strict=True))
    text = f"Choose the right option of this question.\n{question['question']}\n{options}\nIts letter:"
    return dialogue(text, name, **({"labels": LETTERS} | changes))


@torch.inference_mode()
def first_difference(reply: Reply) -> tuple[int, float] | None:
    """Where `generate` says another token, and how far apart the two are; None if it says the same."""
    model = smollm2()
    network: Any = model.network
    assert reply.prompt_ids is not None
    assert reply.token_ids is not None
    inputs = torch.tensor([reply.prompt_ids])
    output = network.generate(
        inputs,
        attention_mask=torch.ones_like(inputs),
        do_sample=False,
        max_new_tokens=8,
        eos_token_id=2,
        pad_token_id=2,
    )
    said = [token for token in output[0, len(reply.prompt_ids) :].tolist() if token != 2]
    for place, (ours, theirs) in enumerate(zip(reply.token_ids, said, strict=False)):
        if ours != theirs:
            own = next_logprobs(model, (*reply.prompt_ids, *reply.token_ids[:place]))
            return place, float(own[theirs] - own[ours])
    return None if len(said) == len(reply.token_ids) else (min(len(said), len(reply.token_ids)), float("inf"))


def test_label_probabilities_and_greedy_text_are_the_models_own(shared: Path) -> None:
    replies = asked(backend(), *mmlu(shared, N_QUESTIONS, follow_ups=FOLLOW_UPS))
    assert len(replies) == 3 * N_QUESTIONS
    for key, reply in replies.items():
        parts = first_difference(reply) if reply.stage == "answer" else None
        assert parts is None or parts[1] < TIE, f"{key} at token {parts[0]}: {parts[1]} nats apart"
        if reply.label_scores is not None:
            assert reply.prompt_ids is not None
            own = next_logprobs(smollm2(), reply.prompt_ids)
            expected = [own[list(forms)].logsumexp(0).item() for forms in reply.label_scores.forms]
            assert reply.label_scores.logprobs[0] == pytest.approx(expected, abs=1e-4)


def test_the_template_adds_its_own_system_turn_and_says_so() -> None:
    settings = backend().settings()
    assert settings["path"] == "shared"
    assert settings["thinking"] == "none"
    assert settings["chat_keeps_prompts"]
    assert settings["end_tokens"] == [2]
    header = settings["chat_header"]
    assert isinstance(header, str)
    assert header.startswith("<|im_start|>system\nYou are")
    replies = asked(
        backend(), dialogue("Hello!", decoding=Decoding(2)), dialogue("Hello!", "raw", decoding=Decoding(2), raw=True)
    )
    assert replies["q", "answer", 0].prompt == f"{header}Hello!<|im_end|>\n<|im_start|>assistant\n"
    assert replies["raw", "answer", 0].prompt == "Hello!"
    own = dialogue("", messages=(Message("system", "Be brief."), Message("user", "Hello!")), decoding=Decoding(2))
    assert "You are" not in asked(backend(), own)["q", "answer", 0].prompt


def test_labels_have_a_token_with_a_space_and_one_without() -> None:
    reply = asked(backend(), dialogue("Is it? A or B?", labels=("A", "B")))["q", "answer", 0]
    assert reply.label_scores is not None
    decoded = [{smollm2().tokenizer.decode([token]) for token in forms} for forms in reply.label_scores.forms]
    assert decoded[0] >= {"A", " A"}
    assert decoded[1] >= {"B", " B"}


def test_words_of_several_tokens_are_scored_as_sequences() -> None:
    words = ("entailment", "neutral", "contradiction")
    reply = asked(backend(), dialogue("Premise: it rains. Hypothesis: it is wet. Label:", labels=words))[
        "q", "answer", 0
    ]
    assert reply.label_scores is not None
    assert reply.prompt_ids is not None
    tokenizer = smollm2().tokenizer
    for word, logprob in zip(words, reply.label_scores.logprobs[0], strict=True):
        forms = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in (word, f" {word}")]
        if any(len(ids) == 1 for ids in forms):
            forms = [ids for ids in forms if len(ids) == 1]
        totals = [
            sum(next_logprobs(smollm2(), (*reply.prompt_ids, *ids[:at]))[token].item() for at, token in enumerate(ids))
            for ids in forms
        ]
        assert logprob == pytest.approx(torch.tensor(totals).logsumexp(0).item(), abs=1e-3)


def test_closed_sets_have_the_probabilities_of_plain_forwards() -> None:
    prompts, model = load_prompts("stated"), smollm2()
    stated = tuple(
        FollowUp(
            f"{each.name} {instead}",
            each.text,
            Decoding(4),
            instead=instead,
            closed=closed_replies(each.scale, each.expressions),
        )
        for each in {stated.scale: stated for stated in prompts.stated[::-1]}.values()
        for instead in (None, "Utah")
    )
    questions = [dialogue("Who wrote Hamlet?", "short"), dialogue("What is the capital of the state of Ohio?", "long")]
    replies = asked(backend(), *(replace(each, labels=(), follow_ups=stated) for each in questions))
    ends = sorted(backend()._turns.ends)
    for follow_up in stated:
        reply = replies["long", follow_up.stage, 0]
        assert reply.label_scores is not None
        places = range(0, len(follow_up.closed), max(1, len(follow_up.closed) // 3))
        for place in places:
            of_forms = [closed_logprob(model, reply, form, ends) for form in follow_up.closed[place]]
            expected = float(np.logaddexp.reduce(of_forms))
            assert reply.label_scores.logprobs[0, place] == pytest.approx(expected, abs=1e-3), follow_up.closed[place]


@torch.inference_mode()
def closed_logprob(model: LoadedModel, reply: Reply, form: str, ends: list[int]) -> float:
    """log of the probability of a form and then any end token, from a forward pass over it alone."""
    assert reply.prompt_ids is not None
    ids = model.tokenizer(form, add_special_tokens=False)["input_ids"]
    network: Any = model.network
    logits = network(input_ids=torch.tensor([[*reply.prompt_ids, *ids]]), use_cache=False).logits[0]
    logprobs = logits[len(reply.prompt_ids) - 1 :].log_softmax(1)
    return float(logprobs[range(len(ids)), ids].sum() + logprobs[-1, ends].logsumexp(0))
