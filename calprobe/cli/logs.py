"""The library's log during a command: on stderr, lines without level or time."""

from __future__ import annotations

import logging

from calprobe.cli.terminal_text import message


class _Formatter(logging.Formatter):
    """Formats log messages so that labels and paths are safe for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return message(super().format(record))


def log_to_stderr(quiet: bool = False, prefix: str = "") -> None:
    """Show calprobe's messages on stderr, each after the prefix; only warnings if `quiet`."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(f"{prefix}%(message)s"))
    logger = logging.getLogger("calprobe")
    logger.handlers = [handler]
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.propagate = False
