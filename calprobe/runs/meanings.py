"""What models say of the meaning of a run's answers, stored in its folder: judged pairs, and sentence embeddings.

RUN/meanings/KIND-NAME-HASH has Parquet parts, each complete or absent, that only grow; RUN/meanings/current.json says
which of them reports read. The hash is of what decides the numbers: weights, tokenizer, how texts are put together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from calprobe.arrays import Floats
from calprobe.errors import CalprobeError
from calprobe.runs import atomic
from calprobe.runs.file_names import file_name
from calprobe.runs.side_files import FORMAT, SideTable
from calprobe.words import ENTAILMENT_ALONE

FOLDER, CURRENT = "meanings", "current.json"
CLAIMS = "ccp_"  # begins the kinds of judged alternatives, and goes on with their context
# Judged answers, embeddings of answers, judged alternatives of tokens within their sentence and alone.
Kind = Literal["nli", "embed", "ccp_sentence", "ccp_token"]
Pair = tuple[str, str]  # premise and hypothesis
_FIX = "delete it and run `calprobe grade` again"
_TEXTS = ("set", "question", "premise", "hypothesis")
_RELATIONS = ("entail", "neutral", "contradict")
_PAIRS = SideTable(
    "meanings",
    pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, pa.float32()) for name in _RELATIONS)]),
    _FIX,
)
_POINTS = SideTable("meanings", pa.schema([("text", pa.string()), ("embedding", pa.list_(pa.float32()))]), _FIX)


@dataclass(frozen=True, slots=True)
class Source:
    """The model that says it, and how texts are put to it."""

    kind: Kind
    model: str  # as it was named, ~ for the home folder
    fingerprint: str  # SHA-256 (hex) of weights and tokenizer
    form: str = ""  # how a text is put together, in words

    @property
    def folder(self) -> str:
        """The name of its folder."""
        decides = f"{self.kind}\n{self.fingerprint}\n{self.form}\n{FORMAT}"
        return file_name(
            f"{self.kind}-{Path(self.model).name or 'model'}-{hashlib.sha256(decides.encode()).hexdigest()[:12]}"
        )

    @property
    def contradicts(self) -> bool:
        """Whether it tells contradictions from what is neither."""
        return not self.form.endswith(ENTAILMENT_ALONE)

    def describe(self) -> str:
        """For disclosures."""
        return f"{self.model} ({self.fingerprint[:12]})" + (f", {self.form}" if self.form else "")


@dataclass(frozen=True)
class StoredPairs:
    """Judged pairs of a run's answers, by question."""

    table: pa.Table

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def _columns(self) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for name in _TEXTS:
            column = self.table[name].combine_chunks()
            encoded = column.dictionary_encode() if not pa.types.is_dictionary(column.type) else column
            encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
            places = {text: place for place, text in enumerate(encoded.dictionary.to_pylist())}
            columns[name] = np.asarray(encoded.indices), places
        numbers = [np.asarray(self.table[name].combine_chunks(), np.float64) for name in _RELATIONS]
        columns["said"] = np.stack(numbers, axis=1) if len(self) else np.zeros((0, 3))
        return columns

    @cached_property
    def _rows(self) -> dict[tuple[int, int], Any]:
        """The rows of each question, by the places of set and question."""
        sets, questions = self._columns["set"][0].astype(np.int64), self._columns["question"][0].astype(np.int64)
        keys = sets * (int(questions.max(initial=0)) + 1) + questions
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        groups = np.split(order, starts[1:]) if len(order) else []
        return {(int(sets[group[0]]), int(questions[group[0]])): group for group in groups}

    def known(self, set_name: str, question: str) -> dict[tuple[int, int], int]:
        """The row of each judged pair of a question, by the places of premise and hypothesis."""
        columns = self._columns
        place = columns["set"][1].get(set_name, -1), columns["question"][1].get(question, -1)
        rows = self._rows.get(place, np.zeros(0, np.int64))
        premises, hypotheses = columns["premise"][0][rows], columns["hypothesis"][0][rows]
        return dict(zip(zip(premises.tolist(), hypotheses.tolist(), strict=True), rows.tolist(), strict=True))

    def judged(self, set_name: str, question: str, pairs: Sequence[Pair]) -> Floats:
        """Probabilities of entailment, neutral, contradiction of pairs, [pairs, 3]; NaN where one was not judged."""
        rows_by_pair, columns = self.known(set_name, question), self._columns
        names = columns["premise"][1], columns["hypothesis"][1]
        places = [rows_by_pair.get((names[0].get(a, -1), names[1].get(b, -1)), -1) for a, b in pairs]
        probabilities = np.full((len(pairs), 3), np.nan)
        rows = np.array(places, np.int64)
        probabilities[rows >= 0] = columns["said"][rows[rows >= 0]]
        return probabilities


@dataclass(frozen=True)
class StoredMeanings:
    """Judged pairs and embeddings of a run; either may be missing."""

    pairs: StoredPairs | None = None
    points: Mapping[str, Floats] = field(default_factory=dict)  # by text
    claims: Mapping[str, StoredPairs] = field(default_factory=dict)  # of tokens: by context, sentence or token
    sources: tuple[Source, ...] = ()

    @property
    def has_relations(self) -> bool:
        """Whether a model has judged pairs of answers."""
        return self.pairs is not None

    @property
    def has_contradictions(self) -> bool:
        """Whether it has said which pairs contradict each other."""
        return self.has_relations and all(source.contradicts for source in self.sources if source.kind == "nli")

    @property
    def has_embeddings(self) -> bool:
        """Whether answers have embeddings."""
        return bool(self.points)

    def relations(self, set_name: str, question: str, texts: Sequence[str]) -> Floats | None:
        """Of each two texts, [texts, texts, 3], equal ones entailing each other; None where a pair was not judged."""
        if self.pairs is None:
            return None
        relations = np.zeros((len(texts), len(texts), 3))
        places = [(i, j) for i in range(len(texts)) for j in range(len(texts)) if i != j]
        probabilities = self.pairs.judged(set_name, question, [(texts[i], texts[j]) for i, j in places])
        if np.isnan(probabilities).any():
            return None
        for (i, j), values in zip(places, probabilities, strict=True):
            relations[i, j] = values
        relations[np.arange(len(texts)), np.arange(len(texts)), 0] = 1
        return relations

    def has_claims(self, context: str) -> bool:
        """Whether a model has judged what alternatives of tokens say in that context."""
        return context in self.claims

    def claimed(self, set_name: str, question: str, pairs: Sequence[Pair], context: str) -> Floats | None:
        """Probabilities of entailment, neutral, contradiction, [pairs, 3]; None where a pair was not judged."""
        if context not in self.claims:
            return None
        probabilities = self.claims[context].judged(*place_of_claim(set_name, question, context), pairs)
        return None if np.isnan(probabilities).any() else probabilities

    def embeddings(self, texts: Sequence[str]) -> Floats | None:
        """Of each text, [texts, dimensions]; None where one has none."""
        if not texts or not all(text in self.points for text in texts):
            return None
        return np.array([self.points[text] for text in texts])


def read_meanings(run: Path) -> StoredMeanings | None:
    """What reports read of a run folder; None where no model was asked.

    Raises CalprobeError for a file that is damaged or of a later version.
    """
    sources = current_sources(run)
    if not sources:
        return None
    by_kind = {source.kind: source for source in sources}
    nli, embed = by_kind.get("nli"), by_kind.get("embed")
    pairs = None if nli is None else read_pairs(run, nli)
    points = {} if embed is None else read_points(run, embed)
    claims = {
        name.removeprefix(CLAIMS): read_pairs(run, source)
        for name, source in by_kind.items()
        if name.startswith(CLAIMS)
    }
    return StoredMeanings(pairs, points, claims, sources)


def place_of_claim(set_name: str, question: str, context: str) -> tuple[str, str]:
    """The set and question below which a pair is stored: tokens alone say the same in every question."""
    return ("", "") if context == "token" else (set_name, question)


def read_pairs(run: Path, source: Source) -> StoredPairs:
    """The pairs that a source has judged already. Raises as `read_meanings`."""
    return StoredPairs(_table(run, source))


def read_points(run: Path, source: Source) -> dict[str, Floats]:
    """The embeddings that a source has given already. Raises as `read_meanings`."""
    table = _table(run, source)
    texts, points = table["text"].to_pylist(), table["embedding"].to_pylist()
    return {text: np.array(point, np.float64) for text, point in zip(texts, points, strict=True)}


def write_pairs(run: Path, source: Source, places: Sequence[Pair], pairs: Sequence[Pair], said: Floats) -> None:
    """Write a part: the set and question of each pair, the pair, and its probabilities [pairs, 3].

    Raises CalprobeError if it cannot be written.
    """
    texts = [*zip(*places, strict=True), *zip(*pairs, strict=True)]
    columns = [pa.array(column, pa.string()) for column in texts]
    columns += [pa.array(said[:, place], pa.float32()) for place in range(3)]
    _write(run, source, pa.Table.from_arrays(columns, schema=_PAIRS.schema))


def write_points(run: Path, source: Source, texts: Sequence[str], points: Floats) -> None:
    """Write a part: texts with their embeddings [texts, dimensions]. Raises as `write_pairs`."""
    columns = [pa.array(texts, pa.string()), pa.array(list(points.astype(np.float32)), pa.list_(pa.float32()))]
    _write(run, source, pa.Table.from_arrays(columns, schema=_POINTS.schema))


def make_current(run: Path, sources: Iterable[Source]) -> None:
    """Let reports read these, one of each kind; those of other kinds stay."""
    chosen = {source.kind: source for source in (*current_sources(run), *sources)}
    content = {"format": FORMAT, "sources": [_json(source) for source in chosen.values()]}
    (run / FOLDER).mkdir(exist_ok=True)  # of sources that have judged nothing there are no parts
    atomic.write_text(run / FOLDER / CURRENT, json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def current_sources(run: Path) -> tuple[Source, ...]:
    """The sources that reports read. Raises as `read_meanings`."""
    path = run / FOLDER / CURRENT
    if not path.is_file():
        return ()
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"of another format than {FORMAT}")
        return tuple(Source(**source) for source in content["sources"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CalprobeError(f"{path}: cannot be read: {str(error)[:100]}; {_FIX}") from error


def keep_meanings(sources: Iterable[Path], folder: Path) -> None:
    """Take what several run folders have along into another. Raises CalprobeError as `read_meanings`, `write_pairs`."""
    for run in sources:
        for source in current_sources(run):
            for path in _parts(run, source):
                _write(folder, source, _file(source).read(path, _as_it_is))
            make_current(folder, [source])


def _json(source: Source) -> dict[str, str]:
    return {name: getattr(source, name) for name in ("kind", "model", "fingerprint", "form")}


def _parts(run: Path, source: Source) -> list[Path]:
    return sorted((run / FOLDER / source.folder).glob("part-*.parquet"))


def _file(source: Source) -> SideTable:
    return _POINTS if source.kind == "embed" else _PAIRS


def _table(run: Path, source: Source) -> pa.Table:
    file = _file(source)
    tables = [file.read(path, _as_it_is) for path in _parts(run, source)]
    return pa.concat_tables(tables) if tables else file.schema.empty_table()


def _as_it_is(table: pa.Table, _told: Mapping[str, Any]) -> pa.Table:
    return table


def _write(run: Path, source: Source, table: pa.Table) -> None:
    number = 1 + max((int(path.stem.removeprefix("part-")) for path in _parts(run, source)), default=-1)
    _file(source).write(run / FOLDER / source.folder / f"part-{number:06}.parquet", table, _json(source))
