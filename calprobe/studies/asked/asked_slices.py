"""Cells of asked runs sliced by a column of a user's file: as runs of some of the questions alone would be reported."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calprobe.arrays import Floats
from calprobe.cells.asked import Asked, AskedCell, ReadSet
from calprobe.errors import UsageError
from calprobe.measures.covariates import (
    OF_FACTS,
    OF_REPLIES,
    QUESTION_GROUP,
    QUESTION_KIND,
    Covariate,
    Group,
    Key,
    SliceTree,
    groups_of,
)
from calprobe.measures.estimates import estimates_of
from calprobe.measures.macro import macro_estimates, macro_mean
from calprobe.measures.options import ReportOptions, metrics_of
from calprobe.measures.slice_gaps import slice_gaps
from calprobe.measures.slice_trees import feature, first_probability, gap_of, tree_names, with_columns
from calprobe.measures.slices import METRICS, RunSlices, Slice, covariate_slices
from calprobe.metrics import Metric
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.smooth_ece import SMOOTH_ECE
from calprobe.questions.facts import fact_of
from calprobe.studies.asked.cell_report import mean_over

SHOWN = (*METRICS, AUROC.name, SMOOTH_ECE.name)
Value = float | str | None
Values = Mapping[tuple[str, str], Value]  # by set and question


@dataclass(frozen=True, slots=True)
class SetGroups:
    """The groups of a set's questions, which all variants share."""

    covariate: Covariate
    values: Mapping[str, Value]  # by question
    groups: tuple[tuple[Group, frozenset[str]], ...]  # each with its questions


def covariate_values(asked: Asked, covariate: Covariate) -> Values:
    """The value of every question of a run.

    Raises UsageError where the file's rows are of something else, or all of questions that the run does not have; and
    where groups are wanted, and no question of the run has one.
    """
    if covariate is QUESTION_GROUP:
        return _groups_of_questions(asked)
    if covariate is QUESTION_KIND:
        return {(of_set.name, question.root): question.kind for of_set in asked.sets for question in of_set.questions}
    questions = list(
        dict.fromkeys(
            (question_set.name, question.root) for question_set in asked.sets for question in question_set.questions
        )
    )
    # A file may be of all questions, where some were held back as examples or not drawn.
    values = covariate.of(_ids(asked.label, questions, covariate), asked.label, complete=False)
    return dict(zip(questions, values, strict=True))


def tree_values(asked: Asked, tree: SliceTree, read: Iterable[ReadSet], seed: int) -> Values:
    """The leaf of every question that has an answer, by a tree for each set.

    It is grown for the first confidence of the first variant that has one, in the mean over a question's answers.
    """
    columns = [(column, covariate_values(asked, column)) for column in tree.columns]
    leaves: dict[tuple[str, str], Value] = {}
    for of_set in read:
        cells = ((cell, first_probability(cell.cell, cell.estimators)) for cell in of_set.cells.values())
        opened, name = next(((cell, name) for cell, name in cells if name is not None), (None, None))
        if opened is None or name is None:
            continue
        rows: dict[str, list[int]] = {}
        for place, root in enumerate(_questions(opened)):
            rows.setdefault(root, []).append(place)
        questions = sorted(rows)  # so that halves do not go by the order of a file
        gap, every = gap_of(opened.confidences[name]), opened.table.rows
        first = [every[rows[question][0]].question for question in questions]
        lengths = [[tokens for at in rows[question] if (tokens := every[at].first.tokens)] for question in questions]
        features = [
            feature("group", [question.group for question in first], numeric=False),
            feature("kind", [question.kind for question in first], numeric=False),
            feature("options", [len(question.options) for question in first], numeric=True),
            feature("words of the question", [len(question.text.split()) or None for question in first], numeric=True),
            feature("tokens of the reply", [_mean(tokens) for tokens in lengths], numeric=True),
        ]
        values = {c.name: [of[of_set.name, question] for question in questions] for c, of in columns}
        means = np.array([_mean(gap[rows[question]][~np.isnan(gap[rows[question]])]) for question in questions], float)
        half = np.random.default_rng([seed, 2]).permutation(len(questions)) < math.ceil(len(questions) / 2)
        names = tree_names(means, with_columns(features, tree.columns, values), half)
        leaves |= {(of_set.name, question): leaf for question, leaf in zip(questions, names, strict=True)}
    if not leaves:
        raise UsageError(f"--by tree: no confidence of {asked.label} is a probability")
    return leaves


def _mean(numbers: Sequence[float] | Floats) -> float | None:
    return float(np.mean(numbers)) if len(numbers) else None


def _groups_of_questions(run: Asked) -> Values:
    groups = {
        (question_set.name, question.root): question.group or None
        for question_set in run.sets
        for question in question_set.questions
    }
    if not any(groups.values()):
        raise UsageError(
            f"--by group: no question of {run.label} has a group; write one into the question file (key group), or "
            "give --by FILE:COLUMN"
        )
    return groups


def _ids(label: str, questions: Sequence[tuple[str, str]], covariate: Covariate) -> list[Key]:
    """What the covariate's rows call each question."""
    if covariate.key in OF_REPLIES:
        return [pair[-len(covariate.key) :] for pair in questions]
    facts = [fact_of(question) for _, question in questions]
    if covariate.key == OF_FACTS and any(fact is not None for fact in facts):
        return [() if fact is None else (fact[0], str(fact[1])) for fact in facts]
    units = "facts, and no question of this run is one" if covariate.key == OF_FACTS else "subjects"
    raise UsageError(
        f"{covariate.file} has values of {units}; for {label} give the column question, and set where sets share ids\n"
        f"ids are those of `calprobe export {label} --what confidences`"
    )


def set_groups(read: ReadSet, covariate: Covariate, values: Values) -> SetGroups:
    """The groups of the questions that have an answer under any variant; numbers are cut at quantiles over these."""
    rows = (row for cell in read.cells.values() for row in cell.table.rows)
    questions = list(dict.fromkeys(row.question.root for row in rows))
    # A tree has no leaf for questions of a variant other than the one that it was grown for.
    by_question = {name: values.get((read.name, name)) for name in questions}
    names = np.array(questions, object)
    groups = groups_of(covariate, list(by_question.values()))
    return SetGroups(covariate, by_question, tuple((group, frozenset(names[group.kept].tolist())) for group in groups))


def cell_slices(opened: AskedCell, found: SetGroups, options: ReportOptions) -> RunSlices:
    """A cell's numbers in each group that it has answers of, and their trend."""
    questions = opened.units.group.tolist()
    values = [found.values[name] for name in questions]
    named = [(group, [at for at, name in enumerate(questions) if name in members]) for group, members in found.groups]
    parts = [(group, opened.at(places)) for group, places in named if places]
    slices = (_slice(group.name, part, options, options.slice_bins, group.ends) for group, part in parts)
    lacking = len({name for name, value in zip(questions, values, strict=True) if value is None})
    clusters = None if opened.units.clusters is None else opened.units.group
    by = found.covariate, values, lacking
    probabilities = [name for name, estimator in opened.estimators.items() if estimator.scale == "probability"]
    of_cell = covariate_slices(opened.cell, probabilities, slices, by, options.resampling, clusters)
    kept = {group.name: np.isin(np.arange(len(questions)), places) for group, places in named if places}
    gaps = slice_gaps(opened.cell, probabilities, kept, options.resampling, opened.units.group)
    of_cell = replace(of_cell, gaps=gaps)
    if found.covariate.numeric:
        return of_cell
    categories = [part for group, part in parts if any(found.values[name] is not None for name in _questions(part))]
    return replace(of_cell, averages=_averages(opened, categories, options)) if len(categories) > 1 else of_cell


def _questions(opened: AskedCell) -> list[str]:
    names: list[str] = opened.units.group.tolist()
    return names


def _averages(opened: AskedCell, parts: Sequence[AskedCell], options: ReportOptions) -> dict[str, Slice]:
    """The macro average over the groups, without answers that have none, and the micro average over all answers."""
    cells, answers = [part.cell for part in parts], [part.read.answers for part in parts]
    right = [(of_part.correct, cell) for of_part, cell in zip(answers, cells, strict=True)]
    names = dict.fromkeys(name for cell in cells for name in cell.estimators)
    having = {name: [cell for cell in cells if name in cell.estimators] for name in names}
    macro = Slice(
        name="macro",
        instances=sum(len(part.table) for part in parts),
        chance_accuracy=float(np.mean([part.units.chance.mean() for part in parts])),
        accuracy=macro_mean(right, [of_part.asked for of_part in answers], options.resampling),
        estimators=macro_estimates(cells, _metrics(options, options.slice_bins), options.resampling),
        questions=sum(len(set(_questions(part))) for part in parts),
        coverage={
            name: macro_mean(
                [(cell.confidences[name].read, cell) for cell in of_name],
                [cell.confidences[name].asked for cell in of_name],
                options.resampling,
            )
            for name, of_name in having.items()
        },
    )
    return {"macro": macro, "micro": _slice("micro", opened, options, options.ace_bins)}


def _metrics(options: ReportOptions, bins: int | None) -> list[Metric]:
    return [metric for metric in metrics_of(replace(options, ace_bins=bins)) if metric.name in SHOWN]


def _slice(
    name: str, opened: AskedCell, options: ReportOptions, bins: int | None, ends: tuple[float, float] | None = None
) -> Slice:
    answers = opened.read.answers
    return Slice(
        name=name,
        instances=len(opened.table),
        chance_accuracy=float(opened.units.chance.mean()),
        accuracy=mean_over(opened, answers.correct, answers.asked, options),
        estimators=estimates_of(opened.cell, _metrics(options, bins), options.resampling, smooth=False),
        ends=ends,
        questions=len(set(_questions(opened))),
        coverage={
            name: mean_over(opened, confidence.read, confidence.asked, options)
            for name, confidence in opened.confidences.items()
        },
    )
