"""Work done ahead: the next piece is tokenised and planned while the device scores this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2  # a short piece after a long one still finds its successor ready


def prepared_ahead(items: Iterable[T], prepare: Callable[[T], R], ahead: int = _AHEAD) -> Iterator[R]:
    """`prepare(item)` for each item, in order, up to `ahead` under way in another thread while the caller has one.

    What `prepare` raises is raised when its item's turn comes. Leaving early cancels what has not begun.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="prepare") as pool:
        under_way: deque[Future[R]] = deque(pool.submit(prepare, item) for item in islice(source, ahead))
        try:
            while under_way:
                result = under_way.popleft().result()
                under_way.extend(pool.submit(prepare, item) for item in islice(source, 1))
                yield result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
