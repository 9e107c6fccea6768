"""`--html`: what a command found as one page, beside what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.shown import say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import Report
    from calprobe.analysis.curves.exposure import Told

html_option = click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it all as one page too, with figures and definitions; a file is replaced.",
)


def write_page(html: str, path: Path) -> None:
    """Write the page, whole or not at all, and say on stderr where it is.

    A folder that is not there is made. Raises CalprobeError if the file cannot be written.
    """
    from calprobe.runs import atomic

    if not path.name:
        raise UsageError(f"--html {str(path)!r}: not the name of a file; give one such as report.html")
    with atomic.named_file(path, "name another --html") as temporary:
        temporary.write_text(html, encoding="utf-8")
    say(f"wrote {path}")


def told_of_runs(report: Report) -> dict[str, Told]:
    """How often the models were told the facts that they were asked, by run; of the runs of which that is known."""
    from calprobe.models.exposures import exposure_counts

    told: dict[str, Told] = {}
    for run in report.runs:
        model = run.manifest.model
        try:
            told[run.label] = exposure_counts(model.name, model.weights_fingerprint, run.manifest.probe.fingerprint)
        except UsageError:
            continue
    return told
