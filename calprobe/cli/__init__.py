"""The command line: `main` is the console script. Each command sits in the module of its name."""

from __future__ import annotations

from calprobe.cli.app import main

__all__ = ["main"]
