"""The backends by name: each is imported when it is opened, and a missing package is named with its extra."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Backend, Capabilities
from calprobe.errors import CalprobeError
from calprobe.runs.manifest_records import ModelRecord
from calprobe.words import BackendName

if TYPE_CHECKING:
    from calprobe.models import LoadOptions


_WINDOW = 20  # most probable tokens that most servers show


class Entry(NamedTuple):
    """How a backend is opened, and what it can most likely do before it is."""

    open: Callable[[str, BackendOptions, LoadOptions | None], Backend]
    likely: Capabilities
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
    "transformers": Entry(
        _transformers,
        Capabilities(
            complete_softmax=True,
            top_logprobs=0,
            token_ids=True,
            continues=True,
            raw=True,
            samples_are_reproducible="",
            ends_thoughts=True,
        ),
    ),
    "vllm": Entry(
        _vllm,
        Capabilities(
            complete_softmax=False,
            top_logprobs=_WINDOW,
            token_ids=True,
            continues=True,
            raw=True,
            samples_are_reproducible="",
        ),
        "vllm",
    ),
    "openai": Entry(
        _openai,
        Capabilities(
            complete_softmax=False,
            top_logprobs=_WINDOW,
            token_ids=False,
            continues=True,
            raw=False,
            samples_are_reproducible="",
        ),
        "openai",
    ),
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
        likely = ENTRIES[options.backend].likely
        capabilities = replace(
            likely,
            top_logprobs=likely.top_logprobs and (options.top_logprobs or likely.top_logprobs),
            continues=likely.continues if options.continues is None else options.continues,
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
