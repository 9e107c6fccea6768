"""`--label RUN=NAME`: what a run is called wherever it is shown."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.cli.option_kinds import Group, option
from calprobe.errors import UsageError
from calprobe.messages import shown

label_option = option(
    "--label",
    "labels",
    metavar="RUN=NAME",
    multiple=True,
    group=Group.LOOKS,
    help="Name of a RUN in tables, figures, pages and JSON; repeat it for other runs.",
)


def labelled(runs: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """The runs by the names that `--label RUN=NAME` gives them; without one, the path as typed, ~ for the home folder.

    RUN is a path as typed or, where no other run has it, the last part of a path.

    Raises UsageError for a label of no run or several, without a name, of a run that has one, and for a name or run
    given twice.

    >>> labelled(["runs/gpt2-bear", "runs/opt"], ["gpt2-bear=GPT-2"])
    {'GPT-2': 'runs/gpt2-bear', 'runs/opt': 'runs/opt'}
    """
    if twice := next((run for run in runs if list(runs).count(run) > 1), None):
        raise UsageError(f"{twice} is named twice: name one run or more, each once")
    names: dict[str, str] = {}
    for label in labels:
        run, name = _run_and_name(label, runs)
        if run in names:
            raise UsageError(f"--label: {run} has two names, {names[run]} and {name}; give it one")
        names[run] = name
    run_names = [names.get(run, shown(run)) for run in runs]
    if twice := next((name for name in run_names if run_names.count(name) > 1), None):
        raise UsageError(f"--label: two runs are called {twice}; give them different names")
    return dict(zip(run_names, runs, strict=True))


def _run_and_name(label: str, runs: Sequence[str]) -> tuple[str, str]:
    """The run and the name in RUN=NAME; either may hold further signs of equality."""
    from calprobe.measures.run_names import names_to_labels

    called = names_to_labels(runs)
    splits = [(label[:at], label[at + 1 :].strip()) for at, letter in enumerate(label) if letter == "="]
    matches = [(called[run], name) for run, name in splits if run in called and name]
    if len(matches) != 1:
        raise UsageError(f"--label {label!r}: give RUN=NAME with RUN of {', '.join(runs)}")
    return matches[0]
