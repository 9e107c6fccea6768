"""The backends by name: each is imported when it is opened, and a missing package is named with its extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from calprobe.backends.options import BackendName, BackendOptions
from calprobe.backends.protocol import Backend, Capabilities
from calprobe.errors import CalprobeError
from calprobe.runs.manifest_records import ModelRecord

if TYPE_CHECKING:
    from calprobe.models import LoadOptions


_WINDOW = 20  # most probable tokens that most servers show


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


@dataclass(slots=True)
class Unopened:
    """A backend that was not opened: what it will most likely be able to do."""

    name: str
    model: ModelRecord
    capabilities: Capabilities

    @classmethod
    def of(cls, model: str, options: BackendOptions) -> Unopened:
        """The backend that the options name. Of a server: as if it showed log-probabilities and continued replies."""
        is_local, is_server = options.backend == "transformers", options.backend == "openai"
        capabilities = Capabilities(
            complete_softmax=is_local,
            top_logprobs=0 if is_local else options.top_logprobs or _WINDOW,
            token_ids=not is_server,
            continues=True if options.continues is None else options.continues,
            raw=not is_server,
            samples_are_reproducible="",
            ends_thoughts=is_local,
        )
        return cls(options.backend, ModelRecord(name=model), capabilities)


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
