"""`calprobe probes`: the known probes, or the contents of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.output import print_result
from calprobe.messages import counted, listing, printable_json

if TYPE_CHECKING:
    from calprobe.probes import Probe

GET = {"bear": "calprobe fetch bear", "bear-big": "calprobe fetch bear", "factor": "calprobe fetch factor"}


@click.command(short_help="List the probes, or show the contents of one.")
@click.argument("probe", required=False, metavar="[NAME|DIR|FILE.csv]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(probe: str | None, as_json: bool) -> None:
    """List the known probes, or show the contents of a probe and the irregularities of its files."""
    from calprobe.probes import load_probe

    if probe is None:
        entries = _known_probes()
        print_result(json.dumps(entries, indent=2) if as_json else _known_text(entries))
        return
    loaded = load_probe(probe)
    if as_json:
        print_result(printable_json(json.dumps(_content(loaded), indent=2, ensure_ascii=False)))
    else:
        print_result(_content_text(loaded))


def _known_probes() -> list[dict[str, Any]]:
    """One entry for each known probe; a probe that is not on this machine has null sizes and the command `get`."""
    from calprobe.errors import DataMissingError
    from calprobe.probes import PROBES, load_probe

    entries: list[dict[str, Any]] = []
    for name in PROBES:
        try:
            entries.append({"name": name, **_sizes(load_probe(name)), "get": None})
        except DataMissingError:
            entries.append({"name": name, "relations": None, "instances": None, "statements": None, "get": GET[name]})
    return entries


def _sizes(probe: Probe) -> dict[str, int]:
    """Numbers of relations, instances and statements of one template."""
    statements = sum(relation.n_statements for relation in probe.relations)
    return {"relations": len(probe.relations), "instances": probe.n_instances, "statements": statements}


def _known_text(probes: Sequence[dict[str, Any]]) -> str:
    header = ("probe", "relations", "instances", "statements a template", "")
    rows = [
        (
            probe["name"],
            *(_number(probe[key]) for key in ("relations", "instances", "statements")),
            _where(probe["get"]),
        )
        for probe in probes
    ]
    note = "Probes too: a folder in BEAR's format (--probe DIR), a CSV file of FACTOR's columns (--probe FILE.csv)"
    return f"{listing([header, *rows], '<>>><')}\n{note}"


def _where(get: str | None) -> str:
    return f"not here: run `{get}`" if get else "ready"


def _content(probe: Probe) -> dict[str, Any]:
    relations = [
        {
            "name": relation.name,
            "instances": len(relation.instances),
            "candidates": relation.n_candidates,
            "cardinality": relation.cardinality,
            "statements": relation.n_statements,
            "templates": len(relation.templates),
            "domains": relation.domains,
        }
        for relation in probe.relations
    ]
    summary = {"name": probe.name, "fingerprint": probe.fingerprint, **_sizes(probe), "notes": probe.notes}
    return summary | {"relations": relations}


def _content_text(probe: Probe) -> str:
    header = ("relation", "instances", "candidates", "cardinality", "statements", "own templates", "domains")
    rows = [
        (
            relation.name,
            _number(len(relation.instances)),
            _number(relation.n_candidates),
            relation.cardinality,
            _number(relation.n_statements),
            _number(len(relation.templates)),
            ", ".join(relation.domains),
        )
        for relation in probe.relations
    ]
    sizes = ", ".join(counted(number, noun.removesuffix("s")) for noun, number in _sizes(probe).items())
    table = listing([header, *rows], "<>>>>><")
    lines = [f"{probe.name}: {sizes} a template", f"fingerprint {probe.fingerprint}", "", table]
    if probe.notes:
        lines += ["", "Notes:", *(f"- {note}" for note in probe.notes)]
    return "\n".join(lines)


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
