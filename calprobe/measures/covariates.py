"""A covariate: a column of a user's file with a value for each fact or question, and the groups that values make."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Mask, check_vector
from calprobe.errors import DataMissingError, ProbeFormatError, UsageError
from calprobe.messages import columns_named, counted, no_such
from calprobe.questions.question_rows import SUFFIXES, kind_of_file, read_rows

log = logging.getLogger(__name__)

# What a row is of, by the columns that say it: the first of these that a file has.
KEYS = (("relation", "instance"), ("relation", "subject"), ("set", "question"), ("question",), ("subject",))
OF_FACTS = ("relation", "instance")
OF_REPLIES = (("set", "question"), ("question",))
ANYBODYS = ("subject",)  # a list of entities is larger than a probe: rows that a run lacks are no mistake
IDS = frozenset(name for key in KEYS for name in key)
GROUPS = 4
MOST_CATEGORIES = 100
FEW = 3  # unknown ids that an error names
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)  # a covariate is equal to itself alone
class Covariate:
    """One value for each fact or question, as far as the file has it."""

    name: str  # of the column
    file: str  # the last part of its path
    key: Key  # the columns that say what a row is of
    values: Mapping[Key, float | str] = field(repr=False)  # by the cells of `key`
    numeric: bool  # every value is a finite number
    groups: int = GROUPS  # of equal size that numbers are cut into

    def of(self, ids: Sequence[Key], where: str, *, complete: bool) -> tuple[float | str | None, ...]:
        """The value of each id, None where the file has none. Logged is how many rows a run that is not complete lacks.

        Args:
            ids: the cells of `key`, as text.
            where: the run, for the error.
            complete: whether the run has all that was asked; then a row of an unknown id is a mistake.
        Raises:
            UsageError: rows of ids that a complete run does not have; no id that a run has.
        """
        run_ids, total = set(ids), len(self.values)
        unknown = [key for key in self.values if key not in run_ids]
        if len(unknown) == total or (unknown and complete and self.key != ANYBODYS):
            where_instances = "show --json` has them, instances counted from 0"
            where_ids = "export --what confidences` has them" if self.key in OF_REPLIES else where_instances
            few = ", ".join("/".join(key) for key in unknown[:FEW]) + (", .." if len(unknown) > FEW else "")
            raise UsageError(
                f"{self.file}: {where} has no {'/'.join(self.key)} {few} ({counted(len(unknown), 'unknown row')} of "
                f"{total:,})\ngive ids as `calprobe {where_ids}"
            )
        if unknown and self.key != ANYBODYS:
            rows, ids_lacking = f"{counted(len(unknown), 'row')} of {total:,}", "/".join(self.key)
            log.warning("%s: %s ignored; %s does not have their %s", self.file, rows, where, ids_lacking)
        return tuple(self.values.get(key) for key in ids)


# The group that each question of an asked run has in its set (a subject, a relation), which each run says by itself.
QUESTION_GROUP = Covariate("group", "the questions", ("set", "question"), {}, numeric=False)
QUESTION_KIND = Covariate("kind", "the questions", ("set", "question"), {}, numeric=False)  # choice, number, open

TREE = Covariate("tree", "the questions", ("set", "question"), {}, numeric=False)  # the leaf of a tree, see `SliceTree`


@dataclass(frozen=True, slots=True, eq=False)  # equal to itself alone
class SliceTree:
    """Slices that a tree finds (`slice_trees`); `columns` of a file are known of units beside what a run knows."""

    columns: tuple[Covariate, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """The instances whose values are alike: one category, or numbers of one range."""

    name: str
    kept: Mask  # [instances]
    low: float | None = None  # the least and the largest number in it; None of categories
    high: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the largest number in it; None of categories."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def read_covariate(named: str, groups: int = GROUPS) -> Covariate:
    """The column of a file that `FILE` or `FILE:COLUMN` names. CSV, TSV, JSON lines, JSON and Parquet files are read.

    A row says what it is of by its columns relation and instance (line number from 0), relation and subject, subject,
    set and question, or question. Every other column is a covariate. Empty cells, null and NaN are no values.

    Raises:
        DataMissingError: there is no such file.
        UsageError: no such column, or several and none named; more than 100 categories.
        ProbeFormatError: the file cannot be read, has no column that says what its rows are of, or two values for one.
    """
    path, column = _split(named)
    kind = kind_of_file(path)
    if not kind:
        raise ProbeFormatError(f"{path}: not a table; give one of {', '.join(SUFFIXES)}, .gz allowed")
    rows = [(row.where, row.content) for row in read_rows([path])]
    columns = list(dict.fromkeys(name for _, content in rows for name in content))
    key = next((key for key in KEYS if set(key) <= set(columns)), None)
    if key is None:
        raise ProbeFormatError(
            f"{path}: no column says what its rows are of; give relation and instance, relation and subject, subject, "
            f"or question (it has {columns_named(columns)})"
        )
    # A column of ids that says nothing of the rows has values: MMLU's subject beside question.
    name = _column(path, column, [heading for heading in columns if heading not in (key if column else IDS)])
    values = _values(rows, key, name)
    numbers = [_number(value) for value in values.values()]
    numeric = bool(numbers) and None not in numbers
    if numeric:
        cells: dict[Key, float | str] = {
            row_key: number for row_key, number in zip(values, numbers, strict=True) if number is not None
        }
    else:
        cells = {row_key: str(value) for row_key, value in values.items()}
        if (many := len(set(cells.values()))) > MOST_CATEGORIES:
            raise UsageError(
                f"{path}: column {name!r} has {many:,} different texts; categories are {MOST_CATEGORIES} at most, and "
                "numbers are cut into groups if all of them are numbers"
            )
    if not cells:
        raise UsageError(f"{path}: column {name!r} has no values; name another one with {path}:COLUMN")
    return Covariate(name, path.name, key, cells, numeric, groups)


def columns_of(named: str) -> tuple[Covariate, ...]:
    """Every column of a file, but for those that say what a row is of. Raises as `read_covariate`."""
    if not Path(named).is_file():
        raise DataMissingError(f"{named}: no such file; check the path")
    columns = list(dict.fromkeys(name for row in read_rows([Path(named)]) for name in row.content))
    if not (chosen := [name for name in columns if name not in IDS]):
        raise UsageError(f"{named}: it has no further column")
    return tuple(read_covariate(f"{named}:{name}") for name in chosen)


def is_covariate(named: str) -> bool:
    """Whether `--by` names a file: by its suffix, with or without a column behind it.

    >>> is_covariate("domain"), is_covariate("popularity.csv"), is_covariate("facts.parquet:count")
    (False, True, True)
    """
    return any(kind_of_file(Path(text)) for text in (named, named.rpartition(":")[0]))


def quantile_groups(values: npt.ArrayLike, groups: int = GROUPS) -> tuple[Group, ...]:
    """Numbers in groups of about equal size, ascending; equal numbers are in one group.

    Edges are the quantiles k / groups (NumPy's `linear`); a number on an edge belongs to the group below, as in bins of
    confidences. Where there are no more different numbers than groups, each is a group. Groups that ties leave empty
    are left out. `pandas.qcut` does the same, except where the least number is an edge itself: it then joins the first
    two groups.

    Args:
        values: [instances], NaN where there is none.
        groups: 1 or more.
    Raises:
        ValueError: not one-dimensional, an infinite number, or no groups.

    >>> [(group.name, int(group.kept.sum())) for group in quantile_groups([1, 1, 1, 2, 5, 9, float("nan")], 2)]
    [('1', 3), ('2 to 9', 3)]
    """
    numbers = check_vector("values", values)
    if groups < 1 or np.isinf(numbers).any():
        raise ValueError(f"values must be finite or NaN and groups 1 or more; got {groups} groups")
    present = ~np.isnan(numbers)
    different = np.unique(numbers[present])
    few = len(different) <= groups
    edges = different[:-1] if few else np.quantile(numbers[present], np.arange(1, groups) / groups)
    # NaN sorts behind all edges, and is in no group.
    place = np.where(present, np.searchsorted(edges, numbers, side="left"), -1)
    masks = [place == bin_place for bin_place in np.unique(place[present])]
    ends = [(float(numbers[mask].min()), float(numbers[mask].max())) for mask in masks]
    names = _range_names(ends)
    return tuple(Group(name, mask, low, high) for name, mask, (low, high) in zip(names, masks, ends, strict=True))


def groups_of(covariate: Covariate, values: Sequence[float | str | None]) -> tuple[Group, ...]:
    """The groups of these values, and last of all the instances that have none: [instances] masks.

    Categories are in natural order. Each group has a name of its own.
    """
    lacking = np.array([value is None for value in values], np.bool_)
    if covariate.numeric:
        groups = quantile_groups(as_numbers(values), covariate.groups)
    else:
        texts = np.array(["" if value is None else str(value) for value in values], object)
        names = sorted(set(texts[~lacking].tolist()), key=natural_order)
        groups = tuple(Group(name, (texts == name) & ~lacking) for name in names)
    if not lacking.any():
        return groups
    name, taken = f"no {covariate.name}", {group.name for group in groups}
    while name in taken:  # a category of that name
        name = f"({name})"
    return (*groups, Group(name, lacking))


def as_numbers(values: Iterable[float | str | None]) -> Floats:
    """Numeric values as an array [instances], NaN where there is none."""
    return np.array([math.nan if value is None else float(value) for value in values], np.float64)


def _split(named: str) -> tuple[Path, str | None]:
    """The file and the column; a file whose own name has a colon is found too."""
    if Path(named).is_file():
        return Path(named), None
    file, colon, column = named.rpartition(":")
    if colon and kind_of_file(Path(file)):
        if not Path(file).is_file():
            raise DataMissingError(f"{file}: no such file; check the path")
        return Path(file), column
    raise DataMissingError(f"{named}: no such file; check the path, or give FILE:COLUMN")


def _column(path: Path, column: str | None, columns: Sequence[str]) -> str:
    if column is not None:
        if column not in columns:
            raise UsageError(f"{path}: {no_such(column, columns, 'among its columns')}")
        return column
    if len(columns) != 1:
        advice = (
            f"name one of its columns, {path}:COLUMN ({columns_named(columns)})"
            if columns
            else "it has no further column"
        )
        raise UsageError(f"{path}: {advice}")
    return columns[0]


def _values(rows: Iterable[tuple[str, Mapping[str, Any]]], key: Key, name: str) -> dict[Key, Any]:
    """The cells of the column by what they are of, without the empty ones."""
    values: dict[Key, Any] = {}
    for where, content in rows:
        cells = [content.get(key_column) for key_column in key]
        if any(cell is None or cell == "" for cell in cells):
            raise ProbeFormatError(f"{where}: {' or '.join(key)} is empty; fill it in or delete the row")
        value = content.get(name)
        value = value.strip() if isinstance(value, str) else value
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            continue
        row_key = tuple(map(_id_text, cells))
        if row_key in values and values[row_key] != value:
            raise ProbeFormatError(
                f"{where}: {'/'.join(row_key)} is there twice, with another {name}; keep one of them"
            )
        values[row_key] = value
    return values


def _id_text(cell: object) -> str:
    """An id as text; a table of numbers may have line numbers as 3.0."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _number(value: object) -> float | None:
    """The value as a finite number, None if it is none. True and false are categories."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str) and not re.fullmatch(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?", value, re.I):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of JSON can be larger than any float
        return None
    return number if math.isfinite(number) else None


def _range_names(ends: Sequence[tuple[float, float]]) -> list[str]:
    """Each range as text: 3 to 17. With as many digits as they need to be different."""
    spelled: tuple[Callable[[float], str], ...] = (
        *((lambda number: f"{number:,.0f}",) if all(end.is_integer() for pair in ends for end in pair) else ()),
        lambda number: f"{number:.3g}",
        lambda number: f"{number:.6g}",
        repr,
    )
    names: list[str] = []
    for spell in spelled:
        names = [spell(low) if low == high else f"{spell(low)} to {spell(high)}" for low, high in ends]
        texts = [spell(end) for low, high in ends for end in dict.fromkeys((low, high))]
        if len(set(texts)) == len(texts):
            break
    return names


def relation_groups(groups: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The relations of each group, for the groups of each relation: a relation of two groups is in both.

    Groups and relations are in natural order.

    >>> relation_groups({"P36": ["Geographic", "Political"], "P9": ["Political"]})
    {'Geographic': ('P36',), 'Political': ('P9', 'P36')}
    """
    members: dict[str, set[str]] = {}
    for relation, names in groups.items():
        for group in names:
            members.setdefault(group, set()).add(relation)
    return {group: tuple(sorted(members[group], key=natural_order)) for group in sorted(members, key=natural_order)}


def natural_order(name: str) -> tuple[tuple[str, int], ...]:
    """A key that sorts numbers within names by their size.

    >>> sorted(["P36", "P9", "P1376"], key=natural_order)
    ['P9', 'P36', 'P1376']
    """
    pieces = re.split(r"([0-9]+)", name)  # text and number in turn, text first and last
    return tuple(zip(pieces[::2], (int(number) for number in [*pieces[1::2], "0"]), strict=True))
