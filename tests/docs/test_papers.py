"""docs/papers.md: every command on it parses, and its sweeps are sweeps of what the papers have."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import public_rows
import pytest
from sources import ROOT

from calprobe.cli.app import cli, main
from calprobe.cli.ask import asking_options
from calprobe.cli.job_commands import job_commands
from calprobe.cli.report import TABLES
from calprobe.models.aliases import ALIASES
from calprobe.questions import NAMED_SETS, Question, QuestionOptions, load_questions
from calprobe.questions.stored_sets import FetchedSet, record_text
from calprobe.sweep import Sweep, read_sweep
from calprobe.sweep.definition import Job

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"(?:^    |`)(calprobe \w+ [^`\n]+)", re.MULTILINE)  # a name of a command alone is none
FOLDER = ROOT / "docs" / "papers"
# By file: models and jobs.
SIZES = {
    "kissling2026": (16, 16),
    "audit2026": (10, 10),
    "stated2025": (13, 13),
    "science2026-labels": (19, 4 * 19),
    "science2026-answers": (12, 3 * 12),
    "wording2025": (3, 2 * 3),
    "wording2025-perturbations": (1, 1),
}
NAMES = ("Ada", "Bob", "Cleo", "Dan")


def commands_of(page: str) -> list[list[str]]:
    """The commands of a page, without the word calprobe."""
    return [shlex.split(text)[1:] for text in COMMAND.findall(page)]


def parsed(command: list[str]) -> click.Context:
    """What a command makes of its words, without being run."""
    found = cli.get_command(click.Context(cli), command[0])
    assert found is not None, command[0]
    return found.make_context(command[0], command[1:], help_option_names=["-h", "--help"])


def swept(name: str) -> Sweep:
    return read_sweep(FOLDER / f"{name}.toml", job_commands().known)


def test_every_command_of_the_page_parses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # where docs/papers/ is
    commands = commands_of(PAGE)
    assert len(commands) > 40
    assert {command[0] for command in commands} >= {"score", "ask", "grade", "report", "curve", "compare", "sweep"}
    for command in commands:
        given = parsed(command).params
        assert set(given.get("tables") or ()) <= {*TABLES["scored"], *TABLES["asked"]}, command


def test_what_the_readme_says_of_ask_is_what_it_collects() -> None:
    pages = [ROOT / "README.md", ROOT / "docs" / "quick-start.md"]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    asking = [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("calprobe ask ")]
    assert asking
    for line in asking:
        command, _, comment = line.partition("#")
        collected = asking_options(parsed(shlex.split(command)[1:]).params, quiet=True).filled().collect
        assert collected is not None
        for words, what in (("stated", "stated"), ("label", "labels"), ("replies", "answer")):
            assert words not in comment or what in collected, line


def test_the_page_names_each_sweep_and_no_other() -> None:
    files = {file.stem for file in FOLDER.glob("*.toml")}
    assert files == set(SIZES)
    assert set(re.findall(r"\(papers/([\w-]+)\.toml\)", PAGE)) == files


@pytest.mark.parametrize("name", SIZES)
def test_each_sweep_has_the_models_and_sets_of_its_paper(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = swept(name)
    assert (len({job.model for job in sweep.jobs}), len(sweep.jobs)) == SIZES[name]
    for job in sweep.jobs:
        assert job.model in ALIASES or "/" in job.model or "base-url" in job.options, job.model
        if job.command == "ask":
            assert set(job.options["questions"].split(",")) <= set(NAMED_SETS), job.name
            Path(job.options.get("paraphrases", "none")).write_text("", encoding="utf-8")
            given = parsed(list(job.arguments)).params
            assert asking_options(given, quiet=True).filled().study == sweep.jobs[0].options["study"]


def test_the_sixteen_models_of_the_first_paper_are_all_there() -> None:
    assert {job.model for job in swept("kissling2026").jobs} == {name for name, own in ALIASES.items() if own.paper}


def stored(root: Path, name: str) -> None:
    """A set with made-up rows, as `calprobe fetch` would have stored it."""
    folder, files = root / "questions" / name, {}
    for split, pattern in NAMED_SETS[name].splits.items():
        file = pattern.replace("*", "00000-of-00001" if "-*" in pattern else "atkins")
        content = public_rows.file_content(file, [made(name, split, number) for number in range(8)])
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
        files[file] = hashlib.sha256(content).hexdigest()
    (folder / "fetched.json").write_text(record_text(FetchedSet(NAMED_SETS[name].repository, "0" * 40, files)))


def made(name: str, split: str, number: int) -> dict[str, Any]:
    """A row with a subject and an answer of its own: counterfactuals and --groups need several."""
    row, answer = public_rows.varied(name, split, number), NAMES[number % len(NAMES)]
    own: dict[str, dict[str, Any]] = {
        "mmlu": {"subject": ("college_physics", "conceptual_physics", "high_school_physics", "sums")[number % 4]},
        "nq-open": {"answer": [answer]},
        "triviaqa": {"answer": {"value": answer, "aliases": [answer], "normalized_value": answer.lower()}},
        "popqa": {"possible_answers": f'["{answer}"]'},
        "sciq": {"correct_answer": answer},
        "truthfulqa": {"best_answer": answer, "correct_answers": [answer]},
    }
    return row | own.get(name, {})


# A sweep of scores needs BEAR, the paper's templates and the models' tokenizers, too.
@pytest.mark.parametrize("name", [name for name in SIZES if name != "kissling2026"])
def test_dry_runs_need_the_sets_and_no_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    jobs = [job for job in swept_without_files(name, tmp_path) if job.command == "ask"]
    for named in {own for job in jobs for own in job.options["questions"].split(",")}:
        stored(tmp_path, named)
        if name == "wording2025":
            lines = ({"id": own.id, "set": named, "paraphrases": reworded(own.text)} for own in questions_of(named))
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (tmp_path / f"{named}-paraphrases.jsonl").write_text(text)
    main(["sweep", str(FOLDER / f"{name}.toml"), "--dry-run"])
    assert re.search(rf"^{SIZES[name][1]} jobs?, ", capsys.readouterr().out, re.MULTILINE)


def swept_without_files(name: str, folder: Path) -> tuple[Job, ...]:
    """The jobs of a sweep, whose files of paraphrases are empty so far."""
    for named in ("triviaqa", "nq-open"):
        (folder / f"{named}-paraphrases.jsonl").touch()
    return tuple(swept(name).jobs)


def questions_of(name: str) -> tuple[Question, ...]:
    return load_questions([name], QuestionOptions())[0].questions


def reworded(text: str) -> list[str]:
    return [f"{start}, {text}" for start in ("Please", "So", "Now", "Well", "Tell me", "Then")]
