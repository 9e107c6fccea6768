"""An existing run in the folder: its settings for the remaining pieces, known before any model is loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from calprobe.errors import UsageError
from calprobe.models import LoadOptions
from calprobe.runs import Manifest
from calprobe.runs.extent import Extent
from calprobe.runs.folder import refuse_other_run, run_there
from calprobe.runs.stored_run import progress_of
from calprobe.scoring.options import NOTHING_MASKED, PATHS, ScoreOptions
from calprobe.scoring.probe_selection import Selection
from calprobe.words import ModelKind


def begun_run(out: Path, resume: bool) -> Manifest | None:
    """The manifest of the run in `out` that is to be resumed; None if there is none, or with `resume` False.

    Raises UsageError for a run of replies, which scoring neither resumes nor replaces.
    """
    stored = run_there(out, Manifest)
    return stored if resume else None


def options_as_begun(begun: Manifest, out: Path, options: ScoreOptions) -> ScoreOptions:
    """The options with the path and batch budget in force: the run's first ones, or those that it had to step down to.

    Both decide the last bits of a score, so a resumed run keeps them (docs/reference/files.md). Raises UsageError
    if another batch budget is requested; another path makes another run (`refuse_other_run`).
    """
    settings, progress = begun.settings, progress_of(out, begun)
    in_force = progress.batch_tokens
    if options.batch_tokens not in (None, in_force, settings.batch_tokens, settings.first_batch_tokens):
        raise UsageError(
            f"{out}: the run has --batch-tokens {in_force}, requested {options.batch_tokens}.\n"
            "Leave out the option to resume the run, or delete its scores and start over with --no-resume"
        )
    stored = next((path for path in PATHS if path == settings.path), None)  # None: an import
    path = (progress.later_path or stored) if options.path in (None, stored) else options.path
    return replace(options, batch_tokens=in_force, path=path)


def loading_as_begun(begun: Manifest | None, options: LoadOptions) -> LoadOptions:
    """The load options with the products of the run that is there, unless some are typed, and its layers; earlier runs
    have ieee, and the model's own layers.
    """
    if begun is None:
        return options
    options = replace(options, fused=begun.settings.layers == "fused")
    if options.precision != "auto" or begun.settings.precision == "tf32x3":
        return options
    return replace(options, precision="ieee")


def refuse_other_request(begun: Manifest, out: Path, selection: Selection, options: ScoreOptions) -> None:
    """Raise UsageError if the requested statements or scores differ from the run's; cheap, before a model is loaded."""
    kind = begun.model.kind
    # The kind of an import may not be known.
    masking = NOTHING_MASKED if kind is None else options.masking(kind, begun.model.name)
    asked = replace(
        begun,
        probe=selection.probe_source(),
        template_set=selection.template_source(),
        templates=selection.template_records(),
        relations=selection.relation_records(),
        limit=options.per_relation,
        sample_seed=options.sample_seed,
        n_probe_relations=len(selection.probe.relations),
        shard=options.shard,
        settings=replace(
            begun.settings,
            save_tokens=options.save_tokens,
            pll_metric=masking.metric,
            word_split=masking.word_split,
        ),
    )
    refuse_other_run(out, begun, asked)


def extent_of(selection: Selection, options: ScoreOptions) -> Extent:
    """What part of the probe is requested."""
    relations = tuple(relation.name for relation in selection.relations)
    return Extent(relations, selection.numbers, options.per_relation, options.sample_seed)


def with_what_is_there(begun: Manifest, selection: Selection, options: ScoreOptions) -> tuple[ScoreOptions, bool]:
    """The options for what the run has and what is requested, and whether the request is only a part of the run."""
    asked = extent_of(selection, options)
    extent = begun.extent.joined(asked) or begun.extent
    is_sample = extent.sample_seed is not None
    options = replace(
        options,
        templates=",".join(map(str, extent.templates)),
        relations=extent.relations,
        limit=extent.limit if is_sample else None,
        seed=extent.sample_seed,
        first=None if is_sample else extent.limit,
    )
    return options, begun.extent.covers(asked) and not asked.covers(begun.extent)


def refuse_other_kind(begun: Manifest, out: Path, name: str, kind: ModelKind) -> None:
    """Raise UsageError if the requested model has another kind than the run's, and so is another."""
    asked = replace(begun.model, kind=kind)
    if kind != begun.model.kind and name != begun.model.name:
        asked = replace(asked, name=name, id=None, weights_fingerprint=None)  # not read yet, surely others
    refuse_other_run(out, begun, replace(begun, model=asked))
