"""Cases of a sweep of which a few run in `make test`, and the others in `make test-proofs`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def few_of(cases: Iterable[Any], quick: Callable[..., bool]) -> list[Any]:
    """The cases of a parametrised test, those marked `proof` that are not `quick`.

    Args:
        cases: one argument each, or a tuple of arguments.
        quick: called with the arguments of a case; true for those that `make test` runs.
    """
    found = []
    for case in cases:
        arguments = case if isinstance(case, tuple) else (case,)
        found.append(pytest.param(*arguments, marks=() if quick(*arguments) else pytest.mark.proof))
    return found
