"""`calprobe doctor`: installed packages, what scoring uses on this machine, and a self-test."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from calprobe.cli.arguments import output_file
from calprobe.cli.terminal_text import say
from calprobe.progress import is_terminal


@click.command(short_help="Show what is installed and used, and test scoring.")
@click.option(
    "--model", metavar="NAME|DIR|FILE.gguf", help="Also load this model, and show which path it takes and why."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--report",
    "report_file",
    type=output_file(),
    metavar="FILE",
    help="Also write the JSON to a file, to attach to an issue.",
)
def command(model: str | None, as_json: bool, report_file: Path | None) -> None:
    """Show what is installed and what scoring uses on this machine, and test scoring.

    Scores a few statements with the bundled models as a self-test. Needs no network. The output contains no
    home folder and no password: it can be pasted into a bug report. Exit code 0 if scoring works, else 1.
    --report writes all of it, with the measured differences and times, and without the machine's name.
    """
    if model is not None and not model.strip():
        raise click.UsageError("--model is empty; give an alias, a hub id, a folder or a GGUF file")

    from calprobe.cli.output import print_result
    from calprobe.doctor import examine
    from calprobe.doctor.diagnosis import diagnosis_text
    from calprobe.runs.atomic import named_file

    diagnosis = examine(model)
    as_text = json.dumps(diagnosis.to_json(), indent=2)
    coloured = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    print_result(as_text if as_json else diagnosis_text(diagnosis, _paint if coloured else _plain), as_is=coloured)
    if report_file is not None:
        with named_file(report_file, "name another --report") as temporary:
            temporary.write_text(as_text + "\n", encoding="utf-8")
        say(f"wrote {report_file}")
    if not diagnosis.ready:
        sys.exit(1)


def _paint(text: str, colour: str) -> str:
    return click.style(text, fg=colour)


def _plain(text: str, colour: str) -> str:
    return text
