"""The words of the domain: written once, and light to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
import pytest
from sources import nodes

import calprobe.words
from calprobe.cli.arguments import list_option
from calprobe.errors import UsageError

PACKAGE = Path(calprobe.words.__file__).parent
WORDS = {name: get_args(word) for name, word in vars(calprobe.words).items() if len(get_args(word)) > 2}


def _lists(file: Path) -> list[tuple[object, ...]]:
    """The lists, tuples and sets of constants that a file writes out."""
    displays = [node for node in nodes(file) if isinstance(node, (ast.List, ast.Tuple))]
    return [tuple(each.value for each in node.elts if isinstance(each, ast.Constant)) for node in displays]


def test_no_file_writes_a_words_choices_out_again() -> None:
    again = {
        f"{file.relative_to(PACKAGE)}: {name}"
        for file in PACKAGE.rglob("*.py")
        for written in (set(found) for found in _lists(file))
        for name, choices in WORDS.items()
        if written >= set(choices)
    }
    allowed = {f"words.py: {name}" for name in WORDS}
    assert again == allowed


def test_words_import_nothing_that_takes_time() -> None:
    code = "import sys, calprobe.words; print(sorted({'numpy', 'click', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def names_of(option: str, *given: str) -> tuple[str, ...] | None:
    """What a command gets of that option, given with each of these texts."""
    command = click.Command("x", callback=lambda **values: next(iter(values.values())))
    arguments = [part for text in given for part in (option, text)]
    found: tuple[str, ...] | None = list_option(option)(command).main(arguments, standalone_mode=False)
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [(("a,b,",), ("a", "b")), ((" a ,,b",), ("a", "b")), ((), None), (("b,a", "a,c"), ("b", "a", "c"))],
)
def test_names_are_split_alike_whatever_the_option(given: tuple[str, ...], expected: tuple[str, ...] | None) -> None:
    for option in ("--estimator", "--relations"):
        assert names_of(option, *given) == expected


def test_an_option_that_names_none_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^--relations has no names; give names separated by commas$"):
        names_of("--relations", " , ")
