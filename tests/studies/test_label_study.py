"""The study of label probabilities on made-up masses: closed forms, and the published simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from asked_samples import question_set
from science_samples import Masses, with_labels

from calprobe.measures.options import ReportOptions
from calprobe.measures.run_names import state
from calprobe.metrics import Resampling
from calprobe.questions import Question
from calprobe.studies.asked.asked_tables import asked_tables
from calprobe.studies.asked.report_asked import report_asked
from calprobe.studies.labels.figures import design_matrices, use_panels
from calprobe.studies.labels.layouts import label_set_tables
from calprobe.studies.labels.results import LabelSet
from calprobe.studies.labels.selection import halves
from calprobe.studies.labels.simulation import hidden_metrics, informed, polarised

OPTIONS = ReportOptions(resampling=Resampling(50))


def study(masses: Masses, orders: int = 1, backwards: bool = False) -> LabelSet:
    (run,) = report_asked([with_labels(masses, 12, orders, backwards)], OPTIONS).runs
    assert run.labels is not None
    return run.labels.sets["sums"]


def knows(question: Question, variant: str) -> list[float]:
    """Half the mass on labels, 0.8 of it on the right one; under `steps`, 0.9 of all on labels."""
    total = 0.9 if variant.startswith("steps") else 0.4
    return [total * (0.7 if place == question.answer else 0.1) for place in range(4)]


def prefers_a(question: Question, variant: str) -> list[float]:
    return [0.6, 0.1, 0.1, 0.1]


def test_comprehension_is_the_mean_raw_mass_and_what_is_no_label_is_counted_unmasked() -> None:
    direct, steps = study(knows).designs
    assert direct.comprehension.value == pytest.approx(0.4)
    assert steps.comprehension.value == pytest.approx(0.9)
    assert direct.invalid == {"not_first": 12, "not_in_20": 0}
    assert steps.invalid == {"not_first": 0, "not_in_20": 0}


def test_raw_and_normalised_chosen_and_all_labels_have_their_closed_forms() -> None:
    direct, steps = study(knows).designs
    assert direct.chosen["raw"]["ece_15"].value == pytest.approx(1 - 0.28)
    assert direct.chosen["normalised"]["ece_15"].value == pytest.approx(0.3)
    assert steps.chosen["normalised"]["ece_15_middle"].value == pytest.approx(1 - 21 / 30)
    assert direct.chosen["normalised"]["accuracy"].value == 1
    # All labels: three of 0.1 that are wrong, one of 0.7 that is right.
    assert direct.labels["normalised"]["ece_15"].value == pytest.approx((3 * 0.1 + 0.3) / 4)
    assert direct.labels["normalised"]["brier"].value == pytest.approx((3 * 0.1**2 + 0.3**2) / 4)
    assert direct.labels["normalised"]["auroc"].value == 1
    assert direct.concentration["normalised"].entropy == 0
    assert direct.concentration["normalised"].possible == 0  # always right: calibrated confidences are all 1


def test_what_chance_makes_of_ece_stands_beside_it() -> None:
    def sure(question: Question, variant: str) -> list[float]:
        """All mass on the right label; under `steps` on the next one."""
        right = (question.answer + variant.startswith("steps")) % 4
        return [float(place == right) for place in range(4)]

    found = study(sure)
    direct, steps = (design.chosen["normalised"] for design in found.designs)
    # Confidences of 1 that are calibrated are right in every draw: an error of 0, and the other of 1 in none of 50.
    assert [direct[name].value for name in ("ece_15", "ece_15_if_calibrated", "ece_15_p")] == [0, 0, 1]
    assert [steps[name].value for name in ("ece_15", "ece_15_if_calibrated", "ece_15_p")] == [1, 0, 1 / 51]
    tables = {table.label: table for table in label_set_tables(found)}
    titles = [column.title for column in tables["designs"].columns]
    assert titles[titles.index("raw") :][:6] == ["raw", "raw if cal.", "raw p", "ECE 15", "ECE 15 if cal.", "ECE 15 p"]
    assert "ECE 15 p" in [column.title for column in tables["selection"].columns]
    many = replace(found, designs=tuple(replace(design, rows=1000) for design in found.designs))
    (table,) = (table for table in label_set_tables(many) if table.label == "designs")
    assert not [column.title for column in table.columns if "cal." in column.title]
    assert len(table.notes) == 1


def test_a_label_that_is_preferred_wherever_it_stands_shows_in_its_sum_and_in_permutations() -> None:
    found = study(prefers_a, orders=4)
    sums = {use.label: (use.mass, use.gold) for use in found.designs[0].uses}
    assert sums["A"] == (pytest.approx(12 * 6 / 9), 3)
    permuted = found.permuted[0]
    assert permuted.orders == 4
    assert {use.label: (use.gold, use.accuracy.value) for use in permuted.uses} == {
        "A": (12, 1.0),
        "B": (12, 0.0),
        "C": (12, 0.0),
        "D": (12, 0.0),
    }
    assert permuted.same_choice.value == 0
    assert permuted.mean_of_orders["accuracy"].value == pytest.approx(0.25)
    # Over the orders every option gets the same.
    assert permuted.averaged["mean_confidence"].value == pytest.approx(0.25)


def test_figures_have_what_each_label_gets_and_how_each_run_understands_each_design() -> None:
    (run,) = report_asked([with_labels(knows)], OPTIONS).runs
    assert run.labels is not None
    panels = use_panels(run.labels)
    assert [panel.title for panel in panels] == ["sums, direct", "sums, steps"]
    assert panels[0].groups == ("A", "B", "C", "D")
    for probability, right in panels[0].values:  # every label is right in a quarter of the questions
        assert probability is not None
        assert right is not None
        assert (probability.value, right.value) == (pytest.approx(0.25), 0.25)
    assert design_matrices([run.labels]) == ()
    (matrix,) = design_matrices(
        [run.labels, replace(run.labels, label="other")], {"other": state(limited=True, partial=True)}
    )
    assert (matrix.variants, matrix.sets) == (("run", "other (LIMITED, PARTIAL)"), ("direct", "steps"))
    np.testing.assert_allclose(matrix.values, [[0.4, 0.9]] * 2)


def test_a_model_that_knows_chooses_the_same_option_in_every_order() -> None:
    permuted = study(knows, orders=4).permuted[0]
    assert permuted.same_choice.value == 1
    assert permuted.averaged["accuracy"].value == 1
    assert permuted.averaged["mean_confidence"].value == pytest.approx(0.7)
    assert [use.mass for use in permuted.uses] == pytest.approx([12.0] * 4)


def test_the_design_is_chosen_on_one_half_and_reported_on_the_other() -> None:
    def lucky(question: Question, variant: str) -> list[float]:
        """Design `direct` is understood on the half that chooses, and nowhere else."""
        names = np.array([each.id for each in question_set(12).questions])
        choosing, _ = halves(names, OPTIONS.resampling.seed)
        total = 0.6 if variant == "steps" else 0.9 if question.id in choosing else 0.1
        return [total / 4] * 4

    found = study(lucky).selection
    assert found is not None
    assert (found.variant, found.best_on_held_out, found.rows) == ("direct", "steps", 6)
    assert found.comprehension == pytest.approx(0.9)
    assert found.held_out["comprehension"].value == pytest.approx(0.1)


def test_the_order_of_replies_changes_nothing() -> None:
    one, other = study(knows, 2), study(knows, 2, backwards=True)
    for found, same in ((one.designs, other.designs), (one.permuted, other.permuted)):
        assert sorted(map(repr, found)) == sorted(map(repr, same))


@pytest.mark.parametrize("bins", [20, None, 3])
def test_a_name_has_one_number_in_all_tables(bins: int | None) -> None:
    """Errors of a design are of the same bins in `designs` as beside what ECE hides, of twelve questions too."""
    (run,) = report_asked([with_labels(knows, 12, 1, False)], replace(OPTIONS, ace_bins=bins)).runs
    assert run.labels is not None
    own = run.labels.sets["sums"]
    cell = {cell.variant: cell for cell in run.reports()}
    hidden = {row.name: row.metrics for row in own.hidden if not row.simulated}
    assert len(hidden) == 2
    for design in own.designs:
        assert hidden[design.variant]["ace"] == design.chosen["normalised"]["ace"].value
        for name in ("ace_if_calibrated", "ace_p"):
            assert design.chosen["normalised"][name] == cell[design.variant].estimators["label"].metrics[name]
        for name in ("ace", "brier_reliability", "brier_resolution"):
            assert hidden[design.variant][name] == cell[design.variant].estimators["label"].metrics[name].value
    accuracy = own.designs[0].chosen["normalised"]["accuracy"].value
    known_nothing = next(row for row in own.hidden if row.simulated)
    assert known_nothing.metrics == pytest.approx(hidden_metrics(*polarised(accuracy), bins), nan_ok=True)
    (table,) = (own for own in label_set_tables(own) if own.label == "designs")
    titles = [column.title for column in table.columns]
    assert titles[titles.index("ACE") :][:3] == ["ACE", "ACE if cal.", "ACE p"], "of twelve questions"


@pytest.mark.parametrize(
    ("accuracy", "expected"), [(0.5, 0.458), (0.7, 0.271), (0.9, 0.087), (0.95, 0.042), (0.97, 0.027)]
)
def test_the_scorer_that_knows_nothing_has_the_published_ece(accuracy: float, expected: float) -> None:
    found = hidden_metrics(*polarised(accuracy))
    assert found["ece_15"] == pytest.approx(expected, abs=0.008)
    assert found["auroc"] == pytest.approx(0.5, abs=0.03)
    assert found["bin_entropy"] == pytest.approx(0.12, abs=0.01)
    assert found["brier_resolution"] < 1e-3


@pytest.mark.parametrize(("gap", "expected"), [(0.05, 0.056), (0.10, 0.102), (0.20, 0.201)])
def test_the_scorer_that_knows_when_it_is_right_has_a_larger_one(gap: float, expected: float) -> None:
    found = hidden_metrics(*informed(0.625 - gap, gap))
    assert found["ece_15"] == pytest.approx(expected, abs=0.008)
    assert found["auroc"] == pytest.approx(0.75, abs=0.015)
    assert found["bin_entropy"] == pytest.approx(0.91, abs=0.01)


def test_tables_say_what_ece_hides_of_the_own_accuracy() -> None:
    def blind(question: Question, variant: str) -> list[float]:
        return [0.97, 0.01, 0.01, 0.01]

    report = report_asked([with_labels(blind)], OPTIONS)
    (table,) = (found for found in asked_tables(report) if found.kind == "hides")
    rows = {row.label: row.cells for row in table.rows}
    assert rows["direct"][0] == pytest.approx(0.25)
    assert rows["polarised, knows nothing"][0] == rows["direct"][0]
    (resolution,) = (place for place, column in enumerate(table.columns) if column.title == "resolution")
    assert rows["direct"][resolution] == 0.0
    kinds = {table.kind for table in asked_tables(report)}
    assert {"designs", "labels", "hides", "answers"} <= kinds
