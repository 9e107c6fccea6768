"""A local web server that hands out files of a data set, complete or spoilt, and counts what was asked of it."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from running_server import running

from calprobe.probes.datasets import DataFile, Dataset

CONTENTS = {"toy/a.txt": b"first", "toy/sub/b.txt": b"second" * 20_000, "toy/c.txt": b""}
TOY = Dataset(
    name="toy",
    repository="owner/toy",
    commit="c" * 40,
    folder="toy",
    terms="These toys are free.",
    use="Then put them on the shelf.",
    files=tuple(
        DataFile(path, path.removeprefix("toy/"), hashlib.sha256(content).hexdigest(), len(content))
        for path, content in CONTENTS.items()
    ),
)
SERVED = {f"/owner/toy/{'c' * 40}/{file.source}": CONTENTS[file.path] for file in TOY.files}
A, B = list(SERVED)[:2]


class FileServer(ThreadingHTTPServer):
    """Serves `contents` by URL path; each path in `faults` is spoilt as many times as its list has entries.

    A fault is a status code, `cut` (the connection ends halfway), an address (redirected there), `hang` (no answer
    until `release` is set) or the bytes to send instead.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.contents = dict(contents)
        self.faults: dict[str, list[int | str | bytes]] = {}
        self.requests: Counter[str] = Counter()
        self.hanging = threading.Event()
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet where a client hung up, as a killed download does; else as usual."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.requests[self.path] += 1
        content = self.server.contents.get(self.path)
        faults = self.server.faults.get(self.path)
        fault = faults.pop(0) if faults else None
        if fault == "hang":
            self.server.hanging.set()
            self.server.release.wait(30)
        if content is None or isinstance(fault, int):
            self.send_error(fault if isinstance(fault, int) else 404)
            return
        if isinstance(fault, str) and fault.startswith("http"):
            self.send_response(302)
            self.send_header("Location", fault)
            self.end_headers()
            return
        content = fault if isinstance(fault, bytes) else content
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def serving(contents: Mapping[str, bytes]) -> AbstractContextManager[FileServer]:
    """A running server; stopped on leaving."""
    return running(FileServer(contents))
