"""The decomposition of uncertainty over paraphrases: by hand, against SciPy and plain loops, and its table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from distribution_samples import distributions, each_instance, reordered
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from calprobe.confidence import (
    Decomposition,
    Distributions,
    entropy_decomposition,
    uncertainties,
    variance_decomposition,
)
from calprobe.runs import ScoreTable, TemplateRecord

Decompose = Callable[[Distributions, list[int]], Decomposition]
BOTH = pytest.mark.parametrize("decompose", [entropy_decomposition, variance_decomposition])
PARTS = ("total", "aleatoric", "epistemic", "rho")
LN2 = math.log(2)


def certain(*answers: int) -> Distributions:
    """One instance of two candidates; each template is certain of its answer."""
    scores = [[0.0 if candidate == answer else -math.inf for candidate in (0, 1)] for answer in answers]
    return Distributions.from_scores(scores, [0, 2], [0])


@pytest.mark.parametrize(
    ("spaces", "entropy", "variance"),
    [
        (certain(0, 1), (LN2, 0, LN2, (LN2 + 1e-4) / (LN2 + 2e-4)), (0.5, 0, 0.5, 0.5001 / 0.5002)),
        (certain(1, 1, 1), (0, 0, 0, 0.5), (0, 0, 0, 0.5)),
        (
            Distributions.from_scores(np.zeros((2, 2)), [0, 2], [0]),  # both templates know nothing
            (LN2, LN2, 0, 1e-4 / (LN2 + 2e-4)),
            (0.5, 0.5, 0, 1e-4 / 0.5002),
        ),
        (
            Distributions.from_scores([[0, -math.inf], [0, 0]], [0, 2], [0]),  # one is certain, one knows nothing
            (
                -0.75 * math.log(0.75) - 0.25 * math.log(0.25),
                LN2 / 2,
                -0.75 * math.log(0.75) - 0.25 * math.log(0.25) - LN2 / 2,
                None,
            ),
            (0.375, 0.25, 0.125, 0.1251 / 0.3752),
        ),
        (Distributions.from_scores([[-3.0], [-1.0]], [0, 1], [0]), (0, 0, 0, 0.5), (0, 0, 0, 0.5)),  # one candidate
    ],
)
def test_by_hand(spaces: Distributions, entropy: tuple, variance: tuple) -> None:
    rows = range(len(spaces.scores))
    for found, expected in (
        (entropy_decomposition(spaces, rows), entropy),
        (variance_decomposition(spaces, rows), variance),
    ):
        for part, value in zip(PARTS, expected, strict=True):
            if value is not None:
                assert getattr(found, part)[0] == pytest.approx(value, abs=1e-14), part


@given(distributions())
def test_entropy_form_against_scipy(spaces: Distributions) -> None:
    rows = range(len(spaces.scores))
    found = entropy_decomposition(spaces, rows)
    for i, p in enumerate(each_instance(spaces)):
        assert found.total[i] == pytest.approx(scipy_entropy(p.mean(axis=0)), abs=1e-12)
        assert found.aleatoric[i] == pytest.approx(np.mean([scipy_entropy(row) for row in p]), abs=1e-12)
        if len(p) == 2:
            assert found.epistemic[i] == pytest.approx(jensenshannon(*p) ** 2, abs=1e-12)


@given(distributions())
def test_variance_form_is_the_trace_of_the_covariance_of_one_hot_answers(spaces: Distributions) -> None:
    found = variance_decomposition(spaces, range(len(spaces.scores)))
    for i, p in enumerate(each_instance(spaces)):
        mean = p.mean(axis=0)
        # Cov of a one-hot answer is diag(p) - p p'; of the templates' means, (p_t - mean)(p_t - mean)'.
        total = np.trace(np.diag(mean) - np.outer(mean, mean))
        aleatoric = np.mean([np.trace(np.diag(row) - np.outer(row, row)) for row in p])
        epistemic = np.mean([np.trace(np.outer(row - mean, row - mean)) for row in p])
        assert found.total[i] == pytest.approx(total, abs=1e-12)
        assert found.aleatoric[i] == pytest.approx(aleatoric, abs=1e-12)
        assert found.epistemic[i] == pytest.approx(epistemic, abs=1e-12)
        assert found.rho[i] == pytest.approx((epistemic + 1e-4) / (total + 2e-4), abs=1e-9)


@BOTH
@given(spaces=distributions())
def test_bounds(decompose: Decompose, spaces: Distributions) -> None:
    n_templates = len(spaces.scores)
    found = decompose(spaces, list(range(n_templates)))
    form = np.log if decompose is entropy_decomposition else lambda n: 1 - 1 / n
    most = form(spaces.widths.astype(float))
    for part in (found.total, found.aleatoric, found.epistemic):
        assert (part >= 0).all()
        assert (part <= most + 1e-12).all()
    assert (found.epistemic <= form(float(n_templates)) + 1e-12).all()
    assert ((found.rho > 0) & (found.rho < 1)).all()
    np.testing.assert_allclose(found.aleatoric + found.epistemic, found.total, atol=1e-12)


@BOTH
@given(spaces=distributions())
def test_one_template_has_nothing_between_templates(decompose: Decompose, spaces: Distributions) -> None:
    for row in range(len(spaces.scores)):
        assert (decompose(spaces, [row]).epistemic == 0).all()


@BOTH
@given(spaces=distributions(), data=st.data())
def test_what_changes_nothing(decompose: Decompose, spaces: Distributions, data: st.DataObject) -> None:
    rows = list(range(len(spaces.scores)))
    found = decompose(spaces, rows)
    order = np.array(data.draw(st.permutations(range(spaces.n_instances))))
    moved, doubled, backwards = (
        decompose(reordered(spaces, order), rows),
        decompose(spaces, rows * 2),
        decompose(spaces, rows[::-1]),
    )
    for part in PARTS:
        value = getattr(found, part)
        assert getattr(moved, part).tolist() == value[order].tolist()
        np.testing.assert_allclose(getattr(doubled, part), value, atol=1e-11)
        np.testing.assert_allclose(getattr(backwards, part), value, atol=1e-11)


@BOTH
def test_a_failed_template_leaves_no_number_of_its_instance_alone(decompose: Decompose) -> None:
    scores = [[-1.0, -2.0, -1.0, -2.0], [-1.0, math.nan, -1.0, -2.0]]
    spaces = Distributions.from_scores(scores, [0, 2, 4], [0, 0])
    found = decompose(spaces, [0, 1])
    for part in PARTS:
        assert np.isnan(getattr(found, part)).tolist() == [True, False]
    assert not np.isnan(decompose(spaces, [0]).total).any()


@BOTH
def test_no_instances_and_no_templates(decompose: Decompose) -> None:
    nothing = Distributions.from_scores(np.zeros((2, 0)), [0], [])
    assert all(getattr(decompose(nothing, [0, 1]), part).shape == (0,) for part in PARTS)
    with pytest.raises(ValueError, match="rows must name at least one template; got none"):
        decompose(nothing, [])


def table(kinds: str = "pp") -> ScoreTable:
    """Three instances out of order, the last one failed; a template for each letter: paraphrase or verbal."""
    names = {"p": "paraphrase", "v": "verbal"}
    templates = tuple(TemplateRecord(number, names[kind]) for number, kind in enumerate(kinds))
    scores = np.array([[-1.0, -2.0, -5.0, -3.0, -1.0, np.nan, 0.0], [-2.0, -2.0, -1.0, -1.0, -1.0, -3.0, 0.0]])
    return ScoreTable(
        scores=scores[np.arange(len(kinds)) % 2],
        offsets=np.array([0, 3, 5, 7]),
        answer_idx=np.array([0, 0, 1]),
        relation=np.array(["P36", "P30", "P30"]),
        instance=np.array([4, 9, 2]),
        templates=templates,
    )


def test_table_of_uncertainties() -> None:
    found = uncertainties(table())
    columns = [f"{form}_{part}" for form in ("entropy", "variance") for part in PARTS]
    assert list(found.columns) == ["relation", "instance", "candidates", *columns]
    assert found[["relation", "instance", "candidates"]].values.tolist() == [
        ["P30", 2, 2],
        ["P30", 9, 2],
        ["P36", 4, 3],
    ]
    assert [str(found[c].dtype) for c in ("instance", "candidates", *columns)] == ["int32"] * 2 + ["float64"] * 8
    spaces = Distributions.from_table(table())
    for form, decompose in (("entropy", entropy_decomposition), ("variance", variance_decomposition)):
        for part in PARTS:
            expected = getattr(decompose(spaces, [0, 1]), part)[[2, 1, 0]]
            np.testing.assert_array_equal(found[f"{form}_{part}"], expected)
    assert found.isna().any(axis=1).tolist() == [True, False, False]


def test_only_paraphrases_are_read() -> None:
    with_marker = uncertainties(table("pv"))
    assert with_marker.equals(uncertainties(table("p")))
    assert (with_marker["entropy_epistemic"].dropna() == 0).all()
    assert len(uncertainties(table("v"))) == 0
    assert list(uncertainties(table("v")).columns) == list(with_marker.columns)
