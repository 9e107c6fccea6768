"""`calprobe grade`: say which answers of a run are right, by rule, by a judge model, or as a file says."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import list_option, typed
from calprobe.cli.option_kinds import BACKENDS, JUDGES, Group, KindCommand, heading, option
from calprobe.cli.run_options import LOADING, load_options, loading_options, quiet_option
from calprobe.cli.server_options import OF_SERVER, server_options
from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.words import GRADE_BY

if TYPE_CHECKING:
    from calprobe.answers.token_claims import Context
    from calprobe.runs import StoredGrades

_OF_GRADING = ("grader", "judge", "grades", "target", "rouge_threshold")


@click.command(
    cls=KindCommand,
    kinds=(JUDGES,),
    short_help="Say which answers are right: by rule, by a judge model, or as a file says.",
)
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@heading(Group.GRADING)
@option(
    "--grader",
    metavar="|".join(GRADE_BY),
    help=f"{'; '.join(f'{name}: {rule}' for name, rule in GRADE_BY.items())}.  [default: judge with --judge, else "
    "exact and number]",
)
@option(
    "--target",
    type=click.Choice(["all", "best", "first"]),
    default="all",
    show_default=True,
    help="Compare with all accepted texts, or the best alone; that is the first.",
)
@option(
    "--rouge-threshold",
    type=float,
    metavar="F",
    help="With --grader rouge: right from this ROUGE-L on.  [default: 0.3]",
)
@option(
    "--grades",
    metavar="FILE.jsonl",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Grades of people or of another tool; they count first.",
)
@heading(Group.JUDGE)
@option(
    "--judge",
    metavar="NAME|DIR|FILE.gguf|SERVED-NAME",
    help="Model that judges the answers which exact matching leaves open.",
)
@option(
    "--judge-base-url",
    kinds=("openai",),
    metavar="URL",
    help="Address of the judge's server, up to /v1. Its key: OPENAI_API_KEY, if any.",
)
@option(
    "--judge-backend",
    kinds=BACKENDS.names,
    type=click.Choice(list(BACKENDS.names)),
    help="Engine of the judge.  [default: transformers; openai with --judge-base-url]",
)
@option(
    "--judge-prompts", kinds=BACKENDS.names, metavar="NAME|FILE.json", help="What the judge is asked.  [default: judge]"
)
@heading(Group.MEANINGS)
@option(
    "--nli",
    metavar="NAME|DIR|self",
    help="Model of natural-language inference that judges each two different answers to a question, and the "
    "alternatives of tokens; self: the model that has answered is asked.",
)
@list_option(
    "--ccp-context",
    metavar="sentence,token",
    help="With --nli: judge alternatives of tokens within their sentence, or alone, or both.  [default: sentence]",
)
@option("--embed", metavar="NAME|DIR", help="Sentence encoder of the answers, such as all-minilm-l6-v2.")
@server_options("Answers")
@load_options
@quiet_option
def command(
    run: Path,
    judge: str | None,
    nli: str | None,
    ccp_context: tuple[str, ...] | None,
    embed: str | None,
    grades: Path | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Grade the answers to open questions in RUN, and keep the grades there: `calprobe report` reads them.

    An answer that is an accepted text is right, whatever its case, articles, punctuation and accents, and whatever form
    its numbers and dates have. A reply that says it does not know is wrong, and is counted. A judge decides the others,
    by its probabilities of Yes and No; what it has been asked is kept in RUN and never asked again.

    \b
        calprobe grade runs/smollm2-nq --judge qwen2.5-7b
        calprobe grade runs/smollm2-nq --judge gpt-4o-mini --judge-base-url https://api.openai.com/v1
        calprobe grade runs/smollm2-nq --grader rouge --target best
        calprobe grade runs/smollm2-nq --grades by-hand.jsonl
        calprobe grade runs/smollm2-nq --nli microsoft/deberta-large-mnli --embed all-minilm-l6-v2

    --nli and --embed say which of several answers to a question mean the same, for entropies of meanings and the other
    estimators of samples. Each ordered pair of different answers is judged once, and kept in RUN. Without an option of
    grading beside them the grades stay as they are.
    """
    # Set before torch is imported, as in `calprobe score`.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    _refuse_idle_options(given, judge, nli or embed)
    contexts = _contexts(ccp_context, nli)
    from calprobe.grading import GradeOptions, grade, judge_meanings

    log_to_stderr(quiet)
    named = ("grader", "target", "rouge_threshold", "judge_prompts")
    options = GradeOptions(**{name: given[name] for name in named if given[name] is not None}, quiet=quiet)
    asks_of_meaning = nli is not None or embed is not None
    if not asks_of_meaning or any(typed(click.get_current_context(), name) for name in _OF_GRADING):
        say(_summary(run, grade(run, options, judge=judge, grades=grades, **_engine(given, judge, quiet))))
    if asks_of_meaning:
        for source in judge_meanings(run, nli, embed, loading_options(given, quiet=quiet), contexts):
            say(f"{run}: meanings by {source.describe()}")


def _contexts(names: tuple[str, ...] | None, nli: str | None) -> tuple[Context, ...]:
    """The contexts of alternatives; UsageError for an unknown one, and without a model that judges them."""
    from calprobe.answers.token_claims import CONTEXTS

    if names is not None and nli is None:
        raise click.UsageError("--ccp-context is of judged alternatives; give --nli NAME", click.get_current_context())
    for name in names or ():
        if name not in CONTEXTS:
            raise UsageError(f"--ccp-context {name}: known are {', '.join(CONTEXTS)}{did_you_mean(name, CONTEXTS)}")
    return tuple(name for name in CONTEXTS if name in (names or CONTEXTS[:1]))


def _refuse_idle_options(values: dict[str, Any], judge: str | None, model: str | None) -> None:
    """Choose the backend that --judge-base-url implies; raise click.UsageError for an option without effect."""
    context = click.get_current_context()
    needed = () if model is None else LOADING
    if judge is None:
        JUDGES.refuse(context, "none", "there is no judge; give --judge MODEL", needed=needed)
    if typed(context, "rouge_threshold") and values["grader"] != "rouge":
        raise click.UsageError("--rouge-threshold is of ROUGE-L; give --grader rouge", context)
    if values["judge_backend"] is None:
        values["judge_backend"] = "openai" if values["judge_base_url"] is not None else "transformers"
    if judge is not None:
        backend = values["judge_backend"]
        JUDGES.refuse(context, backend, f"the judge's backend is {backend}; leave it out", needed=needed)


def _engine(values: dict[str, Any], judge: str | None, quiet: bool) -> dict[str, Any]:
    """Where the judge runs, and how it is loaded."""
    if judge is None:
        return {}
    from calprobe.backends.options import BackendOptions

    server = {name: values[name] for name in OF_SERVER if values[name] is not None}
    backend = BackendOptions(values["judge_backend"], base_url=values["judge_base_url"], **server)
    if backend.backend == "openai":  # nothing is loaded
        return {"backend_options": backend}
    return {"backend_options": backend, "load_options": loading_options(values, quiet=quiet)}


def _summary(run: Path, grades: StoredGrades) -> str:
    right = sum(row.correct for row in grades.rows)
    decided = ", ".join(f"{rule} {number:,} ({correct:,} right)" for rule, (number, correct) in grades.decided.items())
    answers = "1 answer" if len(grades.rows) == 1 else f"{len(grades.rows):,} answers"
    return f"{run}: {answers}, {right:,} right; graded by {decided}; next: calprobe report {shlex.quote(str(run))}"
