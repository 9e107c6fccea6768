"""`calprobe export`: a run's scores or replies, and what was computed of them, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.arguments import output_path
from calprobe.cli.common import any_compat_option, ties_option
from calprobe.cli.export_asked import OF_REPLIES, export_asked, read_by
from calprobe.cli.export_card import write_card
from calprobe.cli.export_dataset import write_dataset
from calprobe.cli.kinds import OF_CONFIDENCES, RUNS, TABLES, KindCommand, kind_of_runs, option
from calprobe.cli.report_asked import readers_option, window_option
from calprobe.cli.terminal_text import say
from calprobe.words import AskedCompat, Reduction, Ties

if TYPE_CHECKING:
    import pandas as pd

    from calprobe.interop.answer_texts import AnswerTexts
    from calprobe.probes import Probe
    from calprobe.runs import Run
    from calprobe.runs.run import Compat, Reduction


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
@click.pass_context
def command(
    context: click.Context,
    run_path: Path,
    what: str,
    out: Path,
    reduction: Reduction,
    compat: Compat | None,
    ties: Ties,
    template: int | None,
    probe: str | None,
    labels: bool,
    source: str | None,
    readers: tuple[str, ...] | None,
    window: int | None,
) -> None:
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
    from calprobe.cli.logs import log_to_stderr
    from calprobe.interop import exports
    from calprobe.runs import AskedRun, open_run, table_files

    TABLES.refuse(context, what, f"this is --what {what}; leave it out")
    if probe is not None and what != "lm-pub-quiz" and not labels:
        raise click.UsageError("--probe names the texts of --labels and of lm-pub-quiz; add --labels, or leave it out")
    log_to_stderr()
    run = open_run(run_path)
    kind, what_run = kind_of_runs({"": run}, {"": str(run_path)})
    RUNS.refuse(context, kind, f"{what_run}; leave it out")
    if isinstance(run, AskedRun):
        if what == "hub-card":
            write_card(run, read_by(readers, compat, window), out, source)
            return
        asked = read_by(readers, compat, window)
        if what == "hub-dataset":
            write_dataset(run, out, lambda path: export_asked(run, "confidences", path, asked))
            return
        _say_rows(out, export_asked(run, what, out, asked))
        return
    _refuse_what_is_of_replies(run_path, what, compat)
    if what == "candidates":
        _say_rows(out, _write_candidates(run, _texts(run, probe) if labels else None, out))
    elif what == "tokens":
        _say_rows(out, table_files.write_tables(exports.TOKENS, exports.token_tables(run), out))
    elif what in ("confidences", "hub-dataset"):
        from calprobe.confidence import confidences

        def write(path: Path) -> int:
            frame = confidences(run, reduction, compat, ties)
            return _write_confidences(run, frame, _texts(run, probe) if labels else None, path)

        if what == "hub-dataset":
            write_dataset(run, out, write)
            return
        _say_rows(out, write(out))
    elif what == "hub-card":
        from calprobe.analysis import ReportOptions

        write_card(run, ReportOptions(reduction, compat, ties=ties), out, source)
    else:
        from calprobe.interop.lm_pub_quiz_export import check_form, export_lm_pub_quiz

        check_form(run)
        export_lm_pub_quiz(run, out, reduction, template, _labels_of(run, probe))
        say(f"wrote {out}")
    if run.partial:
        say(f"partial run: {len(run.pieces)} of {len(run.manifest.pieces)} pieces scored")


def _say_rows(out: Path, rows: int) -> None:
    from calprobe.messages import counted

    say(f"wrote {out}: {counted(rows, 'row')}")


def _refuse_what_is_of_replies(path: Path, what: str, compat: str | None) -> None:
    """Raise UsageError for a table or rules that only runs of replies have."""
    from calprobe.errors import UsageError

    if what in OF_REPLIES and what != "confidences":
        raise UsageError(f"--what {what} is of runs of replies; {path} is one of scores")
    if compat in get_args(AskedCompat):
        raise UsageError(f"--compat {compat} is of runs of replies; leave it out")


def _texts(run: Run, probe: str | None) -> AnswerTexts:
    from calprobe.interop.answer_texts import texts_of

    return texts_of(run, probe)


def _write_candidates(run: Run, texts: AnswerTexts | None, out: Path) -> int:
    from calprobe.interop import exports
    from calprobe.runs import table_files

    schema, tables = exports.CANDIDATES, exports.candidate_tables(run)
    if texts is not None:
        schema, tables = exports.labelled_schema(schema), exports.with_candidate_labels(tables, texts)
    return table_files.write_tables(schema, tables, out)


def _write_confidences(run: Run, frame: pd.DataFrame, texts: AnswerTexts | None, out: Path) -> int:
    import pyarrow as pa

    from calprobe.interop import exports
    from calprobe.runs import table_files

    if texts is not None:
        frame = exports.with_confidence_labels(frame, run, texts)
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    if texts is not None:  # all-null columns of an empty run too
        strings = (pa.field(name, pa.string()) for name in exports.CONFIDENCE_LABELS)
        table = table.cast(pa.schema([*list(table.schema)[: -len(exports.CONFIDENCE_LABELS)], *strings]))
    return table_files.write_tables(table.schema, [table], out)


def _labels_of(run: Run, name: str | None) -> Probe | None:
    """The probe with the labels; None if the run does not know it (an import without --probe)."""
    from calprobe.errors import DataMissingError, UsageError
    from calprobe.probes import load_probe

    if name is not None:
        return load_probe(name)
    if run.manifest.probe.fingerprint is None:
        return None
    known = run.manifest.probe.name
    what = f"{run.path}: the labels are in the run's probe, {known}; give its folder with --probe DIR"
    try:
        return load_probe(known)
    except UsageError as error:
        raise UsageError(what) from error
    except DataMissingError as error:  # or the name was that of a folder
        raise DataMissingError(f"{what}, or run `calprobe fetch bear`") from error
