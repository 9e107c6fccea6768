"""Files and sections that code, tests and documentation cite exist in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("calprobe", "kernels", "templates", "bench", "tests", "docs")
TOP = ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
SUFFIXES = {".py", ".md", ".toml", ".yml", ".j2"}
ENDINGS = "py|md|json|toml|txt|yml|png|j2|in"
PATH = re.compile(rf"(?<![\w/.$-])(?:\.\./)?((?:{'|'.join(FOLDERS)})/[\w./-]*?\.(?:{ENDINGS}))\b")
SECTION = re.compile(r'\b(docs/[\w/-]+\.md), "([^"]+)"')
NAMED = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
NOT_HERE = re.compile(r"\bSPEC_[A-Z]+\b|\bDESIGN(?:_[A-Z]+)?(?:\.md)?\b")
# Files that a reader is asked to write, or that a command makes.
MADE = {"templates/NAME.json"}
WRITTEN = re.compile(r'```python title="[^"]+"')  # blocks of docs/extend, which test_extending.py writes


def texts() -> Iterator[tuple[str, str]]:
    """Each text file of the repository by its path, on one line: comments and docstrings may break a citation."""
    files = [ROOT / name for name in TOP]
    for folder in FOLDERS:
        files += [file for file in sorted((ROOT / folder).rglob("*")) if file.suffix in SUFFIXES]
    for file in files:
        name = file.relative_to(ROOT).as_posix()
        if name != "tests/docs/test_citations.py" and not name.startswith("tests/data/"):
            yield name, re.sub(r"\s*\n\s*(?:# )?", " ", file.read_text("utf-8"))


def read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def headings(page: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", read(page), re.MULTILINE))


def test_cited_files_exist() -> None:
    cited = {(name, path) for name, text in texts() for path in PATH.findall(WRITTEN.sub("", text))}
    assert len(cited) > 100
    assert sorted(c for c in cited if c[1] not in MADE and not (ROOT / c[1]).exists()) == []


def test_cited_sections_exist() -> None:
    cited = {(name, *section) for name, text in texts() for section in SECTION.findall(text)}
    assert cited
    assert sorted(c for c in cited if not (ROOT / c[1]).exists() or c[2] not in headings(c[1])) == []


def test_cited_names_exist_in_their_files() -> None:
    cited = {(page, *named) for page, text in texts() if page.endswith(".md") for named in NAMED.findall(text)}
    assert len(cited) > 5
    assert sorted(c for c in cited if not re.search(rf"^\s*(?:def |class )?{c[1]}\b", read(c[2]), re.MULTILINE)) == []


def test_the_architecture_page_names_every_folder() -> None:
    page = read("docs/reference/architecture.md")
    folders = {file.parent for file in (ROOT / "calprobe").glob("*/__init__.py")}
    assert sorted(folder.name for folder in folders if f"`calprobe/{folder.name}/`" not in page) == []


def test_no_document_outside_the_repository_is_cited() -> None:
    cited = [(name, found) for name, text in texts() for found in NOT_HERE.findall(text)]
    assert cited == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see docs/methods.md.", ["docs/methods.md"]),
        ("[page](../docs/scale.md#many-models)", ["docs/scale.md"]),
        ("`tests/runs/test_lock.py::test_one`", ["tests/runs/test_lock.py"]),
        ("build/docs/index.html, /my/docs/methods.md", []),
    ],
)
def test_what_counts_as_a_citation(text: str, paths: list[str]) -> None:
    assert PATH.findall(text) == paths
