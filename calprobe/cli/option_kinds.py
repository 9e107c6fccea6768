"""What an option declares of itself, once: the kinds of run, backend or table it holds for, and its group in the help.

The refusal of an option that does not hold, the groups of `--help` and docs/reference/cli.md follow from this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from calprobe.messages import no_such
from calprobe.words import BackendName, CurveKind

if TYPE_CHECKING:
    from calprobe.cells.opening import AnyRun

Command = TypeVar("Command", bound=Callable[..., Any])

UNGROUPED = 15  # options that a help shows without groups, at most


class Group(StrEnum):
    """The headings of the help, in their order."""

    MODEL = "Model"
    SCORED = "What is scored"
    QUESTIONS = "Questions"
    PROMPTS = "Prompts"
    COLLECTED = "What is collected"
    SAMPLING = "Sampling"
    GRADING = "Grading"
    JUDGE = "Judge"
    MEANINGS = "Meanings of answers"
    SERVER = "Server"
    VLLM = "vLLM"
    LOADING = "Loading"
    COMPUTING = "How scores are computed"
    WHAT = "What is shown"
    WHICH = "Which scores and answers count"
    SURE = "How sure it is"
    LOOKS = "How it looks"
    JOBS = "Jobs"
    TRACKING = "Log of the runs"
    RAY = "Ray"
    SLURM = "Slurm"
    RUN = "The run"
    OTHER = "Other"


@dataclass(frozen=True, slots=True)
class Kinds:
    """What a command has one kind of: runs, a backend, a table to export. An option that names none holds for all."""

    names: Mapping[str, str]  # kind -> as refusals name it
    lead: str = ""  # stands before the names
    marks: Mapping[str, str] | None = None  # kind -> how the help of an option begins that is for it alone

    def of(self, option: click.Parameter) -> tuple[str, ...]:
        """The kinds that the option holds for."""
        declared = option.kinds if isinstance(option, KindOption) else frozenset()
        return tuple(kind for kind in self.names if kind in declared) or tuple(self.names)

    def refuse(self, context: click.Context, kind: str, because: str, *, needed: Collection[str] = ()) -> None:
        """Raise click.UsageError for an option on the command line that does not hold for the kind.

        Args:
            kind: a key of `names`.
            because: what there is instead, and what to do.
            needed: parameters that something else on the command line reads.
        """
        for option in context.command.params:
            if kind in self.of(option) or option.name is None or option.name in needed:
                continue
            if context.get_parameter_source(option.name) == click.core.ParameterSource.COMMANDLINE:
                name = getattr(option, "typed_as", option.opts[0])
                raise click.UsageError(f"{name} applies to {self._listed(option)}, and {because}", context)

    def mark(self, option: click.Parameter) -> str:
        """How the option's help begins: with what it is for, if that is one kind of several."""
        marks = self.marks or {}
        marked = [marks[kind] for kind in self.of(option) if kind in marks]
        return f"{marked[0]}: " if len(marked) == 1 else ""

    def _listed(self, option: click.Parameter) -> str:
        *first, last = (self.names[kind] for kind in self.of(option))
        return f"{self.lead}{', '.join(first)} or {last}" if first else f"{self.lead}{last}"


_MARKS = {"scored": "Scored runs", "asked": "Asked runs"}
_RUNS = {"scored": "runs of scores", "asked": "runs of replies"}
RUNS = Kinds(_RUNS, marks=_MARKS)
REPORTED_RUNS = Kinds({**_RUNS, "mixed": "runs of both kinds"}, marks=_MARKS)
COMPARED_RUNS = Kinds({**_RUNS, "facts": "runs of scores with runs of replies"}, marks=_MARKS)
BACKENDS = Kinds({name: name for name in get_args(BackendName)}, "--backend ")
JUDGES = Kinds({**BACKENDS.names, "none": "none"}, "--judge-backend ")
SWEEP_PLACES = Kinds({name: name for name in ("local", "ray", "slurm")}, "--on ")
CURVES = Kinds({name: name for name in get_args(CurveKind)}, "--kind ")
TABLES = Kinds(
    {
        name: name
        for name in (
            *("candidates", "tokens", "confidences", "lm-pub-quiz"),
            *("replies", "labels", "alternatives", "readings", "hub-card", "hub-dataset"),
        )
    },
    "--what ",
)
OF_CONFIDENCES = ("confidences", "hub-card", "hub-dataset")  # tables that have confidences


class KindOption(click.Option):
    """An option that says what it is for.

    Args:
        kinds: that it holds for, of any `Kinds`; of one of which it names none, it holds for all.
        group: of the help; only commands of many options show it. None: that of the `heading` above it.
        setting_of: the option `--NAME KEY=VALUE` that sets it; its own name is then an alias, which no help shows.
    """

    def __init__(
        self,
        *arguments: Any,
        kinds: Collection[str] = (),
        group: Group | None = None,
        setting_of: str | None = None,
        **attributes: Any,
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.hidden = setting_of is not None
        self.kinds = frozenset(kinds)
        self.group = group
        self.setting_of = setting_of

    @property
    def key(self) -> str:
        """The KEY of a setting."""
        return self.opts[0].removeprefix("--")

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """The option in an error; a setting as it is typed in the option that sets it."""
        return super().get_error_hint(ctx) if self.setting_of is None else f"'{self.typed_as}'"

    @property
    def typed_as(self) -> str:
        """How the option is typed, without its value."""
        return self.opts[0] if self.setting_of is None else f"{self.setting_of} {self.key}"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its explanation; a setting as it is typed in the option that sets it."""
        if self.setting_of is None:
            record = super().get_help_record(ctx)
        else:
            record = (self.typed_as + (f"={self.metavar}" if self.metavar else ""), self.help or "")
        marks = getattr(ctx.command, "kinds", ())
        mark = "".join(kinds.mark(self) for kinds in marks)
        return (record[0], f"{mark}{record[1][:1].lower()}{record[1][1:]}") if record and mark else record


option = partial(click.option, cls=KindOption)


def heading(group: Group) -> Callable[[Command], Command]:
    """Above options of a command: these stand in the group, unless they name another themselves."""

    def decorate(command: Command) -> Command:
        for declared in getattr(command, "__click_params__", ()):
            if isinstance(declared, KindOption) and declared.group is None:
                declared.group = group
        return command

    return decorate


class KindCommand(click.Command):
    """A command with its options in groups, of which some hold for some `kinds` alone."""

    def __init__(self, *arguments: Any, kinds: Sequence[Kinds] = (), **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.kinds = tuple(kinds)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by group where they are many."""
        if sum(isinstance(param, click.Option) and not param.hidden for param in self.params) <= UNGROUPED:
            super().format_options(ctx, formatter)
            return
        rows: dict[Group, list[tuple[str, str]]] = {group: [] for group in Group}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                rows[getattr(parameter, "group", None) or Group.OTHER].append(record)
        for group, records in rows.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, settings as the options that they set."""
        words = args if ctx.resilient_parsing else list(self.spelled_out(ctx, args))  # as typed, to complete them
        return super().parse_args(ctx, words)

    def spelled_out(self, context: click.Context, arguments: Sequence[str]) -> Iterator[str]:
        """The arguments with `--KEY=VALUE` in place of each setting `--NAME KEY=VALUE`.

        Raises click.UsageError for a setting that there is not, and for one without its value.
        """
        settings = [param for param in self.params if isinstance(param, KindOption) and param.setting_of]
        names = {setting.setting_of for setting in settings}
        words = iter(arguments)
        for word in words:
            name, equals, text = word.partition("=")
            if name in names:
                by_key = {setting.key: setting for setting in settings if setting.setting_of == name}
                yield from _typed(context, name, text if equals else next(words, ""), by_key)
            else:
                yield word
            if word == "--":
                yield from words


def _typed(context: click.Context, name: str, text: str, options: Mapping[str, KindOption]) -> Iterator[str]:
    """The option that a setting stands for; nothing for a flag that is off."""
    key, equals, value = text.partition("=")
    if key not in options:
        raise click.UsageError(f"{name} {text}: {no_such(key, list(options))}", context)
    if not options[key].is_flag:
        if not equals:
            raise click.UsageError(f"{name} {key}: give its value, {key}=VALUE", context)
        yield f"--{key}={value}"
    elif value in ("", "true"):
        yield f"--{key}"
    elif value != "false":
        raise click.UsageError(f"{name} {text}: give {key}=true or {key}=false", context)


def kind_of_runs(opened: Mapping[str, AnyRun], named: Mapping[str, str]) -> tuple[str, str]:
    """The kind of the runs, scored, asked or mixed, and what a refusal says of them by their paths as typed."""
    from calprobe.runs import AskedRun

    paths = {isinstance(run, AskedRun): named[name] for name, run in reversed(list(opened.items()))}
    if len(paths) > 1:
        return "mixed", f"{paths[False]} is a run of scores, {paths[True]} one of replies"
    ((is_asked, path),) = paths.items()
    return ("asked", f"{path} is a run of replies") if is_asked else ("scored", f"{path} is a run of scores")
