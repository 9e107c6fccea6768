"""The tokens that a label can be, and its probability from those of the tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calprobe.backends.local.closed import Forms, ReplyTree, reply_tree
from calprobe.backends.local.token_text import Ids as Ids
from calprobe.backends.local.token_text import TokenText
from calprobe.models.tokenizers import TOKENIZER_LOCK
from calprobe.runs.replies import LABEL_RULE, LabelScores, said_label

LOCAL_LABEL_RULE = (
    f"{LABEL_RULE}; a label without such a token: the tokens of the label and of the label behind a space, as sequences"
)
_END_OF_SEQUENCE = -1  # see `LabelScores.forms`


@dataclass(frozen=True, slots=True)
class LabelForms:
    """The token sequences that stand for each label of a question; of most labels, of one token each."""

    labels: tuple[str, ...]
    sequences: tuple[tuple[Ids, ...], ...]  # [labels][forms][tokens]
    firsts: Ids  # their distinct first tokens, ascending

    @property
    def long(self) -> tuple[Ids, ...]:
        """The sequences of two tokens or more."""
        return tuple(sequence for forms in self.sequences for sequence in forms if len(sequence) > 1)

    def stored(self) -> tuple[Ids, ...]:
        """As `LabelScores.forms` keeps them."""
        return tuple(
            tuple(i for s in forms for i in (s if len(s) == 1 else (*s, _END_OF_SEQUENCE))) for forms in self.sequences
        )

    def places(self, ids: Sequence[int]) -> list[int]:
        """Where label scores of a reply with these tokens belong: at its first token, and where a label begins."""
        sequences = [sequence for forms in self.sequences for sequence in forms]
        places = {place for place in range(len(ids)) for s in sequences if tuple(ids[place : place + len(s)]) == s}
        return sorted(places | {0})

    def scores(
        self, places: Sequence[int], firsts: Sequence[Sequence[float]], rest: Mapping[tuple[int, Ids], float]
    ) -> LabelScores:
        """The labels' log-probabilities.

        Args:
            places: positions in the reply.
            firsts: log-probability of each of `self.firsts` at each of these places.
            rest: log-probability of the tokens of a long sequence behind its first one, by place and sequence.
        """
        column = {token: place for place, token in enumerate(self.firsts)}

        def logprob(at: int, row: Sequence[float], sequence: Ids) -> float:
            return row[column[sequence[0]]] + (rest[at, sequence] if len(sequence) > 1 else 0.0)

        masses = [
            [_sum([logprob(at, row, sequence) for sequence in forms]) for forms in self.sequences]
            for at, row in zip(places, firsts, strict=True)
        ]
        return LabelScores(
            labels=self.labels,
            forms=self.stored(),
            positions=np.array(places, np.int64),
            logprobs=np.array(masses, np.float64).reshape(len(places), len(self.labels)),
            least=np.full(len(places), -np.inf),
        )


@np.errstate(invalid="ignore")
def _sum(logprobs: Iterable[float]) -> float:
    return min(float(np.logaddexp.reduce(np.array(list(logprobs), np.float64))), 0.0)  # in this order NaN stays NaN


class LabelVocabulary:
    """A vocabulary by what its tokens say; read when the first labels are asked for."""

    def __init__(self, tokens: TokenText, tokenizer: Any, n_tokens: int, ends: frozenset[int] = frozenset()) -> None:
        self._tokens, self._tokenizer, self._n_tokens, self._ends = tokens, tokenizer, n_tokens, ends
        self._ids: dict[str, list[int]] | None = None
        self._known: dict[tuple[str, ...], LabelForms] = {}
        self._trees: dict[tuple[tuple[Forms, ...], str, bool], ReplyTree] = {}

    def forms(self, labels: tuple[str, ...]) -> LabelForms:
        """The forms of each label."""
        if labels not in self._known:
            sequences = tuple(self._forms_of(label) for label in labels)
            firsts = sorted({sequence[0] for forms in sequences for sequence in forms})
            self._known[labels] = LabelForms(labels, sequences, tuple(firsts))
        return self._known[labels]

    def tree(self, closed: tuple[Forms, ...], between: str, begins: bool = False) -> ReplyTree:
        """The tree of a closed set of replies; `between` is what stands in front of a reply.

        With `begins`, of replies that begin so, whatever follows.
        """
        key = closed, between, begins
        if key not in self._trees:
            forms = {form: self._tokens.inner(between + form) for of_reply in closed for form in of_reply}
            self._trees[key] = reply_tree(closed, forms.__getitem__, () if begins else self._ends)
        return self._trees[key]

    def _forms_of(self, label: str) -> tuple[Ids, ...]:
        if self._ids is None:
            self._ids = self._by_text()
        single = self._ids.get(label, [])
        if single:
            return tuple((token,) for token in single)
        return tuple(dict.fromkeys(self._tokens.inner(text) for text in (label, f" {label}")))

    def _by_text(self) -> dict[str, list[int]]:
        """Ids of the vocabulary by what they say (`said_label`); ids that no logit belongs to left out."""
        n_known = min(self._n_tokens, len(self._tokenizer))
        with TOKENIZER_LOCK:
            texts = self._tokenizer.backend_tokenizer.decode_batch(
                [[token] for token in range(n_known)], skip_special_tokens=False
            )
        ids: dict[str, list[int]] = {}
        for token, text in enumerate(texts):
            ids.setdefault(said_label(text), []).append(token)
        return ids
