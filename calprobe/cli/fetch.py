"""`calprobe fetch`: download and verify probes, templates and question sets that are not bundled."""

from __future__ import annotations

import sys

import click

from calprobe.cli.terminal_text import say
from calprobe.folders import data_root
from calprobe.probes.datasets import DATASETS, dataset
from calprobe.progress import is_terminal
from calprobe.questions.named_sets import NAMED_SETS


@click.command(short_help="Download and verify BEAR or another data set.")
@click.argument("name", type=click.Choice((*DATASETS, *NAMED_SETS)), metavar="NAME")
def command(name: str) -> None:
    """Download a data set into CALPROBE_DATA, or the user's cache, and verify every file.

    \b
        bear           BEAR and BEAR-big, with the relations' domains
        factor         EXPERT-FACTOR
        kissling2026   the twelve templates of each relation of Kissling et al. 2026, for --template-set
        mmlu, arc-challenge, gsm8k, ..   question sets, for --questions; `calprobe questions` lists them

    A question set comes from the hub, at the commit that is current; later fetches of it keep that commit.
    """
    try:
        if name in NAMED_SETS:
            _fetch_questions(name)
        else:
            _fetch_probe(name)
    except KeyboardInterrupt as error:
        raise click.Abort(f"interrupted, no incomplete file was kept; run `calprobe fetch {name}` again") from error


def _fetch_probe(name: str) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from calprobe.cli.output import print_result
    from calprobe.messages import counted
    from calprobe.probes.fetching import damaged_files, fetch

    data, root = dataset(name), data_root()
    folder = root / data.folder
    damaged = damaged_files(data, root)
    if not damaged:
        print_result(f"{name}: already in {folder}, {counted(len(data.files), 'file')} as pinned")
        return
    size = sum(file.size for file in damaged)
    source = f"https://github.com/{data.repository} at {data.commit[:12]}"
    say(f"fetching {name}: {counted(len(damaged), 'file')}, {size / 1e6:.1f} MB, from {source}")
    say(data.terms)
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not is_terminal(sys.stderr)) as progress:
        task = progress.add_task(name, total=size)
        fetch(data, root, lambda file: progress.advance(task, file.size))
    print_result(f"{name}: in {folder}, {counted(len(data.files), 'file')} as pinned")


def _fetch_questions(name: str) -> None:
    from rich.console import Console
    from rich.progress import Progress

    from calprobe.cli.output import print_result
    from calprobe.messages import counted
    from calprobe.questions.fetched_sets import fetch_set, is_complete, remote_files
    from calprobe.questions.stored_sets import fetched_set, folder_of

    entry = NAMED_SETS[name]
    if (fetched := fetched_set(entry)) and is_complete(entry):
        state = f"{counted(len(fetched.files), 'file')} as fetched at {fetched.revision[:12]}"
        print_result(f"{name}: already in {folder_of(entry)}, {state}; remove the folder to get a newer commit")
        return
    remote = remote_files(entry)
    size = sum(remote.sizes.values())
    source = f"{entry.url} at {remote.revision[:12]}"
    say(f"fetching {name}: {counted(len(remote.sizes), 'file')}, {size / 1e6:.1f} MB, from {source}")
    licence = f"Its page names the licence {entry.licence}." if entry.licence else "Its page names no licence."
    say(f"{licence} {entry.terms}".strip())
    with Progress(console=Console(stderr=True), transient=True, disable=not is_terminal(sys.stderr)) as progress:
        task = progress.add_task(name, total=size)
        fetched = fetch_set(entry, remote, lambda _, size: progress.advance(task, size))
    print_result(f"{name}: in {folder_of(entry)}, {counted(len(fetched.files), 'file')} at {fetched.revision[:12]}")
