"""The plan of a masked model: every distinct masked row once, rows of one length together, nothing padded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calprobe.planning.edges import EdgePlan
from calprobe.planning.masked_rows import MaskedRows, distinct_rows, masked_rows
from calprobe.planning.prefix_tree import Int32s, Int64s, offsets_of
from calprobe.planning.token_rows import SpecialTokens, TokenRows
from calprobe.words import PllMetric


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """One forward pass: rows of equal length, special tokens around them, each scored at one place."""

    token_ids: Int64s  # [rows, width]
    scored: Int64s  # [rows] the place that is scored; it is masked, and nothing before it is
    target_offsets: Int64s  # [rows + 1] into `targets`; every row has at least one
    targets: Int64s  # [edges of the batch] tokens to score at each of those places
    edges: slice  # where the scores of `targets` belong in the plan's scores [edges]


@dataclass(frozen=True, slots=True)
class MaskedPlan(EdgePlan):
    """What to forward and what to score. Rows lie longest first; the states are the rows, each at its scored place."""

    rows: MaskedRows  # [rows] distinct, without special tokens
    before: tuple[int, ...]  # special tokens in front of every row
    after: tuple[int, ...]  # and behind it
    mask: int

    @property
    def n_rows(self) -> int:
        """Number of rows to forward."""
        return len(self.edge_offsets) - 1

    def batch(self, index: int) -> MaskedBatch:
        """The forward pass `index`, in the shapes that a model takes."""
        begin, end = self.batch_offsets[index : index + 2]
        rows = self.rows.take(slice(begin, end))
        n_rows = len(rows.scored)
        parts = [
            np.tile(np.asarray(self.before, np.int64), (n_rows, 1)),
            rows.content(self.mask).reshape(n_rows, -1),
            np.tile(np.asarray(self.after, np.int64), (n_rows, 1)),
        ]
        target_offsets, targets, edges = self.targets_of(begin, end)
        return MaskedBatch(
            token_ids=np.concatenate(parts, axis=1),
            scored=rows.scored.astype(np.int64) + len(self.before),
            target_offsets=target_offsets,
            targets=targets,
            edges=edges,
        )


def plan_masked(rows: TokenRows, special: SpecialTokens, metric: PllMetric, batch_tokens: int) -> MaskedPlan:
    """Plan the pseudo-log-likelihoods of `rows`: each token masked in its turn and scored in place, together with

    - `original`: nothing else (Salazar et al. 2020, arXiv 1910.14659);
    - `within_word_l2r`: the later tokens of its word (Kauf & Ivanova 2023, arXiv 2305.10588);
    - `sentence_l2r`: all that follows, the special tokens behind the statement included;
    - `answer_l2r+word_l2r`: for a token of the answer, the later tokens of the answer and nothing else, also where its
      word goes on (an answer with its full stop as one word); for any other token, the later tokens of its word, also
      where they belong to the answer.

    lm-pub-quiz 0.3.3 masks the same, by the tokenizer's words. With sentence_l2r it masks the padding too, to which no
    model attends. With answer_l2r+word_l2r its answer ends at the first token of its last character, so that further
    bytes of a letter stay in sight, and begins after a token of a space alone that has no span; here both are the
    answer's, as roles have it.

    A batch holds at most `batch_tokens` places, special tokens included; only a single row that is longer by itself
    gets more. Batches depend on the set of statements only, not on their order or on duplicates among them. No
    statements, no batches; a statement without tokens has no rows.

    Raises ValueError if `batch_tokens` is not positive, a token id is negative, or the metric needs words and `rows`
    has none.
    """
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}")
    if rows.token_ids.min(initial=0) < 0:
        raise ValueError(f"token_ids must not be negative, got {int(rows.token_ids.min())}")
    of_tokens = masked_rows(rows, metric)
    representative, which = distinct_rows(of_tokens, special.mask)
    # Rows come in the order of their hashes; a stable sort by length keeps that order among rows of one length.
    by_length = np.argsort(-of_tokens.length[representative], kind="stable")
    rank = np.empty_like(by_length)
    rank[by_length] = np.arange(len(by_length))
    edges, edge_of_token = np.unique(rank[which] << 32 | rows.token_ids, return_inverse=True)
    distinct = of_tokens.take(representative[by_length])
    n_special = len(special.before) + len(special.after)
    return MaskedPlan(
        rows=distinct,
        before=special.before,
        after=(special.mask,) * len(special.after) if metric == "sentence_l2r" else special.after,
        mask=special.mask,
        batch_offsets=_cut(distinct.length + n_special, batch_tokens),
        edge_offsets=offsets_of(np.bincount(edges >> 32, minlength=len(by_length))),
        edge_tokens=(edges & 0xFFFFFFFF).astype(np.int32),
        edge_of_token=edge_of_token.astype(np.int32),
    )


def _cut(widths: Int32s, batch_tokens: int) -> Int64s:
    """Offsets [batches + 1] of batches over rows sorted longest first: as many of one width as the budget holds."""
    begins = np.flatnonzero(np.diff(widths, prepend=-1))
    ends = np.append(begins[1:], len(widths))
    buckets = zip(begins.tolist(), ends.tolist(), widths[begins].tolist(), strict=False)
    cuts = [np.arange(begin, end, max(1, batch_tokens // width)) for begin, end, width in buckets]
    return np.concatenate([*cuts, [len(widths)]]).astype(np.int64)
