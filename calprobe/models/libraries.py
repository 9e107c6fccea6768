"""The libraries that load a model: kept quiet, without long retries where there is no network, errors in two lines.

An error says what is wrong with which model, and what to do about it.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.messages import without_secrets
from calprobe.models.loaded_model import LoadOptions
from calprobe.models.memory import is_out_of_memory
from calprobe.models.source import LISTED, Source, mistyped_alias
from calprobe.progress import is_terminal


def shows_bars(quiet: bool) -> bool:
    """True if progress bars are wanted: not quiet, and someone looks at a terminal."""
    return not quiet and is_terminal(sys.stderr)


@contextmanager
def quiet_libraries(quiet: bool) -> Iterator[None]:
    """Errors only from transformers' logger, no warnings, and progress bars only on a terminal; undone on leaving."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    hub_bars = not are_progress_bars_disabled()
    logging.set_verbosity_error()
    if not shows_bars(quiet):
        logging.disable_progress_bar()
        disable_progress_bars()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
        if hub_bars:
            enable_progress_bars()


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


PICKLES = (".bin", ".pt", ".pth", ".ckpt")


@contextmanager
def explained(source: Source, options: LoadOptions) -> Iterator[None]:
    """Turn any exception of transformers, peft, safetensors or the hub client into a CalprobeError about the model."""
    try:
        yield
    except CalprobeError:
        raise
    except Exception as error:
        raise _translated(error, source, options) from error


def _translated(error: Exception, source: Source, options: LoadOptions) -> CalprobeError:
    chain, name = _chain(error), source.shown
    return (
        _hub_failure(chain, name, options)
        or _memory_failure(chain, name)
        or _file_failure(error, source)
        or CalprobeError(f"{name} cannot be loaded: {type(error).__name__}: {first_line(error)}")
    )


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error and what it was raised from: transformers wraps the hub's errors in OSError."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


_DOWNLOAD = "download it where there is a network (`hf download {name}`) and give its folder as --model DIR"


def _hub_failure(chain: list[BaseException], name: str, options: LoadOptions) -> CalprobeError | None:
    from huggingface_hub import errors as hub

    def raised(*types: type[BaseException]) -> bool:
        return any(isinstance(error, types) for error in chain)

    revision = options.revision or "main"
    if raised(hub.GatedRepoError):
        return DataMissingError(
            f"{name} is gated: its licence has to be accepted first\n"
            f"accept it at https://huggingface.co/{name}, then log in with `hf auth login` (or `huggingface-cli login`)"
        )
    if raised(hub.RevisionNotFoundError):
        return UsageError(f"{name} has no revision {revision!r}; see https://huggingface.co/{name}/tree/main")
    meant = mistyped_alias(name)
    if raised(hub.RepositoryNotFoundError):
        return DataMissingError(
            f"no model {name} on the hub, or it is private{meant}\n"
            "check the spelling (`calprobe models` lists aliases); for a private model log in with `hf auth login`"
        )
    if raised(hub.LocalEntryNotFoundError, hub.OfflineModeIsEnabled, ConnectionError, TimeoutError) or any(
        "couldn't connect to" in str(error) for error in chain
    ):
        return DataMissingError(
            f"{name} is not on this machine, and the hub cannot be reached (no network, or HF_HUB_OFFLINE is set)"
            + (f"{meant}\n{LISTED}" if meant else f"\n{_DOWNLOAD.format(name=name)}")
        )
    return None


def _file_failure(error: Exception, source: Source) -> CalprobeError | None:
    from safetensors import SafetensorError

    text, name = str(error), source.shown
    if "trust_remote_code" in text:
        return UsageError(
            f"{name} contains Python code, which is not run by default\n"
            "read the code in its repository; if you trust it, add --trust-remote-code"
        )
    if "safetensors" in text and re.search(r"no file named|have a file|no safetensors|cannot be loaded", text):
        return _no_safetensors(source)
    if "mismatched_sizes" in text or "size mismatch" in text:
        return CalprobeError(
            f"{name}: its weights do not fit its config.json (other shapes); use both of one checkpoint"
        )
    if isinstance(error, SafetensorError):
        return CalprobeError(
            f"{_damaged_file(source)} is damaged ({first_line(error)})\n"
            "download or copy it again; a folder in calprobe's own cache can simply be deleted"
        )
    return None


def _no_safetensors(source: Source) -> CalprobeError:
    folder = Path(source.location)
    if source.form == "folder" and not any(file.suffix in PICKLES for file in folder.iterdir()):
        return CalprobeError(f"{source.name} has no weights: neither safetensors nor pickle; copy the complete folder")
    return UsageError(
        f"{source.shown} has no safetensors weights, and pickle checkpoints can run code when they are read\n"
        "if you trust where it came from, add --allow-pickle"
    )


def _damaged_file(source: Source) -> str:
    """The first safetensors file of a folder that cannot be opened; the model's name if none is found."""
    from safetensors import SafetensorError, safe_open

    for file in sorted(Path(source.location).glob("*.safetensors")):
        try:
            with safe_open(file, "pt"):
                pass
        except SafetensorError:
            return str(file)
    return f"a weight file of {source.shown}"


def _memory_failure(chain: list[BaseException], name: str) -> CalprobeError | None:
    if any(map(is_out_of_memory, chain)):
        return CalprobeError(
            f"{name} does not fit into memory\ntry --dtype bfloat16, --device-map auto, or a smaller model"
        )
    return None


def first_line(error: BaseException) -> str:
    """The first line of an error's text, without tokens or passwords, at most 200 characters."""
    lines = str(error).strip().splitlines() or ["no message"]
    return without_secrets(lines[0])[:200]
