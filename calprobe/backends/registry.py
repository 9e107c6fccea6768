"""The backends by name: each is imported when it is opened, and a missing package is named with its extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from calprobe.backends.options import BackendName, BackendOptions
from calprobe.backends.protocol import Backend
from calprobe.errors import CalprobeError

if TYPE_CHECKING:
    from calprobe.models import LoadOptions


class Entry(NamedTuple):
    """How a backend is opened."""

    open: Callable[[str, BackendOptions, LoadOptions | None], Backend]
    package: str = ""  # what it needs apart from calprobe's own requirements; an extra of calprobe has its name


def _transformers(model: str, options: BackendOptions, load_options: LoadOptions | None) -> Backend:
    from calprobe.backends.local import open_backend

    return open_backend(model, load_options)


def _vllm(model: str, options: BackendOptions, load_options: LoadOptions | None) -> Backend:
    from calprobe.backends.vllm import open_vllm

    return open_vllm(model, options, load_options)


def _openai(model: str, options: BackendOptions, load_options: LoadOptions | None) -> Backend:
    from calprobe.backends.openai import open_openai

    return open_openai(model, options)


ENTRIES: Mapping[BackendName, Entry] = {
    "transformers": Entry(_transformers),
    "vllm": Entry(_vllm, "vllm"),
    "openai": Entry(_openai, "openai"),
}


def open_backend(model: str, options: BackendOptions, load_options: LoadOptions | None = None) -> Backend:
    """The backend that the options name, ready to answer. `close` it.

    Raises CalprobeError if a package that it needs is not installed; UsageError, DataMissingError and CalprobeError for
    what it cannot do with this model or server.
    """
    entry = ENTRIES[options.backend]
    try:
        return entry.open(model, options, load_options)
    except ModuleNotFoundError as error:
        if not entry.package or (error.name or "").partition(".")[0] != entry.package:
            raise
        raise CalprobeError(
            f"--backend {options.backend} needs the package {entry.package}: pip install 'calprobe[{entry.package}]'"
        ) from error


@contextmanager
def using_backend(
    model: str | Backend, options: BackendOptions, load_options: LoadOptions | None = None
) -> Iterator[Backend]:
    """The backend of a name, closed at the end; one that is open already is left to its owner.

    Raises as `open_backend`.
    """
    if not isinstance(model, str):
        yield model
        return
    backend = open_backend(model, options, load_options)
    try:
        yield backend
    finally:
        backend.close()
