"""Probabilities of all replies of a closed set, from one pass over the tree of their tokens.

    P(reply) = sum over its forms f of P(f, then an end token)

A reply is counted only where it ends: "1" is no part of "10". Without end tokens it is counted wherever a reply begins
so: "(A)" is a part of "(A) true", too. Replies share beginnings, so 101 of them are a tree of
about as many tokens, all behind one prompt: each place sees the prompt and what is above it in the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from calprobe.arrays import Floats
from calprobe.backends.local.token_text import Ids
from calprobe.runs.replies import LabelScores

Forms = tuple[str, ...]


class _Form(NamedTuple):
    """Where a form is in the tree."""

    path: tuple[int, ...]  # its edges, from the root on
    ends: tuple[int, ...]  # edges to end tokens behind it; none: whatever follows

    def logprob(self, edges: Floats) -> Floats:
        """Of the form and an end, [rows]."""
        path: Floats = edges[:, list(self.path)].sum(1)
        ends: Floats = np.logaddexp.reduce(edges[:, list(self.ends)], axis=1) if self.ends else np.zeros(len(edges))
        return path + ends


@dataclass(frozen=True, eq=False)
class ReplyTree:
    """The tokens of all forms of all replies. Place 0 is the last token of the prompt; the others are `tokens`."""

    labels: tuple[str, ...]
    tokens: Ids  # [places - 1], parents before children
    depths: Ids  # [places], tokens behind the prompt's last one
    above: Tensor  # [places, places] bool: whether the place in the row sees that in the column: itself and its parents
    targets: Tensor  # [edges] int64: next tokens that are scored, place by place
    offsets: Tensor  # [places + 1] int64: edges of each place
    forms: tuple[tuple[_Form, ...], ...]  # [labels]

    @property
    def n_places(self) -> int:
        """Places of a pass, the prompt's last token among them."""
        return len(self.depths)

    @property
    def depth(self) -> int:
        """Tokens of the longest form."""
        return max(self.depths)

    def paths(self) -> Iterator[list[int]]:
        """The places from the root to each leaf."""
        leaves = self.above.sum(0) == 1  # seen by itself alone
        for leaf in leaves.nonzero().flatten().tolist():
            yield self.above[leaf].nonzero().flatten().tolist()

    @np.errstate(invalid="ignore")  # NaN stays NaN
    def scores(self, edges: Floats) -> list[LabelScores]:
        """The log-probability of each reply.

        Args:
            edges: log-probabilities of `targets`, [rows, edges] float64.
        """
        logprobs = np.empty((len(edges), len(self.labels)))
        for column, forms in enumerate(self.forms):
            of_forms = [form.logprob(edges) for form in forms]
            logprobs[:, column] = np.minimum(np.logaddexp.reduce(of_forms, axis=0), 0.0)
        return [_label_scores(self.labels, row) for row in logprobs]


def _label_scores(labels: tuple[str, ...], logprobs: Floats) -> LabelScores:
    """At the first position, of which ranks are not counted; the forms are known from the labels."""
    first = np.zeros(1, np.int64)
    return LabelScores(
        labels,
        (),
        positions=first,
        logprobs=logprobs[None].copy(),
        least=np.full(1, -np.inf),
        starts=first,
        ranks=np.full((1, len(labels)), -1, np.int64),
    )


def reply_tree(closed: Sequence[Forms], ids_of: Callable[[str], Ids], ends: Iterable[int]) -> ReplyTree:
    """The tree of a closed set.

    Args:
        closed: replies in their forms; the first form names the reply.
        ids_of: tokens of a form as the model would write it.
        ends: tokens that end a reply; none: replies are counted wherever one begins so.
    """
    ending = tuple(sorted(ends))
    ids = [[ids_of(form) for form in forms] for forms in closed]
    if not ending:
        ids = [_beginnings(forms) for forms in ids]
    place_of: dict[Ids, int] = {(): 0}
    for prefix in sorted({form[:end] for forms in ids for form in forms for end in range(1, len(form) + 1)}):
        place_of[prefix] = len(place_of)  # sorted: a prefix comes before what goes on from it
    prefixes = list(place_of)
    complete = {form for forms in ids for form in forms}
    children: list[list[int]] = [[] for _ in prefixes]
    for prefix in prefixes[1:]:
        children[place_of[prefix[:-1]]].append(prefix[-1])
    targets = [
        list(dict.fromkeys((*tokens, *(ending if prefix in complete else ()))))
        for prefix, tokens in zip(prefixes, children, strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([len(tokens) for tokens in targets])])
    edge = {
        (place, token): int(starts[place]) + index
        for place, tokens in enumerate(targets)
        for index, token in enumerate(tokens)
    }

    def form(tokens: Ids) -> _Form:
        path = tuple(edge[place_of[tokens[:index]], token] for index, token in enumerate(tokens))
        return _Form(path, tuple(edge[place_of[tokens], token] for token in ending))

    above = torch.eye(len(prefixes), dtype=torch.bool)
    for place, prefix in enumerate(prefixes[1:], start=1):
        above[place] |= above[place_of[prefix[:-1]]]
    return ReplyTree(
        labels=tuple(forms[0] for forms in closed),
        tokens=tuple(prefix[-1] for prefix in prefixes[1:]),
        depths=tuple(map(len, prefixes)),
        above=above,
        targets=torch.tensor([token for tokens in targets for token in tokens]),
        offsets=torch.from_numpy(starts).long(),
        forms=tuple(tuple(form(tokens) for tokens in dict.fromkeys(forms)) for forms in ids),
    )


def _beginnings(forms: Sequence[Ids]) -> list[Ids]:
    """The forms without those that begin with another one: they are counted with it."""
    return [form for form in forms if not any(form != prefix and form[: len(prefix)] == prefix for prefix in forms)]
