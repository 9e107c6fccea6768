"""The code on the pages of docs/extend does what they say: it is put where they say, and their own tests pass."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "extend").glob("*.md"))
# A block of Python that says where it belongs: a file, and of an entry the list in it.
PLACED = re.compile(
    r'^```python title="(?P<file>[^":]+)(?:: (?P<list>\w+))?"\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL
)


def placed(page: Path) -> Iterator[tuple[str, str | None, str]]:
    """The page's blocks in order: file, list, code."""
    yield from ((block["file"], block["list"], block["code"]) for block in PLACED.finditer(page.read_text("utf-8")))


def module_of(file: str, patch: pytest.MonkeyPatch) -> ModuleType:
    """The module of a file, or a new one."""
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if (ROOT / file).exists():
        return import_module(name)
    module = ModuleType(name)
    patch.setitem(sys.modules, name, module)
    return module


def enter(module: ModuleType, list_name: str, code: str, names: Mapping[str, Any], patch: pytest.MonkeyPatch) -> None:
    """Add an entry to a list of the module, of which all entries are alike."""
    entries, around = getattr(module, list_name), {**vars(module), **names}
    if isinstance(entries, Mapping):
        for name, entry in eval(f"{{{code}}}", around).items():
            assert type(entry) is type(next(iter(entries.values())))
            patch.setitem(entries, name, entry)  # type: ignore[arg-type]  # a dict behind a read-only type
        return
    added = eval(code, around)
    assert type(added) is type(entries[0])
    patch.setattr(module, list_name, (*entries, added))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_works_where_it_is_put(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    for file, list_name, code in placed(page):
        module = module_of(file, monkeypatch)
        if list_name is not None:
            enter(module, list_name, code, names, monkeypatch)
            continue
        defined = {**vars(module), **names, "__name__": module.__name__}
        before = dict(defined)
        exec(compile(code, str(page), "exec"), defined)
        new = {name: value for name, value in defined.items() if name not in before and name != "__builtins__"}
        for name, value in new.items():
            monkeypatch.setattr(module, name, value, raising=False)
        names |= new
        for name, test in new.items():
            if name.startswith("test_") and inspect.isfunction(test):
                test(**({"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}))


def test_every_block_of_python_says_where_it_belongs() -> None:
    unplaced = [page.stem for page in PAGES if page.read_text("utf-8").count("```python\n")]
    assert unplaced == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "extend" / "index.md").read_text("utf-8")
    assert [page.name for page in PAGES if page.name != "index.md" and f"({page.name})" not in index] == []
