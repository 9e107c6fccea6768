"""The page of a comparison: every difference, its p-values, and names that stay text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compared_runs import run_of, with_model
from page_samples import EVIL, Page

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.measures.number_text import number, signed
from calprobe.messages import in_page
from calprobe.metrics import Resampling
from calprobe.presentation.comparison_pages import comparison_page


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    runs = [run_of(folder / kind, seed, with_model(kind=kind)) for seed, kind in enumerate(("causal", "masked"))]
    return compare(runs, CompareOptions(by_domain=True, scores=ReportOptions(resampling=Resampling(6))))


def test_every_difference_is_there(comparison: Comparison) -> None:
    html = comparison_page(comparison)
    page = Page(html)
    assert page.open == []
    (pair,) = comparison.pairs
    for scope in pair.scopes:
        assert f"{scope.domain or 'all relations'}" in page.text
        for contrast in scope.contrasts:
            for text in (number(contrast.first.value), signed(contrast.difference.value), number(contrast.p_holm)):
                assert f"<td>{text}" in html
    assert len(page.all("caption")) == 1
    assert len(page.inside["pre"]) == 2


def test_one_run_has_a_page_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = run_of(tmp_path_factory.mktemp("runs") / "one")
    found = compare(path, CompareOptions(margin=0.1, scores=ReportOptions(resampling=Resampling(6))))
    page = Page(comparison_page(found))
    assert page.open == []
    assert "A average_min, B margin" in page.text
    assert "max-T p" in page.text
    assert "Differences within a run on the same instances." in page.text


def test_what_is_significant_has_a_star(comparison: Comparison) -> None:
    (pair,) = comparison.pairs
    contrast = replace(pair.everything.contrasts[0], p_holm=0.0123)
    pair = replace(pair, everything=replace(pair.everything, contrasts=(contrast,)), domains=())
    html = comparison_page(replace(comparison, pairs=(pair,)))
    assert "<td>0.0123 *</td>" in html
    assert html.count(" *</td>") == 1


def test_targets_are_there_and_ids_unique(comparison: Comparison) -> None:
    page = Page(comparison_page(comparison))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {button["popovertarget"] for button in page.all("button") if "popovertarget" in button} <= set(ids)


@pytest.mark.parametrize("name", EVIL)
def test_names_stay_text(comparison: Comparison, name: str) -> None:
    (pair,) = comparison.pairs
    first = replace(comparison.runs[0], label=name)
    scope = replace(pair.everything, domain=name)
    named = replace(
        comparison,
        runs=(first, *comparison.runs[1:]),
        pairs=(replace(pair, first=name, domains=(scope,), differences=(name,)),),
        unpaired={name: name},
    )
    page = Page(comparison_page(named))
    assert page.text.count(in_page(name.encode("utf-8", "backslashreplace").decode())) >= 6
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {"img", "b"} & {tag for tag, _ in page.elements}
    assert not any(attribute.startswith("on") for _, attributes in page.elements for attribute in attributes)
    assert page.open == []
