"""`calprobe ask`: ask questions of an instruct model, and keep every reply."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import Count, each_once_option, list_option, text_or_file
from calprobe.cli.option_kinds import BACKENDS, Group, KindCommand, heading, option
from calprobe.cli.output import print_result
from calprobe.cli.question_options import chosen_questions, question_options, refuse_idle_choices
from calprobe.cli.run_options import load_options, loading_options, out_option, quiet_option, resume_option
from calprobe.cli.server_options import OF_SERVER, server_options
from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.asking import AskOptions
    from calprobe.backends import BackendOptions
    from calprobe.runs import AskedRun

_OF_BACKEND = (
    *OF_SERVER,
    *("backend", "base_url", "schema", "top_logprobs", "price_in", "price_out", "max_cost", "parameters"),
    *("tensor_parallel", "pipeline_parallel", "executor", "max_model_len", "eager"),
)
_OF_ASKING = (
    *("study", "prompts", "variants", "collect", "samples", "temperature", "top_p", "seed", "max_new_tokens"),
    *("stated_tokens", "think_tokens", "shots", "system", "raw_prompt", "counterfactual", "answer_type", "permute"),
    *("paraphrases", "wordings", "shard", "cache", "resume"),
)

_server_setting = partial(option, kinds=("openai",), setting_of="--backend-option")
_vllm_setting = partial(option, kinds=("vllm",), setting_of="--backend-option")


@click.command(
    cls=KindCommand, kinds=(BACKENDS,), short_help="Ask questions of an instruct model, and keep every reply."
)
@heading(Group.MODEL)
@option(
    "--model",
    required=True,
    metavar="NAME|DIR|FILE.gguf|SERVED-NAME",
    help="Alias, hub id, folder or GGUF file; of a server, the name that it has there.",
)
@option(
    "--backend",
    type=click.Choice(list(BACKENDS.names)),
    help="Engine that answers: in this process, or a server with OpenAI's chat interface.  [default: transformers; "
    "openai with --base-url]",
)
@option(
    "--backend-option",
    metavar="KEY=VALUE",
    multiple=True,
    expose_value=False,
    help="A setting of the server or of vLLM, below; may be repeated.",
)
@option(
    "--base-url",
    kinds=("openai",),
    metavar="URL",
    help="Address of the server, with or without /v1. Its key: OPENAI_API_KEY, if any.",
)
@option(
    "--parameters",
    kinds=("openai", "vllm"),
    type=Count(),
    metavar="N",
    help="How many parameters the model has, such as 7.6B, for figures by size.  [default: as the server says, if it "
    "does]",
)
@heading(Group.QUESTIONS)
@each_once_option(
    "--questions",
    required=True,
    metavar="NAME|FILE|hf:ID,..",
    help="Question sets by name, files of one's own, and data sets of the hub.",
)
@option(
    "--paraphrases",
    metavar="hand|FILE.jsonl|none",
    help="Also ask each question in other wordings: those that its set has by hand, or those of a file.  "
    "[default: none]",
)
@option(
    "--wordings",
    type=int,
    metavar="N",
    help="How many wordings of each question to ask, its own text included.  [default: as many as every question has; "
    "of a file, as nine of ten have]",
)
@question_options
@heading(Group.PROMPTS)
@option(
    "--study",
    metavar="audit|stated|science-labels|science-answers|wording",
    help="Set all that a published study fixes; other options override it.",
)
@option(
    "--prompts",
    metavar="NAME|FILE.json",
    help="The prompt set.  [default: plain, which has one prompt; with --variants: audit, which has five]",
)
@option(
    "--prompt",
    metavar="TEXT|@FILE",
    callback=text_or_file,
    help="Your own words in the place of a set: the user's turn, with {question}, or {input} for question and options.",
)
@option("--system", metavar="TEXT|@FILE", callback=text_or_file, help="A system turn.  [default: the variant's]")
@list_option("--variants", metavar="NAME,..", help="Only these variants of the prompts, in this order.")
@option(
    "--permute",
    type=click.Choice(["none", "cyclic"]),
    help="Ask each variant with the options in every cyclic order, too: NAME, NAME+1, ..  [default: none]",
)
@option(
    "--raw-prompt",
    is_flag=True,
    default=None,
    help="Prompts as plain text, without the chat template: for base models.  [default: the variant's]",
)
@option("--shots", type=int, metavar="N", help="Examples in variants that have some.  [default: the variant's]")
@option("--shots-from", metavar="NAME|FILE", help="Examples from these questions.  [default: the set's other split]")
@option(
    "--shots-by",
    type=click.Choice(["any", "group"]),
    help="The same examples for all questions of a kind, or examples of the question's own group (subject), where it "
    "has enough.  [default: any]",
)
@heading(Group.COLLECTED)
@list_option(
    "--collect",
    metavar="labels,answer,greedy,stated,closed,p_true,alternatives",
    help="labels: probabilities of the options' labels; answer: the reply; greedy: one greedy reply beside samples; "
    "stated: confidence in words; closed: probabilities of all confidences that could be stated; p_true: probability "
    "that the answer is called true; alternatives: the 10 most probable tokens at each position of the reply.  "
    "[default: labels,answer]",
)
@list_option(
    "--replaced",
    metavar="target,counterfactual,abstain|none",
    help="Also ask how confident the model is in answers that are not its own: the right one (target), the answer to "
    "another question (counterfactual), or none, such as I don't know (abstain).  "
    "[default: none]",
)
@option(
    "--counterfactual",
    type=click.Choice(["targets", "responses"]),
    help="Counterfactual answers are the right ones to other questions, or the model's own to them.  "
    "[default: targets]",
)
@option(
    "--answer-type",
    type=click.Choice(["any", "same"]),
    help="Counterfactual answers are of any type, or of the type of the answer that they replace: a year, a name, ..  "
    "[default: any]",
)
@option(
    "--top-logprobs",
    kinds=("openai", "vllm"),
    type=int,
    metavar="N",
    help="Read label probabilities from the N most probable tokens of a server or vLLM.  [default: as many as it "
    "gives]",
)
@heading(Group.SAMPLING)
@option("--samples", type=int, metavar="N", help="Answers to each question, at most 10000.  [default: 1]")
@option("--temperature", type=float, metavar="T", help="Temperature of answers; 0: greedy.  [default: 0]")
@option("--top-p", type=float, metavar="P", help="Sample from the likeliest tokens of this mass.  [default: 1]")
@option("--max-new-tokens", type=int, metavar="N", help="Longest answer, in tokens.  [default: the variant's]")
@option(
    "--stated-tokens",
    type=int,
    metavar="N",
    help="Longest stated confidence, in tokens.  [default: the prompts', of plain 8]",
)
@option(
    "--think-tokens",
    type=int,
    metavar="N",
    help="Let a reasoning model think for N tokens at most, then make it answer.  [default: no limit]",
)
@option("--seed", type=int, metavar="S", help="Seed of draws, examples and samples.  [default: 0]")
@heading(Group.SERVER)
@server_options("Questions", setting_of="--backend-option")
@_server_setting(
    "--no-schema",
    "schema",
    is_flag=True,
    flag_value=False,
    default=None,
    help="Ask for JSON in words alone: for a server that takes no JSON schema.",
)
@option("--price-in", kinds=("openai",), type=float, metavar="P", help="Dollars per million tokens of prompts.")
@option("--price-out", kinds=("openai",), type=float, metavar="P", help="Dollars per million tokens of replies.")
@option(
    "--max-cost",
    kinds=("openai",),
    type=float,
    metavar="X",
    help="Stop before a request that could bring this session above X dollars; needs both prices.",
)
@heading(Group.VLLM)
@_vllm_setting("--tensor-parallel", type=int, metavar="N", help="GPUs that share each layer.  [default: 1]")
@_vllm_setting("--pipeline-parallel", type=int, metavar="N", help="Groups of GPUs in a row.  [default: 1]")
@_vllm_setting(
    "--executor",
    type=click.Choice(["auto", "mp", "ray"]),
    metavar="auto|mp|ray",
    help="One machine, or several with Ray.",
)
@_vllm_setting("--max-model-len", type=int, metavar="N", help="Longest prompt with its reply, in tokens.")
@_vllm_setting("--eager", is_flag=True, help="Start sooner and run slower, without compiled graphs.")
@load_options
@out_option("runs/MODEL-SETS")
@resume_option("replies")
@heading(Group.RUN)
@option(
    "--shard", metavar="I/N", help="Ask only every N-th question, from the I-th on, in a run of its own; see merge."
)
@option(
    "--cache", is_flag=True, help="Take replies to the same requests from earlier runs, and keep those of this one."
)
@option("--dry-run", is_flag=True, help="Ask nothing: print first prompts, requests, tokens and cost.")
@option("--json", "as_json", is_flag=True, help="Print the dry run as JSON.")
@quiet_option
def command(model: str, out: Path | None, dry_run: bool, as_json: bool, quiet: bool, **given: Any) -> None:
    """Ask questions of an instruct model, and keep every reply.

    Each reply is stored when it arrives, and is not asked for again: to resume a stopped run, run the same command
    again. More questions, variants or kinds of evidence can be asked later in the same RUN.

    \b
        calprobe ask --model smollm2-135m --questions mine.jsonl
        calprobe ask --model smollm2-135m --questions mine.jsonl --study audit --dry-run
        calprobe ask --model gpt-4o-mini --backend openai --questions mmlu --draw 200
        calprobe ask --model smollm2 --base-url http://127.0.0.1:8080/v1 --questions mine.jsonl
    """
    if as_json and not dry_run:
        raise click.UsageError("--json is for --dry-run; a run is printed as JSON by `calprobe report RUN --json`")
    # Set before torch is imported, as in `calprobe score`.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from calprobe.asking import ask, preview
    from calprobe.cli.preview_text import ask_preview_text, dumped

    backend = backend_options(click.get_current_context())
    log_to_stderr(quiet)
    options = asking_options(given, quiet=quiet)
    questions = list(given["questions"])
    chosen = chosen_questions(given, seed=options.filled().seed or 0, shots_from=given["shots_from"])
    chosen = replace(chosen, shots_by=given["shots_by"] or "any")
    loading = None if backend.backend == "openai" else loading_options(given, quiet=quiet)
    if dry_run:
        found = preview(model, questions, out, options, question_options=chosen, backend_options=backend)
        print_result(dumped(found.to_json()) if as_json else ask_preview_text(found))
        return
    run = ask(
        model,
        questions,
        out,
        options,
        question_options=chosen,
        backend_options=backend,
        load_options=loading,
    )
    say(_next_step(run))


def asking_options(given: Mapping[str, Any], *, quiet: bool) -> AskOptions:
    """What is asked and how, from the command's parameters."""
    from calprobe.asking import AskOptions

    if given["prompt"] is not None:
        from calprobe.prompts import prompt_of

        if excluded := next((name for name in ("prompts", "study", "variants") if given[name] is not None), None):
            raise UsageError(f"--prompt is a prompt of its own; leave it out, or --{excluded}")
        given = {**given, "prompts": prompt_of(given["prompt"])}
    return AskOptions(
        **_only(given, _OF_ASKING), replaced=() if given["replaced"] == ("none",) else given["replaced"], quiet=quiet
    )


def backend_options(context: click.Context) -> BackendOptions:
    """The engine that is chosen, or that --base-url implies, and how it is reached.

    Raises UsageError for an option without effect, a number out of range, and an address with credentials in it.
    """
    from calprobe.asking.ask_options import STUDIES
    from calprobe.backends.options import BackendOptions

    values = context.params
    implied = "openai" if values["base_url"] is not None else "transformers"
    name: str = values["backend"] or implied
    BACKENDS.refuse(context, name, f"the backend is {name}; leave it out")
    study = STUDIES.get(values["study"] or "")
    refuse_idle_choices(values["questions"], study_draws=study is not None and study.draw is not None)
    return BackendOptions(**_only({**values, "backend": name}, _OF_BACKEND))


def _only(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The options of these names that have a value: the others keep the defaults of the library."""
    return {name: values[name] for name in names if values[name] is not None}


def _next_step(run: AskedRun) -> str:
    path, shard = shlex.quote(str(run.path)), run.manifest.shard
    count = sum(len(piece.replies) for piece in run.by_piece.values())
    replies = "1 reply" if count == 1 else f"{count:,} replies"
    failed = sum(reply.finish == "error" for piece in run.by_piece.values() for reply in piece.replies)
    outcome = f"{replies}, {failed:,} of them failed" if failed else replies
    if shard is not None:
        return f"{run.path}: shard {shard}, {outcome}; when all are done: calprobe merge {path} .. --out RUN"
    complete = "" if failed else ", complete"
    state = "; the others were not asked for now" if run.partial else complete
    return f"{run.path}: {outcome}{state}; next: calprobe report {path}"
