"""What an asked run becomes when more is asked for in its folder: questions, variants, stages, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.runs.asked_manifest import AskManifest, with_own_fingerprint
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
    for more in asked.asked:
        pieces[more.piece] = _joined_piece(pieces[more.piece], more) if more.piece in pieces else more
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
        sets=tuple(_record(stored, asked, found) for found in sets.values()),
        prompts=with_own_fingerprint(prompts, base.prompts),
        asked=tuple(pieces.values()),
        study=asked.study or stored.study,
        overrides=tuple(dict.fromkeys((*stored.overrides, *asked.overrides))),
        counterfactual=stored.counterfactual or asked.counterfactual,
        paraphrases=asked.paraphrases or stored.paraphrases,
    )
    return manifest, tuple(sets.values())


def _joined_sets(there: Sequence[StoredSet], wanted: Sequence[StoredSet]) -> dict[str, StoredSet]:
    sets = {found.name: found for found in there}
    for more in wanted:
        own = sets.get(more.name)
        if own is None:
            sets[more.name] = more
            continue
        hashes, others = own.by_id, more.by_id
        known, wordings = own.wordings_by_id, more.wordings_by_id
        for question in hashes.keys() & others.keys():
            # More wordings may be asked for, as long as those of the one are the first of the other.
            is_other = any(one != two for one, two in zip(known[question], wordings[question], strict=False))
            if hashes[question] != others[question] or is_other:
                raise UsageError(
                    f"question {question} of {more.name} is not what it was when the run began; "
                    "give another folder with --out"
                )
        sets[more.name] = own.joined(more)
    return sets


def _joined_piece(one: AskedPiece, other: AskedPiece) -> AskedPiece:
    stages = tuple(dict.fromkeys((*one.stages, *other.stages)))
    return replace(
        one,
        stages=stages,
        samples=max(one.samples, other.samples),
        labels=other.labels if one.labels is None else one.labels,
        closed=other.closed if one.closed is None else one.closed,
        examples=other.examples if one.examples is None else one.examples,
        alternatives=other.alternatives if one.alternatives is None else one.alternatives,
    )


def _refuse_gaps(
    stored: AskManifest,
    there: Sequence[StoredSet],
    asked: AskManifest,
    wanted: Sequence[StoredSet],
    sets: Mapping[str, StoredSet],
) -> None:
    """Raise UsageError if the joined run has requests that neither run has."""
    ids = [{found.name: set(found.by_id) for found in sets} for sets in (there, wanted)]
    rows = [{a.piece: a for a in manifest.asked} for manifest in (stored, asked)]
    for piece in rows[0].keys() | rows[1].keys():
        owned = [(ids[n][has[piece].set], _requests(has[piece])) for n, has in enumerate(rows) if piece in has]
        name = next(has[piece].set for has in rows if piece in has)
        everything = {request for _, requests in owned for request in requests}
        count = sum(len(questions) * len(requests) for questions, requests in owned)
        if len(owned) == 2:
            count -= len(owned[0][0] & owned[1][0]) * len(owned[0][1] & owned[1][1])
        # Samples times stages is a rectangle, too: two of each in one run, three of one stage in the other, is none.
        stages, most = {stage for stage, _ in everything}, len({sample for _, sample in everything})
        full = sum(1 if stage in ONCE else most for stage in stages)
        if len(sets[name].questions) * full != count:
            raise UsageError(
                f"the run has {_extent(stored, name)}, requested {_extent(asked, name)}; in a run, all questions of a "
                f"set are asked under each variant and in each stage: {_FIX}"
            )


def _requests(asked: AskedPiece) -> set[tuple[str, int]]:
    return set(asked.requests)


def _extent(manifest: AskManifest, name: str) -> str:
    count = next((record.n_questions for record in manifest.sets if record.name == name), 0)
    variants = dict.fromkeys(a.variant for a in manifest.asked if a.set == name)
    stages = dict.fromkeys(stage for a in manifest.asked if a.set == name for stage in a.stages)
    return f"{counted(count, 'question')} of {name} under {', '.join(variants)} with {', '.join(stages)}"


def _record(stored: AskManifest, asked: AskManifest, found: StoredSet) -> QuestionSetRecord:
    """The record of a joined set: what the run or the request says of it, whichever has all of its questions."""
    records = [r for manifest in (stored, asked) for r in manifest.sets if r.name == found.name]
    for record in records:
        if record.fingerprint == found.fingerprint:
            return record
    rules = [record.source.rule for record in records]
    if len(set(rules)) > 1:
        raise UsageError(
            f"questions of {found.name} were taken by the rule {rules[0]}, and are now by {rules[1]}: together they "
            "are neither; give the same --draw-rule (or --limit), or another folder with --out"
        )
    return found.record
