"""A reply as one line of JSON: what the journal keeps, and what checksums of replies are over."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from calprobe.arrays import Floats
from calprobe.runs.alternatives import alternatives_from_json, alternatives_json
from calprobe.runs.decode import DecodeError, decode
from calprobe.runs.replies import LATER, LabelScores, Reply

_NAMES = tuple(field.name for field in fields(Reply))


@dataclass(frozen=True, slots=True)
class StoredLabelScores:
    """`LabelScores` in lists, with None for minus infinity, which JSON does not have."""

    labels: tuple[str, ...]
    forms: tuple[tuple[int, ...], ...]
    positions: tuple[int, ...]
    logprobs: tuple[tuple[float | None, ...], ...]
    least: tuple[float | None, ...]
    starts: tuple[int, ...] | None = None
    ranks: tuple[tuple[int, ...], ...] | None = None


def reply_json(reply: Reply) -> str:
    """The reply as one line of JSON; equal replies give equal lines. Raises ValueError for NaN."""
    values = {name: getattr(reply, name) for name in _NAMES}
    values["label_scores"] = None if reply.label_scores is None else stored_label_scores(reply.label_scores)
    values["alternatives"] = None if reply.alternatives is None else alternatives_json(reply.alternatives)
    for name, nothing in LATER.items():
        if values[name] == nothing:
            del values[name]
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def reply_from_json(line: str) -> Reply:
    """The reply of a line. Raises DecodeError for anything that `reply_json` does not write."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not JSON ({str(error).partition(';')[0]})") from error
    extras = [values.pop(name, None) if isinstance(values, dict) else None for name in ("label_scores", "alternatives")]
    reply = decode(Reply, values)
    scores, alternatives = extras
    if scores is not None:
        reply = replace(reply, label_scores=label_scores_of(scores))
    return reply if alternatives is None else replace(reply, alternatives=alternatives_from_json(alternatives))


def stored_label_scores(scores: LabelScores) -> dict[str, Any]:
    """The scores as a JSON object."""
    return {
        "labels": list(scores.labels),
        "forms": [list(form) for form in scores.forms],
        "positions": scores.positions.tolist(),
        "logprobs": [_finite(row) for row in scores.logprobs],
        "least": _finite(scores.least),
        "starts": None if scores.starts is None else scores.starts.tolist(),
        "ranks": None if scores.ranks is None else scores.ranks.tolist(),
    }


def label_scores_of(value: Any) -> LabelScores:
    """The scores of a JSON object. Raises DecodeError if its lists do not fit each other."""
    stored = decode(StoredLabelScores, value, "label_scores")
    n_places, n_labels = len(stored.positions), len(stored.labels)
    tables: list[Sequence[Sequence[Any]]] = [stored.logprobs, *([] if stored.ranks is None else [stored.ranks])]
    rows: list[Sequence[Any]] = [stored.least, *([] if stored.starts is None else [stored.starts]), *tables]
    fits = all(len(row) == n_places for row in rows) and all(len(row) == n_labels for table in tables for row in table)
    if not fits or len(stored.forms) not in (0, n_labels):
        raise DecodeError("label_scores: its lists have different lengths")
    return LabelScores(
        labels=stored.labels,
        forms=stored.forms,
        positions=np.array(stored.positions, np.int64),
        logprobs=_floats(stored.logprobs).reshape(n_places, n_labels),
        least=_floats(stored.least),
        starts=None if stored.starts is None else np.array(stored.starts, np.int64),
        ranks=None if stored.ranks is None else np.array(stored.ranks, np.int64).reshape(n_places, n_labels),
    )


def whole_texts(reply: Reply) -> Reply:
    """The reply as files can hold it: half of a surrogate pair, which a server may send, becomes U+FFFD.

    >>> whole_texts(Reply("k", "s", "q", "v", "answer", "a\\ud800", "stop")).text == "a\\ufffd"
    True
    """
    texts = {name: value for name in _NAMES if isinstance(value := getattr(reply, name), str)}
    broken = {name: whole(text) for name, text in texts.items() if not _is_whole(text)}
    if reply.alternatives is not None:
        reply = replace(reply, alternatives=reply.alternatives.with_texts(map(whole, reply.alternatives.texts)))
    return replace(reply, **broken) if broken else reply  # type: ignore[arg-type]  # names of texts


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair.

    >>> whole("\\ud83d!") == "\\ufffd!"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finite(row: Floats) -> list[float | None]:
    return [None if value == -np.inf else value for value in row.tolist()]


def _floats(values: Sequence[Any]) -> Floats:
    nothing: Callable[[Any], Any] = lambda value: -np.inf if value is None else value  # noqa: E731
    flat = [nothing(v) for row in values for v in (row if isinstance(row, tuple) else (row,))]
    return np.array(flat, np.float64)
