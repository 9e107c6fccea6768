"""What the tests of backends share: a server, and waits that are short."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chat_server import ChatServer, serving


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as found:
        yield found


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the seconds between attempts, and no reading of certificates, which no server here shows."""
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_, **__: None)
    monkeypatch.setattr("calprobe.backends.openai.request_failures._FIRST_WAIT_S", 0.005)
