"""calprobe's engine as `calprobe score` runs it, at its default budget, without the run folder.

Filling, tokenising, planning, the forward passes and the reductions are timed; loading, with the check of the path
against the model's own forward, is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from harness.job import Answer

from calprobe.heap import give_back_freed_memory, keep_freed_memory
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.placement import float32_products
from calprobe.models.tokenizers import special_tokens_of, start_token_of
from calprobe.planning import build_prefix_tree, plan_masked
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Instance, Probe, Relation
from calprobe.scoring import ScoreOptions, Way, find_way, score_pieces
from calprobe.scoring.options import DEFAULT_METRIC
from calprobe.scoring.probe_selection import Selection
from calprobe.scoring.scheduling import Schedule
from calprobe.scoring.scored_pieces import tokenise_pieces
from calprobe.statements import Template, TemplateSet
from peers.models import load_network, load_tokenizer
from peers.statements import ModelSpec, Piece, ScoreJob


@dataclass(frozen=True)
class Calprobe:
    """A loaded model; its path and batch budget are found with the first statements that it sees, as in a run."""

    model: LoadedModel
    options: ScoreOptions = field(default_factory=ScoreOptions)
    way: Way | None = None  # None: not found yet

    @property
    def network(self) -> Any:
        """The model that it runs."""
        return self.model.network

    def answer(self, items: Sequence[Piece], size: int | None = None, seed: int = 0) -> Answer:
        """See `Loaded`; `size` is ignored, calprobe takes its own budget."""
        scored = score_pieces(self.model, selection_of(items), self.options, self.way)
        return Answer(np.concatenate([piece.column("sum") for piece in scored]))

    def ready(self, pieces: Sequence[Piece]) -> Calprobe:
        """The same with path and budget found, which belongs to loading."""
        return replace(self, way=self.way_for(pieces))

    def way_for(self, pieces: Sequence[Piece]) -> Way:
        """The way that a run of these pieces would take."""
        return self.way or find_way(self.model, selection_of(pieces), self.options)

    def counts(self, pieces: Sequence[Piece]) -> dict[str, int]:
        """Scored tokens, and what has to be computed for them, with nothing twice within a group of pieces.

        `forwarded` tokens go through the body, `heads` of them on through the head: of a causal model the nodes of the
        prefix tree through both, of a masked one the places of the distinct masked rows, and one place of each.
        `edges` are distinct scores.
        """
        way, selection = self.way_for(pieces), selection_of(pieces)
        total = dict.fromkeys(("tokens", "forwarded", "heads", "edges"), 0)
        for group in Schedule(selection, selection.pieces, way.path, way.batch_tokens).groups:
            inputs = [
                (selection.relation(name), selection.template_set.template(name, number)) for name, number in group
            ]
            masking = self.options.masking(self.model.kind, self.model.name)
            rows = TokenRows.joined([piece.rows for piece in tokenise_pieces(inputs, self.model, masking)])
            counted = self._masked_counts(rows, way) if self.model.kind == "masked" else self._tree_counts(rows)
            for name, count in zip(total, (len(rows.token_ids), *counted), strict=True):
                total[name] += count
        return total

    def _tree_counts(self, rows: TokenRows) -> tuple[int, int, int]:
        tree = build_prefix_tree(rows, self.model.start_token_id)
        return tree.n_nodes, tree.n_nodes, tree.n_edges

    def _masked_counts(self, rows: TokenRows, way: Way) -> tuple[int, int, int]:
        assert self.model.special is not None
        plan = plan_masked(rows, self.model.special, DEFAULT_METRIC, way.batch_tokens)
        n_special = len(plan.before) + len(plan.after)
        return int(plan.rows.length.sum()) + plan.n_rows * n_special, plan.n_rows, plan.n_edges


def selection_of(pieces: Sequence[Piece]) -> Selection:
    """The pieces as a selection: each a relation of its own, under its one template, of whatever kind that is."""
    relations = tuple(
        Relation(
            f"{piece.relation} {place}",
            piece.candidates,
            tuple(Instance(line, subject, 0) for line, subject in enumerate(piece.subjects)),
            (piece.template,),
        )
        for place, piece in enumerate(pieces)
    )
    texts = {relation.name: (Template(0, relation.templates[0], "paraphrase"),) for relation in relations}
    return Selection(Probe("peers", relations, ""), relations, TemplateSet("peers", texts), (0,))


def load(spec: ModelSpec) -> Calprobe:
    """calprobe with the model of `spec`, the heap set as the command sets it."""
    keep_freed_memory()
    dtype: Any = spec.dtype
    if spec.folder is not None:
        model = load_model(spec.folder, LoadOptions(dtype=dtype, device=spec.device, quiet=True))
    else:
        model = random_model(spec, load_network(spec))
    give_back_freed_memory()
    return Calprobe(model)


def load_ready(job: ScoreJob) -> Calprobe:
    """calprobe as it takes part."""
    return load(job.model).ready(job.pieces)


def load_float32(job: ScoreJob) -> Calprobe:
    """What scores in short dtypes are held against: the weights rounded to the dtype and widened, on the plain path."""
    return Calprobe(random_model(job.model, load_network(job.model).float()), ScoreOptions(path="plain"))


def random_model(spec: ModelSpec, network: Any) -> LoadedModel:
    """A network that no folder holds, as `load_model` would hand it over."""
    tokenizer = load_tokenizer(spec)
    start_token_id, start_token = start_token_of(tokenizer, spec.kind, spec.name)
    dtype, device = str(network.dtype).removeprefix("torch."), torch.device(spec.device)
    return LoadedModel(
        name=spec.name,
        source="random weights",
        kind=spec.kind,
        network=network,
        tokenizer=tokenizer,
        start_token_id=start_token_id,
        start_token=start_token,
        dtype=dtype,
        device=device,
        architecture=type(network).__name__,
        attention=str(network.config._attn_implementation),
        weights_fingerprint="random",
        tokenizer_fingerprint="",
        max_positions=network.config.max_position_embeddings,
        special=special_tokens_of(tokenizer) if spec.kind == "masked" else None,
        precision=float32_products("auto", dtype, device),
    )
