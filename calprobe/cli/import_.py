"""`calprobe import`: make a run from scores or replies of another tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.common import NearestGroup
from calprobe.cli.question_options import columns_option
from calprobe.cli.terminal_text import log_to_stderr, say
from calprobe.words import ModelKind

if TYPE_CHECKING:
    from calprobe.runs import AskManifest, PieceReplies, RunFolder
    from calprobe.runs.folder import RecordFolder


@click.group(cls=NearestGroup, short_help="Make a run from scores or replies of another tool.")
def command() -> None:
    """Make a run from scores or replies of another tool."""


@command.command("lm-pub-quiz", short_help="Import a folder of results of lm-pub-quiz.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or new.")
@click.option("--probe", metavar="NAME|DIR", help="The scored probe: gives line numbers of instances, and domains.")
@click.option(
    "--kind", type=click.Choice(get_args(ModelKind)), help="Kind of the model.  [default: from its alias or a metric]"
)
@click.option(
    "--save-labels/--no-save-labels",
    default=None,
    help="Store subjects and candidates in RUN, for show.  [default: those of the files; of --probe only with an open"
    " licence]",
)
def lm_pub_quiz(folder: Path, out: Path, probe: str | None, kind: ModelKind | None, save_labels: bool | None) -> None:
    """Make a run from the results in DIR: metadata_results.json and RELATION_results.jsonl, with reduced scores.

    \b
        calprobe import lm-pub-quiz results --probe bear --kind causal --out runs/gpt2-published
    """
    from calprobe.interop.lm_pub_quiz_import import import_lm_pub_quiz, scored_model
    from calprobe.probes import load_probe

    kind = _kind(kind, scored_model(folder))
    labels = load_probe(probe) if probe else None
    _say(import_lm_pub_quiz(folder, out, labels, kind, save_labels=save_labels))


_CORRECT_AT = click.option(
    "--correct-at", type=float, metavar="Q", help="Least grade that is right.  [default: 1 is right, 0 is wrong]"
)
_REGRADE = click.option(
    "--regrade", is_flag=True, help="Leave out the grades in the log, and grade replies by calprobe's rules."
)


@command.command("lm-eval", short_help="Import samples logged by lm-evaluation-harness.")
@click.argument("paths", metavar="FILE|DIR..", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--out",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="Run folder, empty or new.  [default: runs/MODEL-TASK]",
)
@click.option("--model", metavar="NAME", help="Name of the model.  [default: from results_*.json beside the samples]")
@click.option("--kind", type=click.Choice(get_args(ModelKind)), help="Kind of the model.  [default: from its alias]")
@click.option(
    "--save-labels/--no-save-labels", default=True, show_default=True, help="Store the questions and choices in RUN."
)
@click.option("--metric", metavar="NAME", help="Of generated text: the metric that grades.  [default: exact_match]")
@click.option("--filter", "filter_name", metavar="NAME", help="Of generated text: the filter.  [default: the first]")
@_CORRECT_AT
@_REGRADE
def lm_eval(
    paths: tuple[Path, ...],
    out: Path | None,
    model: str | None,
    kind: ModelKind | None,
    save_labels: bool,
    metric: str | None,
    filter_name: str | None,
    correct_at: float | None,
    regrade: bool,
) -> None:
    """Make a run from the samples that `lm_eval --log_samples` wrote.

    FILE is a samples_TASK_DATE.jsonl, DIR the folder of an evaluation, with all its samples. Multiple-choice tasks make
    a run of scores: a task becomes a relation, a document an instance, a choice a candidate. Tasks of generated text
    make a run of replies: a task becomes a question set, a document a question, a repeat a sample.

    \b
        calprobe import lm-eval results/EleutherAI__pythia-70m/samples_sciq_*.jsonl --out runs/pythia-sciq
        calprobe import lm-eval results/EleutherAI__pythia-70m --out runs/pythia
        calprobe import lm-eval results/my-model/samples_gsm8k_*.jsonl --filter flexible-extract
        calprobe report runs/pythia-sciq
    """
    from calprobe.interop.lm_eval_files import sample_files
    from calprobe.interop.lm_eval_import import evaluation_of, import_lm_eval, probe_name
    from calprobe.interop.lm_eval_replies import HarnessGrades, are_generated, import_generated
    from calprobe.runs.folder import default_out

    files = sample_files(paths)
    generated = are_generated(files)
    of_text = [name for name, value in (("--metric", metric), ("--filter", filter_name)) if value is not None]
    of_grades = [name for name, value in (("--correct-at", correct_at is not None), ("--regrade", regrade)) if value]
    _refuse([*of_text, *of_grades] if not generated else [], "samples of log-likelihoods")
    _refuse(["--kind"] if generated and kind is not None else [], "samples of generated text")
    _refuse(["--no-save-labels"] if generated and not save_labels else [], "samples of generated text")
    evaluation = evaluation_of(files, model)
    place = out or default_out(evaluation.model, probe_name(files))
    if generated:
        grades = HarnessGrades(metric, filter_name, correct_at, kept=not regrade)
        imported = import_generated(files, place, evaluation, grades)
        _say_replies(imported.run, imported.notes)
    else:
        _say(import_lm_eval(files, place, evaluation, _kind(kind, evaluation.model), save_labels=save_labels))


@command.command("inspect", short_help="Import logs of inspect_ai.")
@click.argument(
    "files", metavar="FILE..", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or new.")
@click.option("--model", metavar="NAME", help="Name of the model.  [default: from the log]")
@click.option(
    "--scorer",
    metavar="NAME[:KEY]",
    help="Whose scores are the grades; KEY of a score of several.  [default: the only]",
)
@_CORRECT_AT
@_REGRADE
def inspect(
    files: tuple[Path, ...], out: Path, model: str | None, scorer: str | None, correct_at: float | None, regrade: bool
) -> None:
    """Make a run of the replies in logs of inspect_ai (.eval, .json), one model's; each task becomes a question set.

    A sample becomes a question, an epoch a sample of it. The package inspect_ai reads the logs: pip install
    'calprobe[inspect]'.

    \b
        calprobe import inspect logs/2026-11-20T10-00-00_quiz_a1.eval --out runs/quiz
        calprobe report runs/quiz
    """
    from calprobe.interop.inspect_import import import_inspect
    from calprobe.interop.inspect_samples import Grading

    imported = import_inspect(files, out, Grading(scorer, correct_at, kept=not regrade), model)
    _say_replies(imported.run, imported.notes)


@command.command("replies", short_help="Import replies that another tool has made.")
@click.argument("file", metavar="FILE.jsonl", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--questions",
    metavar="NAME|FILE.jsonl,..",
    help="Question sets with the right answers.  [default: none, where every line has `correct`]",
)
@columns_option
@click.option("--out", required=True, metavar="RUN", type=click.Path(path_type=Path), help="Run folder, empty or new.")
@click.option("--model", metavar="NAME", default="unknown", show_default=True, help="Name of the model that replied.")
def replies(file: Path, questions: str | None, columns: dict[str, str], out: Path, model: str) -> None:
    """Make a run of the replies in FILE, one a line, so that they can be read, graded and measured.

    A line is {"set", "question", "text"} with any of "variant", "paraphrase", "sample", "stage", "tokens", "logprobs",
    "labels" {LABEL: log-probability}, "stated" (a number or text), "correct", "finish", "prompt", "reasoning".

    \b
        calprobe import replies replies.jsonl --questions quiz.jsonl --model my-model --out runs/my-model-quiz
        calprobe report runs/my-model-quiz
    """
    from calprobe.interop.reply_import import import_replies
    from calprobe.questions import QuestionOptions, load_questions

    log_to_stderr()
    names = [name.strip() for name in (questions or "").split(",") if name.strip()]
    chosen = QuestionOptions(columns=columns)
    _say_replies(import_replies(file, out, load_questions(names, chosen) if names else (), model))


def _refuse(options: Sequence[str], of: str) -> None:
    """Raise UsageError for options that have no effect on what is imported."""
    from calprobe.errors import UsageError

    if options:
        raise UsageError(f"{options[0]} has no effect on {of}; leave it out")


def _say_replies(run: RecordFolder[AskManifest, PieceReplies], notes: Sequence[str] = ()) -> None:
    """Print the size of the run on stderr, and what a reader of its numbers should know."""
    from calprobe.messages import counted

    manifest = run.manifest
    samples = max(piece.samples for piece in manifest.asked)
    sizes = f"{counted(manifest.n_questions, 'question')}, {counted(len(manifest.prompts.variants), 'variant')}"
    say(f"{run.path}: {manifest.model.name}, {sizes}" + (f", {samples} samples" if samples > 1 else ""))
    for note in notes:
        say(note)


def _kind(kind: ModelKind | None, model: str) -> ModelKind | None:
    """The kind that `--kind` or the model's alias gives. Raises UsageError if they contradict each other."""
    from calprobe.errors import UsageError
    from calprobe.models.aliases import kind_of_alias

    alias_kind = kind_of_alias(model)
    if None not in (kind, alias_kind) and kind != alias_kind:
        raise UsageError(
            f"--kind {kind}: {model} is a {alias_kind} language model (`calprobe models`); leave --kind out"
        )
    return kind or alias_kind


def _say(run: RunFolder) -> None:
    """Print the size of the run on stderr."""
    from calprobe.messages import counted

    relations = counted(len(run.manifest.relations), "relation")
    instances = counted(sum(relation.n_instances for relation in run.manifest.relations), "instance")
    say(f"{run.path}: {run.manifest.model.name}, {relations}, {instances}")
