"""Figures of label probabilities: what each label gets; of several runs families side by side, and designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from calprobe.analysis.asked.science.label_results import KINDS, LabelDesign, LabelStudy
from calprobe.analysis.curves.grouped_dots import GroupedDots
from calprobe.analysis.curves.matrix_figure import Matrix
from calprobe.analysis.plots.families import family_of
from calprobe.analysis.run_names import NO_STATES, own_parts
from calprobe.metrics import Estimate

_NO = Estimate(float("nan"))
SHOWN: Mapping[str, Callable[[LabelDesign], Estimate]] = {
    "comprehension": lambda design: design.comprehension,
    "accuracy": lambda design: design.chosen["normalised"].get("accuracy", _NO),
    "ECE 15": lambda design: design.chosen["normalised"].get("ece_15", _NO),
    "AUROC": lambda design: design.chosen["normalised"].get("auroc", _NO),
}


def kind_panels(studies: Sequence[LabelStudy], states: Mapping[str, str] = NO_STATES) -> tuple[GroupedDots, ...]:
    """A panel for each set and quantity, each run by the design that it understands best; none of one run.

    Runs of one family of models stand side by side; the series is how a run was asked. `states`: as `states_of`.
    """
    if len(studies) < 2:
        return ()
    ordered = sorted(studies, key=lambda own: (_family(own.model), KINDS.index(own.asked_as), own.label))
    names = own_parts([own.label for own in ordered])
    kinds = tuple(kind for kind in KINDS if any(own.asked_as == kind for own in ordered))
    sets = dict.fromkeys(name for own in ordered for name in own.sets)
    return tuple(
        GroupedDots(
            f"{title}, {name}",
            title,
            "run",
            tuple(names[own.label] + states.get(own.label, "") for own in ordered if name in own.sets),
            kinds,
            tuple(
                tuple(value(_best(own, name)) if own.asked_as == kind else None for kind in kinds)
                for own in ordered
                if name in own.sets
            ),
        )
        for name in sets
        for title, value in SHOWN.items()
    )


def use_panels(study: LabelStudy) -> tuple[GroupedDots, ...]:
    """A panel for each set and design: the share of the probability that each label gets, and of the right answers.

    Probabilities are normalised over the labels. None of a design without rows.
    """
    return tuple(
        GroupedDots(
            f"{own.set}, {own.variant}",
            "share of the questions",
            "label",
            tuple(use.label for use in own.uses),
            ("probability", "right"),
            tuple((Estimate(use.mass / own.rows), Estimate(use.gold / own.rows)) for use in own.uses),
            reach=0.3,
        )
        for found in study.sets.values()
        for own in found.designs
        if own.rows
    )


def design_matrices(studies: Sequence[LabelStudy], states: Mapping[str, str] = NO_STATES) -> tuple[Matrix, ...]:
    """Comprehension of each run under each design, a matrix for each set; none of one run."""
    if len(studies) < 2:
        return ()
    names = own_parts([own.label for own in studies])
    return tuple(
        _design_matrix(name, studies, names, states) for name in dict.fromkeys(s for own in studies for s in own.sets)
    )


def _design_matrix(
    name: str, studies: Sequence[LabelStudy], names: Mapping[str, str], states: Mapping[str, str]
) -> Matrix:
    found = {
        own.label: {d.variant: d.comprehension.value for d in own.sets[name].designs}
        for own in studies
        if name in own.sets
    }
    designs = tuple(dict.fromkeys(design for own in found.values() for design in own))
    rows = tuple(tuple(own.get(design, float("nan")) for design in designs) for own in found.values())
    labels = tuple(names[label] + states.get(label, "") for label in found)
    return Matrix("comprehension", f"Comprehension, {name}", labels, designs, rows)


def _family(model: str) -> str:
    """The family without what says that a model was trained to chat or to reason."""
    parts = family_of(model).split("-")
    return "-".join(
        part for part in parts if part not in ("base", "instruct", "it", "pt", "chat", "thinking", "reasoning")
    )


def _best(study: LabelStudy, name: str) -> LabelDesign:
    return max(study.sets[name].designs, key=lambda design: design.comprehension.value)
