"""What options declare: refused for every kind that they do not hold for, in groups of the help, set by KEY=VALUE."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import same_facts as made
from asked_samples import write_asked
from click.testing import CliRunner
from commands import calprobe

from calprobe.backends.options import BACKENDS as ENGINES
from calprobe.backends.registry import ENTRIES
from calprobe.cli import option_kinds
from calprobe.cli.app import COMMANDS, cli
from calprobe.cli.option_kinds import Group, KindCommand, KindOption, Kinds
from calprobe.curves import KINDS
from calprobe.sweep import PLACES

# Command -> kind -> what is typed; S, S2 are runs of scores, A, A2 of replies, Q questions, OUT a new file.
TYPED: dict[str, dict[str, str]] = {
    "report": {"scored": "S", "asked": "A", "mixed": "S A"},
    "compare": {"scored": "S S2", "asked": "A A2", "facts": "S A"},
    "curve": {
        "scored": "S --kind calibration --out OUT",
        "asked": "A --kind calibration --out OUT",
        **{name: f"S --kind {name} --out OUT" for name in KINDS},
    },
    "export": {
        "scored": "S --out OUT --what",
        "asked": "A --out OUT --what",
        **{name: f"S --out OUT --what {name}" for name in option_kinds.TABLES.names},
    },
    "ask": {name: f"--model m --questions Q --backend {name}" for name in ENGINES},
    "paraphrase": {name: f"Q --model m --backend {name}" for name in ENGINES},
    "grade": {"none": "A", **{name: f"A --judge m --judge-backend {name}" for name in ENGINES}},
    "show": {"scored": "S", "asked": "A"},
    "sweep": {name: f"sweep.toml --on {name}" for name in PLACES},
}
VALUES = {
    "--style": __file__,
    "--save-maps": "maps.json",
    "--facts": "facts.csv",
    "--plots": "figures",
    "--width": "3",
    "--parameters": "7",
    "--header": "X-Name: value",
    "--extra-body": "top_k=5",
}


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command


def refusals() -> Iterator[tuple[str, KindOption, str]]:
    """Every command, option and kind that the option does not hold for."""
    for name, command in commands():
        for axis in command.kinds if isinstance(command, KindCommand) else ():
            for option in command.params:
                if isinstance(option, KindOption):
                    yield from ((name, option, kind) for kind in axis.names if kind not in axis.of(option))


def value_of(option: KindOption) -> list[str]:
    if option.is_flag:
        return []
    if isinstance(option.type, click.Choice):
        return [str(option.type.choices[0])]
    return [VALUES.get(option.opts[0], "0.5" if isinstance(option.type, click.types.FloatParamType) else "5")]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("kinds")
    made.scored(folder / "scored")
    write_asked(folder / "asked", made.fact_set())
    for name in ("scored", "asked"):
        shutil.copytree(folder / name, folder / f"{name}-again")
    (folder / "q.jsonl").write_text('{"id": "q", "question": "How many?", "answer": 3}\n', "utf-8")
    places = {"S": "scored", "S2": "scored-again", "A": "asked", "A2": "asked-again", "Q": "q.jsonl", "OUT": "out.csv"}
    return {name: str(folder / place) for name, place in places.items()}


@pytest.mark.parametrize(
    ("name", "option", "kind"),
    [pytest.param(*case, id=f"{case[0]}{case[1].opts[0]}-{case[2]}") for case in refusals()],
)
def test_an_option_is_refused_for_a_kind_that_it_does_not_hold_for(
    name: str, option: KindOption, kind: str, files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [files.get(word, word) for word in TYPED[name][kind].split()]
    if words[-1] == "--what":  # a table that has the option, so that only the run has not
        words.append("lm-pub-quiz" if "lm-pub-quiz" in option_kinds.TABLES.of(option) else "confidences")
    done = calprobe(name, *words, option.opts[0], *value_of(option))
    assert done.returncode == 2
    assert done.stderr.startswith(f"calprobe: {option.typed_as} applies to ")
    assert "leave it out" in done.stderr or "; give --judge MODEL" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_refusal_names_option_kinds_run_and_mend(files: dict[str, str]) -> None:
    done = calprobe("report", files["A"], "--reduction", "mean")
    said = f"--reduction applies to runs of scores, and {files['A']} is a run of replies; leave it out"
    assert done.stderr == f"calprobe: {said}\nsee `calprobe report --help`\n"
    done = calprobe("report", files["A"], files["S"], "--by", "domain")
    both = f"{files['S']} is a run of scores, {files['A']} one of replies"
    assert f"--by applies to runs of scores or runs of replies, and {both}; leave it out, or choose" in done.stderr


def test_the_kinds_are_those_of_the_library() -> None:
    assert tuple(option_kinds.BACKENDS.names) == tuple(ENTRIES)
    assert tuple(option_kinds.SWEEP_PLACES.names) == tuple(PLACES)
    assert tuple(option_kinds.CURVES.names) == tuple(KINDS)


def test_every_declared_kind_is_known() -> None:
    known = {kind for found in vars(option_kinds).values() if isinstance(found, Kinds) for kind in found.names}
    options = [option for _, command in commands() for option in command.params if isinstance(option, KindOption)]
    assert {kind for option in options for kind in option.kinds} <= known


@pytest.mark.parametrize("name", ["score", "ask", "paraphrase", "grade", "report", "compare", "curve", "sweep"])
def test_the_help_of_many_options_stands_in_groups(name: str) -> None:
    text = CliRunner().invoke(cli, [name, "--help"], terminal_width=100).output
    headings = [group for group in Group if f"\n{group}:\n" in text]
    assert len(headings) >= 4
    assert [text.index(f"\n{group}:\n") for group in headings] == sorted(
        text.index(f"\n{group}:\n") for group in headings
    )
    assert text.split("\nOther:\n")[1].split() == ["-h,", "--help", "Show", "this", "message", "and", "exit."]


def test_every_command_of_many_options_groups_them() -> None:
    for name, command in commands():
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        if len(options) > option_kinds.UNGROUPED:
            assert [each.opts[0] for each in options if getattr(each, "group", None) is None] == [], name


def test_the_help_says_which_runs_an_option_is_for() -> None:
    text = " ".join(CliRunner().invoke(cli, ["report", "--help"]).output.split())
    assert "--window TOKENS Asked runs: use a label's probability only" in text
    assert "--ties [draw|first] Scored runs: prediction where candidates share" in text
    assert "--metric NAME,.. Metrics to show, by their names" in text


@pytest.mark.parametrize(
    ("typed", "parameters"),
    [
        ("--backend-option attempts=2", {"attempts": 2}),
        ("--backend-option=timeout=1.5 --backend-option attempts=3", {"timeout_s": 1.5, "attempts": 3}),
        ("--backend-option tensor-parallel=4 --backend-option executor=ray", {"tensor_parallel": 4, "executor": "ray"}),
        ("--backend-option eager", {"eager": True}),
        ("--backend-option eager=false", {"eager": False}),
        ("--attempts 2 --eager", {"attempts": 2, "eager": True}),
    ],
)
def test_a_setting_is_the_option_of_its_name(typed: str, parameters: dict[str, object]) -> None:
    command = dict(commands())["ask"]
    context = command.make_context("ask", ["--model", "m", "--questions", "q", *typed.split()])
    assert {name: context.params[name] for name in parameters} == parameters


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "--backend-option atempts=2",
            "--backend-option atempts=2: no 'atempts'; did you mean attempts?\nsee `calprobe ask --help`",
        ),
        ("--backend-option attempts", "--backend-option attempts: give its value, attempts=VALUE"),
        ("--backend-option eager=2", "--backend-option eager=2: give eager=true or eager=false"),
        ("--backend-option attempts=2 --attempts 3", "--attempts given twice; give it once"),
        (
            "--backend-option attempts=2",
            "--backend-option attempts applies to --backend openai, and the backend is transformers",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused(typed: str, said: str, files: dict[str, str]) -> None:
    done = calprobe("ask", "--model", "m", "--questions", files["Q"], *typed.split())
    assert done.returncode == 2
    assert said in done.stderr


def test_settings_stand_in_the_help_and_their_own_names_do_not() -> None:
    text = CliRunner().invoke(cli, ["ask", "--help"]).output
    assert "  --backend-option timeout=S" in text
    assert "  --backend-option executor=auto|mp|ray" in text
    assert "--timeout" not in text


def test_looks_are_settings_too(files: dict[str, str], tmp_path: Path) -> None:
    drawn = []
    looks: tuple[list[str], ...] = (
        ["--look", "title=A = B", "--look", "width=single"],
        ["--title", "A = B", "--width", "single"],
        [],
    )
    for number, look in enumerate(looks):
        figure = tmp_path / f"{number}.svg"
        done = calprobe("curve", files["S"], "--kind", "calibration", "--bootstrap", "0", "--out", figure, *look)
        assert done.returncode == 0, done.stderr
        drawn.append(figure.read_text("utf-8"))
    assert drawn[0] == drawn[1]
    assert "A = B" in drawn[0]
    assert "A = B" not in drawn[2]
