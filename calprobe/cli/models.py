"""`calprobe models`: short names of models, with their size, kind and licence remarks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.output import print_result
from calprobe.messages import listing

if TYPE_CHECKING:
    from calprobe.models.aliases import Alias

_LEGEND = """\
paper: one of the sixteen of Kissling et al. 2026 (arXiv 2601.18901)
gated: accept the licence on https://huggingface.co/MODEL, then log in with `hf auth login`
pickle: the weights are pickle files, which can run code when they are read; add --allow-pickle"""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the short names of models. `--model` also takes any hub id, a folder, a .gguf file or a PEFT adapter."""
    from calprobe.models.aliases import ALIASES

    entries = [_entry(name, alias) for name, alias in ALIASES.items()]
    print_result(json.dumps(entries, indent=2) if as_json else _text(entries))


def _entry(name: str, alias: Alias) -> dict[str, Any]:
    """The printed entry of one alias; `parameters` is a count, rounded to millions."""
    return {
        "name": name,
        "model": alias.location,
        "kind": alias.kind,
        "parameters": round(alias.parameters * 10**6),
        "gated": alias.gated,
        "pickle": alias.pickle,
        "paper": alias.paper,
        "package": alias.package.requirement if alias.package is not None else None,
        "note": alias.note,
    }


def _text(entries: list[dict[str, Any]]) -> str:
    rows = [("name", "kind", "parameters", "model", "")]
    rows += [
        (entry["name"], entry["kind"], _size(entry["parameters"]), entry["model"], _remarks(entry)) for entry in entries
    ]
    return f"{listing(rows, '<<><<')}\n\n{_LEGEND}"


def _size(parameters: int) -> str:
    if parameters >= 10**9:
        return f"{parameters / 1e9:.1f} B"
    return f"{parameters / 1e6:.{1 if parameters < 10**6 else 0}f} M"


def _remarks(entry: dict[str, Any]) -> str:
    remarks = [
        "paper" if entry["paper"] else "",
        "gated" if entry["gated"] else "",
        "pickle" if entry["pickle"] else "",
        entry["note"],
    ]
    return ", ".join(remark for remark in remarks if remark)
