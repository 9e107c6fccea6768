"""Which of a set's questions are taken.

Rules: `first`, the first N; `nested`, N random ones, the first ones of any larger draw of that seed, so that a
run can grow; `sample`, `random.Random(seed).sample(range(n), N)`, the rule of arXiv 2605.02038 (seed 42, N = 500).
`relation`, of facts, N of each relation: those that `calprobe score --limit N` scores by that seed.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions.options import DrawRule, QuestionOptions


def drawn_places(n: int, count: int, seed: int, rule: DrawRule = "nested") -> list[int]:
    """`count` different places from 0 to n - 1, in the order of the draw.

    Raises ValueError if there are not so many.

    >>> drawn_places(100, 3, seed=1), drawn_places(100, 4, seed=1)
    ([17, 72, 97], [17, 72, 97, 8])
    """
    if not 0 <= count <= n:
        raise ValueError(f"count must be within 0 to {n}, got {count}")
    if rule == "sample":
        return random.Random(seed).sample(range(n), count)
    return random.Random(seed).sample(range(n), n)[:count]


def taken_places(n: int, options: QuestionOptions, name: str) -> list[int]:
    """The places that are asked of a set's n questions.

    Raises UsageError if --draw wants more questions than there are.
    """
    if options.draw is not None:
        if options.draw > n:
            problem = f"--draw {options.draw}: {name} has {counted(n, 'question')}"
            raise UsageError(f"{problem}; draw at most {n}, or choose another --split")
        return drawn_places(n, options.draw, options.seed, options.draw_rule or "nested")
    return list(range(n if options.limit is None else min(n, options.limit)))


def rule_of(options: QuestionOptions) -> str:
    """The name of the rule that the options stand for: all, first, nested, sample, relation."""
    if options.draw is not None:
        return options.draw_rule or "nested"
    return "all" if options.limit is None else "first"


def fingerprint_of_places(places: Sequence[int]) -> str:
    """SHA-256 (hex) of the places as a JSON list, in their order.

    >>> fingerprint_of_places([3, 1])[:8]
    '2799b281'
    """
    return hashlib.sha256(json.dumps(list(places)).encode()).hexdigest()
