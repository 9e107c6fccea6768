"""Pages that follow the code: the generated ones are up to date, and what the code defines is explained."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from calprobe.confidence import available_estimators
from calprobe.metrics import Estimate, multiclass_metrics, standard_metrics
from calprobe.runs import (
    Manifest,
    ModelRecord,
    Progress,
    RelationRecord,
    Settings,
    SourceRecord,
    StartToken,
    TemplateRecord,
)
from calprobe.studies.overview.overviews import TaskOverview, TaskRun

DOCS = Path(__file__).resolve().parents[2] / "docs"
MANIFEST = (Manifest, ModelRecord, SourceRecord, TemplateRecord, RelationRecord, Settings, StartToken, Progress)
PAPER = [
    *(TemplateRecord(number, "paraphrase") for number in range(5)),
    TemplateRecord(5, "verbal", "possibly"),
    TemplateRecord(7, "numeric", "0"),
]


@pytest.fixture
def reference_pages(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(sys, "path", [str(DOCS / "site"), *sys.path])
    import reference_pages

    return reference_pages


@pytest.mark.parametrize(
    ("file", "page"),
    [("cli.md", "commands_page"), ("python.md", "python_page"), ("architecture.md", "architecture_page")],
)
def test_generated_pages_are_what_the_code_says(reference_pages: object, file: str, page: str) -> None:
    written = (DOCS / "reference" / file).read_text("utf-8")
    assert written == getattr(reference_pages, page)(), f"run `make docs-reference` to renew docs/reference/{file}"


def test_architecture_has_a_line_for_each_file() -> None:
    """Each folder of the code is a heading, with its modules below it in the order of their names."""
    page = (DOCS / "reference" / "architecture.md").read_text("utf-8")
    parts = re.split(r"^### `(.+)/`$", page, flags=re.MULTILINE)[1:]
    listed = {
        folder: re.findall(r"^- `(\w+\.py)`: \S", text, re.MULTILINE)
        for folder, text in zip(parts[::2], parts[1::2], strict=True)
    }
    files = [file for top in ("calprobe", "kernels") for file in sorted((DOCS.parent / top).rglob("*.py"))]
    folders = {file.parent.relative_to(DOCS.parent).as_posix() for file in files}
    assert listed == {
        folder: [f.name for f in files if f.parent == DOCS.parent / folder and f.name != "__init__.py"]
        for folder in folders
    }


def in_code(page: str) -> set[str]:
    """Whatever the page has between backticks."""
    return set(re.findall(r"`([^`\n]+)`", (DOCS / page).read_text("utf-8")))


def named_in_tables(page: str) -> set[str]:
    """What the first cells of the page's tables have between backticks: the names that it defines."""
    cells = re.findall(r"^\|([^|]*)\|", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_methods_defines_every_estimator() -> None:
    # Families are defined once: average_G, consistency_G, marker_M.
    named = named_in_tables("methods/estimators.md")
    families = {name.rpartition("_")[0] for name in named if name.endswith(("_G", "_M"))}
    names = {estimator.name for estimator in available_estimators(PAPER)}
    assert families >= {"average", "consistency", "marker"}
    assert {name for name in names if name not in named and name.partition("_")[0] not in families} == set()


def test_methods_defines_every_metric() -> None:
    names = {metric.name for metric in (*standard_metrics(), *multiclass_metrics())}
    assert names - named_in_tables("methods/metrics.md") - named_in_tables("methods/intervals-and-tests.md") == set()


def test_files_explains_every_key_of_an_overview() -> None:
    run = TaskRun("a", "a", "a", False, 1, Estimate(1), {}, "base", 1)
    keys = TaskOverview("t", "scored", (run,), {}).to_json().keys() | run.to_json().keys()
    section = (DOCS / "reference" / "files.md").read_text("utf-8").partition("### JSON of runs of several tasks")[2]
    assert keys - set(re.findall(r"`(\w+)`", section.partition("\n## ")[0])) == set()


@pytest.mark.parametrize("part", MANIFEST, ids=lambda part: part.__name__)
def test_files_explains_every_key_of_the_manifest(part: type[Any]) -> None:
    keys = {field.name for field in fields(part)}
    assert keys - in_code("reference/files.md") == set()
