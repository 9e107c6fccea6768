"""`calprobe score`: score a probe with a model into a run folder."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from calprobe.cli.arguments import joined_option, list_option, typed
from calprobe.cli.option_kinds import Group, KindCommand, heading, option
from calprobe.cli.output import print_result
from calprobe.cli.run_options import load_options, loading_options, out_option, quiet_option, resume_option
from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.errors import UsageError
from calprobe.messages import counted, printable
from calprobe.words import ModelKind, PllMetric, Precision, ScoringPath, WordSplit

if TYPE_CHECKING:
    from calprobe.models import LoadOptions
    from calprobe.runs import Run
    from calprobe.scoring import ScoreOptions


class _Study(click.Choice):  # type: ignore[type-arg]  # generic from click 8.2 on
    """A study of scores; the others ask questions."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; BadParameter for another, with the command of a study that asks."""
        from calprobe.asking.ask_options import STUDIES as ASKING

        if value in ASKING:
            self.fail(f"{value!r} asks questions and scores nothing: calprobe ask --study {value}", param, ctx)
        name: str = super().convert(value, param, ctx)
        return name


@click.command(cls=KindCommand, short_help="Score a probe with a model into a run folder.")
@heading(Group.MODEL)
@option("--model", required=True, metavar="NAME|DIR|FILE.gguf", help="Alias, hub id, folder or GGUF file.")
@heading(Group.SCORED)
@option(
    "--probe",
    metavar="bear|bear-big|mini|factor|DIR|FILE.csv",
    help="The probe.  [default: mini for the tiny models, else bear]",
)
@option(
    "--study",
    type=_Study(["kissling"]),
    help="Set what a published study scores; --probe, --templates and --template-set override it. kissling, arXiv"
    " 2601.18901: BEAR under all twelve templates of kissling2026.",
)
@joined_option(
    "--templates",
    default="0",
    metavar="LIST",
    help="Numbers, ranges (0-4) and groups (paraphrases, verbal, numeric, all), separated by commas.",
)
@option(
    "--template-set",
    metavar="calprobe|native|kissling2026|FILE.json",
    help="The set of templates.  [default: calprobe for bear and mini, else native]",
)
@list_option("--relations", metavar="P30,P36", help="Score only these relations.")
@option(
    "--limit", type=int, metavar="N", help="Score only N instances of each relation, a sample spread over the answers."
)
@option("--seed", type=int, metavar="S", help="Seed of the sample of --limit.  [default: 0]")
@option("--first", type=int, metavar="N", help="Score only the first N instances of each relation, a biased sample.")
@heading(Group.LOADING)
@option("--kind", type=click.Choice(get_args(ModelKind)), help="Kind of the model.  [default: as in its config]")
@load_options
@heading(Group.COMPUTING)
@option(
    "--precision",
    type=click.Choice(get_args(Precision)),
    default="auto",
    show_default=True,
    help="Products of float32 linear layers and the head on a GPU; auto: three on its tensor cores for each, with an"
    " error near float32's; in a run that is resumed, the run's.",
)
@option("--batch-tokens", default="auto", show_default=True, metavar="auto|N", help="Tokens in one forward pass.")
@option(
    "--path",
    type=click.Choice(["auto", *get_args(ScoringPath)]),
    default="auto",
    show_default=True,
    help="How scores are computed; auto: the fastest path that agrees with the model's own forward pass.",
)
@option(
    "--pll-metric",
    type=click.Choice(get_args(PllMetric)),
    help="Which tokens are masked when one token is scored (masked models).  [default: within_word_l2r]",
)
@option(
    "--word-split",
    type=click.Choice(get_args(WordSplit)),
    help="How words are split for --pll-metric.  [default: tokenizer]",
)
@out_option("runs/MODEL-PROBE")
@heading(Group.RUN)
@option("--save-tokens", is_flag=True, help="Store the score of every token (for export --what tokens).")
@option(
    "--save-labels/--no-save-labels",
    default=None,
    help="Store the probe's subjects and candidates in RUN (for show).  [default: for mini and factor, which have an"
    " open licence]",
)
@resume_option("scores")
@option(
    "--shard",
    metavar="I/N",
    help="Score only part I of N parts of about equal cost (I from 1), in a separate run; see merge.",
)
@option("--dry-run", is_flag=True, help="Score nothing: print statements with their tokens, work, memory and time.")
@option("--json", "as_json", is_flag=True, help="Print the dry run as JSON.")
@quiet_option
def command(
    *,
    model: str,
    probe: str | None,
    study: str | None,
    out: Path | None,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Score every statement of a probe with a language model.

    Each statement is a template filled with a subject and one candidate answer; its score is the log-probability under
    the model. To resume a stopped run, run the same command again.

    \b
        calprobe score --model smollm2-135m --probe mini
        calprobe score --model gemma-7b --templates paraphrases --device cuda
        calprobe score --model gemma-7b --templates paraphrases --dry-run
        calprobe score --model gpt2 --study kissling
    """
    if as_json and not dry_run:
        raise UsageError("--json is for --dry-run; a run is printed as JSON by `calprobe report RUN --json`")
    if study is not None:
        probe, given = _by_study(study, probe, given)
    # Set before torch is imported: waiting threads that spin make scoring several times slower when other processes
    # need the same cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from calprobe.heap import keep_freed_memory
    from calprobe.scoring import Stopped, score
    from calprobe.scoring.launch import launched

    keep_freed_memory()
    rank, _ = launched()
    log_to_stderr(quiet or rank > 0, prefix=f"process {rank}: " if rank else "")
    options = scoring_options(given, quiet=quiet or rank > 0)
    loading = loading_options(given, quiet=quiet)
    if dry_run:
        print_result(_dry_run(model, probe, out, options, loading, as_json))
        return
    try:
        run = score(model, probe, out, options, loading)
    except Stopped as stopped:  # another process has printed the reason
        sys.exit(stopped.exit_code)
    if rank == 0:
        say(_next_step(run))


def _by_study(study: str, probe: str | None, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The probe and the parameters with what the study fixes, where nothing else was typed."""
    from calprobe.scoring.options import STUDIES

    preset, context = STUDIES[study], click.get_current_context()
    fixed = {"templates": preset.templates, "template_set": preset.template_set}
    defaults = {name: value for name, value in fixed.items() if not typed(context, name)}
    return probe or preset.probe, {**values, **defaults}


def scoring_options(given: Mapping[str, Any], *, quiet: bool) -> ScoreOptions:
    """Which statements are scored and how, from the command's parameters."""
    from calprobe.scoring import ScoreOptions

    names = ("templates", "template_set", "relations", "limit", "seed", "first", "pll_metric", "word_split")
    return ScoreOptions(
        **{name: given[name] for name in (*names, "save_tokens", "save_labels", "shard", "resume")},
        batch_tokens=_batch_tokens(given["batch_tokens"]),
        path=None if given["path"] == "auto" else given["path"],
        quiet=quiet,
    )


def _dry_run(
    model: str, probe: str | None, out: Path | None, options: ScoreOptions, load_options: LoadOptions, as_json: bool
) -> str:
    from calprobe.cli.preview_text import dumped, preview_text
    from calprobe.scoring import preview
    from calprobe.scoring.launch import launched

    if launched()[1] > 1:
        raise UsageError("--dry-run needs one process: run it without torchrun or accelerate launch")
    previewed = preview(model, probe, out, options, load_options)
    return dumped(previewed.to_json()) if as_json else printable(preview_text(previewed))


def _next_step(run: Run) -> str:
    path, shard, total = shlex.quote(str(run.path)), run.manifest.shard, counted(len(run.manifest.pieces), "piece")
    # After a request for a part of the run; else it is complete, and no shard needs to be read.
    lacks = run.manifest.has_grown or any(not run.shard(piece).path.is_file() for piece in run.manifest.pieces)
    if shard is None and not (lacks and run.partial):
        return f"{run.path}: {total}, complete; next: calprobe report {path}"
    pieces = f"{len(run.pieces)} of {total}"
    if shard is None:
        return f"{run.path}: {pieces}; the others were not asked for now; next: calprobe report {path}"
    return f"{run.path}: shard {shard}, {pieces}; when all are done: calprobe merge {path} .. --out RUN"


def _batch_tokens(value: str) -> int | None:
    if value == "auto":
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 18 or int(value) == 0:
        raise click.BadParameter(f"{value!r} is neither auto nor a positive whole number", param_hint="--batch-tokens")
    return int(value)
