"""What an asked run becomes when more is asked for in its folder: questions, variants, stages, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.runs.asked_manifest import AskManifest, with_common_end, with_own_fingerprint
from calprobe.runs.asked_questions import StoredSet
from calprobe.runs.asked_records import QuestionSetRecord
from calprobe.runs.reply_records import AskedPiece
from calprobe.runs.stages import ONCE

_FIX = "ask for what the run has, too, or give another folder with --out"


def joined(
    stored: AskManifest, there: Sequence[StoredSet], asked: AskManifest, wanted: Sequence[StoredSet]
) -> tuple[AskManifest, tuple[StoredSet, ...]]:
    """Manifest and questions of a run that has all that it had and all that is asked for.

    `stored` and `asked` have no `differences`. Raises UsageError if the questions are not the same under the same id,
    or if the run would then lack what is neither there nor asked for: in a run, all questions of a set are asked under
    each of its variants and in each stage of the variant.
    """
    sets = _joined_sets(there, wanted)
    pieces = {a.piece: a for a in stored.asked}
    for asked_piece in asked.asked:
        pieces[asked_piece.piece] = (
            _joined_piece(pieces[asked_piece.piece], asked_piece) if asked_piece.piece in pieces else asked_piece
        )
    _refuse_gaps(stored, there, asked, wanted, sets)
    variants = {v.name: v for v in (*stored.prompts.variants, *asked.prompts.variants)}
    stated = {s.name: s for s in (*stored.prompts.stated, *asked.prompts.stated)}
    base = asked if asked.prompts.fingerprint == stored.prompts.fingerprint else stored
    groups = dict(stored.prompts.groups) | dict(asked.prompts.groups)
    abstentions = stored.prompts.abstentions or asked.prompts.abstentions
    prompts = replace(
        base.prompts,
        variants=tuple(variants.values()),
        stated=tuple(stated.values()),
        groups=groups,
        abstentions=abstentions,
        p_true=stored.p_true or asked.p_true or base.prompts.p_true,
    )
    manifest = replace(
        stored,
        sets=tuple(_record(stored, asked, stored_set) for stored_set in sets.values()),
        prompts=with_own_fingerprint(with_common_end(prompts, (stored, asked)), base.prompts),
        asked=tuple(pieces.values()),
        study=asked.study or stored.study,
        overrides=tuple(dict.fromkeys((*stored.overrides, *asked.overrides))),
        counterfactual=stored.counterfactual or asked.counterfactual,
        paraphrases=asked.paraphrases or stored.paraphrases,
    )
    return manifest, tuple(sets.values())


def _joined_sets(stored: Sequence[StoredSet], requested: Sequence[StoredSet]) -> dict[str, StoredSet]:
    sets = {question_set.name: question_set for question_set in stored}
    for asked_set in requested:
        stored_set = sets.get(asked_set.name)
        if stored_set is None:
            sets[asked_set.name] = asked_set
            continue
        if (question := stored_set.differing(asked_set)) is not None:
            raise UsageError(
                f"question {question} of {asked_set.name} is not what it was when the run began "
                "(--as, --options, --paraphrases, --columns or the file is another); give another folder with --out"
            )
        sets[asked_set.name] = stored_set.joined(asked_set)
    return sets


def _joined_piece(first: AskedPiece, second: AskedPiece) -> AskedPiece:
    stages = tuple(dict.fromkeys((*first.stages, *second.stages)))
    return replace(
        first,
        stages=stages,
        samples=max(first.samples, second.samples),
        labels=second.labels if first.labels is None else first.labels,
        closed=second.closed if first.closed is None else first.closed,
        examples=second.examples if first.examples is None else first.examples,
        alternatives=second.alternatives if first.alternatives is None else first.alternatives,
        schema=second.schema if first.schema is None else first.schema,
    )


def _refuse_gaps(
    stored: AskManifest,
    stored_sets: Sequence[StoredSet],
    requested: AskManifest,
    requested_sets: Sequence[StoredSet],
    sets: Mapping[str, StoredSet],
) -> None:
    """Raise UsageError if the joined run has requests that neither run has."""
    ids = [
        {question_set.name: set(question_set.by_id) for question_set in sets} for sets in (stored_sets, requested_sets)
    ]
    runs = [{a.piece: a for a in manifest.asked} for manifest in (stored, requested)]
    for piece in runs[0].keys() | runs[1].keys():
        owned = [(ids[n][run[piece].set], _requests(run[piece])) for n, run in enumerate(runs) if piece in run]
        name = next(run[piece].set for run in runs if piece in run)
        everything = {request for _, requests in owned for request in requests}
        count = sum(len(questions) * len(requests) for questions, requests in owned)
        if len(owned) == 2:
            count -= len(owned[0][0] & owned[1][0]) * len(owned[0][1] & owned[1][1])
        # Samples times stages is a rectangle, too: two of each in one run, three of one stage in the other, is none.
        stages, n_samples = {stage for stage, _ in everything}, len({sample for _, sample in everything})
        full = sum(1 if stage in ONCE else n_samples for stage in stages)
        if len(sets[name].questions) * full != count:
            raise UsageError(
                f"the run has {_extent(stored, name)}, requested {_extent(requested, name)}; in a run, all questions "
                f"of a set are asked under each variant and in each stage: {_FIX}"
            )


def _requests(piece: AskedPiece) -> set[tuple[str, int]]:
    return set(piece.requests)


def _extent(manifest: AskManifest, name: str) -> str:
    count = next((record.n_questions for record in manifest.sets if record.name == name), 0)
    variants = dict.fromkeys(a.variant for a in manifest.asked if a.set == name)
    stages = dict.fromkeys(stage for a in manifest.asked if a.set == name for stage in a.stages)
    return f"{counted(count, 'question')} of {name} under {', '.join(variants)} with {', '.join(stages)}"


def _record(stored: AskManifest, requested: AskManifest, questions: StoredSet) -> QuestionSetRecord:
    """The record of a joined set: what the run or the request says of it, whichever has all of its questions."""
    records = [r for manifest in (stored, requested) for r in manifest.sets if r.name == questions.name]
    for record in records:
        if record.fingerprint == questions.fingerprint:
            return record
    rules = [record.source.rule for record in records]
    if len(set(rules)) > 1:
        raise UsageError(
            f"questions of {questions.name} were taken by the rule {rules[0]}, and are now by {rules[1]}: together "
            "they are neither; give the same --draw-rule (or --limit), or another folder with --out"
        )
    return questions.record
