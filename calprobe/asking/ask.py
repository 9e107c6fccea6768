"""A run of replies from start to end: read questions and prompts, open the backend, ask, write the run folder."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.asking.ask_options import AskOptions, Collected
from calprobe.asking.ask_progress import progress
from calprobe.asking.backend_needs import lack_of_labels, refuse_incapable
from calprobe.asking.known import AskFolder, Store, keys_of, lacking, pendings, phases, with_answers, with_conclusions
from calprobe.asking.plan import Plan
from calprobe.asking.plan_of_options import Questions, plan_of
from calprobe.asking.preview import AskPreview, preview_of
from calprobe.asking.reply_cache import cached
from calprobe.asking.request_identity import engine_hash
from calprobe.asking.run_manifest import manifest_of
from calprobe.asking.stage_cost import AskCost, Guessing, TokenCounter, Tokenizing, cost_of
from calprobe.asking.work import Work, ask_missing
from calprobe.backends.options import BackendOptions, Prices
from calprobe.backends.protocol import Backend, Described
from calprobe.backends.registry import Unopened, using_backend
from calprobe.errors import UsageError
from calprobe.interrupts import saying_how_to_resume
from calprobe.messages import counted, dollars
from calprobe.models.source import check_spelling
from calprobe.models.torch_settings import tensors_on_host
from calprobe.prompts import PROMPT_SETS, fingerprint_of
from calprobe.questions import QuestionOptions
from calprobe.runs.asked_growth import joined
from calprobe.runs.asked_manifest import AskManifest
from calprobe.runs.asked_questions import FILE_NAME as QUESTIONS
from calprobe.runs.asked_questions import StoredSet, write_questions
from calprobe.runs.asked_run import AskedRun
from calprobe.runs.folder import check_folder, default_out, run_there
from calprobe.runs.journal import Journal
from calprobe.runs.lock import locked
from calprobe.runs.manifest_file import FILE_NAME, read_any_manifest, write_manifest
from calprobe.runs.run import open_asked
from calprobe.runs.run_progress import Progress
from calprobe.runs.stages import FINAL

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

log = logging.getLogger(__name__)

_LOOKED_AT = 200  # questions whose prompts are counted before the first request: a fraction of a second
_WHEN = "while nothing was being asked; no replies are lost"


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for, checked before any model is loaded or server contacted."""

    plan: Plan
    out: Path
    options: AskOptions  # as given
    chosen: QuestionOptions | None = None  # as given
    given: tuple[Collected, ...] | None = None  # what is collected, as given; None: as the study has it


@tensors_on_host()
def ask(
    model: str | Backend,
    questions: Questions | Sequence[Questions],
    out: str | Path | None = None,
    options: AskOptions = AskOptions(),
    *,
    question_options: QuestionOptions | None = None,
    backend_options: BackendOptions = BackendOptions(),
    load_options: LoadOptions | None = None,
) -> AskedRun:
    """Ask questions of an instruct model into a run folder, and open the run.

    Each reply is stored when it arrives; what is in the folder already is not asked again. More questions, variants or
    stages can be asked later in the same folder.

    Args:
        model: an alias, a hub id, a folder, a GGUF file, or the name under which a server has it; or a backend that is
            open, which the caller closes.
        questions: names of sets, question files (JSONL), or sets from `load_questions`.
        out: the run folder; None for `runs/MODEL-SETS`.
        options: prompts, what is collected, and how replies are generated.
        question_options: which questions of each set; None: as the study has it, else all.
        backend_options: which engine answers, and where.
        load_options: how a model is loaded into this process.
    Raises:
        CalprobeError: what cannot be done, and what to do about it; UsageError and DataMissingError are subclasses.
        Interrupted: Ctrl-C, SIGTERM or SIGHUP; run the same again to resume.

    Example:
        >>> run = calprobe.ask("smollm2-135m", "questions.jsonl")  # doctest: +SKIP
        >>> run.partial  # doctest: +SKIP
        False
    """
    with saying_how_to_resume(_WHEN):
        if isinstance(model, str) and backend_options.backend != "openai":
            check_spelling(model)
        request = _requested(model, questions, out, options, question_options)
        started = time.monotonic()
        with using_backend(model, backend_options, load_options) as backend:
            request = _possible(request, backend)
            refuse_incapable(request.plan, backend)
            with locked(request.out):
                _ask_into(request, backend, started, backend_options.prices)
    return open_asked(request.out)


@tensors_on_host()
def preview(
    model: str,
    questions: Questions | Sequence[Questions],
    out: str | Path | None = None,
    options: AskOptions = AskOptions(),
    *,
    question_options: QuestionOptions | None = None,
    backend_options: BackendOptions = BackendOptions(),
) -> AskPreview:
    """What `ask` would do with the same arguments: nothing is asked, loaded or written, and no server is contacted.

    Tokens are counted where the model's tokenizer is on this machine, else guessed from letters. Of a server it is
    assumed that it shows log-probabilities and can continue replies; one that cannot is asked less. Raises as `ask`
    does before a model is loaded.

    Example:
        >>> found = preview("tiny-chat", "mini", "runs/new", question_options=QuestionOptions(limit=2))
        >>> found.cost.requests, found.cost.counted
        (2, True)
    """
    if backend_options.backend != "openai":
        check_spelling(model)
    request = _requested(model, questions, out, options, question_options)
    backend = Unopened.of(model, backend_options)
    request = _possible(request, backend)
    refuse_incapable(request.plan, backend)
    there = run_there(request.out, AskManifest) if options.resume else None
    run = None if there is None else AskedRun(request.out, there)
    return preview_of(request.plan, backend, request.out, backend_options.prices, run)


def _requested(
    model: str | Backend,
    questions: Questions | Sequence[Questions],
    out: str | Path | None,
    options: AskOptions,
    question_options: QuestionOptions | None,
) -> _Request:
    """Read questions and prompts, and check the folder; raise UsageError for what does not fit together."""
    plan = plan_of(questions, options, question_options)
    name = model if isinstance(model, str) else model.model.name
    path = (
        Path(out)
        if out is not None
        else default_out(name, "-".join(question_set.name for question_set in plan.sets), options.shard)
    )
    check_folder(path)
    stored = run_there(path, AskManifest)  # a run of scores is refused before any model is loaded
    if stored is not None and options.resume:
        _refuse_unnamed_prompts(stored, path, plan, options)
    return _Request(plan, path, options, question_options, options.collect)


def _refuse_unnamed_prompts(stored: AskManifest, path: Path, plan: Plan, options: AskOptions) -> None:
    """Raise UsageError where no prompts are chosen, and the run has others than the default: these would join them."""
    is_chosen = any(value is not None for value in (options.study, options.prompts, options.variants))
    if is_chosen or stored.prompts.name == plan.prompts.name:
        return
    prompts = stored.prompts.path or stored.prompts.name
    choice = f"--study {stored.study}" if stored.study else f"--prompts {prompts}"
    if not stored.study and stored.prompts.path is None and prompts not in PROMPT_SETS:
        choice = "its --prompt again"
    raise UsageError(
        f"{path}: was asked with the prompts {prompts}, and the default is {plan.prompts.name}; give {choice} to go on "
        "with it, or another folder with --out"
    )


def _possible(request: _Request, backend: Described) -> _Request:
    """The request without what the prompts or the study alone ask for, and the backend cannot give."""
    able = backend.capabilities
    possible = request
    if not able.complete_softmax:
        why = "shows no probabilities of all tokens: confidences are read from replies alone"
        possible = _without(possible, backend, "closed", why)
        if able.top_logprobs < 2:
            possible = _without(
                possible, backend, "p_true", "shows no log-probabilities of two tokens: there is no P(True)"
            )
        if not able.top_logprobs:
            possible = _without(
                possible, backend, "alternatives", "shows no log-probabilities of tokens: there is no ccp"
            )
        if possible.plan.collects("answer") and (lack := lack_of_labels(possible.plan, backend)):
            possible = _without(possible, backend, "labels", f"{lack}: asked without probabilities of labels")
    possible = _without_finals(possible, backend)
    if possible.plan.prompts.fields and not able.schemas:
        log.info("%s on %s is asked for JSON in words alone, without a schema", backend.model.name, backend.name)
    plan = replace(possible.plan, exact=able.complete_softmax, schemas=able.schemas, room=able.room)
    return replace(possible, plan=plan)


def _without_finals(request: _Request, backend: Described) -> _Request:
    """The request without the label behind the reply where the backend cannot continue a reply."""
    plan = request.plan
    finals = dict.fromkeys(piece.variant for piece in plan.asked if FINAL in piece.stages)
    if backend.capabilities.continues or not finals or not plan.prompts.final_cue:
        return request
    log.info(
        "%s on %s cannot continue a reply: the label is not asked for once more behind it (%s)",
        *(backend.model.name, backend.name, ", ".join(finals)),
    )
    prompts = replace(plan.prompts, final_cue="")
    prompts = replace(prompts, fingerprint=fingerprint_of(prompts))
    return replace(request, plan=replace(plan, prompts=prompts))


def _without(request: _Request, backend: Described, collected: str, why: str) -> _Request:
    """The request without what the study alone collects, and the backend cannot give."""
    plan, options = request.plan, request.options
    if request.given is not None or not plan.collects(collected):
        return request
    collect = tuple(name for name in plan.options.collect or () if name != collected)
    log.warning("%s on %s %s", backend.model.name, backend.name, why)
    filled = replace(plan.options, collect=collect)
    return replace(request, plan=replace(plan, options=filled), options=replace(options, collect=collect))


def _ask_into(request: _Request, backend: Backend, started: float, prices: Prices | None) -> None:
    """Ask what the folder lacks; it is locked."""
    sets = tuple(StoredSet.of(question_set) for question_set in request.plan.sets)
    manifest = manifest_of(backend, request.plan, sets, request.options, request.chosen)
    folder, sets = _open_folder(request, manifest, sets)
    engine = engine_hash(folder.manifest.model, folder.manifest.backend)
    with closing(Journal.open(request.out)) as journal:
        store = Store(folder, journal)
        folder.missing()  # sets damaged shards aside
        cost = _cost(request.plan, store, engine, backend)
        label, options = f"{backend.model.name} on {backend.name}", request.options
        _say_what_is_there(request, folder, cost.requests)
        _say_what_is_asked(label, cost, prices)
        _say_what_is_faster(backend, cost)
        with (
            progress(cost.requests, label, options.quiet, options.progress, prices) as meter,
            cached(backend, folder, options.cache) as asked,
        ):
            spent = Progress(load_s=time.monotonic() - started)
            for plan in phases(request.plan, store, engine):
                if not (plan.waits_for_answers or plan.waits_for_conclusions):
                    _write_complete(store, plan, engine)
                missing = lacking(plan, store, engine)
                if missing.total:
                    _record_versions(folder, backend)
                    spent = ask_missing(Work(plan, engine, asked, store, missing, options, spent), meter)


def _cost(plan: Plan, store: Store, engine: str, backend: Backend) -> AskCost:
    """What all phases of the plan will take, from some of the prompts."""
    if plan.waits_for_conclusions:
        plan = with_conclusions(plan, store, engine)
    if plan.waits_for_answers and not lacking(plan, store, engine).total:
        plan = with_answers(plan, store, engine)
    plan = plan.foreseen()
    writer = getattr(backend, "writer", None)  # a server has none
    tokens: TokenCounter = Guessing() if writer is None else Tokenizing(writer)
    every = max(1, sum(map(plan.n_questions_of, plan.asked)) // _LOOKED_AT)
    return cost_of(
        (entry for piece in plan.asked for entry in pendings(plan, store, piece, engine)), tokens, every=every
    )


def _say_what_is_asked(label: str, cost: AskCost, prices: Prices | None) -> None:
    if cost.requests:
        most = "" if prices is None else f", {dollars(prices.of(cost.tokens_in, cost.tokens_out))} at most"
        log.info("%s: %s%s", label, cost.describe(), most)


def _say_what_is_faster(backend: Backend, cost: AskCost) -> None:
    """On a card of this process: say so if another engine would write the missing replies in clearly less time."""
    if not cost.requests or backend.name != "transformers" or backend.settings().get("device") != "cuda":
        return
    from calprobe.backends.local import TransformersBackend

    if isinstance(backend, TransformersBackend) and (line := backend.faster_elsewhere(cost.tokens_out)) is not None:
        log.info("%s: %s", backend.model.name, line)


def _open_folder(
    request: _Request, requested: AskManifest, sets: tuple[StoredSet, ...]
) -> tuple[AskFolder, tuple[StoredSet, ...]]:
    """The run's folder with its questions, created, resumed, or grown by what is asked for."""
    out, options = request.out, request.options
    if options.resume and (out / FILE_NAME).is_file():
        stored = read_any_manifest(out)
        if isinstance(stored, AskManifest) and not stored.differences(requested) and stored.shard == requested.shard:
            stored_sets = _questions_there(out, stored, sets)
            manifest, sets = joined(stored, stored_sets, requested, sets)
            if not stored.covers(manifest) and stored.shard is not None:
                raise UsageError(f"{out}: the shares of a run do not grow; merge them, and ask the merged run for more")
            model = stored.model.with_size_of(requested.model)
            requested = replace(manifest, model=model, backend=requested.backend, versions=requested.versions)
            write_questions(out, sets)  # first: a killed process leaves more questions, never fewer
    folder = AskFolder.open(out, requested, options.resume)
    write_questions(out, sets)
    return folder, sets


def _questions_there(out: Path, stored: AskManifest, sets: tuple[StoredSet, ...]) -> tuple[StoredSet, ...]:
    """The run's questions; those that are asked for, where a killed process has left none."""
    fingerprints = {stored_set.name: stored_set.fingerprint for stored_set in sets}
    if not (out / QUESTIONS).is_file() and all(fingerprints.get(r.name) == r.fingerprint for r in stored.sets):
        return sets
    return AskedRun(out, stored).stored_sets


def _record_versions(folder: AskFolder, backend: Backend) -> None:
    """Name the versions that answer from now on in the manifest, unless it has them."""
    manifest = folder.manifest.answered_by(backend.versions)
    if manifest is not folder.manifest:
        write_manifest(manifest, folder.path)
        folder.manifest = manifest


def _write_complete(store: Store, plan: Plan, engine: str) -> None:
    """Write the pieces for which a killed process had all replies, and no time left."""
    for piece in store.folder.manifest.asked:
        if store.journal.of_piece(piece.set, piece.variant, piece.paraphrase):
            store.write_if_complete(piece, keys_of(plan, piece, engine, store.folder.manifest.shard))


def _say_what_is_there(request: _Request, folder: AskFolder, missing: int) -> None:
    kind = folder.manifest.records()
    total = sum(
        kind.expected(asked_piece.piece)
        for asked_piece in request.plan.asked
        if asked_piece.piece in folder.manifest.pieces
    )
    if missing < total:
        log.info("%s: %s of %s already there", request.out, f"{total - missing:,}", counted(total, "request"))
