"""Work on threads: in order, one item at a time, on as many processors as allowed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from calprobe.metrics import resamples
from calprobe.metrics.resamples import map_in_order, thread_count


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setattr(resamples, "thread_count", lambda: n_threads)

    def slow_to_begin_with(item: int) -> int:
        time.sleep(0.01 if item == 0 else 0)
        return item * item

    assert map_in_order(slow_to_begin_with, range(20)) == [item * item for item in range(20)]
    assert map_in_order(slow_to_begin_with, []) == []


def test_few_items_are_taken_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resamples, "thread_count", lambda: 2)
    taken, done = [], []

    def items() -> Iterator[int]:
        for item in range(50):
            taken.append(item)
            assert len(taken) - len(done) <= 4  # two under way, two waiting or just finished
            yield item

    map_in_order(done.append, items())
    assert taken == list(range(50))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_gets_out(monkeypatch: pytest.MonkeyPatch, n_threads: int) -> None:
    monkeypatch.setattr(resamples, "thread_count", lambda: n_threads)
    with pytest.raises(ZeroDivisionError):
        map_in_order(lambda item: 1 // item, [3, 2, 1, 0, 1])


@pytest.mark.parametrize(("wanted", "found"), [("1", 1), ("2,1", 2), ("64", 3), ("", 3), ("0", 3), ("many", 3)])
def test_threads_are_limited_by_omp_num_threads(monkeypatch: pytest.MonkeyPatch, wanted: str, found: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    assert thread_count() == found


def test_without_a_limit_all_processors_of_the_process_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {4, 7}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert thread_count() == 2
