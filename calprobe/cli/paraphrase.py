"""`calprobe paraphrase`: let a model put questions in other words, and keep those that pass the checks."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.option_kinds import BACKENDS, Group, KindCommand, heading, option
from calprobe.cli.question_options import chosen_questions, question_options, refuse_idle_choices
from calprobe.cli.run_options import LOADING, load_options, loading_options, quiet_option
from calprobe.cli.server_options import OF_SERVER, server_options
from calprobe.cli.terminal_text import log_to_stderr, say

if TYPE_CHECKING:
    from calprobe.asking import Paraphrased


@click.command(
    cls=KindCommand,
    kinds=(BACKENDS,),
    short_help="Let a model put questions in other words, and keep those that pass the checks.",
)
@click.argument("questions", metavar="NAME|FILE.jsonl")
@heading(Group.MODEL)
@option(
    "--model",
    required=True,
    metavar="NAME|DIR|FILE.gguf|SERVED-NAME",
    help="Model that words the questions anew; of a server, the name that it has there.",
)
@option(
    "--backend",
    type=click.Choice(list(BACKENDS.names)),
    help="Engine that answers.  [default: transformers; openai with --base-url]",
)
@option(
    "--base-url",
    kinds=("openai",),
    metavar="URL",
    help="Address of the server, up to /v1. Its key: OPENAI_API_KEY, if any.",
)
@question_options
@heading(Group.PROMPTS)
@option("--prompts", metavar="NAME|FILE.json", help="What the model is asked.  [default: paraphrase]")
@heading(Group.SAMPLING)
@option("--n", "count", type=int, default=5, show_default=True, metavar="N", help="Paraphrases of each question.")
@option(
    "--samples",
    type=int,
    metavar="N",
    help="Replies to each question, of which the first that pass are kept.  [default: 2 N]",
)
@option(
    "--nli",
    metavar="NAME|DIR",
    help="Keep only those that entail the question and are entailed by it, as this model judges.",
)
@option("--temperature", type=float, default=1.0, show_default=True, metavar="T", help="Temperature of the replies.")
@option("--max-new-tokens", type=int, metavar="N", help="Longest reply, in tokens.  [default: the variant's]")
@option("--seed", type=int, default=0, show_default=True, metavar="S", help="Seed of draws and replies.")
@server_options("Questions")
@load_options
@heading(Group.RUN)
@option(
    "--out", metavar="FILE.jsonl", type=click.Path(path_type=Path), help="The file for ask --paraphrases.  [required]"
)
@quiet_option
def command(questions: str, model: str, out: Path | None, quiet: bool, **given: Any) -> None:
    """Ask a model for the questions of a set (NAME) or of FILE.jsonl in other words, and write those that pass the
    checks to the file of --out.

    Dropped and counted are replies that are cut off or no question, that have an accepted answer in them, lack or add a
    name, a number or a date, or repeat another one; with --nli also those that mean something else. All replies are in
    a run beside the file (its name, ending in .run): the same command resumes, and asks for nothing twice.

    \b
        calprobe paraphrase quiz.jsonl --model qwen2.5-7b --n 5 --out quiz-paraphrases.jsonl
        calprobe ask --study wording --model smollm2-135m --questions quiz.jsonl --paraphrases quiz-paraphrases.jsonl
    """
    # Set before torch is imported, as in `calprobe score`.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    backend = _backend(given)
    refuse_idle_choices([questions])
    if out is None:  # what is wrong with the questions comes first
        from calprobe.questions import load_questions

        load_questions([questions], chosen_questions(given, seed=given["seed"]))
        raise click.UsageError("--out FILE.jsonl is missing: where the paraphrases go")
    from calprobe.asking import ParaphraseOptions, paraphrase
    from calprobe.backends.options import BackendOptions

    log_to_stderr(quiet)
    named = ("count", "samples", "temperature", "seed", "prompts", "max_new_tokens", "nli")
    options = ParaphraseOptions(**{name: given[name] for name in named if given[name] is not None}, quiet=quiet)
    server = {name: given[name] for name in OF_SERVER if given[name] is not None}
    result = paraphrase(
        model,
        questions,
        out,
        options,
        question_options=chosen_questions(given, seed=given["seed"]),
        backend_options=BackendOptions(backend, base_url=given["base_url"], **server),
        load_options=loading_options(given, quiet=quiet),
    )
    say(_summary(result, given["count"]))


def _backend(values: dict[str, Any]) -> Any:
    """The backend, which --base-url implies; raises click.UsageError for an option that another backend has."""
    context = click.get_current_context()
    name = values["backend"] or ("openai" if values["base_url"] is not None else "transformers")
    needed = () if values["nli"] is None else LOADING
    BACKENDS.refuse(context, name, f"the backend is {name}; leave it out", needed=needed)
    return name


def _summary(result: Paraphrased, count: int) -> str:
    from calprobe.messages import counted

    dropped = ", ".join(f"{reason} {number:,}" for reason, number in result.dropped.items()) or "none"
    share = f" ({result.passed / result.replies:.0%})" if result.replies else ""
    return (
        f"{result.passed:,} of {counted(result.replies, 'rewording')} passed{share}; dropped: {dropped}\n"
        f"{result.path} ({result.fingerprint[:12]}): {counted(result.written, 'paraphrase')} of "
        f"{result.questions - result.without:,} of {counted(result.questions, 'question')}, "
        f"{count} of {result.reached:,}; "
        f"next: calprobe ask --study wording --paraphrases {shlex.quote(str(result.path))} .."
    )
