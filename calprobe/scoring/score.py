"""A run from start to end: pick the statements, load the model, score piece by piece into the run folder."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch

from calprobe.errors import DataMissingError
from calprobe.heap import give_back_freed_memory
from calprobe.interrupts import saying_how_to_resume
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.aliases import default_probe
from calprobe.models.source import mistyped_alias, resolve
from calprobe.models.torch_settings import tensors_on_host
from calprobe.probes import Probe, load_probe
from calprobe.runs import Manifest, Run, RunFolder, open_scores
from calprobe.runs.decode import decode
from calprobe.runs.folder import check_folder, default_out
from calprobe.runs.lock import Owner, locked
from calprobe.runs.manifest_file import read_manifest
from calprobe.runs.run_progress import total
from calprobe.runs.stored_run import progress_of
from calprobe.runs.stored_texts import write_labels
from calprobe.scoring.candidate_tokens import same_tokens, warn_of_same_tokens
from calprobe.scoring.dry_run import Preview, preview_of
from calprobe.scoring.engine import Engine
from calprobe.scoring.fit import Way, find_way
from calprobe.scoring.growth import Lacking, as_lists, from_lists, lacking, parts_of, without
from calprobe.scoring.launch import wait_until_seen, workers_of_launch
from calprobe.scoring.options import PATHS, ScoreOptions
from calprobe.scoring.probe_selection import Selection, refuse_kind, select
from calprobe.scoring.record import manifest_of
from calprobe.scoring.resume import (
    begun_run,
    extent_of,
    loading_as_begun,
    options_as_begun,
    refuse_other_kind,
    refuse_other_request,
    with_what_is_there,
)
from calprobe.scoring.scheduling import Schedule, former_least_statements
from calprobe.scoring.score_progress import no_progress
from calprobe.scoring.workers import Workers
from calprobe.scoring.writing import Work, score_missing, score_share
from calprobe.words import ModelKind

log = logging.getLogger(__name__)


@tensors_on_host()
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
    float32 (docs/methods/estimators.md, "Token scores"). Pieces that are already in the folder are not scored again. At
    the end, torch's number of threads and the signal handlers are restored.

    Args:
        model: an alias, a hub id, a folder, a GGUF file, or a model from `load_model`, which this process scores alone,
            also where a launcher started several; of the others all processes of a launcher score their share.
        probe: `bear`, `bear-big`, `mini`, `factor`, a folder in BEAR's format, a CSV file of FACTOR's columns, or a
            probe from `load_probe`; None for `mini` with the tiny models, else `bear`.
        out: the run folder; None for `runs/MODEL-PROBE`.
        options: which statements, and how.
        load_options: how the model is loaded, if it is not loaded yet.
    Raises:
        CalprobeError: what cannot be done, and what to do about it; UsageError and DataMissingError are subclasses.
        Interrupted: Ctrl-C, SIGTERM or SIGHUP; run the same again to resume.

    Example:
        >>> run = calprobe.score("smollm2-135m", "mini")  # doctest: +SKIP
        >>> run.table().scores.shape  # doctest: +SKIP
    """
    workers = Workers()
    if isinstance(model, str):  # one in memory, in training perhaps, is this process's own
        workers, load_options = workers_of_launch(load_options)
    with saying_how_to_resume(), workers.stopping_together(), _threads_restored():
        request = workers.after_first(partial(_requested, model, probe, out, options))
        started = time.monotonic()
        loaded = _load(model, loading_as_begun(request.begun, load_options), partial(_check_kind, request))
        give_back_freed_memory()
        if not workers.is_first:
            _take_part(workers, request, loaded, time.monotonic() - started)
            return open_scores(request.out)
        way = find_way(loaded, request.selection, request.options)
        with locked(request.out) as owner:
            folder = RunFolder.open(request.out, _manifest(request, loaded, way), options.resume)
            if request.saves_labels:
                write_labels(request.out, request.selection.probe)
            missing = lacking(folder, request.asked)
            workers.send("folder", json.dumps({"owner": asdict(owner), "missing": as_lists(missing)}))
            _say_what_is_there(request, folder, missing)
            load_s = time.monotonic() - started
            score_missing(_work(request, folder, loaded, way, missing), workers, load_s)
    return open_scores(request.out)


@tensors_on_host()
def score_in_memory(model: LoadedModel, probe: str | Path | Probe, options: ScoreOptions = ScoreOptions()) -> Run:
    """Score a probe with a model in memory; the run has no folder, and nothing is written.

    `calprobe.report` takes it like a run that was opened, with the same numbers. `score_pieces` gives its pieces one by
    one instead.

    Args:
        model: from `load_model`.
        probe: as for `score`.
        options: which statements, and how; `resume` and `quiet` have no effect.
    Raises:
        CalprobeError: as `score_pieces`. UsageError: the options do not go with the probe or the model.

    Example:
        >>> from calprobe.models import load_model
        >>> run = score_in_memory(load_model("tiny-clm"), "mini", ScoreOptions(relations=("month",), limit=2))
        >>> run.table().scores.shape
        (1, 24)
    """
    selection = select(probe if isinstance(probe, Probe) else load_probe(probe), options)
    refuse_kind(selection, model.name, model.kind)
    way = find_way(model, selection, options)
    manifest = manifest_of(model, selection, way, options, same_tokens(model, selection))
    engine = Engine(model, selection, options, way)
    scored = list(engine.score(engine.schedule.groups, no_progress))
    taken = total(group.taken(way.path) for group in scored)
    return Run(Path(model.name), manifest, [piece for group in scored for piece in group.pieces], taken)


@tensors_on_host()
def preview(
    model: str | LoadedModel,
    probe: str | Path | Probe | None = None,
    out: str | Path | None = None,
    options: ScoreOptions = ScoreOptions(),
    load_options: LoadOptions = LoadOptions(),
) -> Preview:
    """What `score` would do with the same arguments: statements with their tokens, work, time, memory. Writes no run.

    The model is loaded, and its speed measured for about two seconds (`calprobe.scoring.dry_run`).

    Raises:
        CalprobeError: as `score` before its first score.

    Example:
        >>> found = preview("tiny-clm", "mini", "runs/new", ScoreOptions(relations=("month",), limit=2))
        >>> found.work.statements, found.examples[0].tokens[-1]
        (24, ('.', 'template'))
    """
    request = _requested(model, probe, out, options)
    with _threads_restored():
        loaded = _load(model, loading_as_begun(request.begun, load_options), partial(_check_kind, request))
        way = find_way(loaded, request.selection, request.options)
        scored = () if request.begun is None else open_scores(request.out).pieces
        there = {piece.piece: frozenset(piece.instance.tolist()) for piece in scored}
        return preview_of(loaded, request.asked, request.options, way, request.out, there)


@contextmanager
def _threads_restored() -> Iterator[None]:
    """Restore torch's number of threads at the end of the block: a resumed run sets its own."""
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


@dataclass(frozen=True, slots=True)
class _Request:
    """The request, checked before any model is loaded."""

    name: str  # of the model, as typed
    asked: Selection
    selection: Selection  # of the run: what is asked for, and what is there
    out: Path
    begun: Manifest | None  # of the run that is there
    options: ScoreOptions  # as the run began
    path_is_typed: bool  # and not the run's

    @property
    def saves_labels(self) -> bool:
        """Whether the run folder keeps the probe's texts: as asked, else if the probe's licence is open."""
        asked = self.options.save_labels
        return self.selection.probe.open_licence if asked is None else asked


def _requested(
    model: str | LoadedModel, probe: str | Path | Probe | None, out: str | Path | None, options: ScoreOptions
) -> _Request:
    """Pick the statements and check the folder; raise UsageError for a request that does not fit it."""
    name, typed = model if isinstance(model, str) else model.name, options.path is not None
    if isinstance(model, str):
        resolve(model)  # a mistyped name is reported before a probe is downloaded
    selection = select(probe if isinstance(probe, Probe) else _probe(name, probe), options)
    path = Path(out) if out is not None else default_out(name, selection.probe.name, options.shard)
    check_folder(path)
    begun = begun_run(path, options.resume)
    if begun is None:
        return _Request(name, selection, selection, path, None, options, typed)
    refuse_other_request(begun, path, selection, options)
    options, is_part = with_what_is_there(begun, selection, options)
    run = select(selection.probe, options)
    refuse_other_request(begun, path, run, options)  # every wording that the run has
    return _as_begun(_Request(name, selection if is_part else run, run, path, None, options, typed), begun)


def _probe(model: str, asked: str | Path | None) -> Probe:
    """The requested probe, or the model's default."""
    if asked is not None:
        return load_probe(asked)
    try:
        return load_probe(default_probe(model))
    except DataMissingError as error:
        if meant := mistyped_alias(model):  # of two errors, the one that needs no download
            if_of_the_hub = (
                "a model of the hub is scored on BEAR, which is not here yet: run `calprobe fetch bear`, or give "
                "another --probe, such as mini"
            )
            raise DataMissingError(f"--model {model}: no alias{meant}\n{if_of_the_hub}") from error
        raise


def _as_begun(request: _Request, begun: Manifest) -> _Request:
    """The request with the settings of the existing run; sets torch's number of threads to the run's."""
    if begun.settings.threads is not None:
        torch.set_num_threads(begun.settings.threads)
    return replace(request, begun=begun, options=options_as_begun(begun, request.out, request.options))


def _take_part(workers: Workers, request: _Request, model: LoadedModel, load_s: float) -> None:
    """Score a share of the run in the folder that the first process has opened, with its path and budget."""
    opened = json.loads(workers.receive("folder"))
    wait_until_seen(request.out, decode(Owner, opened["owner"]), workers.check)
    missing = from_lists(opened["missing"])
    # The first process has checked the options, and may have made batches smaller since it opened the folder.
    request = replace(request, options=replace(request.options, batch_tokens=None))
    request = _as_begun(request, read_manifest(request.out))
    way = find_way(model, request.selection, request.options)
    folder = RunFolder.join(request.out, _manifest(request, model, way))
    score_share(_work(request, folder, model, way, missing), workers, load_s)


def _manifest(request: _Request, model: LoadedModel, way: Way) -> Manifest:
    """Everything that is known of the run before its first score; warns once of candidates that look the same."""
    same = None
    if request.begun is None or not request.begun.extent.covers(extent_of(request.selection, request.options)):
        same = same_tokens(model, request.selection)
        warn_of_same_tokens(same)
    if request.begun is not None and way.path == progress_of(request.out, request.begun).later_path:
        # The run has stepped down from the path that it began with, and is still the same run.
        way = replace(way, path=next(path for path in PATHS if path == request.begun.settings.path))
    return manifest_of(model, request.selection, way, request.options, same)


def _work(request: _Request, folder: RunFolder, model: LoadedModel, way: Way, missing: Lacking) -> Work:
    """The remaining work, with the current batch budget and the groups of the run's first budget."""
    options, selection, manifest = request.options, request.selection, folder.manifest
    way = replace(way, batch_tokens=folder.progress().batch_tokens or 1, steps_down=not request.path_is_typed)
    path, grouped_by = manifest.settings.shown_path, manifest.settings.grouped_by or way.batch_tokens
    schedule = Schedule(
        selection,
        manifest.pieces,
        path,
        grouped_by,
        options.shard,
        parts_of(manifest, selection) if manifest.grew else None,
        across_templates=manifest.is_of_earlier_format,
        least=manifest.settings.least_statements or former_least_statements(path, grouped_by),
    )
    rest = {piece: without(selection.relation(piece.relation), there) for piece, there in missing.items()}
    engine = Engine(model, selection, options, way, schedule, rest)
    return Work(folder, engine, missing, options.quiet, options.progress, options.resume)


def _say_what_is_there(request: _Request, folder: RunFolder, missing: Lacking) -> None:
    if not missing and request.asked is not request.selection:
        log.info("%s: all that was asked for is there; the run has more", request.out)


def _check_kind(request: _Request, kind: ModelKind) -> None:
    """Raise UsageError if a model of that kind cannot resume the run, or cannot be scored with the options."""
    refuse_kind(request.selection, request.name, kind)
    if request.begun is not None:
        refuse_other_kind(request.begun, request.out, request.name, kind)
    request.options.masking(kind, request.name)


def _load(model: str | LoadedModel, options: LoadOptions, check_kind: Callable[[ModelKind], None]) -> LoadedModel:
    """The model, its kind checked before its weights are read."""
    if isinstance(model, str):
        log.info("loading %s", model)
        return load_model(model, options, check_kind)
    check_kind(model.kind)
    return model
