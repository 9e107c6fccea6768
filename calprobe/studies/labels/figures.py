"""Figures of label probabilities: what each label gets; of several runs families side by side, and designs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from calprobe.measures.model_families import family_of
from calprobe.measures.run_names import NO_STATES, own_parts
from calprobe.metrics import Estimate
from calprobe.metrics.intervals import UNDEFINED
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.matrix_figure import Matrix
from calprobe.show.marks import Figures
from calprobe.studies.labels.results import KINDS, LabelDesign, LabelStudy

SHOWN: Mapping[str, Callable[[LabelDesign], Estimate]] = {
    "comprehension": lambda design: design.comprehension,
    "accuracy": lambda design: design.chosen["normalised"].get("accuracy", UNDEFINED),
    "ECE 15": lambda design: design.chosen["normalised"].get("ece_15", UNDEFINED),
    "AUROC": lambda design: design.chosen["normalised"].get("auroc", UNDEFINED),
}


def label_figures(study: LabelStudy) -> Iterator[Figures]:
    """Those of one run."""
    yield Figures(
        "labels",
        use_panels(study),
        "Labels: {0.title}",
        "Share of the probability that each label gets, normalised over the labels, and share of the questions of "
        "which it is the right one.",
    )


def label_figures_of_runs(studies: Sequence[LabelStudy], states: Mapping[str, str] = NO_STATES) -> Iterator[Figures]:
    """Those of several runs together; nothing to draw of one. `states`: as `states_of`."""
    yield Figures(
        "labels",
        kind_panels(studies, states),
        "{0.title}",
        "Each run by the prompt design that it understands best, with 95 % intervals; models of one family side by "
        "side.",
        "{0.title}: a dot a run, by how the model was asked.",
    )
    yield Figures(
        "designs",
        design_matrices(studies, states),
        "{0.title}",
        "Mean raw probability on the labels, by run and prompt design.",
    )


def kind_panels(studies: Sequence[LabelStudy], states: Mapping[str, str] = NO_STATES) -> tuple[GroupedDots, ...]:
    """A panel for each set and quantity, each run by the design that it understands best; none of one run.

    Runs of one family of models stand side by side; the series is how a run was asked. `states`: as `states_of`.
    """
    if len(studies) < 2:
        return ()
    ordered = sorted(studies, key=lambda study: (_family(study.model), KINDS.index(study.asked_as), study.label))
    names = own_parts([study.label for study in ordered])
    kinds = tuple(kind for kind in KINDS if any(study.asked_as == kind for study in ordered))
    sets = dict.fromkeys(name for study in ordered for name in study.sets)
    return tuple(
        GroupedDots(
            f"{title}, {name}",
            title,
            "run",
            tuple(names[study.label] + states.get(study.label, "") for study in ordered if name in study.sets),
            kinds,
            tuple(
                tuple(value(_best(study, name)) if study.asked_as == kind else None for kind in kinds)
                for study in ordered
                if name in study.sets
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
            f"{design.set}, {design.variant}",
            "share of the questions",
            "label",
            tuple(use.label for use in design.uses),
            ("probability", "right"),
            tuple((Estimate(use.mass / design.rows), Estimate(use.gold / design.rows)) for use in design.uses),
            reach=0.3,
        )
        for label_set in study.sets.values()
        for design in label_set.designs
        if design.rows
    )


def design_matrices(studies: Sequence[LabelStudy], states: Mapping[str, str] = NO_STATES) -> tuple[Matrix, ...]:
    """Comprehension of each run under each design, a matrix for each set; none of one run."""
    if len(studies) < 2:
        return ()
    names = own_parts([study.label for study in studies])
    return tuple(
        _design_matrix(name, studies, names, states)
        for name in dict.fromkeys(s for study in studies for s in study.sets)
    )


def _design_matrix(
    name: str, studies: Sequence[LabelStudy], names: Mapping[str, str], states: Mapping[str, str]
) -> Matrix:
    by_run = {
        study.label: {d.variant: d.comprehension.value for d in study.sets[name].designs}
        for study in studies
        if name in study.sets
    }
    designs = tuple(dict.fromkeys(design for values in by_run.values() for design in values))
    rows = tuple(tuple(values.get(design, float("nan")) for design in designs) for values in by_run.values())
    labels = tuple(names[label] + states.get(label, "") for label in by_run)
    return Matrix("comprehension", f"Comprehension, {name}", labels, designs, rows)


def _family(model: str) -> str:
    """The family without what says that a model was trained to chat or to reason."""
    words = family_of(model).split("-")
    return "-".join(
        word for word in words if word not in ("base", "instruct", "it", "pt", "chat", "thinking", "reasoning")
    )


def _best(study: LabelStudy, name: str) -> LabelDesign:
    return max(study.sets[name].designs, key=lambda design: design.comprehension.value)
