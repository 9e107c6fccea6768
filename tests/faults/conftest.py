"""What the tests of faults share: the process that forks children, and a run that nothing happened to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from children import Forge
from commands import exports_of
from unbroken import ASKED, Complete

from calprobe.cli import main
from calprobe.runs import open_run


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """In `make test-faults`: what was done to the runs, and what came of it."""
    if "CALPROBE_FAULTS" not in os.environ:
        return
    terminalreporter.section("faults")
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                if name == "fault":
                    terminalreporter.write_line(f"{outcome}  {value}")


@pytest.fixture(scope="session")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TOKENIZERS_PARALLELISM", "false")  # else its library warns of the fork
        forge = Forge(tmp_path_factory.mktemp("forge"))
    yield forge
    forge.close()


@pytest.fixture(scope="session")
def complete(forge: Forge, tmp_path_factory: pytest.TempPathFactory) -> Complete:
    path = tmp_path_factory.mktemp("complete") / "run"
    ended = forge.run("score", *ASKED, "--out", path, watch=path)
    assert (ended.code, open_run(path).missing) == (0, ()), ended.stderr
    return Complete(path, ended, exports_of(path))


@pytest.fixture
def reported(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Any]:
    """What `calprobe report --json` says of a run's scores: its exit code where it is not 0, else the run's object.

    Without the cost: that is from the progress files, which are written after the shards they count.
    """

    def report(run: Path) -> Any:
        capsys.readouterr()
        try:
            main(["report", str(run), "--json", "--bootstrap", "0"])
        except SystemExit as end:
            if end.code:
                return end.code
        found = json.loads(capsys.readouterr().out)[str(run)]
        assert set(found.pop("cost")) == {"statements", "tokens", "seconds"}
        return found

    return report
