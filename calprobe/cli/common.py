"""Options that several commands share, each declared once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from calprobe.cli.arguments import (
    LEAST_RESAMPLES,
    MOST_BINS,
    MOST_RESAMPLES,
    Number,
    NumberOrAuto,
    list_option,
    refuse_repeated,
    refuse_typed,
)
from calprobe.cli.option_kinds import OF_CONFIDENCES, Group, option
from calprobe.cli.terminal_text import say
from calprobe.messages import did_you_mean
from calprobe.words import AskedCompat, ClusterKind, Compat, Reduction, Ties

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions

Command = TypeVar("Command", bound=Callable[..., Any])

REDUCTIONS: tuple[Reduction, ...] = get_args(Reduction)
OF_TOKENS = "How token scores are combined into a statement's score; _answer: over the answer's tokens only"
ALL = "all"
FORMATS = ("text", "markdown", "latex", "csv", "json")

json_option = option("--json", "as_json", is_flag=True, group=Group.LOOKS, help="Print all numbers as JSON.")
format_option = option(
    "--format",
    "form",
    group=Group.LOOKS,
    type=click.Choice(FORMATS),
    help="Format of the output.  [default: text; with --json: json]",
)


def bins_option(units: str = "facts", default: str = "20; of slices: auto") -> Callable[[Command], Command]:
    """`--bins`, with what the command measures and its default in the help."""
    return option(
        "--bins",
        group=Group.SURE,
        type=NumberOrAuto(1, MOST_BINS),
        metavar="N|auto",
        help=f"Quantile bins of ACE; auto: 4 to 20, by the number of {units}.  [default: {default}]",
    )


seed_option = option(
    "--seed",
    group=Group.SURE,
    type=click.IntRange(0),
    metavar="S",
    default=0,
    show_default=True,
    help="Seed of the resamples.",
)
ties_option = option(
    "--ties",
    kinds=("scored", "facts", *OF_CONFIDENCES),
    group=Group.WHICH,
    type=click.Choice(get_args(Ties)),
    default="draw",
    show_default=True,
    help="Prediction where candidates share the largest score: draw: one of them, drawn; first: the first.",
)
COMPAT_OF_SCORES = "Leave out each statement's first scored token: reproduces a quirk of lm-pub-quiz 0.3."
compat_option = option(
    "--compat",
    kinds=("scored", "facts"),
    group=Group.WHICH,
    type=click.Choice(get_args(Compat)),
    help=COMPAT_OF_SCORES,
)
# That of reports, which take runs of replies too.
any_compat_option = option(
    "--compat",
    kinds=("scored", "asked", "readings", *OF_CONFIDENCES),
    group=Group.WHICH,
    type=click.Choice([*get_args(Compat), *get_args(AskedCompat)]),
    help=f"kissling2026: {COMPAT_OF_SCORES[0].lower()}{COMPAT_OF_SCORES[1:-1]}. audit2026, of asked runs: the rules of"
    " the audit's paper. stated2025, likewise: also the errors of the paper on stated confidence. science2026,"
    " likewise: the rules of the study of science questions.",
)


class NearestGroup(click.Group):
    """A group of commands that suggests a near name for an unknown command, and refuses an option given twice."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does; the error for an unknown one suggests near names.

        Raises click.UsageError for an option of the command that is given twice and takes one value.
        """
        names = self.list_commands(ctx)
        if args[0].startswith("-") or args[0] in names:
            name, command, rest = super().resolve_command(ctx, args)
            if command is not None and not ctx.resilient_parsing:
                refuse_repeated(command, click.Context(command, ctx, name), rest)
            return name, command, rest
        meant = did_you_mean(args[0], names) or f"; there are {', '.join(names)}"
        raise click.UsageError(f"no command {args[0]!r}{meant}", ctx)


def ace_bins(bins: int | None) -> int | None:
    """The bins of ACE that `--bins` gives: None for auto, the paper's without the option."""
    from calprobe.metrics import ACE_BINS

    return ACE_BINS if bins is None else bins or None


def reduction_option(*, or_all: bool = False) -> Callable[[Command], Command]:
    """`--reduction`; with `or_all` its choices have `all`, which compares them."""
    choices = [*REDUCTIONS, ALL] if or_all else list(REDUCTIONS)
    explained = f"{OF_TOKENS}; all: compare the four." if or_all else f"{OF_TOKENS}."
    return option(
        "--reduction",
        kinds=("scored", "facts"),
        group=Group.WHICH,
        type=click.Choice(choices),
        default="sum",
        show_default=True,
        help=explained,
    )


def bootstrap_option(results: str = "intervals") -> Callable[[Command], Command]:
    """`--bootstrap`, the number of resamples for `results`."""
    return option(
        "--bootstrap",
        group=Group.SURE,
        type=Number(0, MOST_RESAMPLES),
        callback=_note_few,
        metavar="N",
        default=1000,
        show_default=True,
        help=f"Resamples for {results}; 0: none.",
    )


def _note_few(context: click.Context, _parameter: click.Parameter, resamples: int) -> int:
    """The number itself; a line on stderr says so where it is too small for the intervals that follow."""
    if not context.resilient_parsing and 0 < resamples < LEAST_RESAMPLES:
        say(
            f"--bootstrap {resamples}: a 95 % interval, and a verdict by it, has no meaning with fewer than "
            f"{LEAST_RESAMPLES} resamples; give 1000, or 0 for none"
        )
    return resamples


def cluster_option(explained: str) -> Callable[[Command], Command]:
    """`--cluster`, the unit that the bootstrap draws."""
    return option(
        "--cluster",
        kinds=("scored", "facts"),
        group=Group.SURE,
        type=click.Choice(get_args(ClusterKind)),
        help=explained,
    )


def estimators_option(
    explained: str, *, several: bool = True, kinds: Collection[str] = ()
) -> Callable[[Command], Command]:
    """`--estimator NAME,..`; the command gets `estimators`, a tuple of names, or None without the option.

    Without `several` it is one NAME, and the command gets `estimator`.
    """
    if not several:
        return option("--estimator", kinds=kinds, group=Group.WHAT, metavar="NAME", help=explained)
    return list_option("--estimator", "estimators", kinds=kinds, group=Group.WHAT, metavar="NAME,..", help=explained)


def format_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--format` and its short form `--json`; the command gets `form`, one of FORMATS.

    Raises click.UsageError where the two contradict each other.
    """

    @functools.wraps(command)
    def with_form(*, form: str | None, as_json: bool, **values: Any) -> None:
        if as_json and form not in (None, "json"):
            raise click.UsageError(f"--json and --format {form} contradict each other: give one of them")
        command(form="json" if as_json else form or "text", **values)

    return format_option(json_option(with_form))


def report_options(
    *,
    or_all: bool = False,
    formats: bool = True,
    asked: bool = False,
    results: str = "intervals",
    cluster: str = (
        "Draw complete relations (intervals that allow for dependent facts within a relation), or facts within each "
        "relation (intervals for these very relations)."
    ),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What decides on numbers, which the command gets as one `options: ReportOptions`.

    Args:
        or_all: `--reduction all` is also a choice, and the command gets `all_reductions`, a bool.
        formats: with `format_options`.
        asked: `--compat` has the rules for runs of replies too.
        results: the results that need resamples.
        cluster: the help of `--cluster`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            if or_all:
                values["all_reductions"] = values["reduction"] == ALL
            options = _taken_out(values)
            command(options=options, **values)

        declared: list[Callable[[Callable[..., None]], Callable[..., None]]] = [
            reduction_option(or_all=or_all),
            any_compat_option if asked else compat_option,
            ties_option,
            *([format_options] if formats else []),
        ]
        declared += [bins_option(), bootstrap_option(results), cluster_option(cluster), seed_option]
        decorated: Callable[..., None] = with_options
        for declaration in reversed(declared):
            decorated = declaration(decorated)
        return decorated

    return decorate


def _taken_out(values: dict[str, Any]) -> ReportOptions:
    """What decides on numbers, taken out of what the options gave."""
    from calprobe.analysis import ReportOptions
    from calprobe.metrics import Resampling

    reduction, bins, bootstrap = (values.pop(name) for name in ("reduction", "bins", "bootstrap"))
    if bootstrap == 0:
        refuse_typed(click.get_current_context(), ["cluster"], "is a way to draw resamples; --bootstrap 0 has none")
    return ReportOptions(
        "sum" if reduction == ALL else reduction,
        values.pop("compat"),
        ace_bins(bins),
        Resampling(bootstrap, values.pop("seed")),
        values.pop("cluster"),
        ties=values.pop("ties"),
        slice_bins=None if bins is None else ace_bins(bins),
    )
