"""Options of commands that draw figures: width, title, style file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from calprobe.cli.arguments import refuse_typed
from calprobe.cli.option_kinds import Group, option

LOOKS = ("width", "title", "style")  # the parameters
_OF_FIGURES: Any = {"kinds": ("scored", "asked", "facts"), "group": Group.LOOKS, "setting_of": "--look"}
LEAST, MOST = 2.0, 30.0  # inches: a panel narrower than this has no room for its numbers


def _inches(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """A number of inches, or the width that single and double name."""
    from calprobe.show.plots import COLUMN_INCHES, PAGE_INCHES

    if value is None:
        return None
    try:
        inches = {"single": COLUMN_INCHES, "double": PAGE_INCHES}.get(value) or float(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither single, double nor a number of inches") from None
    if not LEAST <= inches <= MOST:
        raise click.BadParameter(f"{value!r} is not from {LEAST:g} to {MOST:g} inches")
    return inches


def figure_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--look`, which sets `--width`, `--title` and `--style`, and which the command gets as one `look: Look`."""

    @functools.wraps(command)
    def with_look(*, width: float | None, title: str | None, style: Path | None, **values: Any) -> None:
        from calprobe.show.plots import PAGE_INCHES, Look

        command(look=Look(PAGE_INCHES if width is None else width, title, style=style), **values)

    decorated: Callable[..., None] = with_look
    for declaration in (
        option(
            "--style",
            **_OF_FIGURES,
            metavar="F.mplstyle",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A style file of matplotlib, for fonts, sizes and lines.",
        ),
        option(
            "--title",
            **_OF_FIGURES,
            metavar="TEXT",
            help='The title; "" for none.  [default: the model, of one RUN]',
        ),
        option(
            "--width",
            **_OF_FIGURES,
            metavar="single|double|INCHES",
            callback=_inches,
            help="Width; of a paper's column (3.3 inches) or of both (6.8).  [default: double]",
        ),
        option(
            "--look",
            group=Group.LOOKS,
            metavar="KEY=VALUE",
            multiple=True,
            expose_value=False,
            help="How figures look, as below; may be repeated.",
        ),
    ):
        decorated = declaration(decorated)
    return decorated


def refuse_looks(why: str) -> None:
    """Raise click.UsageError for an option that says how figures look, where there are none."""
    refuse_typed(click.get_current_context(), LOOKS, why)
