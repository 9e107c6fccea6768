"""Junk for every option and argument of every command: a code of the contract and two lines, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from probe_folders import ENTRY, OTHER, ROW, write
from proofs import few_of
from run_samples import write_run

from calprobe.cli.app import COMMANDS, cli, main

COMPLETE = "CALPROBE_FUZZ" in os.environ  # `make fuzz`: all junk for every option
FEW = 3  # pieces of junk for an option in the suite
JUNK = [
    *("", " ", "-1", "0", "1e9", "99999999999999999999", "9" * 5000, "nan", "None", ",", "a,b", "../../x", "/dev/null"),
    *("NO/SUCH/FILE", "x" * 5000, "\x1b[2J", "\u202e", "\udcff", "東京", "[bold]", "%s{0}", "--help", "-"),
]
# What a command needs beside the one option that is tried; RUN, PROBE, TABLE and OUT are replaced.
NEEDED = {
    "score": ["--model", "tiny-clm", "--probe", "PROBE", "--out", "OUT", "--limit", "1", "--quiet"],
    "report": ["RUN", "--bootstrap", "0"],
    "compare": ["RUN", "RUN2", "--bootstrap", "2"],
    "curve": ["RUN", "--kind", "calibration", "--out", "OUT.csv", "--bootstrap", "2"],
    "export": ["RUN", "--what", "candidates", "--out", "OUT.csv"],
    "import lm-pub-quiz": ["PROBE", "--out", "OUT"],
    "import lm-eval": ["TABLE", "--out", "OUT", "--model", "m"],
    "merge": ["RUN", "--out", "OUT"],
    "rank": ["TABLE", "--score", "s", "--correct", "right", "--bootstrap", "2"],
    "fetch": ["bear"],
    "models": [],
    "probes": ["PROBE"],
}
# Numbers that are taken are worked off, and figures drawn into any folder: these alone are tried.
SLOW = {"--bootstrap": ["", "-1", "1e9", "9" * 5000], "--bins": ["", "0", "nan"], "--plots": ["/dev/null", "x" * 5000]}
# The doctor runs its self-test, seconds each, before it looks at a model that it was given.
DOCTOR_MODELS = ["", " ", "\x1b[2J"]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())
        elif command is not None:
            yield name, command


def junk_for(option: str) -> list[str]:
    """All junk in `make fuzz`; in the suite a part of it for each option, so that every piece meets many options."""
    chosen = SLOW.get(option, JUNK)
    if COMPLETE or len(chosen) <= FEW:
        return chosen
    first = sum(option.encode()) % len(chosen)  # the same in every process
    return [chosen[(first + step * (len(chosen) // FEW)) % len(chosen)] for step in range(FEW)]


def without(needed: list[str], option: str) -> list[str]:
    """The arguments without that option and its value, which the junk replaces."""
    at = needed.index(option) if option in needed else len(needed)
    return needed[:at] + needed[at + 2 :]


def tries() -> Iterator[tuple[str, list[str]]]:
    """Each option with junk, and all junk in the place of the first argument."""
    for name, command in commands():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.is_flag:
                option = parameter.opts[0]
                for junk in DOCTOR_MODELS if (name, option) == ("doctor", "--model") else junk_for(option):
                    yield name, [*without(NEEDED.get(name, []), option), option, junk]
        for junk in JUNK:
            yield name, [junk, *NEEDED.get(name, [])]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("junk")
    (root / "t.csv").write_text("s,right\n0.5,1\n0.25,0\n")
    return {
        "RUN": write_run(root / "run", numbers=(0, 1)),
        "RUN2": write_run(root / "run2", numbers=(0, 1)),
        "PROBE": write(root / "probe", {"P1": ENTRY}, {"P1": [ROW, OTHER]}),
        "TABLE": root / "t.csv",
    }


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no network in tests")

    monkeypatch.setattr("socket.getaddrinfo", offline)
    monkeypatch.setattr("calprobe.probes.download.PAUSE_S", 0.0)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("name", few_of((name for name, _ in commands()), "doctor".__ne__))
def test_junk_ends_in_two_lines_and_a_code_of_the_contract(
    name: str,
    places: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    deep = tmp_path / "a" / "b"  # ../../x stays in the test's folder
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "data"))
    for number, (command, arguments) in enumerate(tries()):
        if command != name:
            continue
        known = places | {"OUT": tmp_path / f"out{number}", "OUT.csv": tmp_path / f"out{number}.csv"}
        given = [*command.split(), *(str(known.get(argument, argument)) for argument in arguments)]
        code: object = 0
        try:
            main(given)
        except SystemExit as ended:
            code = ended.code
        out, said = capsys.readouterr()
        assert code in (0, 1, 2, 3), given
        assert "a defect of calprobe" not in said, (given, said)
        assert "Traceback" not in said, given
        if name == "doctor" and code == 1 and out:  # its verdict is a result, and stands on stdout
            ready = "--report" in given  # all is well but for the file
            assert out.splitlines()[-1].startswith("verdict: ready" if ready else "verdict: NOT ready: model"), given
            assert bool(said) is ready, (given, said)
            continue
        assert code in (0, None) or 1 <= said.count("\n") <= 3, (given, said)
