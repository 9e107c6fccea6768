"""`calprobe fetch`: download and verify probes and templates that are not bundled."""

from __future__ import annotations

import sys

import click

from calprobe.cli.terminal_text import say
from calprobe.folders import data_root
from calprobe.probes.datasets import DATASETS, dataset


@click.command(short_help="Download and verify BEAR or another data set.")
@click.argument("name", type=click.Choice(DATASETS))
def command(name: str) -> None:
    """Download a data set into CALPROBE_DATA, or the user's cache, and verify every file.

    \b
        bear           BEAR and BEAR-big, with the relations' domains
        factor         EXPERT-FACTOR
        kissling2026   the twelve templates of each relation of Kissling et al. 2026, for --template-set
    """
    from rich.console import Console
    from rich.progress import Progress

    from calprobe.cli.output import print_result
    from calprobe.messages import counted
    from calprobe.probes.fetching import damaged_files, fetch

    data, root = dataset(name), data_root()
    folder = root / data.folder
    wanted = damaged_files(data, root)
    if not wanted:
        print_result(f"{name}: already in {folder}, {counted(len(data.files), 'file')} as pinned")
        return
    size = sum(file.size for file in wanted)
    source = f"https://github.com/{data.repository} at {data.commit[:12]}"
    say(f"fetching {name}: {counted(len(wanted), 'file')}, {size / 1e6:.1f} MB, from {source}")
    say(data.terms)
    console = Console(stderr=True)
    try:
        with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task(name, total=size)
            fetch(data, root, lambda file: progress.advance(task, file.size))
    except KeyboardInterrupt as error:
        raise click.Abort(f"interrupted, no incomplete file was kept; run `calprobe fetch {name}` again") from error
    print_result(f"{name}: in {folder}, {counted(len(data.files), 'file')} as pinned")
