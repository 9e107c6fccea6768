"""`--by` and `--by-groups`: what a run is sliced by, a property of its facts or a column of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

from calprobe.cli.arguments import Number
from calprobe.cli.option_kinds import Group, option
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.words import SliceKind

if TYPE_CHECKING:
    from calprobe.measures.covariates import Covariate, SliceTree

MOST_GROUPS = 100
TREE = "tree"  # slices that are looked for
# Properties that the questions of asked runs have by themselves; subject is what MMLU calls its groups.
_OF_QUESTIONS = ("group", "subject", "kind")

by_option = option(
    "--by",
    kinds=("scored", "asked"),
    group=Group.WHAT,
    metavar="|".join((*get_args(SliceKind), "group", "kind", "FILE[:COLUMN]", "tree[:FILE]")),
    help="Also show accuracy and calibration of each slice: each relation, each domain, 1:1 and N:1 relations, or the "
    "facts or questions by a column of a CSV, JSON lines or Parquet FILE, such as popularity (columns relation and "
    "instance, subject, or question say what a row is of). Of asked runs by the group of each "
    "question, such as MMLU's subjects (subject says the same), by its kind, or by a FILE, with macro and micro "
    "averages. tree finds groups that are too sure or not sure enough, by all of this and the columns of a FILE.",
)
by_groups_option = option(
    "--by-groups",
    kinds=("scored", "asked"),
    group=Group.WHAT,
    type=Number(1, MOST_GROUPS),
    metavar="N",
    help="Groups that the numbers of --by FILE are cut into, of about equal size.  [default: 4]",
)


def _tree(by: str, groups: int | None) -> SliceTree | None:
    """What `--by tree` and `--by tree:FILE` name; None for anything else. Raises as `columns_of`."""
    name, colon, file = by.partition(":")
    if name != TREE:
        return None
    from calprobe.measures.covariates import SliceTree, columns_of

    if groups is not None:
        raise UsageError("--by-groups cuts numbers of a file; --by tree finds its own cuts, leave it out")
    return SliceTree(columns_of(file) if colon else ())


def sliced_by(by: str | None, groups: int | None) -> SliceKind | Covariate | SliceTree | None:
    """What `--by` names. Raises UsageError for what is neither a kind nor a file, and for groups of no numbers.

    Raises as `read_covariate`.
    """
    if by is None:
        if groups is not None:
            raise UsageError("--by-groups cuts numbers of a file; give --by FILE:COLUMN")
        return None
    if (tree := _tree(by, groups)) is not None:
        return tree
    from calprobe.measures.covariates import GROUPS, is_covariate, read_covariate

    if is_covariate(by):
        covariate = read_covariate(by, GROUPS if groups is None else groups)
        if groups is not None and not covariate.numeric:
            raise UsageError(
                f"--by-groups cuts numbers; {covariate.name} of {covariate.file} has categories, leave it out"
            )
        return covariate
    if by in _OF_QUESTIONS:
        raise UsageError(f"--by {by} is of runs of replies; runs of scores have --by relation and --by domain")
    if by not in get_args(SliceKind):
        raise UsageError(f"--by: {no_such(by, (*get_args(SliceKind), TREE))}, or a file FILE.csv:COLUMN")
    if groups is not None:
        raise UsageError(f"--by-groups cuts numbers of a file; --by {by} has none, leave it out")
    return cast(SliceKind, by)


def covariate_of(by: str | None, groups: int | None) -> Covariate | SliceTree | None:
    """What `--by` names for runs of replies: the group of questions, or a column of a file.

    Raises as `sliced_by`, and for relations and such.
    """
    if by in _OF_QUESTIONS:
        from calprobe.measures.covariates import QUESTION_GROUP, QUESTION_KIND

        if groups is not None:
            raise UsageError(f"--by-groups cuts numbers of a file; --by {by} has none, leave it out")
        return QUESTION_KIND if by == "kind" else QUESTION_GROUP
    slicing = sliced_by(by, groups)
    if isinstance(slicing, str):
        choices = "for runs of replies there are --by group, --by kind, --by tree and --by FILE:COLUMN"
        raise UsageError(f"--by {slicing} is of runs of scores; {choices}")
    return slicing
