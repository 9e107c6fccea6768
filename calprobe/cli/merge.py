"""`calprobe merge`: one run from several that have its parts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.messages import counted

if TYPE_CHECKING:
    from calprobe.runs.folder import RecordFolder


@click.command(short_help="Make one run from shards, stopped runs, or other templates.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or new.")
@click.option("--partial", is_flag=True, help="Merge even if pieces, or replies, are missing.")
def command(runs: tuple[Path, ...], out: Path, partial: bool) -> None:
    """Make one run from all pieces in RUN..: same model, probe and settings.

    The runs may have other templates or relations, if together they have each relation under each template. A piece in
    several runs must have the same scores in each. The result equals one run of all pieces.

    \b
        calprobe score --model gpt2 --shard 1/2
        calprobe score --model gpt2 --shard 2/2
        calprobe merge runs/gpt2-bear-shard-*-of-2 --out runs/gpt2-bear
    """
    from calprobe.runs.asked_manifest import AskManifest
    from calprobe.runs.merge import merge_runs

    log_to_stderr()
    merged = merge_runs(runs, out, partial)
    state = _replies_there(out) if isinstance(merged.manifest, AskManifest) else _pieces_there(merged)
    say(f"{out}: {state}; next: calprobe report {shlex.quote(str(out))}")


def _pieces_there(merged: RecordFolder[Any, Any]) -> str:
    done, all_pieces = merged.progress().pieces, len(merged.manifest.pieces)
    return f"{done} of {counted(all_pieces, 'piece')}" if done < all_pieces else f"{counted(done, 'piece')}, complete"


def _replies_there(out: Path) -> str:
    from calprobe.runs.listing import list_runs

    (run,) = list_runs(out).runs
    replies, requests = run.replies or 0, counted(run.requests or 0, "request")
    return f"{requests}, complete" if run.complete else f"replies to {replies:,} of {requests}"
