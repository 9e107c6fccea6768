"""`calprobe export --what hub-card`: the evaluation block of a model card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import AskedOptions, ReportOptions
    from calprobe.runs import AskedRun, Run

_YAML = (".yaml", ".yml")


def write_card(run: Run | AskedRun, options: ReportOptions | AskedOptions, out: Path, source: str | None) -> None:
    """Write YAML, or a card of the block alone that is to become a README.md.

    Raises UsageError for another suffix, for a card that is there already, and as `hub_card`.
    """
    from calprobe.analysis.hub_card import hub_card
    from calprobe.metrics import Resampling
    from calprobe.runs.atomic import write_text

    suffix = out.suffix.lower()
    if suffix not in (*_YAML, ".md"):
        raise UsageError(f"--out {out}: a hub card is a .yaml file, or a new .md file")
    if suffix == ".md" and out.exists():
        raise UsageError(f"{out} is there; write a .yaml file, and put it into the card's head")
    block = hub_card(run, replace(options, resampling=Resampling(n_resamples=0)), source)
    write_text(out, block if suffix in _YAML else f"---\n{block}---\n")
    say(f"wrote {out}")
