"""calprobe as `calprobe score` runs it, in its groups of pieces at its default budget, without the run folder.

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

from calprobe.heap import give_back_freed_memory, keep_freed_memory
from calprobe.models import LoadedModel, LoadOptions, load_model, tokenise
from calprobe.models.tokenizers import special_tokens_of, start_token_of
from calprobe.planning import build_prefix_tree, plan_masked
from calprobe.planning.token_rows import TokenRows
from calprobe.probes import Instance, Relation
from calprobe.scoring.ahead import prepared_ahead
from calprobe.scoring.budget import auto_batch_tokens
from calprobe.scoring.groups import groups_of, least_statements
from calprobe.scoring.options import DEFAULT_METRIC, Masking, Path, ScoreOptions
from calprobe.scoring.paths import choose_path, executor_of
from calprobe.scoring.pieces import PreparedGroup, prepare_group, score_group
from calprobe.statements import Statement, Template, fill, statements_of
from peers.job import ModelSpec, Piece
from peers.models import load_network, load_tokenizer


@dataclass(frozen=True)
class Calprobe:
    """A loaded model; its path is chosen by the first statements that it sees, as a run does it."""

    model: LoadedModel
    path: Path | None = None  # None: chosen and checked

    @property
    def network(self) -> Any:
        """The model that it runs."""
        return self.model.network

    @property
    def masking(self) -> Masking:
        """What `calprobe score` masks unless told otherwise."""
        return ScoreOptions().masking(self.model.kind, self.model.name)

    def score(self, pieces: Sequence[Piece], batch_size: int | None) -> npt.NDArray[np.float64]:
        """See `scorers.Scorer`; `batch_size` is not for it, its own budget holds."""
        path = self.path or self.chosen_path(pieces)
        budget = auto_batch_tokens(self.model, path)
        executor = executor_of(path, self.model, budget, masking=self.masking)

        def prepare(group: Sequence[Piece]) -> PreparedGroup:
            return prepare_group(map(_inputs, group), self.model, executor, self.masking)

        ready = prepared_ahead(_groups(pieces, path, budget), prepare)
        return np.concatenate([piece.sum for group in ready for piece in score_group(group, self.model, executor)])

    def chosen_path(self, pieces: Sequence[Piece]) -> Path:
        """The path that a run would take."""
        rows = tokenise(_sample(pieces), self.model, self.masking.word_split)
        return choose_path(self.model, auto_batch_tokens(self.model), rows, masking=self.masking)

    def ready(self, pieces: Sequence[Piece]) -> Calprobe:
        """The same with the path chosen, which belongs to loading."""
        return replace(self, path=self.path or self.chosen_path(pieces))

    def counts(self, pieces: Sequence[Piece]) -> dict[str, int]:
        """Scored tokens, and what has to be computed for them, with nothing twice within a group of pieces.

        `forwarded` tokens go through the body, `heads` of them on through the head: of a causal model the nodes of the
        prefix tree through both, of a masked one the places of the distinct masked rows, and one place of each.
        `edges` are distinct scores.
        """
        counted = _masked_counts if self.model.kind == "masked" else _tree_counts
        total = dict.fromkeys(("tokens", "forwarded", "heads", "edges"), 0)
        path = self.path or self.chosen_path(pieces)
        for group in _groups(pieces, path, auto_batch_tokens(self.model, path)):
            texts = [statements_of(relation, template.text) for relation, template in map(_inputs, group)]
            rows = TokenRows.joined([tokenise(part, self.model) for part in texts])
            for name, count in zip(total, (len(rows.token_ids), *counted(rows, self.model)), strict=True):
                total[name] += count
        return total


def _tree_counts(rows: TokenRows, model: LoadedModel) -> tuple[int, int, int]:
    tree = build_prefix_tree(rows, model.start_token_id)
    return tree.n_nodes, tree.n_nodes, tree.n_edges


def _masked_counts(rows: TokenRows, model: LoadedModel) -> tuple[int, int, int]:
    assert model.special is not None
    plan = plan_masked(rows, model.special, DEFAULT_METRIC, auto_batch_tokens(model, "masked"))
    n_special = len(plan.before) + len(plan.after)
    return int(plan.rows.length.sum()) + plan.n_rows * n_special, plan.n_rows, plan.n_edges


def _groups(pieces: Sequence[Piece], path: str, budget: int) -> list[list[Piece]]:
    """As a run cuts its pieces into groups."""
    sizes = {(piece.relation, place): piece.n_statements for place, piece in enumerate(pieces)}
    return [[pieces[place] for _, place in group] for group in groups_of(sizes, least_statements(path, budget))]


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
    dtype: Any = spec.dtype
    if spec.folder is not None:
        model = load_model(spec.folder, LoadOptions(dtype=dtype, device=spec.device, quiet=True))
    else:
        model = random_model(spec, load_network(spec))
    give_back_freed_memory()
    return Calprobe(model)


def random_model(spec: ModelSpec, network: Any) -> LoadedModel:
    """A network that no folder holds, as `load_model` would hand it over."""
    tokenizer = load_tokenizer(spec)
    start_token_id, start_token = start_token_of(tokenizer, spec.kind, spec.name)
    return LoadedModel(
        name=spec.name,
        source="random weights",
        kind=spec.kind,
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
        special=special_tokens_of(tokenizer) if spec.kind == "masked" else None,
    )
