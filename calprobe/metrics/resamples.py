"""What the bootstrap draws: how often each resample holds each instance, and what chance alone would make of them.

Complete clusters are drawn where clusters are named, else instances, in both cases as many as there are; or instances
within each cluster, as many as it has (`Within`). The draws depend on the seed, the number of instances and the
clusters only: all estimators of a run, and all runs of the same instances, see the same resamples. They do not depend
on how they are cut into blocks.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints, check_count

Item = TypeVar("Item")
Result = TypeVar("Result")

# Entries of one block of resamples, [resamples of the block, instances]: 2 MiB an array, which stays in the cache.
BLOCK_ENTRIES = 1 << 18

# The spread of a few resampled clusters says little of that between clusters. Both numbers are rules of thumb: the
# coverages in docs/methods/intervals-and-tests.md are of 60 clusters.
LEAST_CLUSTERS = 10  # for an interval or a p-value; a difference needs as many single instances
MANY_CLUSTERS = 30  # with fewer, reports note that intervals are somewhat too narrow


@dataclass(frozen=True, slots=True)
class Resampling:
    """How many resamples (0: no intervals) and from which seed. ValueError if either is negative."""

    n_resamples: int = 1000
    seed: int = 0
    intervals: bool = True  # False: only what chance makes of errors is drawn, in a fraction of the time

    def __post_init__(self) -> None:
        check_count("n_resamples", self.n_resamples, 0)
        check_count("seed", self.seed, 0)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Instances that are drawn together."""

    of: npt.NDArray[np.intp]  # [instances], the cluster of each, 0 .. number - 1
    number: int
    fixed: bool = False  # each resample has all clusters, with instances drawn within each

    @property
    def enough(self) -> bool:
        """Whether there are enough to draw from: `LEAST_CLUSTERS`, or any where instances are drawn within them."""
        return self.number >= LEAST_CLUSTERS or (self.fixed and self.number > 0)

    def sorted_by(self, order: npt.NDArray[np.intp]) -> Clusters:
        """The clusters of the instances in another order."""
        return Clusters(self.of[order], self.number, self.fixed)


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Labels of clusters that all resamples keep, in place of plain labels: instances are drawn within each of them.

    Such intervals are for these very clusters, with other instances in each.
    """

    labels: npt.NDArray[Any]  # [instances]

    def __getitem__(self, places: Any) -> Within:
        """Those of some instances."""
        return Within(self.labels[places])


ClusterLabels = npt.ArrayLike | Within


@dataclass(frozen=True, slots=True)
class Block:
    """Some of the resamples. Columns are in the caller's order of instances, except those of `uniform`."""

    counts: Ints  # [resamples, instances], how often each holds each instance; of none where no intervals are drawn
    # To draw correctness anew, one of the two, see `SortedInstances`:
    uniform: Floats | None = None  # [resamples, instances in ascending confidence], in [0, 1)
    signs: Floats | None = None  # [resamples, instances], 1 or -1, one sign a cluster


def too_few(n_instances: int, clusters: Clusters | None = None) -> int:
    """How many instances or clusters are drawn, where that is too few to test a difference; 0: there are enough.

    Resamples of a single instance are all alike, and those of three leave out 0 whenever all three differ one way.
    """
    n_units = n_instances if clusters is None or clusters.fixed else clusters.number
    return n_units if n_units < LEAST_CLUSTERS else 0


def drawn_units(n_instances: int, clusters: ClusterLabels | None) -> int:
    """How many instances or clusters are drawn independently."""
    groups = check_clusters(clusters, n_instances)
    return n_instances if groups is None or groups.fixed else groups.number


def check_clusters(clusters: ClusterLabels | None, n_instances: int) -> Clusters | None:
    """The clusters of labels [instances], numbers or strings; None for None, and ValueError for what fits no instances.

    Only which labels are equal matters, and their order: resamples draw clusters in the order of the sorted labels.
    """
    if clusters is None:
        return None
    fixed = isinstance(clusters, Within)
    labels = np.asarray(clusters.labels if isinstance(clusters, Within) else clusters)
    if labels.shape != (n_instances,):
        raise ValueError(f"clusters must have one label for each of {n_instances} instances; got shape {labels.shape}")
    if labels.dtype.kind not in "biufSU":
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f"clusters must be numbers or strings; got an array of {labels.dtype}")
        labels = labels.astype(np.str_)
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"clusters must not be NaN; got it at place {int(np.flatnonzero(np.isnan(labels))[0])}")
    names, of = np.unique(labels, return_inverse=True)
    return Clusters(of.reshape(-1), len(names), fixed)


def resample_counts(n_instances: int, resampling: Resampling, clusters: Clusters | None = None) -> Iterator[Ints]:
    """How often each resample holds each instance, in blocks [resamples of the block, instances], `n_resamples` in all.

    `n_instances` is at least 1. Resamples of clusters differ in size.
    """
    rng = np.random.default_rng(resampling.seed)
    if clusters is not None and clusters.fixed:
        yield from _counts_within(rng, _blocks(n_instances, resampling), clusters)
        return
    n_units = n_instances if clusters is None else clusters.number
    for rows in _blocks(n_instances, resampling):
        counts = _counts(rng.integers(n_units, size=(rows, n_units)))
        yield counts if clusters is None else counts.take(clusters.of, axis=1)


def _counts_within(rng: np.random.Generator, blocks: Iterable[int], clusters: Clusters) -> Iterator[Ints]:
    """Counts of resamples that draw as many instances of each cluster as it has."""
    order = np.argsort(clusters.of, kind="stable")  # instances cluster by cluster
    sizes = np.bincount(clusters.of, minlength=clusters.number)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.argsort(order)
    for rows in blocks:
        drawn = starts + rng.integers(np.repeat(sizes, sizes), size=(rows, len(order)))
        yield _counts(drawn).take(places, axis=1)


def _counts(drawn: Ints) -> Ints:
    """How often each of the units 0 .. n - 1 is among the n drawn of each row, [rows, n]."""
    rows, n_units = drawn.shape
    drawn += np.arange(rows)[:, None] * n_units
    return np.bincount(drawn.ravel(), minlength=rows * n_units).reshape(rows, n_units)


def uniform_numbers(n_instances: int, resampling: Resampling) -> Iterator[Floats]:
    """Numbers in [0, 1) from a stream of their own, in blocks [resamples of the block, instances]."""
    rng = np.random.default_rng([resampling.seed, 1])
    for rows in _blocks(n_instances, resampling):
        yield rng.random((rows, n_instances))


def cluster_signs(n_instances: int, resampling: Resampling, clusters: Clusters) -> Iterator[Floats]:
    """1 or -1, the same for all instances of a cluster, in blocks [resamples of the block, instances]."""
    rng = np.random.default_rng([resampling.seed, 1])
    for rows in _blocks(n_instances, resampling):
        signs = (2 * rng.integers(2, size=(rows, clusters.number)) - 1).astype(np.float64)
        yield signs.take(clusters.of, axis=1)


def blocks(n_instances: int, resampling: Resampling, clusters: Clusters | None, by_chance: bool) -> Iterator[Block]:
    """All resamples, with the means to draw correctness anew if these are asked for. `n_instances` is at least 1."""
    counts: Iterator[Ints] = (np.empty((rows, 0), np.int64) for rows in _blocks(n_instances, resampling))
    if resampling.intervals:
        counts = resample_counts(n_instances, resampling, clusters)
    if not by_chance:
        return map(Block, counts)
    if clusters is None or clusters.fixed:
        return map(Block, counts, uniform_numbers(n_instances, resampling))
    signs = cluster_signs(n_instances, resampling, clusters)
    return (Block(block, signs=sign_block) for block, sign_block in zip(counts, signs, strict=True))


def _blocks(n_instances: int, resampling: Resampling) -> Iterator[int]:
    """Resamples in each block."""
    rows = max(1, BLOCK_ENTRIES // n_instances)
    for done in range(0, resampling.n_resamples, rows):
        yield min(rows, resampling.n_resamples - done)


def of_blocks(
    function: Callable[[Block], Result],
    n_instances: int,
    resampling: Resampling,
    clusters: Clusters | None,
    by_chance: bool = False,
) -> list[Result]:
    """The function's results for all blocks of resamples, in order; none without instances or with too few clusters."""
    enough = n_instances > 0 if clusters is None else clusters.enough
    drawn = enough and (resampling.intervals or by_chance)
    return map_in_order(function, blocks(n_instances, resampling, clusters, by_chance)) if drawn else []


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The function's results in the order of the items, on `thread_count` threads.

    Items are taken one after the other by the calling thread, one more ahead than there are threads, so that an
    iterator over random numbers gives the same ones however many threads there are. What the function raises is raised
    here, once those under way are done.
    """
    remaining = iter(items)
    head = list(islice(remaining, 2))
    n_threads = thread_count() if len(head) == 2 else 1  # a thread for a single item would be one for nothing
    items = chain(head, remaining)
    if n_threads == 1:
        return [function(item) for item in items]
    done: list[Result] = []
    under_way: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads, "calprobe-bootstrap") as pool:
        for item in items:
            under_way.append(pool.submit(function, item))
            if len(under_way) > n_threads:
                done.append(under_way.popleft().result())
        done.extend(future.result() for future in under_way)
    return done


def thread_count() -> int:
    """Processors that this process may run on, but no more than OMP_NUM_THREADS where that is a positive number."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(available, int(setting)) if setting.isdecimal() and int(setting) > 0 else available
