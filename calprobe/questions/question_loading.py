"""`load_questions`: question sets by name, by file, or from a probe."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, shown
from calprobe.probes import PROBES, load_probe
from calprobe.probes.loading import FACTOR
from calprobe.probes.probe_folder import METADATA
from calprobe.questions.columns import Surroundings
from calprobe.questions.facts import fact_pool
from calprobe.questions.hub_sets import PREFIX, hub_set, read_hub
from calprobe.questions.named_sets import NAMED_SETS, NamedSet
from calprobe.questions.options import QuestionOptions
from calprobe.questions.pools import Pool, layout_pool, own_pool, public_pool, table_pool
from calprobe.questions.question_file import is_own_format
from calprobe.questions.question_rows import SUFFIXES, Row, kind_of_file, read_rows
from calprobe.questions.stored_sets import checked_split, fetched_set, files_in, missing, split_of_name, stored_files
from calprobe.questions.table_layouts import Layout, layout_of_row
from calprobe.questions.taking import FoundSet, taken
from calprobe.questions.types import QuestionSet, SetSource
from calprobe.questions.written import origin_of

PROBE_LICENCES = {"mini": "cc0-1.0"}
_UNTAKEN = ""  # the fingerprint of a set before its questions are chosen


def load_questions(
    names: Sequence[str | os.PathLike[str]], options: QuestionOptions | None = None
) -> tuple[QuestionSet, ...]:
    """The question sets of these names, each with the questions that the options choose.

    Args:
        names: of each set a known name (`calprobe questions` lists them), a probe (mini, bear, bear-big or a folder in
            BEAR's format), a file, a data set of the hub (hf:OWNER/NAME:CONFIG:SPLIT), or NAME=PATH: a known set's
            files that are already here, or a name for a file of one's own. A known name wins over a file of that name;
            write `./mmlu` for the file.
        options: what is asked; None: all questions of each.
    Raises:
        DataMissingError: a known set or probe that is not on this machine.
        UsageError: no such set, two sets of one name, or options that a set cannot meet.
        ProbeFormatError: a file is not what it should be; names file, line and fix.

    >>> (mini,) = load_questions(["mini"], QuestionOptions(draw=2, seed=1))
    >>> mini
    <QuestionSet mini: 2 questions>
    """
    chosen = QuestionOptions() if options is None else options
    shots = _examples(chosen)
    sets = tuple(taken(_with_shots(_find(os.fspath(name), chosen), shots), chosen) for name in names)
    if not sets:
        raise UsageError("no question set; give a name or a file (`calprobe questions` lists the names)")
    for place, question_set in enumerate(sets):
        if question_set.name in [earlier.name for earlier in sets[:place]]:
            raise UsageError(
                f"two question sets are called {question_set.name!r}; give one of them another name: NAME=FILE"
            )
    return sets


def _examples(options: QuestionOptions) -> Pool | None:
    """The questions of --shots-from, a set as --questions takes it: of a set with splits, the one for examples.

    Columns that the options name need not be in it, if none of them is.
    """
    if not options.shots or options.shots_from is None:
        return None
    plain = replace(options, shots_from=None, split=None)
    try:
        found = _find(options.shots_from, plain)
    except UsageError as error:
        usual = _without_columns(options.shots_from, plain) if options.columns else None
        if usual is None:
            raise UsageError(f"--shots-from {options.shots_from}: {error}") from error
        found = usual
    is_named = hub_set(options.shots_from).split if options.shots_from.startswith(PREFIX) else None
    return found.pool if is_named or found.shots is None else found.shots


def _without_columns(name: str, options: QuestionOptions) -> FoundSet | None:
    """The set where its columns have the usual names; None where it cannot be read so."""
    try:
        return _find(name, replace(options, columns={}))
    except UsageError:
        return None


def _with_shots(found: FoundSet, shots: Pool | None) -> FoundSet:
    return found if shots is None else replace(found, shots=shots)


def _find(name: str, options: QuestionOptions) -> FoundSet:
    if name in NAMED_SETS:
        return _stored(NAMED_SETS[name], options)
    if name.startswith(PREFIX):
        return _hub("", name, options)
    path = Path(name).expanduser()
    if are_facts(name):
        return _facts(name, options)
    if path.is_file():
        return _file(_stem(path), path, options)
    set_name, equals, place = name.partition("=")
    if equals and place.startswith(PREFIX):
        return _hub(set_name.strip(), place, options)
    if equals and not path.exists():
        return _given(set_name.strip(), Path(place).expanduser(), options)
    problem = "a folder without a probe; give its files, or NAME=FOLDER" if path.is_dir() else "no file, no known set"
    names = (*NAMED_SETS, *PROBES)
    raise UsageError(
        f"no question set {name!r}: {problem}{did_you_mean(name, names) or '; known are ' + ', '.join(names)}"
    )


def are_facts(name: str) -> bool:
    """Whether that is a probe, by its name or its folder: its facts can be asked as questions."""
    return name in PROBES or (Path(name).expanduser() / METADATA).is_file()


def _facts(name: str, options: QuestionOptions) -> FoundSet:
    if name == FACTOR:
        raise UsageError(
            f"{name}: a probe of texts to complete, not of questions; score it: calprobe score --probe {name}\n"
            "probes with questions are mini, bear and bear-big; `calprobe questions` lists the other sets"
        )
    _no_split(name, options)
    probe = load_probe(name)
    path = None if probe.path is None else shown(probe.path)
    licence = PROBE_LICENCES.get(probe.name) if path is None else None
    source = SetSource(_UNTAKEN, path=path, probe=probe.fingerprint, licence=licence)
    return FoundSet(probe.name, fact_pool(probe, options), source)


def _stored(entry: NamedSet, options: QuestionOptions) -> FoundSet:
    """A known set as `calprobe fetch` stored it."""
    fetched = fetched_set(entry)
    if fetched is None:
        raise missing(entry)

    def pool_of(split: str) -> Pool:
        place = Surroundings(entry.name, split, options.seed)
        return public_pool(stored_files(entry, split, fetched), entry.layout, place, options.as_)

    split = checked_split(entry, options.split)
    shots_split = (
        entry.shots_split if options.shots and options.shots_from is None and entry.shots_split != split else None
    )
    source = SetSource(
        _UNTAKEN,
        repository=fetched.repository,
        revision=fetched.revision,
        split=split,
        shots_split=shots_split,
        licence=entry.licence,
        quotable=entry.quotable,
    )
    return FoundSet(entry.name, pool_of(split), source, pool_of(shots_split) if shots_split else None)


def _hub(name: str, address: str, options: QuestionOptions) -> FoundSet:
    """A data set of the hub: of a known layout, or by the columns that the options name."""
    hub = hub_set(address)
    if hub.split and options.split not in (None, hub.split):
        raise UsageError(f"--split {options.split}: {address} names the split {hub.split}; leave one of them out")
    there = read_hub(hub)
    name = name or hub.name
    split = there.asked(hub.split or options.split, address)
    rows = there.rows_of(split)
    if not rows:
        raise UsageError(f"{address}: split {split} has no rows; choose another")
    layout = None if options.columns else layout_of_row(rows[0].content)

    def pool_of(split: str, rows: Sequence[Row]) -> Pool:
        place = Surroundings(name, split, options.seed)
        if layout is not None:
            return layout_pool(rows, layout, place, options.as_)
        return table_pool(rows, options.columns, place, address)

    shots_split = there.shown(split) if options.shots and options.shots_from is None else None
    source = SetSource(
        _UNTAKEN,
        path=shown(str(Path(hub.id).resolve())) if Path(hub.id).is_dir() else None,
        repository=None if Path(hub.id).is_dir() else hub.id,
        revision=there.revision or hub.revision,
        config=hub.config,
        split=split,
        shots_split=shots_split,
        columns=options.columns,
        quotable=_is_quotable(layout, hub.id),
    )
    shots = pool_of(shots_split, there.rows_of(shots_split)) if shots_split else None
    return FoundSet(name, pool_of(split, rows), source, shots)


def _is_quotable(layout: Layout | None, repository: str = "") -> bool:
    """Whether texts may be shown: not of a known set that forbids it, by whatever columns it is read."""
    same = (e for e in NAMED_SETS.values() if e.layout is layout or e.repository.lower() == repository.lower())
    return all(entry.quotable for entry in same)


def _given(name: str, path: Path, options: QuestionOptions) -> FoundSet:
    """NAME=PATH: a known set's files, or a file of one's own under a name."""
    if not path.exists():
        raise UsageError(f"{name}={path}: there is no such file or folder; check the path")
    if name not in NAMED_SETS:
        if not name or name in PROBES or path.is_dir():
            raise UsageError(f"{name}={path}: a known set's name belongs there; known are {', '.join(NAMED_SETS)}")
        if meant := did_you_mean(name, NAMED_SETS):
            raise UsageError(f"no question set {name!r}{meant}")
        return _file(name, path, options)
    entry = NAMED_SETS[name]
    if path.is_dir():
        return _in_folder(entry, path, options)
    _no_split(str(path), options)
    split = split_of_name(path)
    pool = _public({path.name: path}, entry.layout, name, split, options)
    return FoundSet(name, pool, _file_source(path, split, entry))


def _in_folder(entry: NamedSet, path: Path, options: QuestionOptions) -> FoundSet:
    """A known set's files in a user's folder; examples come from the split for them, where it is there, too."""
    split = checked_split(entry, options.split)
    pool = _public(files_in(path, entry, split), entry.layout, entry.name, split, options)
    source, shots = _file_source(path, split, entry), None
    if options.shots and options.shots_from is None and entry.shots_split not in (None, split):
        with suppress(UsageError):  # it is not there
            shots_split = str(entry.shots_split)
            shots = _public(files_in(path, entry, shots_split), entry.layout, entry.name, shots_split, options)
            source = replace(source, shots_split=shots_split)
    return FoundSet(entry.name, pool, source, shots)


def _file(name: str, path: Path, options: QuestionOptions) -> FoundSet:
    """A file in calprobe's own format, or in the layout of a public set."""
    _no_split(str(path), options)
    if not kind_of_file(path):
        raise UsageError(f"{path}: not a question file; give one of {', '.join(SUFFIXES)}, .gz allowed")
    first = next(read_rows([path])).content
    layout = None if options.columns or is_own_format(first) else layout_of_row(first)
    if layout is not None:
        split = split_of_name(path)
        pool = _public({path.name: path}, layout, name, split, options)
        if name != layout.name:
            note = f"Read in the layout of {layout.name}, which its columns have; --columns says it otherwise."
            pool = replace(pool, notes=(note, *pool.notes))
        return FoundSet(name, pool, replace(_file_source(path, split, None), quotable=_is_quotable(layout)))
    if _is_reply(first):
        raise UsageError(
            f"{path}: a file of replies, not of questions; make a run of it:\n"
            f"calprobe import replies {shlex.quote(str(path))} --questions QUESTIONS.jsonl --out RUN"
        )
    if options.as_ is not None:
        raise UsageError(f"--as {options.as_}: {path} says itself of which kind its questions are; leave --as out")
    source = replace(_file_source(path, "", None), columns=options.columns, **origin_of(first, str(path)))
    return FoundSet(name, own_pool(path, options.columns, Surroundings(name, "", options.seed)), source)


def _is_reply(row: Mapping[str, Any]) -> bool:
    """Whether an object looks like a line for `calprobe import replies`."""
    return {"question", "text"} <= row.keys() and not {"answer", "options", "id"} & row.keys()


def _public(files: dict[str, Path], layout: Layout, name: str, split: str, options: QuestionOptions) -> Pool:
    return public_pool(files, layout, Surroundings(name, split, options.seed), options.as_)


def _file_source(path: Path, split: str, entry: NamedSet | None) -> SetSource:
    source = SetSource(_UNTAKEN, path=shown(str(path.resolve())), split=split or None)
    return source if entry is None else replace(source, licence=entry.licence, quotable=entry.quotable)


def _no_split(name: str, options: QuestionOptions) -> None:
    if options.split is not None:
        raise UsageError(f"--split {options.split}: {name} has no splits; leave --split out")


def _stem(path: Path) -> str:
    """A file's name without its suffixes."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    return name.removesuffix(Path(name).suffix) if kind_of_file(path) else name
