"""A request's key changes with everything that decides its reply, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from calprobe.asking.request_identity import engine_hash, keyed, requests_of
from calprobe.backends.protocol import Decoding, Dialogue, FollowUp, Message
from calprobe.runs import ModelRecord
from calprobe.runs.asked_records import BackendRecord

MODEL = ModelRecord("toy", id="owner/toy", revision="r", weights_fingerprint="w", tokenizer_fingerprint="t")
BACKEND = BackendRecord("fake", {"fake": "1"}, {"dtype": "float32"}, address="here")
DIALOGUE = Dialogue(
    set="sums",
    question="q1",
    variant="direct",
    messages=(Message("user", "1 + 1?"),),
    decoding=Decoding(8),
    samples=(0, 1),
    labels=("A", "B"),
    follow_ups=(
        FollowUp("final", "\n\nFinal answer:", Decoding(4), continues=True, labels=("A", "B")),
        FollowUp("stated:x", "How sure are you?", Decoding(8)),
    ),
)


def keys(dialogue: Dialogue = DIALOGUE, engine: str = "e") -> dict[tuple[str, int], str]:
    return dict(keyed(dialogue, engine).keys)


def test_each_request_has_a_key_of_its_own() -> None:
    found = keys()
    assert list(found) == list(requests_of(DIALOGUE))
    assert len(set(found.values())) == 6
    assert all(len(key) == 64 for key in found.values())
    assert keys() == found


@pytest.mark.parametrize(
    "change",
    [
        {"set": "other"},
        {"question": "q2"},
        {"variant": "steps"},
        {"messages": (Message("user", "1 + 2?"),)},
        {"messages": (Message("system", "1 + 1?"),)},
        {"messages": (Message("system", "So."), Message("user", "1 + 1?"))},
        {"decoding": Decoding(9)},
        {"decoding": Decoding(8, temperature=1.0)},
        {"decoding": Decoding(8, top_p=0.5)},
        {"decoding": Decoding(8, seed=1)},
        {"paraphrase": 1},
        {"stage": "label"},
        {"labels": ("A", "B", "C")},
        {"raw": True},
    ],
)
def test_what_decides_a_reply_changes_its_key_and_those_of_its_follow_ups(change: dict[str, Any]) -> None:
    assert not set(keys().values()) & set(keys(replace(DIALOGUE, **change)).values())


def test_what_decides_a_follow_up_changes_its_key_alone() -> None:
    final = DIALOGUE.follow_ups[0]
    for change in ({"text": "So:"}, {"decoding": Decoding(5)}, {"continues": False}, {"labels": ()}):
        changed = keys(replace(DIALOGUE, follow_ups=(replace(final, **change), DIALOGUE.follow_ups[1])))
        same = {request for request, key in keys().items() if changed.get(request) == key}
        assert same == {("answer", 0), ("answer", 1), ("stated:x", 0), ("stated:x", 1)}


def test_more_samples_and_follow_ups_keep_the_keys_that_are_there() -> None:
    fewer = keys(replace(DIALOGUE, samples=(0,), follow_ups=DIALOGUE.follow_ups[:1]))
    assert fewer.items() <= keys().items()


def test_the_engine_is_its_weights_and_settings() -> None:
    base = engine_hash(MODEL, BACKEND)
    assert keys(engine=base) != keys()
    for model in (replace(MODEL, revision="s"), replace(MODEL, weights_fingerprint="v"), replace(MODEL, adapter="a")):
        assert engine_hash(model, BACKEND) != base
    for backend in (
        replace(BACKEND, name="other"),
        replace(BACKEND, versions={"fake": "2"}),
        replace(BACKEND, settings={"dtype": "bfloat16"}),
    ):
        assert engine_hash(MODEL, backend) != base
    assert engine_hash(replace(MODEL, name="alias"), replace(BACKEND, address="there")) == base
