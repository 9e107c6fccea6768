"""transformers, the hub client and peft kept from writing over a command's own output."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


def shows_bars(quiet: bool) -> bool:
    """True if progress bars are wanted: not quiet, and someone looks at a terminal."""
    return not quiet and sys.stderr.isatty()


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
