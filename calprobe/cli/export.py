"""`calprobe export`: a run's scores or replies, and what was computed of them, as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from calprobe.cli.arguments import output_path
from calprobe.cli.common import any_compat_option, ties_option
from calprobe.cli.option_kinds import OF_CONFIDENCES, RUNS, TABLES, KindCommand, option
from calprobe.cli.reply_options import readers_option, window_option
from calprobe.cli.terminal_text import explained_wait, say
from calprobe.cli.typed_runs import open_typed
from calprobe.messages import counted
from calprobe.words import Reduction, Ties

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions
    from calprobe.runs import AskedRun, Run

Write = Callable[[str, Path], int]  # (table, file) -> how many rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What the command line says; None where it says nothing."""

    run_path: Path
    what: str
    out: Path
    reduction: Reduction
    compat: Any  # the rules of a paper, on scores or on replies
    ties: Ties
    template: int | None
    probe: str | None
    labels: bool
    source: str | None
    readers: tuple[str, ...] | None
    window: int | None


@click.command(cls=KindCommand, kinds=(RUNS, TABLES), short_help="Write a run's scores or replies to a file.")
@click.argument("run_path", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--what",
    required=True,
    type=click.Choice(list(TABLES.names)),
    help="The table to write: of scores candidates, tokens, confidences, lm-pub-quiz; of asked runs replies, labels,"
    " alternatives, readings, confidences. hub-card, of both: the evaluation block of a model card on the hub;"
    " hub-dataset: the run as a data set there.",
)
@click.option(
    "--out",
    required=True,
    metavar="F.parquet|csv|jsonl|DIR",
    type=output_path(),
    help="The suffix sets the format; an existing file is replaced. lm-pub-quiz, hub-dataset: an empty or new"
    " folder. hub-card: F.yaml, or a new F.md.",
)
@option(
    "--reduction",
    kinds=("scored", "lm-pub-quiz", *OF_CONFIDENCES),
    type=click.Choice(get_args(Reduction)),
    default="sum",
    show_default=True,
    help="For confidences and lm-pub-quiz.",
)
@any_compat_option
@ties_option
@option(
    "--template",
    kinds=("scored", "lm-pub-quiz"),
    type=int,
    metavar="N",
    help="For lm-pub-quiz.  [default: the first paraphrase]",
)
@option(
    "--probe",
    kinds=("scored",),
    metavar="NAME|DIR",
    help="For --labels and lm-pub-quiz: the probe with the texts.  [default: the run's probe]",
)
@option(
    "--labels",
    kinds=("scored", "candidates", "confidences", "hub-dataset"),
    is_flag=True,
    help="Add columns with subject, answers and statement in words.",
)
@option("--source", kinds=("hub-card",), metavar="URL", help="For hub-card: where the run or its report can be seen.")
@readers_option
@window_option
def command(**typed: Any) -> None:
    """Write a run's scores, tokens or confidences, or its replies and what was read of them, sorted.

    Numbers have full precision.

    \b
        calprobe export runs/smollm2-135m-mini --what candidates --out scores.parquet
        calprobe export runs/gpt2-bear --what confidences --compat kissling2026 --out confidences.csv
        calprobe export runs/smollm2-135m-mini --what lm-pub-quiz --out results
        calprobe export runs/smollm2-135m-mmlu --what readings --out readings.csv
        calprobe export runs/gpt2-bear --what hub-card --out card.yaml
        calprobe export runs/gpt2-bear --what hub-dataset --out gpt2-bear-data
    """
    from calprobe.interop.lm_pub_quiz_export import check_form, export_lm_pub_quiz, labels_of
    from calprobe.presentation.hub_card import write_card
    from calprobe.presentation.hub_dataset import write_dataset
    from calprobe.runs import AskedRun, Run

    arguments, context = Typed(**typed), click.get_current_context()
    TABLES.refuse(context, arguments.what, f"this is --what {arguments.what}; leave it out")
    if arguments.probe is not None and arguments.what != "lm-pub-quiz" and not arguments.labels:
        raise click.UsageError("--probe names the texts of --labels and of lm-pub-quiz; add --labels, or leave it out")
    runs = open_typed([str(arguments.run_path)], kinds=RUNS)
    (run,), out = runs.runs.values(), arguments.out
    options, write = _of_replies(arguments, run) if isinstance(run, AskedRun) else _of_scores(arguments, run)
    wrote = f"wrote {out}"
    if arguments.what == "hub-card":
        write_card(run, options, out, arguments.source)
    elif arguments.what == "hub-dataset":
        write_dataset(run, out, lambda path: write("confidences", path))
        wrote += f"; add a licence to its README.md, then: hf upload OWNER/NAME {out} --repo-type dataset"
    elif arguments.what == "lm-pub-quiz" and isinstance(run, Run):
        check_form(run)
        export_lm_pub_quiz(run, out, arguments.reduction, arguments.template, labels_of(run, arguments.probe))
    else:
        with explained_wait():
            wrote += f": {counted(write(arguments.what, out), 'row')}"
    say(wrote)
    if isinstance(run, Run) and run.partial:
        say(f"partial run: {len(run.pieces)} of {len(run.manifest.pieces)} pieces scored")


def _of_scores(arguments: Typed, run: Run) -> tuple[ReportOptions, Write]:
    """How scores are read, and what writes a table of them. Raises UsageError for rules of replies."""
    from calprobe.interop.answer_texts import texts_of
    from calprobe.measures.options import ReportOptions, check_rules
    from calprobe.presentation.run_tables import write_scores

    check_rules(arguments.compat, "scored")
    options = ReportOptions(arguments.reduction, arguments.compat, ties=arguments.ties)

    def write(name: str, path: Path) -> int:
        return write_scores(run, name, path, options, texts_of(run, arguments.probe) if arguments.labels else None)

    return options, write


def _of_replies(arguments: Typed, run: AskedRun) -> tuple[ReportOptions, Write]:
    """How replies are read, and what writes a table of them. Raises UsageError for rules of scores."""
    from calprobe.measures.options import ReportOptions, check_rules
    from calprobe.presentation.run_tables import write_replies

    check_rules(arguments.compat, "asked")
    options = ReportOptions(compat=arguments.compat, readers=arguments.readers, window=arguments.window)
    return options, partial(write_replies, run, options=options)
