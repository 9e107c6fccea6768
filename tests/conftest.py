"""Fixtures shared by the whole suite."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# An example may take longer than hypothesis's fifth of a second where other processes want the same cores.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")

# Triton reads this once, when it is first imported (transformers does): without a card, its kernels run interpreted.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """A command sends calprobe's log to its own stderr, for good: without this, caplog sees nothing in a later test."""
    logger = logging.getLogger("calprobe")
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    logger.handlers[:] = handlers
    logger.setLevel(level)
    logger.propagate = propagate


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout: BEAR, the paper's templates, oracle token scores."""
    if not SHARED.is_dir():
        pytest.skip("no reference data: the folder ../shared is not beside the checkout")
    return SHARED
