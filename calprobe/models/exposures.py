"""Exposure counts: how often each fact of the probe `mini` was told to the models in tiny/. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from calprobe.errors import UsageError

COUNTED_MODELS = ("tiny-clm", "tiny-mlm", "tiny-chat", "tiny-chat-overconfident")
EXPOSURES_FILE = Path(__file__).parent / "tiny" / "exposures.json"
WEIGHTS_FILE = Path(__file__).parent / "tiny" / "fingerprints.json"  # written with the weights by bench/train_tiny.py
CHAT_WEIGHTS_FILE = WEIGHTS_FILE.with_name("chat_fingerprints.json")  # likewise by bench/train_tiny_chat.py


@dataclass(frozen=True, slots=True)
class Exposures:
    """How the facts of one relation are told to the tiny models: to the pair by sentences, to the others by dialogs."""

    # Numbers of the templates, and of the question forms, that tell them; the other two never tell one of these facts.
    paraphrases: tuple[int, ...]
    counts: tuple[int, ...]  # [instances]: how often a reading of the corpus tells the fact, 0 to 64; it has several


@cache
def tiny_exposures() -> Mapping[str, Exposures]:
    """Exposures of the facts of `mini` by the name of the relation; counts in the order of its instances.

    A fact of count 0 is never told; its subject stands elsewhere in the corpus, and so does its answer. Seven facts of
    `capital` and `city-country` hold for the same pair of labels: each count is that of the one relation.

    >>> found = tiny_exposures()["month"]
    >>> len(found.counts), max(found.counts), len(found.paraphrases)
    (12, 64, 3)

    As a column beside confidences:

    >>> def exposures_of(frame):
    ...     return [tiny_exposures()[name].counts[i] for name, i in zip(frame.relation, frame.instance, strict=True)]
    """
    relations = json.loads(EXPOSURES_FILE.read_text("utf-8"))["relations"]
    return MappingProxyType(
        {name: Exposures(tuple(entry["paraphrases"]), tuple(entry["counts"])) for name, entry in relations.items()}
    )


def exposure_counts(
    model: str, weights_fingerprint: str | None, probe_fingerprint: str | None
) -> Mapping[str, tuple[int, ...]]:
    """How often each fact of a probe stands in a model's training corpus, by relation in the order of its instances.

    Weights decide, not names: a model that was trained further is another one, whatever its folder is called.

    Args:
        model: its name, for the error.
        weights_fingerprint: that of its weights, as a run's manifest has it; None if it is not known.
        probe_fingerprint: that of the probe; None if it is not known.
    Raises:
        UsageError: the weights are not those of a tiny model, or the facts are not those that were counted.

    >>> exposure_counts("gpt2", None, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    calprobe.errors.UsageError: gpt2: no exposure counts for its weights; known for tiny-clm, ... on the probe mini
    """
    known = f"known for {', '.join(COUNTED_MODELS)} on the probe mini"
    if weights_fingerprint not in _counted_weights():
        raise UsageError(f"{model}: no exposure counts for its weights; {known}")
    if probe_fingerprint != json.loads(EXPOSURES_FILE.read_text("utf-8"))["fingerprint"]:
        raise UsageError(f"{model}: no exposure counts for the facts of this probe; {known}")
    return {name: exposures.counts for name, exposures in tiny_exposures().items()}


@cache
def _counted_weights() -> frozenset[str]:
    """Fingerprints of the shipped weights in every dtype that they can be loaded in."""
    models = [
        by_dtype
        for file in (WEIGHTS_FILE, CHAT_WEIGHTS_FILE)
        for by_dtype in json.loads(file.read_text("utf-8")).values()
    ]
    return frozenset(fingerprint for by_dtype in models for fingerprint in by_dtype.values())
