"""Requests to the server: limits, attempts, waits. Its coroutines run in one event loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from calprobe.backends.openai.limited_http import limited_http
from calprobe.backends.openai.request_failures import Failure, failure_of, wait_before
from calprobe.backends.openai.server_answers import Answer, answer_of, parsed, usage_of
from calprobe.backends.openai.spending import Spending
from calprobe.backends.options import BackendOptions
from calprobe.errors import CalprobeError
from calprobe.messages import without_secrets

HIDDEN = "***"
_KNOWN_TO_THE_LIBRARY = ("model", "messages")  # the rest of a body goes through as it is


class RequestFailedError(Exception):
    """A request that failed for good; the message says why."""


class NothingThereError(CalprobeError):
    """The address has no chat interface, or its server no such model."""


class Client:
    """The server behind one address, with one key. Neither the key nor a header's value is in a message or `repr`."""

    def __init__(self, address: str, key: str, options: BackendOptions) -> None:
        import openai

        self.address = address
        self.options = options
        self.requests = 0  # attempts included
        prices, most = options.prices, options.max_cost
        self.spending = None if prices is None or most is None else Spending(prices, most)
        self.stopped: CalprobeError | None = None  # why no further request is made
        headers = options.sent_headers()
        words = [word for value in (key, *headers.values()) for word in value.split()]
        self._secrets = {key, *(word for word in words if len(word) >= 16)}  # other words of headers stand in replies
        self._chance = random.Random(0)  # spreads waits; replies do not depend on it
        self._not_before = self._next_turn = 0.0  # times of the event loop
        self._free = asyncio.Semaphore(options.concurrency)
        self._openai = openai.AsyncOpenAI(
            api_key=key,
            base_url=address,
            max_retries=0,
            timeout=options.timeout_s,
            default_headers=headers,
            http_client=limited_http(address),
        )

    def __repr__(self) -> str:
        return f"<Client {without_secrets(self.address)}>"

    def scrubbed(self, text: str) -> str:
        """The text without the key and long words of headers, which a server may send back."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN) if len(secret) >= 6 else text
        return text

    def stop(self, error: CalprobeError) -> None:
        """Make no further requests; those in progress go on."""
        self.stopped = self.stopped or error

    async def complete(self, body: Mapping[str, Any]) -> Answer:
        """The answer to a chat completion request, after as many attempts as it takes.

        Raises RequestFailedError if it failed for good, and the error of `stop` if all requests end.
        """
        async with self._free:
            for attempt in count(1):
                async with self._paid(body):  # each attempt: an answer of no use costs, too
                    await self._turn()
                    try:
                        async with asyncio.timeout(self.options.timeout_s):
                            content = await self._post(body)
                        return self._charged(body, content)
                    except Exception as error:  # noqa: BLE001 - whatever a server can cause is a failure of this attempt
                        failure = failure_of(error, self.options.timeout_s)
                await self._after(attempt, failure)
        raise AssertionError("count() ends")  # for the type checker

    def _charged(self, body: Mapping[str, Any], content: bytes) -> Answer:
        """The answer, counted in what the session costs before it is checked: it is paid for, whatever is in it."""
        if self.spending is None:
            return answer_of(content)
        if (usage := usage_of(content)) is not None:
            self.spending.take(body, *usage)
            return answer_of(content)
        answer = answer_of(content)
        self.spending.take_most(body)
        return answer

    @asynccontextmanager
    async def _paid(self, body: Mapping[str, Any]) -> AsyncIterator[None]:
        """Around an attempt, within what the session may cost; raises the error of `stop` if it may not."""
        if self.spending is None:
            yield
            return
        try:
            async with self.spending.allowed(body):
                yield
        except CalprobeError as error:
            self.stop(error)
            raise

    async def models(self) -> list[Mapping[str, Any]]:
        """The models that the server lists, as it describes them; empty if it has no such list."""
        try:
            async with asyncio.timeout(self.options.timeout_s):
                response = await self._openai.models.with_raw_response.list()
                data = parsed(response.content)
        except Exception:  # noqa: BLE001 - the list is a help, nothing depends on it
            return []
        entries = data.get("data") if isinstance(data, dict) else None
        return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []

    async def close(self) -> None:
        """Close the connections."""
        await self._openai.close()

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        fields = {name: body[name] for name in _KNOWN_TO_THE_LIBRARY}
        extras = {name: value for name, value in body.items() if name not in fields}
        response = await self._openai.chat.completions.with_raw_response.create(**fields, extra_body=extras)
        content: bytes = response.content
        return content

    async def _after(self, attempt: int, failure: Failure) -> None:
        """Wait for the next attempt, or raise if there is none."""
        reason = self.scrubbed(without_secrets(failure.reason))
        attempts = failure.attempts or self.options.attempts
        if failure.verdict == "fatal" or (failure.verdict == "gone" and attempt >= attempts):
            kind = NothingThereError if failure.is_missing else CalprobeError
            self.stop(kind(f"{without_secrets(self.address)}: {reason}"))
        if self.stopped is not None:
            raise self.stopped
        if failure.verdict == "refused" or attempt >= attempts:
            raise RequestFailedError(reason if attempt == 1 else f"{reason} ({attempt} attempts)")
        wait = wait_before(attempt, failure, self._chance)
        if failure.wait_s is not None:  # for everybody
            self._not_before = max(self._not_before, asyncio.get_running_loop().time() + wait)
        await asyncio.sleep(wait)

    async def _turn(self) -> None:
        """Wait until the server's limits and the user's allow a request."""
        loop, per_minute = asyncio.get_running_loop(), self.options.requests_per_minute
        while True:
            if self.stopped is not None:
                raise self.stopped
            wait = max(self._not_before, self._next_turn) - loop.time()
            if wait <= 0:
                break
            await asyncio.sleep(min(wait, 1.0))  # so that a stop is seen
        most = self.options.max_requests
        if most is not None and self.requests >= most:
            self.stop(CalprobeError(f"--max-requests {most} are made"))
            raise self.stopped or AssertionError
        self.requests += 1
        if per_minute is not None:
            self._next_turn = max(self._next_turn, loop.time()) + 60 / per_minute
