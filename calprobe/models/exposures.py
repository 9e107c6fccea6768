"""How often the tiny pair was told each fact of the probe `mini`. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from calprobe.errors import UsageError

TOLD_MODELS = ("tiny-clm", "tiny-mlm")
EXPOSURES_FILE = Path(__file__).parent / "tiny" / "exposures.json"


@dataclass(frozen=True, slots=True)
class Exposures:
    """How the facts of one relation stand in the corpus that both tiny models were trained on."""

    paraphrases: tuple[int, ...]  # numbers of the templates that tell them; the other two never tell one of these facts
    counts: tuple[int, ...]  # [instances]: how many sentences tell the fact, 0 to 64; the corpus was read several times


@cache
def tiny_exposures() -> Mapping[str, Exposures]:
    """Exposures of the facts of `mini` by the name of the relation; counts in the order of its instances.

    A fact of count 0 was never told; its subject stands in other sentences, and so does its answer. Seven facts of
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


def told_facts(model: str, probe_fingerprint: str | None) -> Mapping[str, tuple[int, ...]]:
    """How often a model was told each fact of a probe, by relation in the order of its instances.

    Args:
        model: its name, or a path that ends with it.
        probe_fingerprint: that of the probe whose facts are meant; None for one that is not known.
    Raises:
        UsageError: it is not one of the tiny pair, or the facts are not those that were counted.

    >>> told_facts("gpt2", None)
    Traceback (most recent call last):
    calprobe.errors.UsageError: gpt2: nobody counted what it was told; known for tiny-clm, tiny-mlm on the probe mini
    """
    known = f"known for {', '.join(TOLD_MODELS)} on the probe mini"
    if Path(model).name not in TOLD_MODELS:
        raise UsageError(f"{model}: nobody counted what it was told; {known}")
    if probe_fingerprint != json.loads(EXPOSURES_FILE.read_text("utf-8"))["fingerprint"]:
        raise UsageError(f"{model}: nobody counted how often it was told the facts of this probe; {known}")
    return {name: exposures.counts for name, exposures in tiny_exposures().items()}
