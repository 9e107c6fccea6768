"""`calprobe import`: scores that another tool published, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from calprobe.types import ModelKind


@click.group(short_help="Make a run of scores that another tool saved.")
def command() -> None:
    """Make a run of scores that another tool saved."""


@command.command("lm-pub-quiz", short_help="A folder of results saved by lm-pub-quiz.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or absent."
)
@click.option(
    "--probe", metavar="NAME|DIR", help="The probe that was scored: names instances by its line numbers, gives domains."
)
@click.option(
    "--kind", type=click.Choice(["causal", "masked"]), help="Of the model. Without it: as its alias or a metric says."
)
def lm_pub_quiz(folder: Path, out: Path, probe: str | None, kind: ModelKind | None) -> None:
    """Make a run of the results in DIR: metadata_results.json and RELATION_results.jsonl, one template, reduced.

    \b
        calprobe import lm-pub-quiz results --probe bear --kind causal --out runs/gpt2-published
    """
    from calprobe.models.aliases import kind_of_alias
    from calprobe.probes import load_probe
    from calprobe.runs.lm_pub_quiz_import import import_lm_pub_quiz, scored_model
    from calprobe.wording import counted

    kind = kind or kind_of_alias(scored_model(folder))
    run = import_lm_pub_quiz(folder, out, load_probe(probe) if probe else None, kind)
    manifest = run.manifest
    relations = counted(len(manifest.relations), "relation")
    instances = counted(sum(relation.n_instances for relation in manifest.relations), "instance")
    click.echo(f"{out}: {manifest.model.name}, {relations}, {instances}", err=True)
