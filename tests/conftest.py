"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiling_cards import card_compiles
from hypothesis import settings

from calprobe.cells.scored import ScoredRun
from calprobe.measures.options import ReportOptions
from calprobe.studies.scored.report_runs import report_run
from calprobe.studies.scored.results import RunReport

# The suite tries the same examples everywhere: what fails must fail on every machine and at every call. `make explore`
# looks for new ones, and its finds become an @example of their test. An example may take longer than hypothesis's fifth
# of a second where other processes want the same cores.
settings.register_profile("suite", deadline=None, max_examples=15, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=200, database=None, print_blob=True)
settings.load_profile("suite")

# Triton reads this once, when it is first imported (transformers does): without a card, its kernels run interpreted.
if "TRITON_INTERPRET" not in os.environ and not card_compiles():
    os.environ["TRITON_INTERPRET"] = "1"


def pytest_configure() -> None:
    """A shell starts what runs in the background with Ctrl-C ignored, which tests of interrupts press."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collectstart() -> None:
    gc.disable()  # nothing of what is imported and collected goes away


def pytest_collection_finish() -> None:
    """What is imported and collected stays: no garbage collection, as after a lack of memory, need see it."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # at its end Python looks through all of it


ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


REPORTING = ("measures", "show", "curves", "studies", "presentation")  # folders


@pytest.fixture(autouse=True, scope="module")
def _coarse_in_reports(request: pytest.FixtureRequest) -> Iterator[None]:
    """Reports of tests: smooth ECE on a coarse grid, which is tested where metrics are."""
    if request.path.parent.name not in REPORTING:
        yield
        return
    from coarse_smoothing import coarse_smoothing

    with coarse_smoothing():
        yield


@pytest.fixture(autouse=True)
def log_as_it_was() -> Iterator[None]:
    """A command sends calprobe's log to its own stderr, for good: caplog would see nothing in a later test.

    It is set back before each test too, as a fixture of a module may have run a command.
    """
    _set_log_back()
    yield
    _set_log_back()


def _set_log_back() -> None:
    logger = logging.getLogger("calprobe")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """What a test draws from torch without a seed does not depend on the tests that ran before it in its process."""
    torch = sys.modules.get("torch")  # which tests of light commands never import
    if torch is not None:
        torch.default_generator.manual_seed(0)  # `torch.manual_seed` keeps a stack for each kind of device without one
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(0)


@pytest.fixture(autouse=True, scope="session")
def disk_is_not_waited_for() -> Iterator[None]:
    """What is not flushed is lost with the power alone, which no test cuts. Child processes flush as a user's do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", os.fstat)  # an error too, of a file that is not open
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout: BEAR, the paper's templates, oracle token scores."""
    if not SHARED.is_dir():
        pytest.skip("no reference data: the folder ../shared is not beside the checkout")
    return SHARED


@pytest.fixture
def two_clusters_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals by relation also for the handful of relations that a test has."""
    monkeypatch.setattr("calprobe.metrics.resamples.LEAST_CLUSTERS", 2)


@pytest.fixture
def each_report_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the many forms that one report is shown in: a test's second report of a run is its first."""
    kept: dict[tuple[str, ...], RunReport] = {}

    def once(run: ScoredRun, options: ReportOptions) -> RunReport:
        key = (run.facts.label, run.facts.recorded.manifest.identity_hash, repr(options))
        if key not in kept:
            kept[key] = report_run(run, options)
        return kept[key]

    monkeypatch.setattr("calprobe.studies.scored.report_runs.report_run", once)
