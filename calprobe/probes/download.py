"""Downloads the files of a data set side by side, each checked against its pinned size and SHA-256."""

from __future__ import annotations

import hashlib
import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from calprobe.interrupts import held_interrupts
from calprobe.probes.datasets import DataFile, Dataset
from calprobe.version import __version__

BASE_URL = "https://raw.githubusercontent.com"
CONNECTIONS = 6
ATTEMPTS = 3
PAUSE_S = 1.0  # before the second attempt; doubled for each further one
TIMEOUT_S = 20.0
CHUNK = 1 << 16  # bytes


class DownloadError(Exception):
    """A file that could not be had. The message gives its URL and the reason; `lasting` if trying again is no use."""

    def __init__(self, url: str, reason: str, *, lasting: bool) -> None:
        super().__init__(f"{url}: {reason}")
        self.lasting = lasting


def download_files(
    dataset: Dataset, files: Iterable[DataFile], folder: Path, on_file: Callable[[DataFile], None]
) -> None:
    """Download files of a data set to their paths below a folder; returns when all are there and verified.

    Args:
        dataset: names the repository and the commit of the files.
        files: what to download.
        folder: an existing folder.
        on_file: called in this thread for each file that has come.
    Raises:
        DownloadError: one of the files cannot be had, or is not what was pinned; what had come is left in the folder.
        OSError: the folder cannot be written to.
    """
    stop = threading.Event()
    with ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="calprobe-fetch") as pool:
        try:
            # Ctrl-C while a thread starts would keep it from the pool, and nobody would wait for its end.
            with held_interrupts("all downloads have begun", say=False):
                running = {pool.submit(_download_patiently, _url(dataset, f), f, folder, stop): f for f in files}
            for done in as_completed(running):
                done.result()
                on_file(running[done])
        except BaseException:  # Ctrl-C among them: the other threads end at their next chunk
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _url(dataset: Dataset, file: DataFile) -> str:
    return f"{BASE_URL}/{dataset.repository}/{dataset.commit}/{file.source}"


def _download_patiently(url: str, file: DataFile, folder: Path, stop: threading.Event) -> None:
    """`_download`, tried again after what may pass: a dropped or slow connection, a busy server."""
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, ATTEMPTS):
        try:
            _download(url, file, target, stop)
        except DownloadError as error:
            if error.lasting or stop.wait(PAUSE_S * 2 ** (attempt - 1)):
                raise
        else:
            return
    _download(url, file, target, stop)


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to HTTPS alone."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not newurl.startswith("https://"):
            raise DownloadError(req.full_url, "redirected to an address without TLS, not followed", lasting=True)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = urllib.request.build_opener(_SafeRedirects)


def _download(url: str, file: DataFile, target: Path, stop: threading.Event) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"calprobe/{__version__}"})
    try:
        with _OPENER.open(request, timeout=TIMEOUT_S) as response:
            content = _read(response, file.size + 1, stop)  # the one byte more tells a longer file
    except urllib.error.HTTPError as error:
        passing = error.code == 429 or error.code >= 500
        raise DownloadError(url, f"HTTP {error.code} ({error.reason})", lasting=not passing) from error
    except urllib.error.URLError as error:
        # No route, no name, refused, a certificate that does not hold: the machine is offline or behind a proxy.
        passing = isinstance(error.reason, TimeoutError | ConnectionResetError)
        raise DownloadError(url, f"no connection ({error.reason})", lasting=not passing) from error
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(url, f"connection lost ({error})", lasting=False) from error
    if len(content) != file.size:
        size = "more" if len(content) > file.size else f"{len(content):,}"
        raise DownloadError(url, f"{size} bytes came where {file.size:,} are pinned", lasting=len(content) > file.size)
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != file.sha256:
        raise DownloadError(url, f"SHA-256 is {sha256}, pinned is {file.sha256}", lasting=True)
    target.write_bytes(content)


def _read(response: http.client.HTTPResponse, limit: int, stop: threading.Event) -> bytes:
    """At most `limit` bytes of the response."""
    content = bytearray()
    while len(content) < limit and not stop.is_set():
        chunk = response.read(min(CHUNK, limit - len(content)))
        if not chunk:
            break
        content += chunk
    return bytes(content)
