"""`calprobe show`: answers of a run one by one, in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import MOST_ROWS, Number, list_option
from calprobe.cli.common import (
    compat_option,
    estimators_option,
    format_options,
    reduction_option,
    ties_option,
)
from calprobe.cli.labels import label_option
from calprobe.cli.output import print_result, printed_json
from calprobe.cli.typed_runs import open_typed
from calprobe.errors import UsageError
from calprobe.messages import cleaned, printable

if TYPE_CHECKING:
    from calprobe.studies.scored.answers import Shown


@click.command(short_help="Show answers of a run: what the model said, and what is right.")
@click.argument("run", metavar="RUN")
@click.option("--wrong", is_flag=True, help="Show wrong answers.  [default, unless --right is given]")
@click.option("--right", is_flag=True, help="Show right answers; with --wrong: all answers.")
@click.option("--surest", is_flag=True, help="The most confident answers first.  [default]")
@click.option("--unsurest", is_flag=True, help="The least confident answers first.")
@list_option("--relation", "relations", metavar="R,..", help="Only answers of these relations.")
@estimators_option("The estimator of the answers and confidences.  [default: base]", several=False)
@click.option("--template", type=int, metavar="N", help="The answers of template N, with its base, instead.")
@click.option("--top", type=Number(1, MOST_ROWS), default=10, show_default=True, metavar="N", help="Show N answers.")
@click.option(
    "--probe",
    metavar="NAME|DIR|FILE.csv",
    help="The scored probe, for its texts.  [default: texts in RUN, or the run's probe if it is where it was]",
)
@label_option
@reduction_option()
@compat_option
@ties_option
@format_options
def command(
    run: str, labels: tuple[str, ...], probe: str | None, surest: bool, unsurest: bool, form: str, **given: Any
) -> None:
    """Show answers of RUN: subject, statement as scored, the model's answer, the right one, and the confidences.

    Without options these are the wrong answers that the model is surest of. With several templates, each answer is
    followed by what each template answers.

    \b
        calprobe show runs/smollm2-135m-mini
        calprobe show runs/smollm2-135m-mini --relation capital --top 20
        calprobe show runs/smollm2-135m-mini --right --unsurest --estimator margin
        calprobe show runs/smollm2-135m-mini --top 1000 --format csv > errors.csv
    """
    from calprobe.analysis import ReportOptions, ShowOptions, show
    from calprobe.cells.opening import of_scores

    if surest and unsurest:
        raise click.UsageError("--surest and --unsurest contradict each other: give one of them")
    runs = open_typed([run], labels)
    path = shlex.quote(run)
    instead = f"each answer with its confidences, and whether it is right: calprobe export {path} --what confidences"
    if runs.kind == "asked":
        raise UsageError(f"{run} is a run of replies; show takes runs of scores\n{instead} --out FILE.csv")
    scores = ReportOptions(**{name: given.pop(name) for name in ("reduction", "compat", "ties")})
    given["wrong"] = given["wrong"] or not given["right"]
    options = ShowOptions(**given, surest=not unsurest, scores=scores)
    print_result(_in_format(form, show(of_scores(runs.runs), options, probe)))


def _in_format(form: str, shown: Shown) -> str:
    from rich.console import Console

    from calprobe.show.tables import WRITERS
    from calprobe.studies.scored.answer_sentences import answers_text
    from calprobe.studies.scored.answers_table import answers_csv, answers_table

    if form == "text":
        return cleaned(answers_text(shown, Console().width))
    if form == "json":
        return printed_json(shown)
    if form == "csv":
        return answers_csv(shown)
    return printable(WRITERS[form]([answers_table(shown, "column" if form == "markdown" else None)]))
