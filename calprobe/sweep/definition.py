"""A sweep as a TOML file or a dictionary defines it: models, probes, question sets, studies, and the jobs they make.

    out = "runs/paper"

    [options]                 # of every job whose command has them
    dtype = "float32"

    [models.gpt2]
    [models."Qwen/Qwen2.5-7B-Instruct"]
    device-map = "auto"

    [probes.bear]
    templates = "paraphrases"

    [questions.mmlu]
    draw = 200

    [studies.audit]

Each model scores each probe, and answers each question set under each study. Keys are the options of `calprobe score`
and `calprobe ask`, without their dashes in front.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, reason, shown
from calprobe.runs.file_names import file_name

Command = Literal["score", "ask"]
Options = Mapping[str, Any]  # by the name of the option without dashes in front
Known = Mapping[Command, Mapping[str, bool]]  # the options that a command has, and whether they stand without a value

Fits = Callable[[Command, str, Options], bool]  # of a command, one of its options, and all options of the job

COMMANDS: tuple[Command, ...] = ("score", "ask")
# Kind of table -> the option that its name is, where it has no other.
KINDS = {"models": "model", "probes": "probe", "questions": "questions", "studies": "study"}
_OF_COMMAND: Mapping[str, tuple[Command, ...]] = {
    "models": COMMANDS,
    "probes": ("score",),
    "questions": ("ask",),
    "studies": ("ask",),
}
# What a sweep sets itself, or what makes no run.
_OWN = frozenset({"out", "quiet", "json", "dry-run", "shard", "resume", "no-resume", "help", *KINDS.values()})
_NO_STUDY = "none"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the file."""

    kind: str  # a key of KINDS
    name: str
    options: Options
    only: frozenset[str] | None = None  # of a model: the names of the tables that it takes part in; None: all

    @property
    def heading(self) -> str:
        """The table as messages name it."""
        return f"[{self.kind}.{self.name}]"

    @property
    def value(self) -> str:
        """The model, probe, question set or study; several question sets are joined by commas."""
        value = self.options[KINDS[self.kind]]
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a command with its options."""

    name: str  # unique in a sweep, and the run's place below the sweep's folder: gpt2/bear
    command: Command
    model: str
    options: Options  # of the command, all but `out`
    out: Path
    tables: tuple[str, ...]  # headings of the tables that it comes from

    @property
    def arguments(self) -> tuple[str, ...]:
        """What is typed behind `calprobe`: in one order however the file is arranged, `--out` last."""
        by_name = sorted(self.options.items(), key=lambda option: (option[0] not in KINDS.values(), option[0]))
        words = [word for name, value in by_name for word in _typed(name, value)]
        return (self.command, *words, f"--out={self.out}")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a definition asks for."""

    source: str  # as messages name it: the path of its file, or `the sweep`
    path: Path | None  # of its file
    out: Path
    jobs: tuple[Job, ...]  # in the order of the file: models first


def always(_command: Command, _name: str, _options: Options) -> bool:
    """Fits: every option means something for every job."""
    return True


def read_sweep(
    definition: str | Path | Mapping[str, Any],
    known: Known,
    out: str | Path | None = None,
    fits: Fits = always,
) -> Sweep:
    """Read what a sweep is to do.

    Args:
        definition: a TOML file, or what such a file has, as a dictionary.
        known: the options of each command, without dashes in front, and which are flags; of a flag that can be switched
            off, `no-NAME` too.
        out: the folder of all runs; None: that of the definition, else `runs/` with the name of the file.
        fits: whether an option of `[options]` has a meaning for a job; where it has none, the job goes without it.
    Raises:
        UsageError: no such file, no TOML, a table or an option that nothing knows, two jobs with one folder, no job.
    """
    path = None if isinstance(definition, Mapping) else Path(definition)
    source = "the sweep" if path is None else str(path)
    content = definition if isinstance(definition, Mapping) else _content(Path(definition))
    unknown = next((name for name in content if name not in (*KINDS, "out", "options")), None)
    if unknown is not None:
        raise UsageError(
            f"{source}: no [{unknown}]{did_you_mean(unknown, KINDS) or '; give some of ' + ', '.join(KINDS)}"
        )
    tables = {kind: tuple(_tables(source, kind, content.get(kind, {}), known)) for kind in KINDS}
    general = _checked(source, "[options]", _mapping(source, "options", content.get("options", {})), COMMANDS, known)
    folder = content.get("out", f"runs/{'sweep' if path is None else path.stem}") if out is None else str(out)
    if not isinstance(folder, str) or not folder:
        raise UsageError(f"{source}: out is the folder of all runs, a text; got {folder!r}")
    place = Path(folder).expanduser()
    _refuse_unknown_names(source, tables)
    if tables["studies"] and not tables["questions"]:
        raise UsageError(f"{source}: studies need questions; give [questions]")
    jobs = tuple(_fitting(job, general, fits) for job in _jobs(place, tables, general, known))
    if not jobs:
        raise UsageError(f"{source}: no jobs; give [models], and [probes] or [questions]")
    _refuse_same_folders(source, jobs)
    return Sweep(source, path, place, jobs)


def _content(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {reason(error)}; give the TOML file of a sweep") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from error


def _mapping(source: str, key: str, content: object) -> dict[str, Any]:
    if not isinstance(content, Mapping):
        form = "a list of names or a table for each" if key in KINDS else "a table of options"
        raise UsageError(f"{source}: {key} is {form}, got {content!r}; see `calprobe sweep --help`")
    return dict(content)


def _tables(source: str, kind: str, content: object, command_options: Known) -> Iterator[Table]:
    """The tables of a kind; a list of names stands for tables without options."""
    if isinstance(content, list | tuple):
        content = {name: {} for name in _names(source, kind, content)}
    tables = _mapping(source, kind, content)
    for name, options in tables.items():
        heading = f"[{kind}.{name}]"
        settings = dict(_mapping(source, heading, options))
        only = settings.pop("only", None) if kind == "models" else None
        if only is not None and not (isinstance(only, list | tuple) and all(isinstance(entry, str) for entry in only)):
            raise UsageError(
                f"{source}: {heading}: only is a list of names of probes, questions or studies, got {only!r}"
            )
        value = settings.pop(KINDS[kind], name)
        checked = _checked(source, heading, settings, _OF_COMMAND[kind], command_options)
        yield Table(kind, name, {KINDS[kind]: value, **checked}, None if only is None else frozenset(only))


def _names(source: str, kind: str, entries: Sequence[object]) -> list[str]:
    names = [entry for entry in entries if isinstance(entry, str)]
    if len(names) < len(entries):
        odd = next(entry for entry in entries if not isinstance(entry, str))
        raise UsageError(f"{source}: {kind} is a list of names or a table for each, got {odd!r} in the list")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{source}: {kind} names {twice} twice")
    return names


def _checked(
    source: str, heading: str, settings: Options, commands: Collection[Command], command_options: Known
) -> dict[str, Any]:
    """The options with dashes in their names; raise UsageError for one that none of the commands has so."""
    options = {name.replace("_", "-").lstrip("-"): value for name, value in settings.items()}
    takes = {name for command in commands for name in command_options[command]} - _OWN
    for name, value in options.items():
        if name in _OWN:
            raise UsageError(f"{source}: {heading}: {name} is not set here; a sweep sets it for each job")
        if name not in takes:
            names = " or ".join(f"`calprobe {command}`" for command in commands)
            raise UsageError(f"{source}: {heading}: {names} has no --{name}{did_you_mean(name, takes)}")
        is_flag = any(command_options[command].get(name, False) for command in commands)
        if is_flag and not isinstance(value, bool):
            raise UsageError(f"{source}: {heading}: {name} is true or false, got {value!r}")
        if not is_flag and (
            isinstance(value, bool) or not isinstance(value, str | int | float | list | tuple | Mapping)
        ):
            text = str(value).lower() if isinstance(value, bool) else f"{value}"
            raise UsageError(f"{source}: {heading}: {name} is a text, a number, a list or a table, got {text}")
    return options


def _refuse_unknown_names(source: str, tables: Mapping[str, tuple[Table, ...]]) -> None:
    names = {table.name for kind in KINDS if kind != "models" for table in tables[kind]}
    for model in tables["models"]:
        for name in sorted((model.only or frozenset()) - names):
            meant = did_you_mean(name, names) or f"; there are {', '.join(sorted(names))}"
            raise UsageError(f"{source}: {model.heading}: only: no table {name!r}{meant}")


def _jobs(
    out: Path, tables: Mapping[str, tuple[Table, ...]], general: Options, command_options: Known
) -> Iterator[Job]:
    for model in tables["models"]:
        for probe in tables["probes"]:
            if model.only is None or probe.name in model.only:
                yield _job(out, "score", (model, probe), general, command_options["score"])
        for questions in _chosen(model, tables, "questions", "studies"):
            # Without a study the questions are asked as `calprobe ask` asks by itself.
            for study in _chosen(model, tables, "studies", "questions") if tables["studies"] else (None,):
                combination = (model, questions) if study is None else (model, questions, study)
                yield _job(out, "ask", combination, general, command_options["ask"])


def _chosen(model: Table, tables: Mapping[str, tuple[Table, ...]], kind: str, other_kind: str) -> tuple[Table, ...]:
    """The question sets or studies that a model takes part in: those it names; all, where it names the others alone."""
    if model.only is None:
        return tables[kind]
    chosen = tuple(table for table in tables[kind] if table.name in model.only)
    return chosen or (tables[kind] if any(table.name in model.only for table in tables[other_kind]) else ())


def _job(out: Path, command: Command, tables: tuple[Table, ...], general: Options, names: Collection[str]) -> Job:
    model, *tasks = tables
    options: dict[str, Any] = {KINDS[table.kind]: table.value for table in tables}
    if options.get("study") == _NO_STUDY:
        del options["study"]
    # What is said of the model comes last: it is what the machine can do.
    for settings in (general, *(table.options for table in tasks), model.options):
        options |= {name: value for name, value in settings.items() if name in names and name not in _OWN}
    options = {name: value for name, value in options.items() if value is not False or f"no-{name}" in names}
    name = f"{_folder(model.name)}/{'-'.join(_folder(table.name) for table in tasks)}"
    return Job(name, command, model.value, options, out / name, tuple(table.heading for table in tables))


def _fitting(job: Job, general: Options, fits: Fits) -> Job:
    """The job without options that all jobs share and that mean nothing for it: a device, where a server answers."""
    idle = {
        name
        for name, value in job.options.items()
        if name in general and value == general[name] and not fits(job.command, name, job.options)
    }
    return replace(job, options={name: value for name, value in job.options.items() if name not in idle})


def _folder(name: str) -> str:
    """The name as that of a folder: of a path without its first slash, and without the home folder."""
    return file_name(shown(name).removeprefix("~").lstrip("/").replace("/", "--"))


def _refuse_same_folders(source: str, jobs: tuple[Job, ...]) -> None:
    seen: dict[str, Job] = {}
    for job in jobs:
        first = seen.setdefault(job.name.lower(), job)
        if first is not job:
            where = " and ".join(" x ".join(namesake.tables) for namesake in (first, job))
            raise UsageError(f"{source}: {where} have one folder, {job.out}; rename a table")


def _typed(name: str, value: object) -> Iterator[str]:
    """An option as it is typed; false types `--no-NAME`."""
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
    elif isinstance(value, Mapping):
        yield f"--{name}={json.dumps(value)}"
    elif isinstance(value, list | tuple):
        yield f"--{name}={','.join(map(str, value))}"
    else:
        yield f"--{name}={value}"
