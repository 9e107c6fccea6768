"""The HTTP client of the `openai` library, which reads no more of an answer than a reply can have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

MOST_BYTES = 8_000_000  # a token with a window of 20 has about 2 kB


class TooLargeError(Exception):
    """A body that is longer than any reply."""


def limited_http(address: str) -> Any:
    """The library's own client, with a limit on bodies, those of errors and streams too.

    Redirections are not followed: the key belongs to the address that the user has named.
    """
    import openai

    hooks = {"response": [_limit]}
    # Certificates take a tenth of a second to read, and an address without TLS has none.
    verify = not address.startswith("http://")
    return openai.DefaultAsyncHttpxClient(event_hooks=hooks, follow_redirects=False, verify=verify)


async def _limit(response: Any) -> None:
    """Let the response's body raise TooLargeError when it is read beyond MOST_BYTES."""
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise _too_large()
    response.stream = _limited(response.stream)


def _limited(stream: Any) -> Any:
    kind: Any = next(base for base in type(stream).__mro__ if base.__name__ == "AsyncByteStream")

    class Limited(kind):  # type: ignore[misc]  # of whichever library the client is built on
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > MOST_BYTES:
                    raise _too_large()
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


def _too_large() -> TooLargeError:
    return TooLargeError(f"an answer of more than {MOST_BYTES // 1_000_000} MB, which no reply has")
