"""`calprobe show`: answers of a run one by one, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import MOST_ROWS, Number, list_option, output_file
from calprobe.cli.common import (
    compat_option,
    estimators_option,
    format_options,
    reduction_option,
    ties_option,
)
from calprobe.cli.label_option import label_option
from calprobe.cli.option_kinds import RUNS, Group, KindCommand, heading, option
from calprobe.cli.output import print_data, print_result, printed_json, write_text
from calprobe.cli.terminal_text import explained_wait
from calprobe.cli.typed_runs import TypedRuns, open_typed
from calprobe.errors import UsageError
from calprobe.messages import cleaned

if TYPE_CHECKING:
    from calprobe.studies.asked.shown_replies import RunReplies, ShownReplies
    from calprobe.studies.scored.answers import Shown

FLAGS = ("wrong", "right", "unread", "cut", "abstained", "failed")  # kinds of replies


@click.command(cls=KindCommand, kinds=(RUNS,), short_help="Show answers of a run: what the model said, what is right.")
@click.argument("run", metavar="RUN")
@heading(Group.WHICH)
@option("--wrong", is_flag=True, help="Show wrong answers.  [default, unless another kind is asked for]")
@option("--right", is_flag=True, help="Show right answers; with --wrong: all answers.")
@option("--unread", kinds=("asked",), is_flag=True, help="Show replies in which no answer was found.")
@option("--cut", kinds=("asked",), is_flag=True, help="Show replies that ended at their budget of tokens.")
@option("--abstained", kinds=("asked",), is_flag=True, help="Show replies that say that the model does not know.")
@option("--failed", kinds=("asked",), is_flag=True, help="Show requests that failed, with the reason.")
@option("--surest", is_flag=True, help="The most confident answers first.  [default]")
@option("--unsurest", is_flag=True, help="The least confident answers first.")
@list_option("--relations", kinds=("scored",), metavar="R,..", help="Only answers of these relations.")
@list_option("--variants", kinds=("asked",), metavar="NAME,..", help="Only replies under these variants.")
@list_option("--sets", kinds=("asked",), metavar="NAME,..", help="Only replies to these sets.")
@list_option("--groups", kinds=("asked",), metavar="NAME,..", help="Only questions of these groups.")
@option(
    "--where", kinds=("asked",), default="", metavar="TEXT", help="Only where question, reply or answer contains TEXT."
)
@option("--disagree", kinds=("asked",), metavar="RUN", help="Only what one run has right and this other one wrong.")
@heading(Group.WHAT)
@option("--prompt", "prompts", kinds=("asked",), is_flag=True, help="Show each prompt as it was sent.")
@estimators_option(
    "The estimator of confidences, and of scored runs of answers.  [default: base; of replies, label or stated]",
    several=False,
)
@option("--template", kinds=("scored",), type=int, metavar="N", help="The answers of template N, by its base.")
@option("--top", type=Number(1, MOST_ROWS), default=10, show_default=True, metavar="N", help="Show N answers.")
@option(
    "--probe",
    kinds=("scored",),
    metavar="NAME|DIR|FILE.csv",
    help="The scored probe, for its texts.  [default: texts in RUN, or the run's probe if it is where it was]",
)
@option(
    "--html",
    "page",
    kinds=("asked",),
    group=Group.LOOKS,
    metavar="FILE",
    type=output_file(),
    help="Also write all replies as one HTML page with search and filters; an existing file is replaced.",
)
@label_option
@reduction_option()
@compat_option
@ties_option
@format_options
def command(run: str, labels: tuple[str, ...], surest: bool, unsurest: bool, form: str, **given: Any) -> None:
    """Show answers of RUN one by one: what was asked, what the model said, what is right, and how sure it was.

    Without options these are the wrong answers that the model is surest of. Of a scored run with several templates,
    each answer is followed by what each template answers. In a reply, what the reader took stands between >> and <<.

    \b
        calprobe show runs/smollm2-135m-mini
        calprobe show runs/smollm2-135m-mini --relations capital --top 20
        calprobe show runs/smollm2-135m-mini --right --unsurest --estimator margin
        calprobe show runs/smollm2-135m-mini --top 1000 --format csv > errors.csv
        calprobe show runs/smollm2-135m-mmlu --unread --cut
        calprobe show runs/smollm2-135m-mmlu --where France --prompt
        calprobe show runs/a-mmlu --disagree runs/b-mmlu --json > differ.json
        calprobe show runs/smollm2-135m-mmlu --html replies.html
    """
    if surest and unsurest:
        raise click.UsageError("--surest and --unsurest contradict each other: give one of them")
    runs = open_typed([run], labels, RUNS)
    shown = _replies if runs.kind == "asked" else _answers
    text = shown(runs, form, surest=not unsurest, **given)
    print_data(text) if form == "csv" else print_result(text)


def _answers(runs: TypedRuns, form: str, *, surest: bool, probe: str | None, **given: Any) -> str:
    from calprobe.analysis import ReportOptions, ShowOptions, show
    from calprobe.cells.opening import of_scores

    scores = ReportOptions(**{name: given[name] for name in ("reduction", "compat", "ties")})
    chosen = {name: given[name] for name in ("right", "relations", "estimator", "template", "top")}
    options = ShowOptions(wrong=given["wrong"] or not given["right"], surest=surest, scores=scores, **chosen)
    return _in_format(form, show(of_scores(runs.runs), options, probe))


def _replies(runs: TypedRuns, form: str, *, surest: bool, disagree: str | None, page: Path | None, **given: Any) -> str:
    from calprobe.presentation.replies_page import replies_page
    from calprobe.studies.asked.shown_replies import KINDS, ReplyChoice, choose_replies

    if form not in ("text", "json"):
        raise UsageError(f"--format {form}: replies are shown as text or json; calprobe export has them as CSV")
    estimator = given["estimator"]
    every = _every_reply(runs, estimator)
    kinds = [name for name in FLAGS if given[name]]
    # What two runs differ in may be right here and wrong there.
    keep = frozenset(kinds or (KINDS if disagree else ("wrong",)))
    named = {name: given[name] for name in ("variants", "sets", "groups", "where", "top")}
    other = None
    if disagree is not None:
        beside = open_typed([disagree], (), RUNS)
        if beside.kind != "asked":
            raise UsageError(f"--disagree {disagree}: a run of scores; give a run of replies")
        other = _every_reply(beside, estimator)
    if page is not None:
        write_text(replies_page(every), page, "--html")
    shown = choose_replies(every, ReplyChoice(keep, surest=surest, **named), other)
    return printed_json(shown) if form == "json" else _text(shown, prompts=given["prompts"])


@explained_wait()
def _every_reply(runs: TypedRuns, estimator: str | None) -> RunReplies:
    from calprobe.cells.opening import asked_runs, of_replies
    from calprobe.studies.asked.shown_replies import shown_replies

    (asked,) = asked_runs(of_replies(runs.runs))
    return shown_replies(asked, estimator=estimator)


def _text(shown: ShownReplies, *, prompts: bool) -> str:
    from rich.console import Console

    from calprobe.studies.asked.reply_text import replies_text

    return cleaned(replies_text(shown, Console().width, prompts=prompts))


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
    return WRITERS[form]([answers_table(shown, "column" if form == "markdown" else None)])
