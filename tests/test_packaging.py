"""What an installation brings: every folder and file of the package, one version, and the extras that errors name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import calprobe

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETTINGS = PYPROJECT["tool"]["setuptools"]
EXTRA = re.compile(r"calprobe\[([a-z,]+)\]")


def folder_of(package: str) -> Path:
    """Where `package-dir` and the names say that a package is."""
    return ROOT / SETTINGS["package-dir"].get(package, package.replace(".", "/"))


def test_every_folder_with_python_files_is_installed() -> None:
    folders = {file.parent for file in (ROOT / "calprobe").rglob("*.py")}
    folders |= {folder_of(package) for package in SETTINGS["package-dir"]}
    assert {folder_of(package) for package in SETTINGS["packages"]} == folders
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []  # or tools do not see it


def test_every_file_of_the_package_is_installed_and_every_pattern_finds_one() -> None:
    patterns = [(folder_of(name), each) for name, given in SETTINGS["package-data"].items() for each in given]
    found = {(folder, pattern): set(folder.glob(pattern)) for folder, pattern in patterns}
    assert [pattern for pattern, files in found.items() if not files] == []
    folders = {ROOT / "calprobe", *(folder_of(package) for package in SETTINGS["package-dir"])}
    there = {file for folder in folders for file in folder.rglob("*") if file.is_file()}
    data = {file for file in there if file.suffix != ".py" and "__pycache__" not in file.parts}
    assert data - set().union(*found.values()) == set()


def test_there_is_one_version() -> None:
    version = PYPROJECT["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert calprobe.__version__ == version
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [version]
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"calprobe-(.+)-py3-none-any", (ROOT / "README.md").read_text("utf-8")) == [version]


def test_the_page_lists_every_extra_for_users() -> None:
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text("utf-8").partition("\n## Extras")[2]
    named = {name for row in re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert set(PYPROJECT["project"]["optional-dependencies"]) - {"dev", "docs", "fuzz"} <= named


def test_extras_that_code_and_documentation_name_exist() -> None:
    offered = set(PYPROJECT["project"]["optional-dependencies"])
    files = [*(ROOT / "calprobe").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    named = {extra for file in files for group in EXTRA.findall(file.read_text("utf-8")) for extra in group.split(",")}
    assert len(named) > 5
    assert named - offered == set()
