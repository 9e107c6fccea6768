"""Thoughts with a budget: ended where they use it up, and labels read behind them."""

from __future__ import annotations

import numpy as np
import pytest
from tiny_backends import LETTERS, TEMPLATE, asked, dialogue, next_logprobs, own_logprobs, tiny_backend
from tolerances import TINY_STEPS

from calprobe.asking.request_identity import keyed
from calprobe.backends import Decoding, FollowUp
from calprobe.backends.local import TransformersBackend
from calprobe.runs.replies import THOUGHT_ENDED
from calprobe.runs.thoughts import FAMILIES, ending, split_thought

OPENS = TEMPLATE.replace("[assistant] {% endif %}", "[assistant] <think>{% endif %}")
BUDGET = Decoding(6, temperature=1.0, seed=3, think_tokens=5)


@pytest.fixture(scope="module", params=["llama", "mamba"])  # many rows at once; one by one through generate
def backend(request: pytest.FixtureRequest) -> TransformersBackend:
    return tiny_backend(request.param, OPENS)


def test_a_thought_is_ended_and_the_reply_has_its_own_budget(backend: TransformersBackend) -> None:
    follow = FollowUp("p", "Sure?", BUDGET)
    several = [dialogue(text, text, decoding=BUDGET, follow_ups=(follow,)) for text in ("So?", "What is it, then?")]
    for reply in asked(backend, *several).values():
        assert reply.thought_was_ended
        assert not reply.reasoning_is_open
        ids, ends = reply.token_ids or (), len(backend.writer.tokens.inner_chat(ending(FAMILIES[0])))
        assert 5 < reply.thought_tokens <= 5 + ends
        assert len(ids) <= 5 + ends + 6
        assert backend.writer.tokens.decoded(ids[5 + ends :]).strip() == reply.text
        plain = own_logprobs(backend._loaded, reply)
        exact = [float(row[token]) for row, token in zip(plain, ids, strict=False)]
        np.testing.assert_allclose(reply.logprobs, exact, atol=TINY_STEPS)  # those that were put in, too


def test_labels_are_read_behind_the_thought(backend: TransformersBackend) -> None:
    known = {"stage": "label", "labels": LETTERS, "decoding": Decoding(4, think_tokens=5)}
    (reply,) = asked(backend, dialogue("A or B?", **known)).values()
    scores = reply.label_scores
    assert scores is not None
    assert reply.begins_with_labels
    place = int(scores.positions[0])
    ids = reply.token_ids or ()
    assert place >= reply.thought_tokens
    assert not backend.writer.tokens.decoded(ids[reply.thought_tokens : place]).strip()
    plain = next_logprobs(backend._loaded, (*(reply.prompt_ids or ()), *ids[:place]))
    forms = [plain[[token for token in form if token >= 0]].logsumexp(0) for form in scores.forms]
    np.testing.assert_allclose(scores.logprobs[0], forms, atol=TINY_STEPS)
    (without,) = asked(backend, dialogue("A or B?", **(known | {"decoding": Decoding(1)}))).values()
    assert not without.begins_with_labels  # the first token of a thought is no answer


def test_models_without_thoughts_have_no_such_budget() -> None:
    plain, limited = (
        asked(tiny_backend("llama", TEMPLATE), dialogue("So?", decoding=Decoding(6, think_tokens=own)))
        for own in (None, 2)
    )
    assert [r.token_ids for r in plain.values()] == [r.token_ids for r in limited.values()]


def test_keys_of_requests_without_a_budget_are_those_of_earlier_versions() -> None:
    keys = [
        keyed(dialogue("So?", decoding=Decoding(8, think_tokens=own)), "e").keys["answer", 0] for own in (None, 2, 3)
    ]
    assert keys[0] == keyed(dialogue("So?"), "e").keys["answer", 0]
    assert len(set(keys)) == 3


@pytest.mark.parametrize("markers", FAMILIES)
def test_what_ends_a_thought_is_taken_for_its_end(markers: tuple[str, str, str]) -> None:
    split = split_thought(f"Hm, 1 + 1{ending(markers)}Two.", markers, opened=True)
    assert split.reasoning is not None
    assert split.reasoning.startswith("Hm, 1 + 1\n\n" + THOUGHT_ENDED)
    assert (split.text, split.is_open) == ("Two.", False)
