"""Tables of scores and correctness, a row an answer, as lm-polygraph and others give them: CSV, Parquet, JSON lines.

Such a table makes no run folder: it is read into plain arrays, for `calprobe.studies.rank.rank_runs` and for what
decides on answers. A table of candidates has a column with the probabilities of each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.errors import ProbeFormatError, UsageError
from calprobe.messages import columns_named
from calprobe.probes.csv_files import read_csv
from calprobe.probes.json_files import read_json_lines

_TRUTHS = dict.fromkeys(("true", "yes", "t", "y"), 1.0) | dict.fromkeys(("false", "no", "f", "n"), 0.0)
# The column of a table with a row for each answer and estimator, such as `calprobe export --what confidences` writes.
_ESTIMATOR = "estimator"
_MOST_GROUPS = 200
_MOST_SUM = 1.001  # of the probabilities of a case, as rounded numbers have it


@dataclass(frozen=True, slots=True)
class ScoredAnswers:
    """Answers with one score or several, and whether they are right."""

    scores: Mapping[str, Floats]  # by column, [answers], any numbers and infinities, no NaN
    correct: Ints  # [answers], 0 or 1
    groups: Sequence[str] | None = None  # [answers], the group of each; None: all are of one

    def by_group(self) -> dict[str, ScoredAnswers]:
        """The answers of each group, groups in the order of their first answers. Raises ValueError without groups."""
        if self.groups is None:
            raise ValueError("groups must be given, got None")
        labels = np.array(self.groups, object)
        groups = {}
        for label in dict.fromkeys(self.groups):
            rows = labels == label
            scores = {name: values[rows] for name, values in self.scores.items()}
            groups[label] = ScoredAnswers(scores, self.correct[rows])
        return groups


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """Cases with a probability of each of their candidates, laid end to end."""

    probabilities: Floats  # [candidates], in [0, 1]; those of a case sum to 1
    offsets: Ints  # [cases + 1]
    answer_idx: Ints  # [cases], place of the right one within the case's own
    groups: Sequence[str] | None = None  # [cases]; None: all are of one


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a file as it was read."""

    name: str
    values: Sequence[Any]  # [rows]
    where: Callable[[int], str]  # from a row's place to FILE:LINE


def is_table(path: str) -> bool:
    """Whether a path is that of a table, by its suffix."""
    return Path(path).suffix.lower() in _READERS


def read_scored_answers(
    path: Path,
    scores: Sequence[str],
    correct: str,
    correct_at: float | None = None,
    group: str | None = None,
    *,
    many: bool = False,
) -> ScoredAnswers:
    """Read columns of a .csv (with a header), .parquet or .jsonl file.

    Args:
        path: the file.
        scores: names of columns of numbers, at least one.
        correct: name of the column of correctness: true and false, yes and no, 1 and 0, or a quality if `correct_at` is
            given.
        correct_at: the quality from which on an answer is right.
        group: name of a column of labels that divides the answers, such as the estimator of each row.
        many: whether there may be any number of groups.
    Raises:
        UsageError: another suffix, no such column, a group of too many labels, or a table of several estimators (column
            `estimator`) that is not grouped by them.
        ProbeFormatError: the file cannot be read or is empty, or a value is missing, no number, or neither right nor
            wrong; names file, line (row, of Parquet) and what to do.
    """
    columns = _columns(path, scores, correct, group)
    return ScoredAnswers(
        {name: _floats(columns[name], _number) for name in scores},
        _floats(columns[correct], lambda value: _truth(value, correct_at)).astype(np.int64),
        None if group is None else _labels(path, columns[group], many=many),
    )


def read_scored_candidates(
    path: Path, candidates: Sequence[str], answer: str, group: str | None = None
) -> ScoredCandidates:
    """Read a table with a row for each case, and a column for each candidate that has its probability.

    Args:
        path: a .csv (with a header), .parquet or .jsonl file.
        candidates: names of the columns; an empty value is of no candidate of this row.
        answer: name of the column that names the right candidate.
        group: name of a column of labels that divides the cases; any number of them.
    Raises:
        UsageError: another suffix, no such column, or a table of several estimators (column `estimator`).
        ProbeFormatError: the file cannot be read or is empty, a value is no probability, those of a row sum to more
            than 1 or to 0, or no candidate of the row is the right one; names file, line and what to do.
    """
    columns = _columns(path, candidates, answer, group)
    candidates = list(dict.fromkeys(candidates))
    table = np.stack([_floats(columns[name], _share) for name in candidates], axis=1)
    there, sums = ~np.isnan(table), np.nansum(table, axis=1)
    where, places = columns[answer].where, np.empty(len(table), np.int64)
    for row, value in enumerate(columns[answer].values):
        options = [name for name, has in zip(candidates, there[row], strict=True) if has]
        if str(value) not in options:
            named = ", ".join(options[:12]) or "none"
            raise ProbeFormatError(f"{where(row)}: {answer} {_shown(value)} is no candidate of its row; it has {named}")
        if not 0 < sums[row] <= _MOST_SUM:
            fault = f"the probabilities of its candidates sum to {sums[row]:.4g}"
            raise ProbeFormatError(f"{where(row)}: {fault}; give those of one distribution")
        places[row] = options.index(str(value))
    return ScoredCandidates(
        (table / sums[:, None])[there],
        np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64),
        places,
        None if group is None else _labels(path, columns[group], many=True),
    )


def _columns(path: Path, numbers: Sequence[str], right: str, group: str | None) -> dict[str, _Column]:
    """The columns by name.

    Raises UsageError for another suffix, no such column, or rows of several estimators, ProbeFormatError without rows.
    """
    if path.suffix.lower() not in _READERS:
        raise UsageError(f"{path}: the suffix sets the format; give one of {', '.join(_READERS)}")
    names = list(dict.fromkeys((*numbers, right, *([] if group is None else [group]))))
    columns = {column.name: column for column in _READERS[path.suffix.lower()](path, names)}
    if not columns[right].values:
        raise ProbeFormatError(f"{path}:1: no row in the table; give one with an answer a row")
    if _ESTIMATOR not in names:
        _refuse_a_pool(path, columns.get(_ESTIMATOR))
    return columns


def _refuse_a_pool(path: Path, estimators: _Column | None) -> None:
    """Raise UsageError if rows are of several estimators, and would be taken for answers of one."""
    if estimators is None:
        return
    labels = list(dict.fromkeys(map(str, estimators.values)))
    if len(labels) > 1:
        named = ", ".join(labels[:3]) + (", .." if len(labels) > 3 else "")
        raise UsageError(
            f"{path}: its rows are of {len(labels)} estimators ({named}), an answer in a row of each\n"
            f"give a table with the rows of one; `calprobe rank` takes --group {_ESTIMATOR}"
        )


def _labels(path: Path, column: _Column, *, many: bool) -> tuple[str, ...]:
    labels = tuple(_shown(value) if value in (None, "") else str(value) for value in column.values)
    if not many and (count := len(set(labels))) > _MOST_GROUPS:
        raise UsageError(f"{path}: column {column.name} has {count:,} values; group by one of at most {_MOST_GROUPS}")
    return labels


class _ValueFault(Exception):
    """What is wrong with a value, and what to do."""


def _floats(column: _Column, convert: Callable[[object], float]) -> Floats:
    numbers = np.empty(len(column.values))
    for row, value in enumerate(column.values):
        try:
            numbers[row] = convert(value)
        except _ValueFault as fault:
            raise ProbeFormatError(f"{column.where(row)}: {column.name} {fault}") from fault
    return numbers


def _number(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # None and lists too
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        comma = isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+,[0-9]+", value.strip())
        fix = f"write {comma[0].replace(',', '.')}" if comma else "give one, or remove the line"
        raise _ValueFault(f"{_shown(value)} is no number; {fix}")
    return number


def _share(value: object) -> float:
    """A probability; NaN where there is none."""
    if value is None or value == "":
        return math.nan
    number = _number(value)
    if not 0 <= number <= 1:
        raise _ValueFault(f"{_shown(value)} lies outside 0 and 1; give probabilities")
    return number


def _truth(value: object, correct_at: float | None) -> float:
    named = value.strip().lower() if isinstance(value, str) else None
    number = float(value) if isinstance(value, bool) else _TRUTHS[named] if named in _TRUTHS else _number(value)
    if correct_at is not None:
        return float(number >= correct_at)
    if number not in (0, 1):
        raise _ValueFault(
            f"{_shown(value)} is neither right (1, true, yes) nor wrong (0, false, no); a quality is for `calprobe "
            "rank --correct-at`"
        )
    return number


def _shown(value: object) -> str:
    return "(empty)" if value is None or value == "" else f"{value!r:.40}"


def _read_csv(path: Path, names: Sequence[str]) -> list[_Column]:
    file = read_csv(path)
    names = _with_estimator(file.header, names)
    places = [_place(path, file.header, name) for name in names]
    columns = [[row[place] for row in file.rows] for place in places]
    return [
        _Column(name, values, lambda row: f"{path}:{file.lines[row]}")
        for name, values in zip(names, columns, strict=True)
    ]


def _read_jsonl(path: Path, names: Sequence[str]) -> list[_Column]:
    rows: list[list[Any]] = []
    for _, content in read_json_lines(path):
        if not rows:
            names = _with_estimator(list(content), names)
            for name in names:
                _place(path, list(content), name)
        rows.append([content.get(name) for name in names])
    columns = zip(*rows, strict=True)
    return [_Column(name, values, lambda row: f"{path}:{row + 1}") for name, values in zip(names, columns, strict=True)]


def _read_parquet(path: Path, names: Sequence[str]) -> list[_Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            names = _with_estimator(file.schema_arrow.names, names)
            for name in names:
                _place(path, file.schema_arrow.names, name)
            table = file.read(columns=list(names))
        values = {name: table[name].to_pylist() for name in names}
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError) as error:
        raise ProbeFormatError(f"{path}: cannot be read ({str(error).strip()[:100]}); check the file") from error
    return [_Column(name, values[name], lambda row: f"{path}: row {row + 1}") for name in names]


def _with_estimator(header: Sequence[str], names: Sequence[str]) -> list[str]:
    """The names, and the column of estimators if the table has one."""
    return list(dict.fromkeys((*names, *(name for name in header if name == _ESTIMATOR))))


def _place(path: Path, header: Sequence[str], name: str) -> int:
    if header.count(name) != 1:
        if not header:
            raise UsageError(f"{path}: empty, without a line of column names; give a table with a header")
        fault = "no column" if name not in header else "several columns"
        spaced = [heading for heading in header if heading.strip() == name]
        if spaced and name not in header:
            raise UsageError(f"{path}: no column {name!r}, but {spaced[0]!r}; take the blanks off its name")
        raise UsageError(f"{path}: {fault} {name!r}; its columns are {columns_named(header)}")
    return header.index(name)


_READERS: dict[str, Callable[[Path, Sequence[str]], list[_Column]]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
}
