"""calprobe as `calprobe score` runs it, piece by piece at its default budget, without writing the run folder.

Filling, tokenising, planning, the forward passes and the reductions are timed; loading, with the check of the path
against the model's own forward, is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from calprobe.models import LoadedModel, LoadOptions, load_model, tokenise
from calprobe.models.start_token import start_token_of
from calprobe.planning import build_prefix_tree
from calprobe.probes import Instance, Relation
from calprobe.scoring.ahead import prepared_ahead
from calprobe.scoring.budget import auto_batch_tokens
from calprobe.scoring.groups import groups_of
from calprobe.scoring.heap import keep_freed_memory
from calprobe.scoring.paths import choose_path, executor_of
from calprobe.scoring.pieces import PreparedGroup, prepare_group, score_group
from calprobe.statements import Statement, Template, fill, statements_of
from peers.job import ModelSpec, Piece
from peers.models import load_network, load_tokenizer


@dataclass(frozen=True)
class Calprobe:
    """A loaded model; its path is chosen by the first statements that it sees, as a run does it."""

    model: LoadedModel
    path: str | None = None  # None: chosen and checked

    @property
    def network(self) -> Any:
        """The model that it runs."""
        return self.model.network

    def score(self, pieces: Sequence[Piece], batch_size: int | None) -> npt.NDArray[np.float64]:
        """See `scorers.Scorer`; `batch_size` is not for it, its own budget holds."""
        path: Any = self.path or self.chosen_path(pieces)
        batch_tokens = auto_batch_tokens(self.model, path)
        executor = executor_of(path, self.model, batch_tokens)
        inputs = {(piece.relation, number): _inputs(piece) for number, piece in enumerate(pieces)}
        counts = {name: relation.n_statements for name, (relation, _) in inputs.items()}

        def prepare(group: tuple[tuple[str, int], ...]) -> PreparedGroup:
            return prepare_group([inputs[name] for name in group], self.model, executor)

        ready = prepared_ahead(groups_of(counts, batch_tokens), prepare)
        return np.concatenate([piece.sum for group in ready for piece in score_group(group, self.model, executor)])

    def chosen_path(self, pieces: Sequence[Piece]) -> str:
        """The path that a run would take."""
        rows = tokenise(_sample(pieces), self.model)
        return choose_path(self.model, auto_batch_tokens(self.model), rows)

    def ready(self, pieces: Sequence[Piece]) -> Calprobe:
        """The same with the path chosen, which belongs to loading."""
        return replace(self, path=self.path or self.chosen_path(pieces))

    def counts(self, pieces: Sequence[Piece]) -> dict[str, int]:
        """Scored tokens, and the nodes and edges of the prefix trees, each piece by itself."""
        tokens = nodes = edges = 0
        for piece in pieces:
            relation, template = _inputs(piece)
            rows = tokenise(statements_of(relation, template.text), self.model)
            tree = build_prefix_tree(rows, self.model.start_token_id)
            tokens, nodes, edges = tokens + len(rows.token_ids), nodes + tree.n_nodes, edges + tree.n_edges
        return {"tokens": tokens, "nodes": nodes, "edges": edges}


def _inputs(piece: Piece) -> tuple[Relation, Template]:
    instances = tuple(Instance(line, subject, 0) for line, subject in enumerate(piece.subjects))
    relation = Relation(piece.relation, piece.candidates, instances, (piece.template,))
    return relation, Template(0, piece.template, "paraphrase", None)


def _sample(pieces: Sequence[Piece]) -> list[Statement]:
    step = max(1, len(pieces) // 4)
    return [
        fill(piece.template, subject, candidate)
        for piece in pieces[::step][:4]
        for subject in piece.subjects[:2]
        for candidate in piece.candidates[:2]
    ]


def load(spec: ModelSpec) -> Calprobe:
    """calprobe with the model of `spec`, the heap set as the command sets it."""
    keep_freed_memory()
    if spec.folder is not None:
        dtype: Any = spec.dtype
        return Calprobe(load_model(spec.folder, LoadOptions(dtype=dtype, device=spec.device, quiet=True)))
    return Calprobe(random_model(spec, load_network(spec)))


def random_model(spec: ModelSpec, network: Any) -> LoadedModel:
    """A network that no folder holds, as `load_model` would hand it over."""
    tokenizer = load_tokenizer(spec)
    start_token_id, start_token = start_token_of(tokenizer, "causal", spec.name)
    return LoadedModel(
        name=spec.name,
        source="random weights",
        kind="causal",
        network=network,
        tokenizer=tokenizer,
        start_token_id=start_token_id,
        start_token=start_token,
        dtype=str(network.dtype).removeprefix("torch."),
        device=torch.device(spec.device),
        architecture=type(network).__name__,
        attention=str(network.config._attn_implementation),
        weights_fingerprint="random",
        tokenizer_fingerprint="",
        max_positions=network.config.max_position_embeddings,
    )
