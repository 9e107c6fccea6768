"""A local server with OpenAI's chat interface that answers from a hash of the conversation, or behaves badly."""

from __future__ import annotations

import hashlib
import json
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from running_server import running

LETTERS = ("A", "B", "C", "D")
HELLO = "Hi"  # the first request, by which a backend looks at its server


def completion(body: dict[str, Any], model: str | None = None, words: tuple[str, ...] = LETTERS) -> dict[str, Any]:
    """The one reply to this request."""
    said = json.dumps(body["messages"])
    number = int(hashlib.sha256(f"{said} {body.get('seed')}".encode()).hexdigest()[:8], 16)
    text = f"0.{number % 10}" if "sure" in body["messages"][-1]["content"] else words[number % len(words)]
    message = {"role": "assistant", "content": text}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    if body.get("logprobs"):
        choice["logprobs"] = {"content": [_token(text, words, body.get("top_logprobs", 0))]}
    usage = {"prompt_tokens": len(said) // 4, "completion_tokens": 1}
    served = model or body["model"]
    return {"id": "x", "object": "chat.completion", "model": served, "choices": [choice], "usage": usage}


def _token(text: str, words: tuple[str, ...], top: int) -> dict[str, Any]:
    """The chosen token with 0.6, each word with 0.04 in two forms, and other words behind them."""
    window = [{"token": text, "logprob": math.log(0.6)}]
    forms = [form for word in words for form in (word, f" {word}") if form != text]
    window += [{"token": form, "logprob": math.log(0.04)} for form in forms]
    window += [{"token": f"w{n}", "logprob": math.log(0.001)} for n in range(20)]
    return {"token": text, "logprob": window[0]["logprob"], "top_logprobs": window[:top]}


class ChatServer(ThreadingHTTPServer):
    """Serves one model. `faults` are taken one for each request after the first; a callable sends what it likes."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    allow_reuse_address = True

    def __init__(self, port: int = 0, owner: str = "tests") -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.owner = owner
        self.model = "toy-chat"
        self.answers_with: str | None = None  # another model's name
        self.words: tuple[str, ...] = LETTERS  # its replies
        self.needs_key: str | None = None
        self.refuses: Callable[[dict[str, Any]], str] = lambda _: ""  # why the request is refused with 400, if it is
        self.alters: Callable[[dict[str, Any], dict[str, Any]], None] = lambda answer, body: None  # each answer
        self.headers: list[dict[str, str]] = []
        self.faults: list[int | str | Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]] = []
        self.requests: Counter[str] = Counter()  # by conversation, without the first look
        self.served = 0
        self.bodies: list[dict[str, Any]] = []
        self.active = self.most_active = 0
        self.times: list[float] = []
        self.release = threading.Event()
        self.lock = threading.Lock()
        self.pause_s = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: clients go away in tests."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or head and body, two writes, are 40 ms apart

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            self._send(404, {"error": {"message": "no such path"}})
            return
        self._send(200, {"object": "list", "data": [{"id": self.server.model, "owned_by": self.server.owner}]})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        if self.path != "/v1/chat/completions":
            self._send(404, {"error": {"message": "no such path"}})
            return
        if server.needs_key and self.headers["Authorization"] != f"Bearer {server.needs_key}":
            said = f"Incorrect API key provided: {self.headers['Authorization']}"
            self._send(401, {"error": {"message": said, "code": "invalid_api_key"}})
            return
        if body["model"] != server.model:
            self._send(404, {"error": {"message": f"The model `{body['model']}` does not exist"}})
            return
        if said := server.refuses(body):
            self._send(400, {"error": {"message": said}})
            return
        with server.lock:
            is_look = body["messages"][-1]["content"] == HELLO
            fault = None if is_look or not server.faults else server.faults.pop(0)
            server.active += 1
            server.most_active = max(server.most_active, server.active)
            if not is_look:
                server.requests[json.dumps([body["messages"], body.get("seed")])] += 1
                server.bodies.append(body)
                server.times.append(time.monotonic())
        try:
            time.sleep(0 if is_look else server.pause_s)
            self._answer(body, fault)
        finally:
            with server.lock:
                server.active -= 1

    def _answer(self, body: dict[str, Any], fault: Any) -> None:
        reply = completion(body, self.server.answers_with, self.server.words)
        self.server.alters(reply, body)
        answer = json.dumps(reply).encode()
        if callable(fault):
            fault(self, body)
        elif isinstance(fault, int):
            self._send(fault, {"error": {"message": f"fault {fault}"}}, {"Retry-After": "0.2"} if fault == 429 else {})
        elif fault == "hang":
            self.server.release.wait(30)
        elif fault == "reset":
            self.hang_up()
        elif fault == "cut":
            self._raw(answer[: len(answer) // 2])
        elif fault == "short":  # the length promises more
            self._head(200, len(answer))
            self.wfile.write(answer[: len(answer) // 2])
            self.hang_up()
        elif fault == "html":
            self._raw(b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>")
        elif fault == "huge":
            self._raw(b'{"choices": "' + b"x" * 10_000_000 + b'"}')
        elif fault == "endless":
            self._endless()
        elif isinstance(fault, str):
            self._raw(fault.encode())
        else:
            with self.server.lock:
                self.server.served += 1
            self._raw(answer)

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"x" * 100_000
        while not self.server.release.is_set():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _raw(self, content: bytes) -> None:
        self._head(200, len(content))
        self.wfile.write(content)

    def _head(self, code: int, length: int, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, code: int, value: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self._head(code, len(content), headers)
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def serving(port: int = 0, owner: str = "tests") -> AbstractContextManager[ChatServer]:
    """A running server; killed on leaving, without a word to its clients."""
    return running(ChatServer(port, owner), every=0.01)
