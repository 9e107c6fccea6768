"""The source files of the package, each parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sources(*folders: str) -> list[Path]:
    """The Python files below folders of the repository."""
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree."""
    return tuple(ast.walk(ast.parse(file.read_text("utf-8"))))


@cache
def imports(file: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """What a file imports anywhere: inside functions and under TYPE_CHECKING too."""
    return tuple(node for node in nodes(file) if isinstance(node, ast.Import | ast.ImportFrom))
