"""A run from start to end: pick the statements, load the model, score piece by piece into the run folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import filelock
import torch

from calprobe.errors import CalprobeError
from calprobe.heap import give_back_freed_memory
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.aliases import default_probe
from calprobe.models.source import resolve
from calprobe.probes import Probe, load_probe
from calprobe.runs import Manifest, PieceScores, Run, RunFolder, Timings, open_run
from calprobe.runs.folder import LOCK_NAME, check_folder, default_out
from calprobe.scoring.ahead import prepared_ahead
from calprobe.scoring.begun import begun_run, options_as_begun, refuse_other_kind, refuse_other_request
from calprobe.scoring.budget import auto_batch_tokens
from calprobe.scoring.executor import Executor
from calprobe.scoring.groups import Piece, groups_of, incomplete, least_statements
from calprobe.scoring.interrupts import held_interrupts
from calprobe.scoring.memory import memory_explained
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.paths import choose_path, executor_of
from calprobe.scoring.pieces import PreparedGroup, prepare_group, score_group, tokenise_pieces
from calprobe.scoring.progress import progress
from calprobe.scoring.record import manifest_of
from calprobe.scoring.selection import Selection, refuse_kind, select
from calprobe.statements import TokenRows
from calprobe.types import ModelKind

log = logging.getLogger(__name__)


class Interrupted(KeyboardInterrupt):
    """The user stopped the run; what is scored is safe, and the message says how to go on."""


def score(
    model: str | LoadedModel,
    probe: str | Path | Probe | None = None,
    out: str | Path | None = None,
    options: ScoreOptions = ScoreOptions(),
    load_options: LoadOptions = LoadOptions(),
) -> Run:
    """Score a probe with a causal or masked language model into a run folder, and open the run.

    A statement's score is the sum over its tokens of `log p(token | start token, tokens before it)`, or, for a masked
    model, of `log p(token | the statement with that token, and what `options.pll_metric` says, masked)`, in nats and
    float32 (SPEC_SCORING section 1). Pieces that lie whole in the folder are not scored again.

    Args:
        model: an alias, a hub id, a folder, a GGUF file, or a model from `load_model`.
        probe: `bear`, `bear-big`, `mini`, `factor`, a folder in BEAR's format, a CSV file of FACTOR's columns, or a
            probe from `load_probe`; None for `mini` with the tiny models, else `bear`.
        out: the run folder; None for `runs/MODEL-PROBE`.
        options: which statements, and how.
        load_options: how the model is loaded, if it is not loaded yet.
    Raises:
        CalprobeError: what cannot be done, with the mend; its subclasses tell wrong usage and missing data apart.
        Interrupted: Ctrl-C; run the same again to go on.

    Example:
        >>> run = calprobe.score("smollm2-135m", "mini")  # doctest: +SKIP
        >>> run.table().scores.shape  # doctest: +SKIP
    """
    name = model if isinstance(model, str) else model.name
    if isinstance(model, str):
        resolve(model)  # a slip in the name is said before anybody downloads a probe
    chosen = default_probe(name) if probe is None else probe
    selection = select(chosen if isinstance(chosen, Probe) else load_probe(chosen), options)
    path = Path(out) if out is not None else default_out(name, selection.probe.name)
    check_folder(path)
    begun = begun_run(path, options.resume)
    if begun is not None:
        refuse_other_request(begun, path, selection, options)
        options = options_as_begun(begun, path, options)
        if begun.settings.threads is not None:
            torch.set_num_threads(begun.settings.threads)
    started = time.monotonic()
    loaded = _load(model, load_options, partial(_check_kind, begun, path, options, selection, name))
    give_back_freed_memory()
    masking = options.masking(loaded.kind, name)
    sample = TokenRows.joined([piece.rows for piece in tokenise_pieces(selection.sample(), loaded, masking)])
    batch_tokens = options.batch_tokens or auto_batch_tokens(loaded, longest=int(sample.lengths.max(initial=0)))
    with memory_explained(loaded.name, batch_tokens):
        how = choose_path(loaded, batch_tokens, sample, options.path, masking)
    if how == "masked":
        batch_tokens = options.batch_tokens or auto_batch_tokens(loaded, how)
    with _locked(path):
        folder = RunFolder.open(path, manifest_of(loaded, selection, how, batch_tokens, options), options.resume)
        folder.add_timings(Timings(load_s=time.monotonic() - started))
        executor = executor_of(how, loaded, batch_tokens, masking=masking)
        _score_missing(folder, selection, loaded, executor, options)
    return open_run(path)


def _check_kind(
    begun: Manifest | None, out: Path, options: ScoreOptions, selection: Selection, name: str, kind: ModelKind
) -> None:
    """Raise UsageError if a model of that kind cannot go on with the run, or cannot be scored with the options."""
    refuse_kind(selection, name, kind)
    if begun is not None:
        refuse_other_kind(begun, out, kind)
    options.masking(kind, name)


def _load(model: str | LoadedModel, options: LoadOptions, check_kind: Callable[[ModelKind], None]) -> LoadedModel:
    """The model, its kind checked before its weights are read."""
    if isinstance(model, str):
        return load_model(model, options, check_kind)
    check_kind(model.kind)
    return model


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the run folder for this process alone; the lock goes with the process, however it ends."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path / LOCK_NAME, timeout=0)
        lock.acquire()
    except filelock.Timeout:
        raise CalprobeError(f"{path}: another process scores into this folder; wait for it, or name --out") from None
    except OSError as error:
        raise CalprobeError(f"{path}: cannot be written: {error.strerror}; name another with --out") from error
    try:
        yield
    finally:
        lock.release()


def _score_missing(
    folder: RunFolder, selection: Selection, model: LoadedModel, executor: Executor, options: ScoreOptions
) -> None:
    """Score the pieces that the folder lacks, in order; the manifest's timings grow by what that cost."""
    all_pieces, missing = len(folder.manifest.pieces), folder.missing()
    if len(missing) < all_pieces:
        log.info("%s: %d of %d pieces are there already", folder.path, all_pieces - len(missing), all_pieces)
    n_statements = {piece: selection.relation(piece[0]).n_statements for piece in folder.manifest.pieces}
    settings = folder.manifest.settings
    batch_tokens = settings.batch_tokens or 1
    groups = incomplete(groups_of(n_statements, least_statements(settings.path, batch_tokens)), missing)
    total = sum(n_statements[piece] for group in groups for piece in group)
    masking = options.masking(model.kind, model.name)
    spent, started = Timings(), time.monotonic()

    def prepare(group: tuple[Piece, ...]) -> PreparedGroup:
        pieces = [(selection.relation(name), selection.template_set.template(name, number)) for name, number in group]
        return prepare_group(pieces, model, executor, masking)

    try:
        with (
            held_interrupts("what is in flight is scored") as stop_if_asked,
            progress(total, model.name, options.quiet) as advance,
        ):
            for ready in prepared_ahead(groups, prepare):
                stop_if_asked()
                with memory_explained(ready.shown, batch_tokens):
                    scored = list(score_group(ready, model, executor, options.save_tokens, advance))
                for tokenised in ready.pieces:
                    folder.note_cut_contexts(tokenised.relation.name, tokenised.cut_contexts)
                for piece in scored:
                    if (piece.relation, piece.template) in missing:
                        spent += _write(folder, piece)
    except KeyboardInterrupt:
        again = "the same command again" if options.resume else "the same command, without --no-resume,"
        raise Interrupted(
            f"interrupted; {len(missing) - spent.pieces} of {all_pieces} pieces are left.\n"
            f"Run {again} to go on in {folder.path}"
        ) from None
    finally:
        # Timings are worth no second error where the disk is full.
        with suppress(OSError):
            folder.add_timings(spent + Timings(score_s=time.monotonic() - started))


def _write(folder: RunFolder, piece: PieceScores) -> Timings:
    """Write the piece and count it."""
    folder.write_piece(piece)
    tokens = 0 if piece.n_tokens is None else int(piece.n_tokens.sum())
    return Timings(pieces=1, statements=piece.n_statements, tokens=tokens)
