"""Runs made up for tests: random token scores, their reductions summed one statement at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.probes.fingerprints import fingerprint_of_wordings
from calprobe.runs import (
    NO_ROLE,
    Manifest,
    ModelRecord,
    PieceScores,
    PieceTokens,
    RelationRecord,
    RunFolder,
    Settings,
    SourceRecord,
    TemplateRecord,
)
from calprobe.words import Role

Shape = tuple[str, int, int]  # relation, instances, candidates
SHAPES: tuple[Shape, ...] = (("P30", 4, 3), ("P1376", 3, 5), ("P36", 2, 4))


def make_manifest(shapes: Sequence[Shape] = SHAPES, numbers: Sequence[int] = (0, 1), **settings: Any) -> Manifest:
    return Manifest(
        model=ModelRecord("tiny", id="tiny", kind="causal", weights_fingerprint="aa" * 32),
        probe=SourceRecord("made-up", "bb" * 32),
        template_set=SourceRecord("native", "cc" * 32),
        templates=tuple(TemplateRecord(number, "paraphrase") for number in numbers),
        relations=tuple(RelationRecord(name, n, k, "N:1", ("Made-up",)) for name, n, k in shapes),
        settings=Settings(**{"path": "padded", "dtype": "float32", "device": "cpu", "batch_tokens": 64} | settings),
        versions={"calprobe": "0.1.0"},
        created="2026-01-01T00:00:00+00:00",
    )


def worded(
    numbers: Sequence[int] = (0, 1),
    shapes: Sequence[Shape] = SHAPES,
    own: Mapping[tuple[str, int], str] | None = None,
    **settings: Any,
) -> Manifest:
    """A manifest with wordings, and the fingerprint of these; `own` has other wordings than the usual ones."""
    manifest = make_manifest(shapes, numbers, **settings)
    texts = {(name, number): f"[X] {name} {number} [Y]." for name, *_ in shapes for number in numbers} | dict(own or {})
    relations = tuple(replace(r, texts=tuple(texts[r.name, n] for n in numbers)) for r in manifest.relations)
    wordings = {r.name: dict(zip(numbers, r.texts, strict=True)) for r in relations}
    return replace(
        manifest, relations=relations, template_set=SourceRecord("native", fingerprint_of_wordings(wordings))
    )


def make_piece(shape: Shape, template: int = 0, seed: int = 0, shortest: int = 1) -> PieceScores:
    """A piece with tokens. `shortest` 0 makes statements without any scored token."""
    name, n_instances, n_candidates = shape
    rng = np.random.default_rng([seed, template, *name.encode()])
    n_statements = n_instances * n_candidates
    answer_idx = np.random.default_rng([seed, *name.encode()]).integers(0, n_candidates, n_instances)
    lengths = rng.integers(shortest, 6, n_statements)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    logprobs = -rng.exponential(3, offsets[-1]).astype(np.float32)
    roles = rng.integers(0, len(Role), offsets[-1]).astype(np.int8)
    words = ["Ġthe", 'quo"te', "new\nline", "comma,", "\u2028", ""]
    statements = [(logprobs[a:b].astype(float), roles[a:b]) for a, b in pairwise(offsets)]
    answers = [scores[own == Role.ANSWER] for scores, own in statements]
    return PieceScores(
        relation=name,
        template=template,
        instance=np.repeat(np.arange(n_instances, dtype=np.int32), n_candidates),
        candidate=np.tile(np.arange(n_candidates, dtype=np.int32), n_instances),
        answer_idx=np.repeat(answer_idx.astype(np.int32), n_candidates),
        sum=np.array([scores.sum() for scores, _ in statements]),
        mean=np.array([mean(scores) for scores, _ in statements]),
        sum_answer=np.array([scores.sum() for scores in answers]),
        mean_answer=np.array([mean(scores) for scores in answers]),
        first=np.array([scores[0] if len(scores) else np.nan for scores, _ in statements]),
        first_role=np.array([own[0] if len(own) else NO_ROLE for _, own in statements], np.int8),
        n_tokens=lengths.astype(np.int32),
        n_answer=np.array([len(scores) for scores in answers], np.int32),
        tokens=PieceTokens([words[i] for i in rng.integers(0, len(words), offsets[-1])], roles, logprobs, offsets),
    )


def mean(scores: np.ndarray) -> float:
    return float(scores.mean()) if len(scores) else float("nan")


def without_tokens(piece: PieceScores) -> PieceScores:
    return replace(piece, tokens=None)


def write_run(
    path: Path,
    shapes: Sequence[Shape] = SHAPES,
    numbers: Sequence[int] = (0, 1),
    tokens: bool = False,
    limit: int | None = None,
) -> Path:
    """A complete run at `path`; `limit`: as if so many instances of each relation had been drawn."""
    manifest = make_manifest(shapes, numbers, save_tokens=tokens)
    folder = RunFolder.open(path, replace(manifest, limit=limit, sample_seed=None if limit is None else 0))
    for shape in shapes:
        for number in numbers:
            piece = make_piece(shape, number)
            folder.write_piece(piece if tokens else without_tokens(piece))
    return path
