"""Writes the pages that the code knows best: docs/reference/cli.md and python.md. Run by `make docs-reference`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click

from calprobe.cli.app import cli

FOLDER = Path(__file__).resolve().parents[1] / "reference"
WIDTH = 100  # columns of the terminal that the help is printed for

COMMANDS_HEAD = """\
# Commands

What `calprobe COMMAND --help` prints on a terminal of 100 columns. Results go to stdout, all else to stderr; the exit
codes are [0, 1, 2, 3 and 130](files.md#exit-codes).
"""

PYTHON_HEAD = """\
# Python

```python
import calprobe
from calprobe.metrics import ace

options = calprobe.ScoreOptions(templates="0,1", relations=("month", "moon-planet"))
run = calprobe.score("tiny-clm", "mini", "runs/mine", options)
run = calprobe.open_run("runs/mine")  # reads it again, whenever
frame = calprobe.confidences(run)  # a row an instance and estimator
base = frame[frame["estimator"] == "base"]
print(ace(base["confidence"], base["correct"]).value)
```

Importing `calprobe` costs nothing; torch loads with the first model, and never for reading or analysing a run. Below
are the first sentences of the docstrings; `help(..)` has shapes, ranges, errors and an example.
"""

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
    "GRADERS": "Graders by name: the kind of question, and the rule.",
    "PARSERS": "Parsers of stated confidence by name.",
    "PROMPT_SETS": "Names of calprobe's own prompt sets.",
    "READERS": "Readers of answers by name.",
    "SHOT_SEED": "The seed that examples are drawn by.",
    "STATUSES": "What a reading may say of itself, and what that means.",
    "ACE_BINS": "Quantile bins of ACE, unless another number is asked for.",
    "NO_PREDICTION": "The prediction of an instance that has none.",
    "NO_ROLE": "The role of the first token of a statement without scored tokens.",
    "NAMED_SETS": "The public question sets, by name.",
    "PROBES": "Names of the known probes.",
    "QuestionKind": "choice, number or open.",
    "RunLike": "A run, or the folder of one.",
}


def commands_page() -> str:
    """The text of cli.md."""
    return COMMANDS_HEAD + "".join(f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in _helps(cli, "calprobe"))


def python_page() -> str:
    """The text of python.md."""
    return PYTHON_HEAD + "".join(_package(name, purpose) for name, purpose in PACKAGES.items())


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """The command's full name and its help, then those of the commands below it."""
    with command.make_context(name, [], parent=parent, terminal_width=WIDTH, resilient_parsing=True) as context:
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            for below in command.list_commands(context):
                found = command.get_command(context, below)
                if found is not None:
                    yield from _helps(found, below, context)


def _package(name: str, purpose: str) -> str:
    package = import_module(name)
    rows = [f"| `{public}` | {_first_sentence(package, public)} |" for public in package.__all__]
    return "\n".join(["", f"## {name}", "", purpose, "", "| name | what |", "|---|---|", *rows, ""])


def _first_sentence(package: object, name: str) -> str:
    found = getattr(package, name)
    text = VALUES.get(name) or inspect.getdoc(found)
    if not text:
        raise SystemExit(f"{name} has no docstring, and no line in VALUES of {__file__}")
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return (sentence + "." if stop else paragraph).replace("|", "\\|")


def main() -> None:
    """Write both pages."""
    (FOLDER / "cli.md").write_text(commands_page(), encoding="utf-8")
    (FOLDER / "python.md").write_text(python_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
