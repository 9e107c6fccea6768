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
    """Inside, the hub client looks into its cache only if the hub's name does not resolve; its retries are not logged.

    Left to itself it retries each file for half a minute, with two warnings a try.
    """
    from huggingface_hub import constants

    client_log = logging.getLogger("huggingface_hub")
    offline, level = constants.HF_HUB_OFFLINE, client_log.level
    client_log.setLevel(logging.ERROR)
    constants.HF_HUB_OFFLINE = offline or not _resolves(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = offline
        client_log.setLevel(level)


def _resolves(address: str) -> bool:
    # Behind a proxy it is the proxy that resolves names.
    if any(os.environ.get(name) for name in _PROXIES):
        return True
    try:
        socket.getaddrinfo(urlsplit(address).hostname, 443)
    except OSError:
        return False
    return True
