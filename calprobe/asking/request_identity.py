"""What a request is: a hash of everything that decides its reply, so that a changed prompt never meets an old reply."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

from calprobe.backends.protocol import Decoding, Dialogue, FollowUp
from calprobe.runs.asked_records import BackendRecord
from calprobe.runs.manifest_records import ModelRecord
from calprobe.runs.task import sha256_of

Request = tuple[str, int]  # stage and sample


def engine_hash(model: ModelRecord, backend: BackendRecord) -> str:
    """SHA-256 (hex) of what answers: weights, revision, tokenizer and adapter; backend, its versions and settings.

    Not in it: the name as typed where a fingerprint or an id is known, and a server's address.
    """
    return sha256_of(
        {
            "model": model.weights_fingerprint or model.id or model.name,
            "revision": model.revision,
            "tokenizer": model.tokenizer_fingerprint,
            "adapter": model.adapter,
            "backend": backend.name,
            "versions": dict(backend.versions),
            "settings": dict(backend.settings),
        }
    )


def keyed(dialogue: Dialogue, engine: str) -> Dialogue:
    """The dialogue with a key for each of its requests. A follow-up's key has its parent's in it.

    Args:
        dialogue: one question under one prompt.
        engine: from `engine_hash`.
    """
    return replace(dialogue, keys=dict(_keys(dialogue, engine)))


def requests_of(dialogue: Dialogue) -> Iterator[Request]:
    """Stage and sample of each request: each sample's answer, then its follow-ups."""
    for sample in dialogue.samples:
        yield dialogue.stage, sample
        for follow_up in dialogue.follow_ups:
            yield follow_up.stage, sample


def _keys(dialogue: Dialogue, engine: str) -> Iterator[tuple[Request, str]]:
    shared = {
        "engine": engine,
        "set": dialogue.set,
        "question": dialogue.question,
        "variant": dialogue.variant,
        "paraphrase": dialogue.paraphrase,
        "messages": [[message.role, message.text] for message in dialogue.messages],
        "raw": dialogue.raw,
    }
    for sample in dialogue.samples:
        settings = {"stage": dialogue.stage, "sample": sample, **_decided(dialogue.decoding, dialogue.labels)}
        if dialogue.alternatives:  # only where they are asked for: other keys are those of earlier versions
            settings["alternatives"] = dialogue.alternatives
        if dialogue.schema is not None:
            settings["schema"] = dialogue.schema
        parent = sha256_of(shared | settings)
        yield (dialogue.stage, sample), parent
        for follow_up in dialogue.follow_ups:
            yield (follow_up.stage, sample), _follow_up_key(follow_up, parent)


def _follow_up_key(follow_up: FollowUp, parent: str) -> str:
    return sha256_of(
        {
            "parent": parent,
            "stage": follow_up.stage,
            "text": follow_up.text,
            "continues": follow_up.continues,
            **_decided(follow_up.decoding, follow_up.labels),
            # Only where they are given: the keys of other requests are those of earlier versions.
            **({} if follow_up.instead is None else {"instead": follow_up.instead}),
            **({"closed": [list(forms) for forms in follow_up.closed]} if follow_up.closed else {}),
            **({"begins": True} if follow_up.begins else {}),
        }
    )


def _decided(decoding: Decoding, labels: tuple[str, ...]) -> dict[str, object]:
    settings = {name: value for name, value in asdict(decoding).items() if name != "think_tokens" or value is not None}
    return {"decoding": settings, "labels": list(labels)}
