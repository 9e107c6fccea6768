"""Probabilities of all replies of a scale, and other answers than the model's, against plain forward passes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from proofs import few_of
from tiny_backends import TEMPLATE, asked, dialogue, generated, tiny_backend, tiny_model
from tolerances import TINY_SUM

from calprobe.answers import closed_replies
from calprobe.backends import Decoding, FollowUp, Pending
from calprobe.backends.local import TransformersBackend
from calprobe.backends.local.closed import reply_tree
from calprobe.backends.local.ragged import RaggedRunner
from calprobe.models import LoadedModel
from calprobe.runs.replies import Reply

END = 2
TABLE = {"No": 0.1, "No way": 0.0, "Yes": 0.9}
SCALES = ("x", "x/100", "x/10", "expressions", "letters")
TEXTS = {scale: f"How sure, {scale}?" for scale in SCALES}


def follow_ups(*conditions: str | None, closed: bool = True) -> tuple[FollowUp, ...]:
    """Each scale, behind the reply itself (None) and behind other answers."""
    return tuple(
        FollowUp(
            f"{scale} {answer}",
            TEXTS[scale],
            Decoding(3),
            instead=answer,
            closed=closed_replies(scale, TABLE) if closed else (),
        )
        for answer in conditions
        for scale in SCALES
    )


def by_plain_forwards(model: LoadedModel, reply: Reply, forms: tuple[str, ...]) -> float:
    """log of the probability that the reply is one of the forms, and ends there."""
    assert reply.prompt_ids is not None
    totals = []
    for form in forms:
        ids = [*model.tokenizer(form, add_special_tokens=False)["input_ids"], END]
        with torch.inference_mode():
            logits = model.network(input_ids=torch.tensor([[*reply.prompt_ids, *ids]]), use_cache=False).logits[0]
        logprobs = logits[-len(ids) - 1 : -1].log_softmax(1)
        totals.append(float(logprobs[range(len(ids)), ids].sum()))
    return float(np.logaddexp.reduce(totals))


def check(model: LoadedModel, reply: Reply, closed: tuple[tuple[str, ...], ...], every: int) -> None:
    scores = reply.label_scores
    assert scores is not None
    assert scores.labels == tuple(forms[0] for forms in closed)
    for place in range(0, len(closed), every):
        expected = by_plain_forwards(model, reply, closed[place])
        assert scores.logprobs[0, place] == pytest.approx(expected, abs=TINY_SUM), closed[place]


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "mamba"])
def test_every_reply_has_the_probability_of_plain_forwards(architecture: str) -> None:
    model = tiny_model(architecture, TEMPLATE)
    backend = TransformersBackend(model)
    questions = [dialogue("Who?", "short"), dialogue("Who was it, and when was that?", "long")]
    stated = follow_ups(None, "Ann B.")
    if architecture == "mamba":  # a pass for each path
        stated = tuple(each for each in stated if len(each.closed) < 20)
    replies = asked(backend, *(replace(each, follow_ups=stated) for each in questions))
    every = {"x": 50, "x/100": 50, "x/10": 10, "expressions": 1, "letters": 2}
    for (question, stage, _), reply in replies.items():
        scale = stage.partition(" ")[0]
        if scale in SCALES and (question == "long" or scale == "expressions"):
            check(model, reply, closed_replies(scale, TABLE), every[scale])
        assert reply.given == ("Ann B." if stage.endswith("Ann B.") else None)


def test_closed_sets_change_no_reply_and_no_batch_changes_them() -> None:
    model = tiny_model(template=TEMPLATE)
    questions = [dialogue("Who? " * n, f"q{n}") for n in range(1, 6)]
    plain = asked(
        TransformersBackend(model), *(replace(q, follow_ups=follow_ups(None, closed=False)) for q in questions)
    )
    backend = TransformersBackend(model)
    closed = [replace(q, follow_ups=follow_ups(None)) for q in questions]
    found = asked(backend, *closed)
    assert {key: reply.text for key, reply in found.items()} == {key: reply.text for key, reply in plain.items()}
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    runner.limits = replace(runner.limits, rows=2, branches=2, tokens=300)
    for key, reply in asked(backend, *reversed(closed)).items():
        assert reply.text == found[key].text
        one, other = reply.label_scores, found[key].label_scores
        assert (one is None) == (other is None) == (key[1] == "answer")
        if one is not None and other is not None:
            assert one.logprobs == pytest.approx(other.logprobs, abs=TINY_SUM)


def test_replies_arrive_between_the_passes_over_their_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend(template=TEMPLATE)
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    tree, events = runner._engine.tree, []

    def counting(*given: Any) -> torch.Tensor:
        events.append("pass")
        return tree(*given)

    monkeypatch.setattr(runner._engine, "tree", counting)
    runner.limits = replace(runner.limits, tokens=300)
    asked_now = [dialogue("Who? " * n, f"q{n}", follow_ups=follow_ups(None)) for n in range(1, 6)]
    for reply in backend.replies(Pending(each) for each in asked_now):
        events.append(reply.stage)
    assert events.count("pass") > 2 * len(SCALES)
    assert all("pass" not in (one, other) or one != other for one, other in pairwise(events))


CASES = list(product(["llama", "mamba"], [TEMPLATE, None]))


@pytest.mark.parametrize(
    ("architecture", "template"), few_of(CASES, lambda name, template: (name == "llama") == (template is None))
)
def test_another_answer_stands_in_the_place_of_the_models_own(architecture: str, template: str | None) -> None:
    model = tiny_model(architecture, template)
    answers = (None, "Ann", "I don't know.", "Ann and her <s> sister")
    replies = asked(TransformersBackend(model), dialogue("Who?", follow_ups=follow_ups(*answers, closed=False)))
    own = replies["q", "answer", 0]
    for answer in answers:
        for scale in SCALES:
            reply = replies["q", f"{scale} {answer}", 0]
            said = own.text if answer is None else answer if template else f" {answer}"
            if template:
                middle = f"{said}</s>\n[user] {TEXTS[scale]}</s>\n[assistant] "
                assert reply.prompt == f"<s>[user] Who?</s>\n[assistant] {middle}" or answer is None
            else:
                assert reply.prompt == f"Who?{said}\n{TEXTS[scale]}\n" or answer is None
            assert reply.prompt_ids is not None
            assert reply.token_ids == generated(model, reply.prompt_ids, 3)
            decoded = model.tokenizer.decode(reply.prompt_ids, skip_special_tokens=False).removeprefix("<s>")
            assert decoded == reply.prompt.removeprefix("<s>")


def test_follow_ups_keep_what_their_rows_have(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend(template=TEMPLATE)
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    extend, tokens = runner._engine.extend, []

    def counting(cache: Any, first_row: int, lengths: Any, new: Any) -> torch.Tensor:
        tokens.append(sum(map(len, new)))
        return extend(cache, first_row, lengths, new)

    monkeypatch.setattr(runner._engine, "extend", counting)
    several = tuple(FollowUp(f"s{n}", f"How sure are you, in a number up to {n}?", Decoding(1)) for n in range(9))
    asked(backend, dialogue("Who was it?", decoding=Decoding(1), follow_ups=several[:1]))
    one = sum(tokens)
    tokens.clear()
    replies = asked(backend, dialogue("Who was it?", decoding=Decoding(1), follow_ups=several))
    behind = len("0?</s>\n[assistant] ".replace("</s>", "."))  # a token a byte, one for the end of a turn
    assert sum(tokens) == one + 8 * behind
    known = Pending(
        dialogue("Who was it?", decoding=Decoding(1), follow_ups=several), {("answer", 0): replies["q", "answer", 0]}
    )
    for reply in backend.replies([known]):
        assert reply == replace(replies["q", reply.stage, 0], logprobs=reply.logprobs)


def test_replies_to_all_follow_ups_grow_together(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend(template=TEMPLATE)
    runner = backend._runner
    assert isinstance(runner, RaggedRunner)
    extend, passes = runner._engine.extend, []

    def counting(cache: Any, first_row: int, lengths: Any, new: Any) -> torch.Tensor:
        passes.append(max(map(len, new)))
        return extend(cache, first_row, lengths, new)

    monkeypatch.setattr(runner._engine, "extend", counting)
    several = tuple(FollowUp(f"s{n}", f"How sure are you, in a number up to {n}?", Decoding(6)) for n in range(9))
    for follow_ups_asked in (several[:1], several):
        passes.clear()
        replies = asked(backend, dialogue("Who was it?", decoding=Decoding(1), follow_ups=follow_ups_asked))
        assert {len(reply.token_ids or ()) for reply in replies.values()} == {1, 6}
        assert passes.count(1) == 5


def test_a_prompt_without_room_for_the_set_has_no_probabilities() -> None:
    stated = (FollowUp("stated", "Sure?", Decoding(3), closed=closed_replies("x/100")),)
    asked_now = dialogue("Who?", follow_ups=stated)
    prompt = asked(tiny_backend(template=TEMPLATE), asked_now)["q", "stated", 0].prompt_ids or ()
    for room in (3, 4):  # tokens of 100%
        backend = tiny_backend(template=TEMPLATE, max_positions=len(prompt) + room)
        reply = asked(backend, asked_now)["q", "stated", 0]
        assert reply.finish != "error"
        assert (reply.label_scores is not None) == (room == 4)


def test_the_tree_of_a_set_has_each_beginning_once() -> None:
    closed = (("10",), ("1",), ("0", "0.0"))
    tree = reply_tree(closed, lambda form: tuple(map(ord, form)), [END, 3])
    assert "".join(map(chr, tree.tokens)) == "0.010"
    assert tree.depths == (0, 1, 2, 3, 1, 2)
    assert tree.labels == ("10", "1", "0")
    edges = np.log(np.full((1, len(tree.targets)), 0.1))
    (scores,) = tree.scores(edges)
    # Of two end tokens: 0.1 * 0.1 * 0.2, 0.1 * 0.2, and 0.1 * 0.2 + 0.1 ** 3 * 0.2.
    assert np.exp(scores.logprobs[0]) == pytest.approx([0.002, 0.02, 0.0202])
    assert sorted(tree.paths()) == [[0, 1, 2, 3], [0, 4, 5]]
