"""`--html`: the page is written beside what is printed, complete or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from run_samples import write_run

from calprobe.cli.app import cli

QUICK = ("--bootstrap", "0")

pytestmark = pytest.mark.usefixtures("each_report_once")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_run(tmp_path_factory.mktemp("runs") / "made-up"))


def test_a_page_is_written_and_what_is_printed_stays(run: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    plain = CliRunner().invoke(cli, ["report", run, *QUICK])
    with_page = CliRunner().invoke(cli, ["report", run, *QUICK, "--html", str(page)])
    assert with_page.exit_code == 0, with_page.output
    assert with_page.stdout == plain.stdout
    assert with_page.stderr == f"wrote {page}\n"
    written = page.read_text("utf-8")
    assert written.startswith("<!DOCTYPE html>")
    assert "Subjects and answers are not known in words" in written
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]


def test_the_same_command_writes_the_same_bytes(run: str, tmp_path: Path) -> None:
    pages = [tmp_path / name for name in ("a.html", "b.html")]
    for page in pages:
        CliRunner().invoke(cli, ["report", run, *QUICK, "--html", str(page)])
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_page_that_cannot_be_written_is_an_error(run: str) -> None:
    result = CliRunner().invoke(cli, ["report", run, *QUICK, "--html", "/dev/null"], standalone_mode=False)
    assert str(result.exception) == "/dev/null: is not a regular file; name another --html"


def test_the_four_reductions_have_no_page(run: str) -> None:
    result = CliRunner().invoke(cli, ["report", run, "--reduction", "all", "--html", "x.html"], standalone_mode=False)
    assert "leave out --html or --reduction all" in str(result.exception)


def test_a_comparison_has_a_page_too(run: str, tmp_path: Path) -> None:
    other = str(write_run(tmp_path / "other"))
    page = tmp_path / "pairs.html"
    plain = CliRunner().invoke(cli, ["compare", run, other, *QUICK])
    with_page = CliRunner().invoke(cli, ["compare", run, other, *QUICK, "--html", str(page)])
    assert with_page.exit_code == 0, with_page.output
    assert with_page.stdout == plain.stdout
    assert with_page.stderr.endswith(f"wrote {page}\n")
    assert f"A <bdi>{run}</bdi>, B <bdi>{other}</bdi>" in page.read_text("utf-8")
