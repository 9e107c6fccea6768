"""The page and the figures of the same facts in several ways: every number is there, and names stay text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import same_facts as made
from page_samples import EVIL, Page
from proofs import few_of

from calprobe.cells.opening import open_scored_runs
from calprobe.measures.number_text import number, signed
from calprobe.measures.options import CompareOptions, ReportOptions
from calprobe.metrics import Resampling
from calprobe.presentation.comparison_pages import four_ways_page
from calprobe.show.plots import COLUMN_INCHES, PAGE_INCHES, Look, drawing, save
from calprobe.show.plots.paper import draw
from calprobe.studies.four_ways.compare_ways import compare_opened
from calprobe.studies.four_ways.figures import way_pictures
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.ranked import Ranked
from calprobe.studies.four_ways.way_options import FourWaysOptions


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FourWays:
    folder = made.scored(tmp_path_factory.mktemp("ways") / "scored")
    options = FourWaysOptions(CompareOptions(scores=ReportOptions(resampling=Resampling(12))))
    ranked = [Ranked.of(run) for run in open_scored_runs({"scored": folder}, options.compare.scores)]
    return compare_opened(ranked, [made.choosing(), made.answering()], options)


def test_the_page_has_every_number_and_figure(found: FourWays) -> None:
    html = four_ways_page(found)
    page = Page(html)
    assert page.open == []
    assert len(page.all("caption")) == 7
    assert len(page.all("figure")) == 1 + 1 + 1 + 2
    for own in found.two_by_two:
        assert number(own.answers_if_ranked.value) in html
        assert signed(own.difference.value) in html
    for view in found.views:
        assert view.view.title in page.text
    assert "the right answer is ranked first, and another is said." in page.text, "of one model, or of two"
    assert "Of the 8 facts that B ranks right, C answers 3 (38 %) right." in page.text
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert four_ways_page(found) == html


def test_names_and_answers_stay_text(found: FourWays) -> None:
    evil = " ".join(EVIL)
    facts = tuple(replace(fact, subject=evil, relation=evil) for fact in found.facts)
    tables = tuple(
        replace(own, relations=tuple(replace(gap, relation=evil) for gap in own.relations)) for own in found.two_by_two
    )
    html = four_ways_page(replace(found, facts=facts, two_by_two=tables))
    assert not any(text in html for text in EVIL if "<" in text)
    assert Page(html).open == []


def test_figures_show_the_numbers_of_the_tables(found: FourWays) -> None:
    pictures = way_pictures(found)
    assert [name for name, _ in pictures.drawn()] == ["reliability", "two-by-two", "relations", "correlations"]
    assert pictures.quarters[0].shares == pytest.approx((3 / 12, 5 / 12, 2 / 12, 2 / 12))
    assert [(row.name, row.first, row.second) for row in pictures.dumbbells[0].rows] == [
        ("capital", pytest.approx(1), pytest.approx(2 / 6)),
        ("colour", pytest.approx(2 / 6), pytest.approx(3 / 6)),
    ]
    names = [line.estimator for line in pictures.calibration.lines]
    assert names[:3] == ["1 base (A)", "2 base (B)", "3 label (C)"]
    assert not any("entropy" in name for name in names)
    assert pictures.correlations is not None
    assert pictures.correlations.values[0][0] == 1
    with drawing():
        figure = draw(pictures.dumbbells)
    marks = [line for line in figure.axes[0].lines if line.get_marker() not in ("None", "none")]
    assert sorted(float(x) for line in marks for x in line.get_xdata()) == pytest.approx([2 / 6, 2 / 6, 3 / 6, 1])


@pytest.mark.parametrize("width", few_of([COLUMN_INCHES, PAGE_INCHES], COLUMN_INCHES.__eq__))
def test_figures_have_room_for_their_texts(found: FourWays, tmp_path: Path, width: float) -> None:
    for name, drawn in way_pictures(found).drawn():
        with drawing():
            figure = drawn(Look(width=width))
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        assert box.x0 > -0.1, name
        assert box.x1 < figure.get_figwidth() + 0.1, name
        assert box.y0 > -0.1, name
        save(figure, tmp_path / f"{name}.svg")
