"""How arguments of commands are read: lists, numbers with limits, places of results, and options that do not apply."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from calprobe.cli.option_kinds import KindCommand, option
from calprobe.errors import UsageError
from calprobe.folders import write_fault
from calprobe.messages import reason

Command = TypeVar("Command", bound=Callable[..., Any])

MOST_BINS = 10_000  # more than BEAR has facts; a bin without a fact says nothing
MOST_RESAMPLES = 100_000  # p-values as small as 1e-5
LEAST_RESAMPLES = 20  # with fewer, no 1 / 20 of them lies outside of a 95 % interval
MOST_ROWS = 1_000_000  # of answers that are printed


UNITS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
AUTO = 0  # what `auto` is as a number of bins


class Number(click.IntRange):
    """A whole number within limits; the error names both limits."""

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least, most)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; BadParameter for anything else."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a whole number from {self.min:,} to {self.max:,}", param, ctx)


class NumberOrAuto(Number):
    """A whole number within limits, or auto, which is 0."""

    name = "number or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; BadParameter for anything else."""
        return AUTO if value == "auto" else super().convert(value, param, ctx)


class Count(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5 on
    """A number of things, as digits or as models are named by it: 134515008, 135M, 7.6B."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; BadParameter for anything else."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([0-9]{1,15})([.][0-9]{1,9})?([KMBT]?)", value.upper().replace(",", ""))
        if match is None or (match[2] and not match[3]):
            self.fail(f"{value!r} is no number such as 134515008, 135M or 7.6B", param, ctx)
        number = Decimal(match[1] + (match[2] or "")) * UNITS[match[3]]
        return int(number)


class Fields(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5 on
    """A field and its value, KEY=VALUE or NAME: VALUE, or an object of JSON with any number of them.

    Args:
        sign: what stands between the two; values behind `=` are JSON where they can be.
    """

    name = "fields"

    def __init__(self, sign: str) -> None:
        self.sign = sign

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, Any]:
        """The fields; BadParameter, which repeats nothing, for anything else."""
        if isinstance(value, dict):
            return value
        if value.lstrip().startswith("{"):
            with suppress(ValueError):
                if isinstance(fields := json.loads(value), dict):
                    return {name: text if self.sign == "=" else str(text) for name, text in fields.items()}
            self.fail('what begins with { must be an object of JSON: {"NAME": VALUE}', param, ctx)
        name, sign, text = value.partition(self.sign)
        if not sign or not name.strip():
            self.fail(f"give NAME{self.sign}{' ' * (self.sign == ':')}VALUE, or an object of JSON", param, ctx)
        if self.sign == "=":
            with suppress(ValueError):
                text = json.loads(text)
        return {name.strip(): text.strip() if isinstance(text, str) else text}


def fields_option(*declarations: str, sign: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option of fields with values, which may be repeated. The command gets one dictionary, or None without it."""
    return option(*declarations, type=Fields(sign), multiple=True, callback=_merged, **attributes)


def _merged(_ctx: click.Context, _param: click.Parameter, values: tuple[dict[str, Any], ...]) -> dict[str, Any] | None:
    return {name: value for fields in values for name, value in fields.items()} if values else None


class _Place(click.Path):
    """A path to write to, in a folder that exists: a mistyped path creates no folders."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fsdecode(value):  # as of a variable that is not set; it would be taken for this folder
            self.fail("the path is empty; give one", param, ctx)
        path = super().convert(value, param, ctx)
        folder = Path(os.fsdecode(path)).parent
        if not folder.is_dir():
            self.fail(f"there is no folder {folder}; create it (mkdir -p), or give another path", param, ctx)
        place = Path(os.path.realpath(os.fsdecode(path)))  # beside a file that a link leads to, a new one is made
        if (fault := write_fault(place if place.is_dir() else place.parent)) and not _is_special(place):
            self.fail(f"{os.fsdecode(path)} cannot be written: {fault}; give another path", param, ctx)
        return path


def _is_special(place: Path) -> bool:
    """Whether it is a device or a pipe."""
    return place.exists() and not (place.is_file() or place.is_dir())


def output_file() -> click.Path:
    """The type of an option that names a file to write, in a folder that exists."""
    return _Place(dir_okay=False, path_type=Path)


def output_folder() -> click.Path:
    """The type of an option that names a folder to write to; it may be new, in a folder that exists."""
    return _Place(file_okay=False, path_type=Path)


def output_path() -> click.Path:
    """The type of an option that names a file or a folder to write to, in a folder that exists."""
    return _Place(path_type=Path)


def refuse_overwriting(out: Path | None, sources: Iterable[str | Path | None]) -> None:
    """Raise UsageError if `--out` is one of the files that are read, by any spelling of its path or by a link."""
    for source in sources:
        if out is not None and source is not None and out.exists() and Path(source).exists() and out.samefile(source):
            raise UsageError(f"--out {out}: belongs to what is read, and would be overwritten; give another --out")


def list_option(*declarations: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option of names separated by commas. It may be repeated: all names count, each once, in the given order.

    The command gets a tuple of names, or None without the option.
    """
    return option(*declarations, multiple=True, callback=_names, **attributes)


def each_once_option(*declarations: str, **attributes: Any) -> Callable[[Command], Command]:
    """As `list_option`, of names that must not be repeated."""
    return option(*declarations, multiple=True, callback=_names_once, **attributes)


def joined_option(*declarations: str, default: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option of a text with commas. It may be repeated: the command gets all texts, joined by commas."""
    return option(*declarations, multiple=True, default=[default], show_default=True, callback=_joined, **attributes)


def refuse_repeated(command: click.Command, context: click.Context, arguments: list[str]) -> None:
    """Raise UsageError for an option that is given twice and takes one value; click would use the last one.

    A flag may be repeated, since this changes nothing, unless it is also given in its negative form.
    """
    words = list(command.spelled_out(context, arguments)) if isinstance(command, KindCommand) else list(arguments)
    parameters = command.make_parser(context).parse_args(words)[2]
    for parameter, times in Counter(parameters).items():
        takes_one = isinstance(parameter, click.Option) and not parameter.multiple and not parameter.count
        harmless = isinstance(parameter, click.Option) and parameter.is_flag and not parameter.secondary_opts
        if times > 1 and takes_one and not harmless:
            how_often = "twice" if times == 2 else f"{times} times"
            raise click.UsageError(f"{parameter.opts[0]} given {how_often}; give it once", context)


def typed(context: click.Context, parameter: str) -> bool:
    """Whether the parameter was given on the command line."""
    return context.get_parameter_source(parameter) == click.core.ParameterSource.COMMANDLINE


def text_or_file(_context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The text as it was typed, or that of the file behind an @."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text("utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"{parameter.opts[0]} {value}: cannot be read: {why}; name a text file") from error


def refuse_typed(context: click.Context, parameters: Iterable[str], why: str) -> None:
    """Raise click.UsageError if one of these parameters was given on the command line: `--OPTION WHY`."""
    for name in parameters:
        if typed(context, name):
            option = next(p for p in context.command.params if p.name == name)
            raise click.UsageError(f"{getattr(option, 'typed_as', option.opts[0])} {why}", context)


def _names(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    if not values:
        return None
    names = tuple(dict.fromkeys(name.strip() for text in values for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"{parameter.opts[0]} has no names; give names separated by commas")
    return names


def _names_once(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    named = Counter(name.strip() for text in values for name in text.split(",") if name.strip())
    if twice := next((name for name, times in named.items() if times > 1), None):
        raise UsageError(f"{parameter.opts[0]}: {twice} is there twice; name it once")
    return _names(context, parameter, values)


def _joined(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> str:
    return ",".join(values)
