"""`calprobe import`: scores that another tool published, as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.common import NearestGroup
from calprobe.cli.terminal_text import say
from calprobe.words import ModelKind

if TYPE_CHECKING:
    from calprobe.runs import RunFolder


@click.group(cls=NearestGroup, short_help="Make a run of scores that another tool saved.")
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
    "--kind", type=click.Choice(get_args(ModelKind)), help="Of the model. Without it: as its alias or a metric says."
)
def lm_pub_quiz(folder: Path, out: Path, probe: str | None, kind: ModelKind | None) -> None:
    """Make a run of the results in DIR: metadata_results.json and RELATION_results.jsonl, reduced.

    \b
        calprobe import lm-pub-quiz results --probe bear --kind causal --out runs/gpt2-published
    """
    from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz, scored_model
    from calprobe.models.aliases import kind_of_alias
    from calprobe.probes import load_probe

    kind = kind or kind_of_alias(scored_model(folder))
    _say(import_lm_pub_quiz(folder, out, load_probe(probe) if probe else None, kind))


@command.command("lm-eval", short_help="Samples that lm-evaluation-harness logged.")
@click.argument(
    "files", metavar="FILE..", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Run folder, empty or absent.  [default: runs/MODEL-TASK]",
)
@click.option("--model", metavar="NAME", help="The model's name.  [default: as in results_*.json beside FILE]")
@click.option("--kind", type=click.Choice(get_args(ModelKind)), help="Of the model. Without it: as its alias says.")
def lm_eval(files: tuple[Path, ...], out: Path | None, model: str | None, kind: ModelKind | None) -> None:
    """Make a run of FILE.., each the samples_TASK_DATE.jsonl of a multiple-choice task (`lm_eval --log_samples`).

    A task becomes a relation, a document an instance, a choice a candidate.

    \b
        calprobe import lm-eval results/EleutherAI__pythia-70m/samples_sciq_*.jsonl --out runs/pythia-sciq
        calprobe report runs/pythia-sciq
    """
    from calprobe.interop.lm_eval import evaluation_of, import_lm_eval, probe_name
    from calprobe.models.aliases import kind_of_alias
    from calprobe.runs.folder import default_out

    evaluation = evaluation_of(files, model)
    place = out or default_out(evaluation.model, probe_name(files))
    _say(import_lm_eval(files, place, evaluation, kind or kind_of_alias(evaluation.model)))


def _say(run: RunFolder) -> None:
    """What the run holds, on stderr."""
    from calprobe.messages import counted

    relations = counted(len(run.manifest.relations), "relation")
    instances = counted(sum(relation.n_instances for relation in run.manifest.relations), "instance")
    say(f"{run.path}: {run.manifest.model.name}, {relations}, {instances}")
