"""The model hub, when there is none: no network should cost a second, not a minute of retries."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@contextmanager
def patient_hub() -> Iterator[None]:
    """Inside, the hub client's retries are not logged, and what `look_for_hub` finds holds; undone on leaving."""
    from huggingface_hub import constants

    client_log = logging.getLogger("huggingface_hub")
    offline, level = constants.HF_HUB_OFFLINE, client_log.level
    client_log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline
        client_log.setLevel(level)


def look_for_hub() -> None:
    """Before the hub is first asked for a file: if its name does not resolve, the client looks into its cache only.

    Left to itself it retries each file for half a minute, with two warnings a try. Models that lie on this machine need
    no hub, and no such look-up.
    """
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE or not _resolves(constants.ENDPOINT)


def _resolves(address: str) -> bool:
    # Behind a proxy it is the proxy that resolves names.
    if any(os.environ.get(name) for name in _PROXIES):
        return True
    try:
        socket.getaddrinfo(urlsplit(address).hostname, 443)
    except OSError:
        return False
    return True
