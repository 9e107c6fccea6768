"""What a run would do, before it does it: statements with their tokens, and the work, time and memory that it needs."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calprobe.models import LoadedModel, tokenise
from calprobe.models.memory import free_bytes
from calprobe.planning import MaskedPlan, TreePlan
from calprobe.probes import Relation
from calprobe.probes.relation_sample import first_instances
from calprobe.runs.records import Piece
from calprobe.scoring.budget import cpu_bytes_per_token
from calprobe.scoring.candidate_tokens import same_tokens
from calprobe.scoring.fit import Way
from calprobe.scoring.growth import without
from calprobe.scoring.options import ScoreOptions
from calprobe.scoring.path_choice import executor_of
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scheduling import Schedule, piece_cost
from calprobe.scoring.scored_pieces import PreparedGroup, prepare_group, score_group
from calprobe.statements import fill, join
from calprobe.words import Role

There = Mapping[Piece, Collection[int]]  # instances (line numbers) that a folder has of each piece

_SECONDS = 2.0  # that the probe of the speed takes at least, if there are as many statements
_RELATIONS = 4  # of the probe of the speed, spread over the run
_EXAMPLES = 3  # relations with a statement to look at
_UNITS = {"flat": "tokens of prefix trees", "tree": "tokens of prefix trees", "masked": "masked rows"}


@dataclass(frozen=True, slots=True)
class ExampleStatement:
    """A statement as the model reads it."""

    relation: str
    template: int
    instance: int
    text: str
    tokens: tuple[tuple[str, str], ...]  # token of the vocabulary, its role: template, subject, answer


@dataclass(frozen=True, slots=True)
class Work:
    """What is still to be computed. All but the counts of pieces and statements are estimates."""

    pieces: int  # of the run, or of its shard
    pieces_done: int  # that the folder has
    statements: int  # of the pieces that are left
    forwarded: int  # what goes through the model for them, in `unit`
    unit: str  # tokens of prefix trees, masked rows, rows
    seconds: float  # without loading the model
    timed_statements: int  # that the speed was measured on
    timed_seconds: float


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the model's device, in bytes."""

    weights: int
    batch: int | None  # activations of a batch, roughly; None on a card, where the batch size is measured
    free: int  # beside the weights


@dataclass(frozen=True, slots=True)
class Preview:
    """What `score` would do with the same arguments."""

    model: str
    kind: str
    dtype: str
    device: str
    probe: str
    relations: int
    instances: int
    template_set: str
    templates: tuple[int, ...]
    out: str  # the run folder; it is not created
    path: str
    batch_tokens: int
    batch_tokens_from: str
    examples: tuple[ExampleStatement, ...]
    same_tokens: Mapping[
        str, tuple[tuple[str, ...], ...]
    ]  # by relation: candidates that the tokenizer cannot tell apart
    work: Work
    memory: Memory

    def to_json(self) -> dict[str, Any]:
        """The object that `calprobe score --dry-run --json` prints."""
        return asdict(self)


def preview_of(
    model: LoadedModel, selection: Selection, options: ScoreOptions, way: Way, out: Path, there: There
) -> Preview:
    """The preview of a run; `there` are the instances that its folder has of each piece.

    The speed is measured on a few relations spread over the run, for two seconds, tokenising included. Time and
    forwarded tokens are scaled from these to all that is left, by the same estimate of cost that divides a run into
    shards (`piece_cost`). Raises CalprobeError as `score` does before its first score.
    """
    model = model.by_torch(way.by_torch)
    return Preview(
        model=model.name,
        kind=model.kind,
        dtype=model.dtype,
        device=str(model.device),
        probe=selection.probe.name,
        relations=len(selection.relations),
        instances=sum(len(relation.instances) for relation in selection.relations),
        template_set=selection.template_set.name,
        templates=selection.numbers,
        out=str(out),
        path=way.path,
        batch_tokens=way.batch_tokens,
        batch_tokens_from=way.source,
        examples=_examples(model, selection),
        same_tokens={name: same.groups for name, same in same_tokens(model, selection).items() if same.groups},
        work=_work(model, selection, options, way, there),
        memory=_memory(model, way),
    )


def _examples(model: LoadedModel, selection: Selection) -> tuple[ExampleStatement, ...]:
    """The first instance of the first relation under every template, and of the next relations under the first one."""
    with_facts = [relation for relation in selection.relations if relation.instances][:_EXAMPLES]
    chosen = [(with_facts[0], number) for number in selection.numbers] if with_facts else []
    chosen += [(relation, selection.numbers[0]) for relation in with_facts[1:]]
    return tuple(
        _example(model, relation, number, selection.text(relation.name, number)) for relation, number in chosen
    )


def _example(model: LoadedModel, relation: Relation, number: int, text: str) -> ExampleStatement:
    instance = relation.instances[0]
    answer = relation.candidates_of(instance)[instance.answer_idx]
    completes = relation.scored == "completion"
    statement = join(instance.subject, answer) if completes else fill(text, instance.subject, answer)
    rows = tokenise([statement], model, scored=relation.scored)
    names = model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist())
    roles = [Role(role).label for role in rows.roles]
    tokens = tuple(zip(names, roles, strict=True))
    return ExampleStatement(relation.name, number, instance.index, statement.text, tokens)


def _work(model: LoadedModel, selection: Selection, options: ScoreOptions, way: Way, there: There) -> Work:
    schedule = Schedule(selection, selection.pieces, way.path, way.grouped_by or way.batch_tokens, options.shard)
    pieces = schedule.pieces
    parts = {piece: without(selection.relation(piece.relation), tuple(there.get(piece, ()))) for piece in pieces}
    left = {piece: part for piece, part in parts.items() if part.instances}
    speed = _Speed.measured(model, selection, options, way, left)
    cost = sum(piece_cost(part, selection.text(*piece), way.path) for piece, part in left.items())
    scale = cost / speed.cost if speed.cost else 0.0
    return Work(
        pieces=len(pieces),
        pieces_done=len(pieces) - len(left),
        statements=sum(part.n_statements for part in left.values()),
        forwarded=round(speed.forwarded * scale),
        unit=_UNITS.get(way.path, "masked rows" if model.kind == "masked" else "rows"),
        seconds=speed.seconds * scale,
        timed_statements=speed.statements,
        timed_seconds=speed.seconds,
    )


@dataclass(frozen=True, slots=True)
class _Speed:
    """What a measured part of the run took."""

    seconds: float = 0.0
    cost: float = 0.0  # `piece_cost` of the part
    forwarded: int = 0
    statements: int = 0

    @classmethod
    def measured(
        cls, model: LoadedModel, selection: Selection, options: ScoreOptions, way: Way, left: Mapping[Piece, Relation]
    ) -> _Speed:
        """The speed on growing parts of a few of the pieces that are left, until a part takes long enough."""
        spread = list(left)[:: max(1, len(left) // _RELATIONS)][:_RELATIONS]
        if not spread:
            return cls()
        masking = options.masking(model.kind, model.name)
        executor = executor_of(way.path, model, way.batch_tokens, masking=masking)
        most = max(len(left[piece].instances) for piece in spread)
        found, n_instances = cls(), 1
        while found.seconds < _SECONDS and n_instances < 2 * most:
            parts = [
                (first_instances(left[piece], n_instances), selection.template_set.template(*piece)) for piece in spread
            ]
            started = time.perf_counter()
            group = prepare_group(parts, model, executor, masking)
            for _ in score_group(group, model, executor):
                pass  # an iterator: scores are computed as they are asked for
            seconds = time.perf_counter() - started
            cost = sum(piece_cost(relation, template.text, way.path) for relation, template in parts)
            found = cls(seconds, cost, _forwarded(group), sum(relation.n_statements for relation, _ in parts))
            n_instances *= 2
        return found


def _forwarded(group: PreparedGroup) -> int:
    """Places of the prefix trees, masked rows, or distinct statements."""
    return sum(_size(stretch.plan) for stretch in group.plans)


def _size(plan: Any) -> int:
    if isinstance(plan, TreePlan):
        return len(plan.token_ids)
    return plan.n_rows if isinstance(plan, MaskedPlan) else len(plan.plan.rows)


def _memory(model: LoadedModel, way: Way) -> Memory:
    weights = sum(weight.numel() * weight.element_size() for weight in model.network.parameters())
    on_cpu = model.device.type == "cpu"
    batch = way.batch_tokens * cpu_bytes_per_token(model, way.path) if on_cpu else None
    return Memory(weights=weights, batch=batch, free=free_bytes(model.device))
