"""What is counted while questions are asked; how it is shown is `calprobe.progress`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from calprobe.backends.options import Prices
from calprobe.messages import dollars
from calprobe.progress import rate, seconds_left, watchers
from calprobe.runs.replies import Reply

ENOUGH = 20  # replies, to say how long the others take: the first ones wait for their whole wave of prompts


@dataclass(frozen=True, slots=True)
class AskProgress:
    """How far asking is. `AskOptions.progress` is called with it."""

    replies: int  # since this session began, failed ones too
    total: int  # that were missing when it began
    tokens: int  # generated since this session began
    failures: int  # requests that failed for good
    seconds: float  # since asking began, without loading the model
    piece: str = ""  # that is asked: mmlu.direct; empty before the first
    cost: float | None = None  # of the replies in dollars; None: no prices are given

    @property
    def done(self) -> int:
        """The replies."""
        return self.replies

    @property
    def part(self) -> str:
        """The piece."""
        return self.piece

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the present average speed; None before half of the replies, or ENOUGH, are there."""
        if self.replies < min(ENOUGH, self.total / 2):
            return None
        return seconds_left(self.replies, self.total, self.seconds)

    @property
    def rates(self) -> str:
        """How many requests failed, if any did, what they cost so far, and replies and generated tokens a second."""
        replies, tokens = rate(self.replies, self.seconds), rate(self.tokens, self.seconds)
        failed = f"{self.failures:,} failed, " if self.failures else ""
        cost = "" if self.cost is None else f"{dollars(self.cost)}, "
        return f"{failed}{cost}{replies} replies/s, {tokens} tokens/s"


ProgressHook = Callable[[AskProgress], None]


class Meter:
    """Counts replies, and calls each of its watchers after every one."""

    def __init__(self, total: int, watchers: Sequence[ProgressHook], prices: Prices | None = None) -> None:
        self._total = total
        self._prices = prices
        self._cost = 0.0
        self._watchers = watchers
        self._began = time.monotonic()
        self._replies = self._tokens = self._failures = 0

    def count(self, reply: Reply, piece: str, *, is_free: bool = False) -> None:
        """Count a reply that has arrived, or a request that failed; `is_free`: it costs nothing."""
        self._replies += 1
        self._tokens += reply.tokens_out
        self._failures += reply.finish == "error"
        seconds = max(time.monotonic() - self._began, 1e-9)
        cost = None
        if self._prices is not None:
            self._cost += 0.0 if is_free else self._prices.of(reply.tokens_in, reply.tokens_out)
            cost = self._cost
        state = AskProgress(self._replies, self._total, self._tokens, self._failures, seconds, piece, cost)
        for watcher in self._watchers:
            watcher(state)


@contextmanager
def progress(
    total: int, label: str, quiet: bool = False, hook: ProgressHook | None = None, prices: Prices | None = None
) -> Iterator[Meter]:
    """Show progress over `total` replies, in the way that stderr allows; `quiet` leaves only the hook."""
    with watchers(total, label, "replies", quiet=quiet, hook=hook) as observers:
        yield Meter(total, observers, prices)
