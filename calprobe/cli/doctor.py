"""`calprobe doctor`: installed packages, what scoring uses on this machine, and a self-test."""

from __future__ import annotations

import json
import os
import sys

import click


@click.command(short_help="Show what is installed and used, and test scoring.")
@click.option(
    "--model", metavar="NAME|DIR|FILE.gguf", help="Also load this model, and show which path it takes and why."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(model: str | None, as_json: bool) -> None:
    """Show what is installed and what scoring uses on this machine, and test scoring.

    Scores a few statements with the bundled models as a self-test. Needs no network. The output contains no
    home folder and no password: it can be pasted into a bug report. Exit code 0 if scoring works, else 1.
    """
    if model is not None and not model.strip():
        raise click.UsageError("--model is empty; give an alias, a hub id, a folder or a GGUF file")

    from calprobe.cli.output import print_result
    from calprobe.doctor import examine
    from calprobe.doctor.diagnosis import diagnosis_text

    found = examine(model)
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    text = json.dumps(found.to_json(), indent=2) if as_json else diagnosis_text(found, _paint if coloured else _plain)
    print_result(text)
    if not found.ready:
        sys.exit(1)


def _paint(text: str, colour: str) -> str:
    return click.style(text, fg=colour)


def _plain(text: str, colour: str) -> str:
    return text
