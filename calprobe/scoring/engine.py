"""The engine: scores pieces in memory, group by group, without files, locks or other processes.

`calprobe score` writes its results into a run folder; the training callback, the doctor and the benchmarks use them
directly.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from calprobe.errors import CalprobeError
from calprobe.messages import counted
from calprobe.models import LoadedModel
from calprobe.models.loaded_model import Part
from calprobe.probes import Relation
from calprobe.runs import PieceScores, Progress
from calprobe.runs.records import Piece
from calprobe.scoring.back_off import BackOff
from calprobe.scoring.budget import auto_batch_tokens
from calprobe.scoring.executor import Executor
from calprobe.scoring.fit import Way, check_paths, find_way
from calprobe.scoring.options import PATHS_OF, Path, ScoreOptions
from calprobe.scoring.path_choice import Setup, executor_of
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scheduling import Group, Schedule
from calprobe.scoring.score_progress import Advance, no_progress
from calprobe.scoring.scored_pieces import Elsewhere, PreparedGroup, prepare_group
from calprobe.scoring.token_workers import token_workers, worker_count

log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R")

_PREFETCH = 2  # groups: after a long group, the group after a short one is ready too


def score_pieces(
    model: LoadedModel,
    selection: Selection,
    options: ScoreOptions = ScoreOptions(),
    way: Way | None = None,
    advance: Advance = no_progress,
) -> Iterator[PieceScores]:
    """Score the pieces of a selection in memory, group by group; each is yielded when its group is scored.

    A group has relations under one template. Scores are the bytes that `calprobe score` writes with the same path,
    batch budget and number of threads. Statements of the next groups are tokenised and planned in another thread. If
    memory runs out, the group is scored again with half the batch budget.

    Args:
        model: from `load_model`.
        selection: from `select`.
        options: only masking, tokens and shard are used; the selection has the others.
        way: from `find_way`; None finds it here, before the first piece.
        advance: called with the numbers of statements and tokens scored since its last call.
    Raises:
        CalprobeError: a statement does not fit the model or the memory.

    Example:
        >>> from calprobe.models import load_model
        >>> from calprobe.probes import load_probe
        >>> from calprobe.scoring import ScoreOptions, score_pieces, select
        >>> options = ScoreOptions(relations=("month",), limit=2)
        >>> pieces = score_pieces(load_model("tiny-clm"), select(load_probe("mini"), options), options)
        >>> [(piece.relation, piece.template, piece.sum.shape) for piece in pieces]
        [('month', 0, (24,))]
    """
    engine = Engine(model, selection, options, way or find_way(model, selection, options))
    for group in engine.score(engine.schedule.groups, advance):
        yield from group.pieces


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """The scores of a group's pieces, in order."""

    pieces: list[PieceScores]
    batch_tokens: int  # the budget of these scores
    path: Path
    by_torch: tuple[Part, ...] = ()  # since kernels have failed in this run

    def taken(self, began_with: str | None) -> Progress:
        """The budget of these scores, and the path if it is not the one that the run began with."""
        later_path = None if self.path == began_with else self.path
        return Progress(batch_tokens=self.batch_tokens, later_path=later_path, later_by_torch=self.by_torch)


class Engine:
    """Scores groups of a selection's pieces with one model and a batch budget that only becomes smaller.

    There is one path, unless it fails in the middle of the run and `way` lets the engine step down to a plainer one.
    """

    def __init__(
        self,
        model: LoadedModel,
        selection: Selection,
        options: ScoreOptions,
        way: Way,
        schedule: Schedule | None = None,
        instead: Mapping[Piece, Relation] = MappingProxyType({}),
    ) -> None:
        """`schedule` is that of an existing run; `instead` has the instances of pieces that differ from it."""
        grouped_by = way.grouped_by or way.batch_tokens
        self.model = model.by_torch(way.by_torch)
        self._loaded = model
        self.schedule = schedule or Schedule(selection, selection.pieces, way.path, grouped_by, options.shard)
        self._way, self._began_with = way, way.by_torch
        self._selection, self._options = selection, options
        self._instead = instead
        self._templates = selection.template_set
        self._masking = options.masking(model.kind, model.name)
        executor = executor_of(way.path, self.model, way.batch_tokens, masking=self._masking)
        self._back_off = BackOff(self.model, executor, options.save_tokens, self._next_path)
        self._n_scored = self._n_nan = 0  # statements

    def score(
        self,
        groups: Iterable[Group],
        advance: Advance,
        prefetch: int = _PREFETCH,
        begin: Callable[[str], None] = lambda relations: None,
    ) -> Iterator[ScoredGroup]:
        """Score the groups in the given order, and prefetch up to `prefetch` of them. Raises CalprobeError.

        `begin` is called with the names of a group's relations before the group is scored. Statements whose score is
        NaN are warned of when the first ones come, and counted at the end.
        """
        # Of several processes each has a Python of its own, and takes one group at a time.
        count = worker_count(self.model, self.schedule.n_statements(self.schedule.groups)) if prefetch > 1 else 0
        with token_workers(self.model, count) as workers:
            elsewhere = partial(workers.rows_of, self._masking.word_split) if workers else None
            prepare = partial(self._prepare, elsewhere)
            with closing(prefetched(groups, prepare, max(prefetch, count + 1), max(1, count))) as prepared:
                for ready in prepared:
                    begin(ready.relations)
                    pieces = self._back_off.score(ready, advance)
                    self._count_nan(ready.shown, pieces)
                    failed = tuple(part for part in self._way.by_torch if part not in self._began_with)
                    yield ScoredGroup(pieces, self._back_off.batch_tokens, self._way.path, failed)
        if self._n_nan:
            log.warning("NaN for %d of %s that this process scored", self._n_nan, counted(self._n_scored, "statement"))

    def _count_nan(self, group: str, pieces: Sequence[PieceScores]) -> None:
        """Count the statements, and those with NaN; the first warning names the group and what to do."""
        is_nan = np.concatenate([np.isnan(piece.sum) for piece in pieces if piece.sum is not None])
        count, is_first = int(is_nan.sum()), not self._n_nan
        self._n_scored += len(is_nan)
        self._n_nan += count
        if count and is_first:
            fix = "weights may be damaged: copy or download them again"
            if self.model.dtype != "float32":
                fix = "numbers may be too large for the dtype: score into another --out with --dtype float32"
            log.warning(
                "%s: %s in %s gives NaN for %d of %s, and facts with one count as failed\n%s",
                *(group, self.model.name, self.model.dtype, count, counted(len(is_nan), "statement"), fix),
            )

    def _next_path(self, what: str) -> Executor | None:
        """The executor of the next path that agrees with the model's own forward, and a warning; None if it may not.

        Before another path, the same one with torch in the place of some kernels.
        """
        failed, paths = Setup(self._way.path, self._way.by_torch), PATHS_OF[self.model.kind]
        if failed.path == paths[-1] or not self._way.steps_down:
            return None
        plainer = paths[paths.index(failed.path) :]
        checked = check_paths(self._loaded, self._selection, self._options, among=plainer, failed=failed)
        self.model, path = self._loaded.by_torch(checked.by_torch), checked.path
        batch_tokens = min(self._back_off.batch_tokens, auto_batch_tokens(self.model, path, checked.longest))
        executor = executor_of(path, self.model, batch_tokens, masking=self._masking)
        self._way = replace(self._way, path=path, by_torch=checked.by_torch, batch_tokens=batch_tokens)
        after = Setup(path, checked.by_torch)
        log.warning("%s\nthe %s failed there; this group and all later ones take the %s", what, failed, after)
        return executor

    def _prepare(self, elsewhere: Elsewhere | None, group: Group) -> PreparedGroup:
        """The group tokenised and planned with the current budget; runs in another thread."""
        pieces = [
            (self._instead.get(piece) or self.schedule.relation(piece), self._templates.template(*piece))
            for piece in group
        ]
        try:
            return prepare_group(pieces, self.model, self._back_off.executor, self._masking, elsewhere)
        except MemoryError as error:
            shown = ", ".join(f"{relation}, template {number}" for relation, number in group[:1])
            raise CalprobeError(
                f"{shown}: out of memory while its statements were planned, before any was scored\n"
                "free memory and run the same command again"
            ) from error


def prefetched(items: Iterable[T], prepare: Callable[[T], R], ahead: int = _PREFETCH, threads: int = 1) -> Generator[R]:
    """`prepare(item)` for each item, in order; other threads prepare up to `ahead` items while the caller has one.

    An error of `prepare` is raised at its item's turn. Leaving early cancels what has not begun.
    """
    source = iter(items)
    with ThreadPoolExecutor(threads, thread_name_prefix="prepare") as pool:
        under_way: deque[Future[R]] = deque(pool.submit(prepare, item) for item in islice(source, ahead))
        try:
            while under_way:
                result = under_way.popleft().result()
                under_way.extend(pool.submit(prepare, item) for item in islice(source, 1))
                yield result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
