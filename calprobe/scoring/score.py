"""A run from start to end: pick the statements, load the model, score piece by piece into the run folder."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np
import torch

from calprobe.errors import UsageError
from calprobe.kernels import segment_reduce_reference as segment_reduce
from calprobe.models import LoadedModel, LoadOptions, load_model, tokenise
from calprobe.probes import Probe, Relation, load_probe
from calprobe.runs import PieceScores, PieceTokens, Run, RunFolder, Timings, open_run
from calprobe.scoring.budget import auto_batch_tokens
from calprobe.scoring.executor import Executor
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.plain import PlainExecutor
from calprobe.scoring.progress import progress
from calprobe.scoring.record import manifest_of
from calprobe.scoring.selection import Selection, select
from calprobe.statements import TokenRows, statements_of

log = logging.getLogger(__name__)


class Interrupted(KeyboardInterrupt):
    """The user stopped the run; what is scored is safe, and the message says how to go on."""


def score(
    model: str | LoadedModel,
    probe: str | Path | Probe = "bear",
    out: str | Path | None = None,
    options: ScoreOptions = ScoreOptions(),
    load_options: LoadOptions = LoadOptions(),
) -> Run:
    """Score a probe with a causal language model into a run folder, and open the run.

    A statement's score is the sum of `log p(token | start token, tokens before it)` over its tokens, in nats and
    float32 (SPEC_SCORING section 1). Pieces that lie whole in the folder are not scored again.

    Args:
        model: an alias, a hub id, a folder, a GGUF file, or a model from `load_model`.
        probe: `bear`, `bear-big`, `mini`, a folder in BEAR's format, or a probe from `load_probe`.
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
    selection = select(probe if isinstance(probe, Probe) else load_probe(probe), options)
    started = time.monotonic()
    loaded = load_model(model, load_options) if isinstance(model, str) else model
    if loaded.kind != "causal":
        raise UsageError(f"{loaded.name} is a masked language model; this version scores causal models only")
    path = Path(out) if out is not None else default_out(loaded.name, selection.probe.name)
    batch_tokens = options.batch_tokens or auto_batch_tokens(loaded)
    asked = manifest_of(loaded, selection, PlainExecutor(loaded, batch_tokens), options)
    folder = RunFolder.open(path, asked, options.resume)
    executor = PlainExecutor(loaded, _settle_as_begun(folder, batch_tokens, options))
    _score_missing(folder, selection, loaded, executor, options, Timings(load_s=time.monotonic() - started))
    return open_run(path)


def default_out(model: str, probe: str) -> Path:
    """`runs/MODEL-PROBE`; a hub id keeps its organisation, so that two models never share a folder."""
    path = Path(model)
    name = path.resolve().name if path.exists() else model.replace("/", "--")
    return Path("runs") / f"{name}-{probe}"


def _settle_as_begun(folder: RunFolder, batch_tokens: int, options: ScoreOptions) -> int:
    """Set the thread count, and return the batch budget, that the folder's first scores were made with.

    Both decide the last bits of a score, so a resumed run takes them over (DESIGN, "A run folder").
    """
    settings = folder.manifest.settings
    if options.batch_tokens not in (None, settings.batch_tokens):
        raise UsageError(
            f"{folder.path}: the run has --batch-tokens {settings.batch_tokens}, asked {options.batch_tokens}.\n"
            "Leave the option out to go on with the run, or start it over with --no-resume"
        )
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    return settings.batch_tokens or batch_tokens


def _score_missing(
    folder: RunFolder,
    selection: Selection,
    model: LoadedModel,
    executor: Executor,
    options: ScoreOptions,
    spent: Timings,
) -> None:
    missing = folder.missing()
    total = sum(selection.relation(name).n_statements for name, _ in missing)
    if len(missing) < len(folder.manifest.pieces):
        done = len(folder.manifest.pieces) - len(missing)
        log.info("resuming %s: %d of %d pieces are there", folder.path, done, len(folder.manifest.pieces))
    try:
        with progress(total, model.name, options.quiet) as advance:
            for name, number in missing:
                started = time.monotonic()
                relation = selection.relation(name)
                statements = statements_of(relation, selection.text(name, number))
                rows = tokenise(statements, model)
                logprobs = executor.score(rows)
                tokens = _tokens(rows, logprobs, model) if options.save_tokens else None
                folder.write_piece(_reduce(relation, number, rows, logprobs, tokens))
                seconds = time.monotonic() - started
                spent += Timings(0.0, seconds, 1, rows.n_statements, len(rows.token_ids))
                advance(rows.n_statements, len(rows.token_ids))
    except KeyboardInterrupt:
        left = len(missing) - spent.pieces
        raise Interrupted(
            f"interrupted; {left} of {len(folder.manifest.pieces)} pieces are left.\n"
            f"Run the same command again to go on in {folder.path}"
        ) from None
    finally:
        folder.add_timings(spent)


def _reduce(
    relation: Relation, number: int, rows: TokenRows, logprobs: np.ndarray, tokens: PieceTokens | None
) -> PieceScores:
    """The piece that goes into the run folder: reductions of every statement, instance-major, candidate-minor."""
    reduced = segment_reduce(torch.from_numpy(logprobs), torch.from_numpy(rows.roles), torch.from_numpy(rows.offsets))
    n_tokens, n_answer = reduced.n_tokens.numpy(), reduced.n_answer.numpy()
    instances, candidates = len(relation.instances), len(relation.candidates)
    with np.errstate(invalid="ignore"):  # 0 / 0 is the NaN that is meant
        mean, mean_answer = reduced.sum.numpy() / n_tokens, reduced.sum_answer.numpy() / n_answer
    return PieceScores(
        relation=relation.name,
        template=number,
        instance=np.repeat(np.array([i.index for i in relation.instances], np.int32), candidates),
        candidate=np.tile(np.arange(candidates, dtype=np.int32), instances),
        answer_idx=np.repeat(np.array([i.answer_idx for i in relation.instances], np.int32), candidates),
        sum=reduced.sum.numpy(),
        mean=mean,
        sum_answer=reduced.sum_answer.numpy(),
        mean_answer=mean_answer,
        first=reduced.first.numpy(),
        first_role=reduced.first_role.numpy(),
        n_tokens=n_tokens.astype(np.int32),
        n_answer=n_answer.astype(np.int32),
        tokens=tokens,
    )


def _tokens(rows: TokenRows, logprobs: np.ndarray, model: LoadedModel) -> PieceTokens:
    return PieceTokens(
        model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist()), rows.roles, logprobs, rows.offsets
    )
