"""A server of a test in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import TypeVar

Server = TypeVar("Server", bound=ThreadingHTTPServer)


@contextmanager
def running(server: Server, every: float = 0.02) -> Iterator[Server]:
    """The server, running until the end of the block; what waits for its `release`, if it has one, goes on then."""
    thread = threading.Thread(target=server.serve_forever, args=(every,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        if (release := getattr(server, "release", None)) is not None:
            release.set()
        server.shutdown()
        server.server_close()
        thread.join()
