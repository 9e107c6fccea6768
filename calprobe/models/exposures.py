"""How often the tiny pair was told each fact of the probe `mini`. Needs no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

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
