"""`calprobe merge`: one run from several that have its parts."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from calprobe.cli.terminal_text import say
from calprobe.messages import counted


@click.command(short_help="Make one run from shards, stopped runs, or other templates.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or new.")
@click.option("--partial", is_flag=True, help="Merge even if pieces are missing.")
def command(runs: tuple[Path, ...], out: Path, partial: bool) -> None:
    """Make one run from all pieces in RUN..: same model, probe and settings.

    The runs may have other templates or relations, if together they have each relation under each template. A piece in
    several runs must have the same scores in each. The result equals one run of all pieces.

    \b
        calprobe score --model gpt2 --shard 1/2
        calprobe score --model gpt2 --shard 2/2
        calprobe merge runs/gpt2-bear-shard-*-of-2 --out runs/gpt2-bear
    """
    from calprobe.cli.logs import log_to_stderr
    from calprobe.runs.merge import merge_runs

    log_to_stderr()
    merged = merge_runs(runs, out, partial)
    done, all_pieces = merged.progress().pieces, len(merged.manifest.pieces)
    held = f"{done} of {counted(all_pieces, 'piece')}" if done < all_pieces else f"{counted(done, 'piece')}, complete"
    say(f"{out}: {held}; next: calprobe report {shlex.quote(str(out))}")
