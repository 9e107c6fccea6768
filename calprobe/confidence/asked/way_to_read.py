"""How confidences are taken from replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calprobe.answers.reading import Reading as Reading
from calprobe.answers.token_claims import Context
from calprobe.runs.replies import Reply


@dataclass(frozen=True, slots=True)
class WayToRead:
    """How confidences are taken from replies."""

    read_stated: Callable[[Reply, str], Reading]  # a reply and the name of the stated prompt that it replies to
    # With the reader's letter in place of an estimator's own argmax, as the audit's paper has it.
    compat: bool = False
    window: int | None = None  # only labels among so many most probable tokens are seen; None: all that are known
    claims: Context = "sentence"  # what alternatives of tokens are judged in
    alternatives: int | None = None  # of each token, the generated one among them; None: all that are stored
