"""Writes the pages that the code knows best: cli.md, python.md and the files of architecture.md, in docs/reference/.

Run by `make docs-reference`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import click

from calprobe.cli.app import cli

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference"
WIDTH = 100  # columns of the terminal that the help is printed for

COMMANDS_HEAD = """\
# Commands

What `calprobe COMMAND --help` prints on a terminal of 100 columns, without `--help` itself. Results go to stdout,
all else to stderr; the exit codes are [0, 1, 2, 3 and 130](files.md#exit-codes).
"""

PYTHON_HEAD = """\
# Python

```python
import calprobe
from calprobe.analysis import compare_reductions, prompt_sensitivity
from calprobe.confidence import uncertainties
from calprobe.metrics import ace

options = calprobe.ScoreOptions(templates="0,1", relations=("month", "moon-planet"))
run = calprobe.score("tiny-clm", "mini", "runs/mine", options)  # calprobe.open_run("runs/mine") reads it again
candidates = run.table("sum").frame()  # a row for each candidate under each template, with its score
frame = calprobe.confidences(run)  # a row for each instance and estimator: prediction, confidence, correct, failed
answers = calprobe.answers(run)  # in words: subject, answer, predicted, statement, and confidences by estimator
report = calprobe.report("runs/mine")  # in a notebook its tables, as on a terminal
files = calprobe.figures(report, "figures")  # the figures of `report --plots`
points = calprobe.curve(run, "calibration").frame()  # `calprobe.curves.plot` draws a curve
result = report.to_json()  # what `calprobe report --json` prints, as a dict
numbers = report.frame()  # a row for each run, estimator and metric: value, low, high
sensitivity = prompt_sensitivity(run)  # spread of accuracy and ACE, MSD, fidelity, correlations over the paraphrases
split = uncertainties(run)  # a row for each instance: total, aleatoric, epistemic
best = compare_reductions(run).runs[0].best  # sum, mean, sum_answer or mean_answer
base = frame[frame["estimator"] == "base"]
error = ace(base["confidence"], base["correct"])  # any metric on any arrays: a value, and the bins that it used
```

A run is given as its folder or as an open run, wherever one is taken. `report`, `answers`, `confidences`, `compare`
and `curve` take runs of scores and of replies; `compare` of both together gives what `compare_ways` does. Importing
`calprobe` costs nothing; torch loads with the first model, and never for reading or analysing a run.

## Progress and threads

`score` shows a bar on a terminal and in a notebook. In a script, progress goes to the log at level INFO, which Python
hides by default (`logging.basicConfig(level=logging.INFO)`), or to a function of yours, at most twice a second:

```python
from calprobe.scoring import ScoreProgress


def show(now: ScoreProgress) -> None:
    print(f"{now.statements} of {now.total} statements, {now.relations}, {now.seconds_left or 0:.0f} s left")


options = calprobe.ScoreOptions(templates="0,1", progress=show, quiet=True)
```

The command sets `OMP_WAIT_POLICY=passive` before torch is imported; functions do not change your environment. Set it
yourself, before you import torch, if other processes use the same cores: idle threads that spin made scoring 4 to 7
times slower.

## Public names

Below are the first sentences of the docstrings; `help(..)` has shapes, ranges, errors and an example.
Import names from their module, `from calprobe.answers import read_stated`: `calprobe.answers` and `calprobe.sweep`
themselves are functions.
"""

# The option that each command has, with the heading of a group that has no other.
HELP_OPTION = re.compile(r"(?:\n\n(?:Options|Other):)?\n  -h, --help +Show this message and exit\.$", re.MULTILINE)

# Public package -> what it is for.
PACKAGES = {
    "calprobe": "The entrance.",
    "calprobe.analysis": "Runs in, frozen results out; each has `to_json`.",
    "calprobe.answers": "Replies in, readings out: answers, grades, stated confidence.",
    "calprobe.confidence": "Candidate scores in, predictions and confidences out.",
    "calprobe.metrics": "Arrays of confidence and correctness in, numbers out.",
    "calprobe.probes": "Facts to ask a model for.",
    "calprobe.prompts": "The words that questions are asked in.",
    "calprobe.questions": "What is asked: question files, public sets, facts as questions.",
    "calprobe.runs": "The run folder.",
    "calprobe.training": "A probe scored while a model is trained; see [how](../how-to/training.md).",
}
# Values have no docstring.
VALUES = {
    "__version__": "The version of calprobe.",
    "ANSWER_TYPES": "The kinds of short answers that counterfactuals keep to.",
    "BASE": "The name of the estimator whose predictions are the run's.",
    "GRADERS": "Graders by name: the kind of question, and the rule.",
    "LEAST_CLUSTERS": "Clusters that an interval or a p-value takes at least.",
    "MANY_CLUSTERS": "Clusters below which reports note that intervals are somewhat too narrow.",
    "MOST_STAKES": "Stakes that net utility is averaged up to.",
    "PARSERS": "Parsers of stated confidence by name.",
    "PROMPT_SETS": "Names of calprobe's own prompt sets.",
    "READERS": "Readers of answers by name.",
    "SHOT_SEED": "The seed that examples are drawn by.",
    "STATUSES": "What a reading may say of itself, and what that means.",
    "ACCURACY": "The share of right answers, a metric like those of confidences.",
    "ACE_BINS": "Quantile bins of ACE, unless another number is asked for.",
    "NO_PREDICTION": "The prediction of an instance that has none.",
    "NO_ROLE": "The role of the first token of a statement without scored tokens.",
    "NAMED_SETS": "The public question sets, by name.",
    "PROBES": "Names of the known probes.",
    "SET_RULES": "Names of the rules of answer sets.",
    "SetRule": "lac, aps, aps_random or naive: how candidates of answer sets are scored.",
    "QuestionKind": "choice, number or open.",
    "RunLike": "A run, or the folder of one.",
}


def commands_page() -> str:
    """The text of cli.md."""
    return COMMANDS_HEAD + "".join(f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in _helps(cli, "calprobe"))


def python_page() -> str:
    """The text of python.md."""
    return PYTHON_HEAD + "".join(_package(name, purpose) for name, purpose in PACKAGES.items())


def architecture_page() -> str:
    """The text of architecture.md: what is written by hand, and below its last heading each file by folder."""
    by_hand = (FOLDER / "architecture.md").read_text(encoding="utf-8").partition("\n### ")[0]
    folders = [folder for top in ("calprobe", "kernels") for folder in _folders(ROOT / top)]
    return by_hand.rstrip() + "\n" + "".join(map(_files, folders))


def _folders(folder: Path) -> list[Path]:
    """The folder and those below it that have modules."""
    return sorted({file.parent for file in folder.rglob("*.py")})


def _files(folder: Path) -> str:
    """A heading, what the package is, and a line for each of its modules."""
    package, modules = folder / "__init__.py", sorted(folder.glob("*.py"))
    about = f"{_subject(package)}.\n\n" if package.exists() else ""
    lines = [f"- `{file.name}`: {_subject(file)}\n" for file in modules if file != package]
    return f"\n### `{folder.relative_to(ROOT).as_posix()}/`\n\n{about}" + "".join(lines)


def _subject(file: Path) -> str:
    """The first sentence of a module's docstring, up to a colon, semicolon or bracket."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not text:
        raise SystemExit(f"{file.relative_to(ROOT)} has no docstring")
    return re.split(r"[:;]\s|\s\(|(?<!et al)\.\s", " ".join(text.partition("\n\n")[0].split()))[0].rstrip(".:")


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The command's full name and its help, then those of the commands below it."""
    with command.make_context(name, [], parent=parent, terminal_width=WIDTH, resilient_parsing=True) as context:
        yield context.command_path, HELP_OPTION.sub("", command.get_help(context))
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                if found is not None:
                    yield from _helps(found, below, context)


def _package(name: str, purpose: str) -> str:
    package = import_module(name)
    above = _entrance(package) if name != "calprobe" else set()
    lines = [f"- `{public}`: {_first_sentence(package, public)}" for public in package.__all__ if public not in above]
    if above:
        purpose += f" It has these of the entrance, too: {', '.join(f'`{public}`' for public in sorted(above))}."
    return "\n".join(["", f"### {name}", "", purpose, "", *lines, ""])


def _entrance(package: ModuleType) -> set[str]:
    """The names of a package that `calprobe` has, too."""
    entrance = import_module("calprobe")
    return {
        public
        for public in package.__all__
        if public in entrance.__all__ and getattr(entrance, public) is getattr(package, public)
    }


def _first_sentence(package: object, name: str) -> str:
    found = getattr(package, name)
    text = VALUES.get(name) or inspect.getdoc(found)
    if not text or text == inspect.getdoc(type(found)):  # a value has no docstring of its own but its class's
        raise SystemExit(f"{name} has no docstring, and no line in VALUES of {__file__}")
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + "." if stop else paragraph


def main() -> None:
    """Write the three pages."""
    (FOLDER / "cli.md").write_text(commands_page(), encoding="utf-8")
    (FOLDER / "python.md").write_text(python_page(), encoding="utf-8")
    (FOLDER / "architecture.md").write_text(architecture_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
