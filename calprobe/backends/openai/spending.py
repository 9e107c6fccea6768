"""What a session has cost at a server, so that it ends before it costs more than it may."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from calprobe.backends.options import Prices
from calprobe.errors import CalprobeError
from calprobe.messages import dollars

# The two names that servers have for the number of new tokens.
BUDGETS = ("max_tokens", "max_completion_tokens")
_TEMPLATE = 20  # tokens of a chat template around a prompt, roughly
_RATIO = 0.5  # tokens per letter of a prompt until long prompts tell: twice as many as of English
_TELLING = 200  # letters of a prompt from which on the template is a small part
_PAUSE_S = 0.02


class Spending:
    """Sums up what answers cost. Requests in progress count at their most: prompt by its letters, longest reply.

    So do replies for which the server counts no tokens. An answer that cannot be used counts, too, if the server says
    what it used. A request that fails otherwise counts nothing: servers do not say what it used, and few charge for it.
    """

    def __init__(self, prices: Prices, most: float) -> None:
        self._prices, self._most = prices, most  # dollars
        self._spent = self._in_progress = 0.0
        self._ratio: float | None = None  # the most tokens per letter of any long prompt so far

    @asynccontextmanager
    async def allowed(self, body: Mapping[str, Any]) -> AsyncIterator[None]:
        """Around a request. Where it could cost more than is left, requests in progress are waited for first: most cost
        less than they could.

        Raises CalprobeError if it could still cost too much.
        """
        cost = self._at_most(body)
        while self._spent + self._in_progress + cost > self._most:
            if not self._in_progress:
                spent, limit = dollars(self._spent), dollars(self._most)
                raise CalprobeError(f"--max-cost {limit}: {spent} are spent, and the next request could pass it")
            await asyncio.sleep(_PAUSE_S)
        self._in_progress += cost
        try:
            yield
        finally:
            self._in_progress = max(0.0, self._in_progress - cost)
            if self._in_progress < 1e-12:  # what rounding leaves of a sum
                self._in_progress = 0.0

    def take(self, body: Mapping[str, Any], tokens_in: int, tokens_out: int) -> None:
        """Add what an answer has cost."""
        self._spent += self._prices.of(tokens_in, tokens_out)
        if (letters := _letters(body)) >= _TELLING:
            self._ratio = max(self._ratio or 0.0, (tokens_in - _TEMPLATE) / letters)

    def take_most(self, body: Mapping[str, Any]) -> None:
        """Add the most that a reply can have cost for which the server counts no tokens."""
        self._spent += self._at_most(body)

    def _at_most(self, body: Mapping[str, Any]) -> float:
        tokens_in = _TEMPLATE + round(_letters(body) * (_RATIO if self._ratio is None else self._ratio))
        return self._prices.of(tokens_in, max(body.get(name, 0) for name in BUDGETS))


def _letters(body: Mapping[str, Any]) -> int:
    return sum(len(str(message["content"])) for message in body["messages"])
