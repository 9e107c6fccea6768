"""A local hub with one data set: what the hub's client asks of it, answered from a dictionary of files."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from running_server import running

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class HubServer(ThreadingHTTPServer):
    """Serves `files` (content by name) as the data set `repository` at `commit`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, repository: str, files: dict[str, bytes], commit: str = COMMIT) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repository, self.files, self.commit = repository, files, commit
        self.gated = False
        self.status = 200  # of every answer, if it is another
        self.downloads: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


def serving_hub(repository: str, files: dict[str, bytes]) -> AbstractContextManager[HubServer]:
    """The server, running in a thread until the end of the block."""
    return running(HubServer(repository, files))


class _Handler(BaseHTTPRequestHandler):
    server: HubServer

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def _answer(self, *, with_content: bool) -> None:
        hub, path = self.server, unquote(urlsplit(self.path).path)
        if hub.status != 200:
            self._send(hub.status, b"{}", {})
        elif hub.gated:
            self._send(403, b"{}", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access is restricted"})
        elif path.startswith(f"/api/datasets/{hub.repository}"):
            siblings = [{"rfilename": name, "size": len(content)} for name, content in hub.files.items()]
            info = {"id": hub.repository, "sha": hub.commit, "siblings": siblings, "private": False, "tags": []}
            self._send(200, json.dumps(info).encode(), {"Content-Type": "application/json"})
        elif (prefix := f"/datasets/{hub.repository}/resolve/{hub.commit}/") and path.startswith(prefix):
            self._file(path.removeprefix(prefix), with_content=with_content)
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    def _file(self, name: str, *, with_content: bool) -> None:
        content = self.server.files[name]
        self.server.downloads[name] += with_content
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": self.server.commit}
        self._send(200, content, headers, with_content=with_content)

    def _send(self, status: int, content: bytes, headers: dict[str, str], *, with_content: bool = True) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_content and self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
