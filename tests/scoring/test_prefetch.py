"""Work done ahead keeps its order, its errors, and does not run away."""

from __future__ import annotations

import threading

import pytest

from calprobe.scoring.engine import prefetched


def test_order_is_kept_and_the_next_items_are_prepared_elsewhere() -> None:
    threads = set()

    def square(number: int) -> int:
        threads.add(threading.get_ident())
        return number * number

    assert list(prefetched(range(20), square)) == [number * number for number in range(20)]
    assert threading.get_ident() not in threads


def test_an_error_is_raised_when_its_turn_comes() -> None:
    def invert(number: int) -> float:
        return 1 / number

    results = prefetched([2, 1, 0, 4], invert)
    assert [next(results), next(results)] == [0.5, 1.0]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_no_more_than_a_few_items_are_taken_early() -> None:
    taken: list[int] = []

    def items() -> object:
        for number in range(100):
            taken.append(number)
            yield number

    results = prefetched(items(), lambda number: number)  # type: ignore[arg-type, var-annotated]
    assert next(results) == 0
    assert len(taken) <= 3
    results.close()
    assert len(taken) <= 3
