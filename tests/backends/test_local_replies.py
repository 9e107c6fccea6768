"""Replies of tiny models of many architectures against their own forward passes and `generate`."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from asked_samples import make_ask_manifest, question_set
from proofs import few_of
from scipy.stats import chisquare
from tiny_backends import (
    LETTERS,
    TEMPLATE,
    asked,
    dialogue,
    generated,
    next_logprobs,
    own_logprobs,
    tiny_backend,
    tiny_model,
)
from tiny_models import QUICK
from tolerances import TINY_SCORE, TINY_STEPS

from calprobe.asking.request_identity import engine_hash
from calprobe.asking.run_manifest import backend_record
from calprobe.backends import Decoding, Dialogue, FollowUp, Message, Pending
from calprobe.backends.local import TransformersBackend
from calprobe.backends.local.chat import Prompt
from calprobe.backends.local.conversation import Conversation
from calprobe.backends.local.limits import in_order
from calprobe.backends.local.ragged import RaggedRunner
from calprobe.errors import UsageError
from calprobe.models.memory import is_out_of_memory
from calprobe.runs.asked_records import COMPUTING
from calprobe.runs.replies import Reply

TEXTS = (
    "Who?",
    "Who was it, and when did it happen?",
    "Answer with a letter. Which one?",
    "Answer with a letter. Why?",
    "x",
)
FOLLOW_UPS = (
    FollowUp("final", "\nAnswer:", Decoding(2), continues=True, labels=LETTERS),
    FollowUp("stated", "How sure?", Decoding(5)),
)
NOT_SHARED = {"bloom", "falcon-alibi", "mpt", "mamba", "rwkv", "falcon-h1"}
# Others differ from one of these in what no cache or mask sees.
ARCHITECTURES = NOT_SHARED | {"gpt2", "opt", "llama", "gemma2", "gemma3", "qwen3", "mistral", "phi", "cohere"}


def questions(named: str = "q", **changes: Any) -> list[Dialogue]:
    known: dict[str, Any] = {"labels": LETTERS, "follow_ups": FOLLOW_UPS} | changes
    return [dialogue(text, question=f"{named}{number}", **known) for number, text in enumerate(TEXTS)]


def same(ours: Reply, theirs: Reply, tolerance: float = TINY_SCORE) -> None:
    """Equal but for the last bits of logits."""
    assert (ours.token_ids, ours.prompt_ids, ours.text, ours.finish) == (
        *(theirs.token_ids, theirs.prompt_ids, theirs.text),
        theirs.finish,
    )
    assert ours.logprobs == pytest.approx(theirs.logprobs, abs=tolerance)
    assert (ours.label_scores is None) == (theirs.label_scores is None)
    if ours.label_scores is not None and theirs.label_scores is not None:
        assert ours.label_scores.positions.tolist() == theirs.label_scores.positions.tolist()
        assert ours.label_scores.logprobs == pytest.approx(theirs.label_scores.logprobs, abs=tolerance)


@pytest.mark.parametrize("architecture", few_of(sorted(ARCHITECTURES), QUICK.__contains__))
def test_replies_and_labels_are_the_models_own(architecture: str) -> None:
    model = tiny_model(architecture)
    backend = TransformersBackend(model)
    assert backend.settings()["path"] == ("generate" if architecture in NOT_SHARED else "shared")
    replies = asked(backend, *questions())
    assert len(replies) == 3 * len(TEXTS)
    for reply in replies.values():
        assert reply.prompt_ids is not None
        assert reply.token_ids is not None
        budget = {"answer": 8, "final": 2, "stated": 5}[reply.stage]
        assert reply.token_ids == generated(model, reply.prompt_ids, budget)
        assert reply.finish == ("length" if len(reply.token_ids) == budget else "stop")
        assert reply.logprobs is not None
        own = own_logprobs(model, reply)
        assert reply.logprobs == pytest.approx(
            [own[n, t].item() for n, t in enumerate(reply.token_ids)], abs=TINY_STEPS
        )
        if reply.stage != "stated":
            check_labels(model, reply)


def check_labels(model: Any, reply: Reply) -> None:
    scores = reply.label_scores
    assert scores is not None
    assert scores.labels == LETTERS
    every = {token for forms in scores.forms for token in forms}
    assert reply.token_ids is not None
    assert reply.prompt_ids is not None
    places = {0} | {place for place, token in enumerate(reply.token_ids) if token in every}
    assert scores.positions.tolist() == sorted(places)
    own = own_logprobs(model, reply)
    for place, logprobs in zip(scores.positions.tolist(), scores.logprobs, strict=True):
        expected = [own[place, list(forms)].logsumexp(0).item() for forms in scores.forms]
        assert logprobs == pytest.approx(expected, abs=TINY_STEPS)


@pytest.mark.parametrize("architecture", ["gemma2", "gemma3", "mistral"])
def test_conversations_longer_than_the_window(architecture: str) -> None:
    model = tiny_model(architecture)  # windows of 16
    long = [
        dialogue("word " * count, question=str(count), decoding=Decoding(24), labels=LETTERS) for count in (3, 9, 20)
    ]
    for reply in asked(TransformersBackend(model), *long).values():
        assert reply.prompt_ids is not None
        assert reply.token_ids == generated(model, reply.prompt_ids, 24)
        check_labels(model, reply)


@pytest.mark.parametrize(
    ("path", "dtype", "fused", "said"),
    [
        ("shared", "float32", True, ("ieee", "fused", "kernel")),
        ("shared", "bfloat16", False, (None, None, "torch")),  # its kernels were refused
        ("generate", "float32", True, ("ieee", None, None)),
    ],
)
def test_a_run_records_how_a_card_computes_and_asks_nothing_again_for_it(
    path: str, dtype: str, fused: bool, said: tuple[str | None, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend("llama" if path == "shared" else "mamba")
    on_cpu = backend_record(backend)
    assert (on_cpu.precision, on_cpu.layers, on_cpu.head) == (None, None, None)
    monkeypatch.setattr("calprobe.scoring.record.triton_takes", lambda array: True)
    monkeypatch.setattr(torch, "empty", lambda *_, **__: None)
    card = torch.device("cuda", 0)
    computing = replace(backend._computing, device=card, dtype=dtype, fused=fused, head_by_kernel=fused)
    monkeypatch.setattr(TransformersBackend, "_computing", computing)
    found = backend_record(backend)
    assert (found.precision, found.layers, found.head) == said
    assert found.settings == on_cpu.settings
    assert found.settings["path"] == path
    assert engine_hash(backend.model, found) == engine_hash(backend.model, on_cpu)
    manifest = replace(make_ask_manifest(question_set(2)), backend=found)
    recorded = {name: value for name, value in zip(COMPUTING, said, strict=True) if value is not None}
    assert {"layers": "the model's own"} | recorded == {
        name: value for name, value in manifest.recorded_only().items() if name in COMPUTING
    }
    assert not manifest.differences(replace(manifest, backend=on_cpu))


def test_follow_ups_grow_from_tokens() -> None:
    backend = tiny_backend(template=TEMPLATE)
    replies = asked(backend, dialogue("Who?", follow_ups=FOLLOW_UPS))
    answer, final, stated = (replies["q", stage, 0] for stage in ("answer", "final", "stated"))
    assert answer.prompt_ids is not None
    assert answer.token_ids is not None
    so_far = (*answer.prompt_ids, *answer.token_ids)
    for reply, behind in ((final, "\nAnswer:"), (stated, "</s>\n[user] How sure?</s>\n[assistant] ")):
        assert reply.prompt_ids is not None
        assert reply.prompt_ids[: len(so_far)] == so_far
        own = tiny_model(template=TEMPLATE).tokenizer(behind, add_special_tokens=False)["input_ids"]
        assert list(reply.prompt_ids[len(so_far) :]) == own
        assert reply.prompt.endswith(behind)
        assert reply.prompt.startswith(answer.prompt)
        assert reply.tokens_in == len(reply.prompt_ids)


def sampled(named: str = "q", **changes: Any) -> list[Dialogue]:
    return questions(named, decoding=Decoding(8, 1.0, 0.9, seed=5), samples=(0, 1, 4), **changes)


def test_prompts_that_share_much_are_forwarded_together() -> None:
    def conversation(ids: tuple[int, ...], budget: int) -> Conversation:
        dialogue = Dialogue("s", "q", "v", (), Decoding(budget))
        return Conversation(dialogue, 0, Prompt("", ids), ())

    long, short = tuple(range(20)), tuple(range(50, 60))
    family = [conversation((*long, 1), 4), conversation((*long, 2, 3), 4)]
    alone, other_reply = conversation(short, 4), conversation((*long, 7), 9)
    cousin = conversation((*long[:8], *range(30, 45)), 4)  # shares less than half
    order = [family[1], other_reply, cousin, alone, family[0]]
    for each in (order, order[::-1]):
        assert in_order(each) == [alone, *family, cousin, other_reply]


def test_order_neighbours_and_batches_change_nothing() -> None:
    backend = tiny_backend()
    expected = asked(backend, *questions(), *sampled("s", variant="sampled", stage="sample"))
    mixed = [*questions(), *sampled("s", variant="sampled", stage="sample")]
    random.Random(0).shuffle(mixed)
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    usual = runner.limits
    for rows, tokens in ((64, 1024), (3, 40), (1, 64)):
        runner.limits = replace(usual, rows=rows, tokens=tokens)
        found = asked(backend, *mixed)
        assert found.keys() == expected.keys()
        for key, reply in found.items():
            same(reply, expected[key])
    for each in mixed[:4]:
        for key, reply in asked(backend, each).items():
            same(reply, expected[key])


@pytest.mark.parametrize("architecture", ["llama", "mamba"])
def test_replies_are_the_same_within_a_caller_s_autocast(architecture: str) -> None:
    dialogues = [*questions(), *sampled("s", variant="sampled", stage="sample")]
    expected = asked(tiny_backend(architecture), *dialogues)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backend = tiny_backend(architecture)
        found = asked(backend, *dialogues)
    assert isinstance(backend._runner, RaggedRunner) == (architecture == "llama")
    for key, reply in expected.items():
        same(found[key], reply, tolerance=0)


def test_samples_differ_and_equal_questions_do_not() -> None:
    backend = tiny_backend()
    replies = list(backend.replies(Pending(each) for each in [*sampled(), *sampled()]))
    by_sample: dict[tuple[str, str, int], list[Reply]] = {}
    for reply in replies:
        by_sample.setdefault((reply.question, reply.stage, reply.sample), []).append(reply)
    assert all(len(pair) == 2 for pair in by_sample.values())
    for first, second in by_sample.values():
        same(first, second)
    answers = {
        reply.token_ids
        for (question, stage, _), (reply, _) in by_sample.items()
        if (question, stage) == ("q1", "answer")
    }
    assert len(answers) == 3


def test_known_replies_are_not_asked_again_and_follow_ups_use_them() -> None:
    backend = tiny_backend(template=TEMPLATE)
    every = asked(backend, *sampled())
    keys = sorted(every)
    for seed in range(3):
        known = set(random.Random(seed).sample(keys, len(keys) // 2))
        known = {key for key in known if key[1] == "answer" or (key[0], "answer", key[2]) in known}
        pending = [
            Pending(
                each, {(stage, sample): every[q, stage, sample] for q, stage, sample in known if q == each.question}
            )
            for each in sampled()
        ]
        found = {(reply.question, reply.stage, reply.sample): reply for reply in backend.replies(pending)}
        assert found.keys() == every.keys() - known
        for key, reply in found.items():
            same(reply, every[key])


def test_a_changed_known_reply_changes_its_follow_ups() -> None:
    backend = tiny_backend(template=TEMPLATE)
    asked_now = dialogue("Who?", follow_ups=FOLLOW_UPS)
    answer = asked(backend, asked_now)["q", "answer", 0]
    other = replace(answer, token_ids=(40, 41), text="IJ")
    found = list(backend.replies([Pending(asked_now, {("answer", 0): other})]))
    assert {reply.stage for reply in found} == {"final", "stated"}
    for reply in found:
        assert reply.prompt_ids is not None
        assert reply.token_ids == generated(tiny_model(template=TEMPLATE), reply.prompt_ids, len(reply.token_ids or ()))
        assert reply.prompt_ids[len(answer.prompt_ids or ()) :][:2] == (40, 41)


def test_samples_follow_the_softmax() -> None:
    model = tiny_model()
    with torch.no_grad():
        for parameter in model.network.parameters():
            if parameter.dim() > 1:
                parameter.div_(4)  # flat enough that many tokens are drawn
    backend = TransformersBackend(model)
    n_samples = 1500
    many = dialogue("Who?", decoding=Decoding(1, temperature=0.8), samples=tuple(range(n_samples)))
    replies = list(backend.replies([Pending(many)]))
    counts = np.zeros(260)
    for reply in replies:
        assert reply.token_ids is not None
        counts[reply.token_ids[0] if reply.token_ids else 2] += 1
    prompt_ids = replies[0].prompt_ids
    assert prompt_ids is not None
    probabilities = (next_logprobs(model, prompt_ids).double() / 0.8).softmax(0).numpy()
    order = np.argsort(probabilities)[::-1]
    large = order[: int((probabilities * n_samples >= 5).sum())]
    observed = [*counts[large], counts.sum() - counts[large].sum()]
    expected = [*probabilities[large] * n_samples, (1 - probabilities[large].sum()) * n_samples]
    assert len(large) > 5
    assert chisquare(observed, expected).pvalue > 0.001


@pytest.mark.parametrize("architecture", ["llama", "mamba"])
def test_labels_of_several_tokens_are_scored_as_sequences(architecture: str) -> None:
    model = tiny_model(architecture)
    words = ("yes", "no", "A")
    reply = asked(TransformersBackend(model), dialogue("Is it?", labels=words))["q", "answer", 0]
    scores = reply.label_scores
    assert scores is not None
    assert reply.prompt_ids is not None
    for label, logprob, forms in zip(words, scores.logprobs[0], scores.forms, strict=True):
        masses = []
        for text in (label, f" {label}") if len(label) > 1 else (label,):
            ids = model.tokenizer(text, add_special_tokens=False)["input_ids"]
            steps = [
                next_logprobs(model, (*reply.prompt_ids, *ids[:place]))[token].item() for place, token in enumerate(ids)
            ]
            masses.append(sum(steps))
            assert all(token in forms for token in ids)
        assert logprob == pytest.approx(np.logaddexp.reduce(masses), abs=TINY_STEPS)


def test_an_end_token_ends_a_reply_and_is_not_part_of_it() -> None:
    model = tiny_model()
    token = generated(model, (1, 50), 3)[1]  # whatever comes second is an end token now
    network: Any = model.network
    network.generation_config.eos_token_id = [2, token]
    prompt = model.tokenizer.decode([50])
    reply = asked(TransformersBackend(model), dialogue(prompt))["q", "answer", 0]
    assert reply.finish == "stop"
    assert reply.token_ids is not None
    assert token not in reply.token_ids
    assert (len(reply.token_ids), reply.tokens_out) == (1, 2)


def test_prompts_that_are_too_long_are_errors_of_their_own() -> None:
    backend = tiny_backend(max_positions=30)
    short, long = dialogue("Who?", "short", follow_ups=FOLLOW_UPS), dialogue("Who? " * 9, "long", follow_ups=FOLLOW_UPS)
    replies = asked(backend, short, long)
    assert replies.keys() == {("short", stage, 0) for stage in ("answer", "final", "stated")} | {("long", "answer", 0)}
    refused = replies["long", "answer", 0]
    assert (refused.finish, refused.text) == ("error", "")
    assert refused.error == "the prompt is too long: it has 45 tokens, and tiny takes 30 with the reply"
    assert refused.is_too_long
    assert replies["short", "answer", 0].finish == "length"


def test_running_out_of_memory_halves_the_batches_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = asked(tiny_backend(), *questions())
    backend = tiny_backend()
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    extend = runner._engine.extend
    calls = []

    def sometimes(cache: Any, first_row: int, lengths: Any, new: Any) -> torch.Tensor:
        calls.append(len(new))
        if len(calls) in (3, 5, 14):
            raise torch.OutOfMemoryError("out of memory")
        return extend(cache, first_row, lengths, new)

    monkeypatch.setattr(runner._engine, "extend", sometimes)
    found = asked(backend, *questions())
    assert found.keys() == expected.keys()
    for key, reply in found.items():
        same(reply, expected[key])
    assert runner.limits.rows == 8
    assert is_out_of_memory(torch.OutOfMemoryError())


def test_dialogues_are_taken_as_they_are_needed() -> None:
    backend = tiny_backend()
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    runner.limits = replace(runner.limits, rows=2, tokens=256)
    taken = []

    def endless() -> Any:
        for number in range(10**6):
            taken.append(number)
            yield Pending(dialogue(f"Question {number}?", f"q{number}", decoding=Decoding(2)))

    replies = backend.replies(endless())
    for _ in range(20):
        next(replies)
    assert len(taken) <= 32


def test_a_thought_without_an_end_is_flagged() -> None:
    reply = asked(tiny_backend(template=TEMPLATE + "<think>\n"), dialogue("Who?"))["q", "answer", 0]
    assert reply.reasoning_is_open
    assert (reply.text, reply.reasoning is not None, len(reply.token_ids or ())) == ("", True, reply.tokens_out)


def test_system_turns_and_openings_reach_the_model() -> None:
    messages = (Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "It was"))
    reply = asked(tiny_backend(template=TEMPLATE), dialogue("", messages=messages))["q", "answer", 0]
    assert reply.prompt == "<s>[system] Be brief.</s>\n[user] Who?</s>\n[assistant] It was"


def test_masked_models_are_refused() -> None:
    with pytest.raises(UsageError, match="masked"):
        TransformersBackend(replace(tiny_model(), kind="masked"))
