"""The page of a report as a file: what is in it, what names can do in it, and what it may load."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from page_samples import EVIL, QUICK, SHAPES, Page, all_counts, contents_of, page_contents, with_names
from run_samples import write_run

from calprobe.analysis import ReportOptions, SliceOptions, report
from calprobe.curves.accuracy_ace import AccuracyAce
from calprobe.measures.number_text import number
from calprobe.messages import in_page
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import report_page
from calprobe.studies.scored.contents import ReportContents


@pytest.fixture(scope="module")
def html(contents: ReportContents) -> str:
    return report_page(contents)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_element_is_closed_in_its_turn(page: Page) -> None:
    assert page.open == []


def test_every_number_of_the_report_is_there(contents: ReportContents, page: Page) -> None:
    for run in contents.report.runs:
        assert run.label in page.text
        for estimator in run.estimators:
            assert estimator.name in page.text
            for estimate in estimator.metrics.values():
                if estimate.value == estimate.value:
                    assert number(estimate.value) in page.text


def test_ids_are_unique_and_every_target_is_there(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = {attributes["popovertarget"] for attributes in page.all("button") if "popovertarget" in attributes}
    targets |= {(attributes["href"] or "")[1:] for attributes in page.all("a")}
    assert targets
    assert targets <= set(ids)


def test_each_metric_and_estimator_has_its_definition(contents: ReportContents, page: Page) -> None:
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert {f"m-{metric.name}" for metric in contents.report.metrics} <= ids
    assert {f"e-{estimator.name}" for estimator in contents.report.runs[0].estimators} <= ids


def test_tables_and_figures_say_what_they_are(page: Page) -> None:
    tables = [name for name, _ in page.elements].count("table")
    assert tables == len(page.all("caption"))
    assert all("scope" in attributes for attributes in page.all("th") if attributes.get("class") != "over")
    drawings = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(drawings) >= 5
    assert all(svg["aria-label"] for svg in drawings)


def test_legends_the_keyboard_and_printed_heads_have_what_they_need(html: str, page: Page) -> None:
    switches = [own for own in page.all("input") if re.fullmatch(r"t\d+", own.get("class") or "")]
    assert switches
    series = {name for _, own in page.elements for name in (own.get("class") or "").split()}
    for own in switches:
        place = (own["class"] or "")[1:]
        assert own["type"] == "checkbox"
        assert own["autocomplete"] == "off"  # a page that is opened again shows what its legend says
        assert f"s{place}" in series
        assert f"figure:has(.t{place}:not(:checked)) svg .s{place} {{ display: none; }}" in html
    boxes = [own for own in page.all("div") if own.get("class") == "box"]
    assert len(boxes) == len(page.all("table")) == len(page.all("thead"))
    assert all(own["tabindex"] == "0" and own["role"] == "region" and own["aria-label"] for own in boxes)
    for rule in ("thead { display: table-header-group; }", "figure, tr, .pairs { break-inside: avoid; }"):
        assert rule in html[html.index("@media print") :]


def test_nothing_is_loaded_from_anywhere(html: str, page: Page) -> None:
    assert not re.search(r"https?:|//\w|@import|url\(", html)
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "style", "action", "data"} & set(attributes), tag
        assert not any(name.startswith("on") for name in attributes), tag
    assert [link["href"] for link in page.all("link")] == ["data:,"]


def test_the_policy_knows_style_and_script_by_their_hashes(page: Page) -> None:
    (policy,) = (meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        text = "".join(page.inside[kind])
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_equal_runs_give_equal_bytes(contents: ReportContents, html: str, tmp_path: Path) -> None:
    assert report_page(contents) == html
    again = report_page(contents_of(tmp_path))
    assert again.replace(str(tmp_path), "") == html.replace(str(Path(contents.report.runs[0].label).parent), "")


@pytest.mark.parametrize("name", EVIL)
def test_names_stay_text(contents: ReportContents, page: Page, name: str) -> None:
    html = report_page(with_names(contents, name))
    found = Page(html)
    shown = in_page(name).encode("utf-8", "backslashreplace").decode()
    assert found.text.count(shown) >= 6
    assert [tag for tag, _ in found.elements].count("script") == 1
    assert not {"img", "b"} & {tag for tag, _ in found.elements}
    assert not any(attribute.startswith("on") for _, attributes in found.elements for attribute in attributes)
    assert found.inside["script"] == page.inside["script"]
    assert found.open == []


def test_a_partial_run_says_so(contents: ReportContents) -> None:
    first = contents.report.runs[0]
    run = replace(first, facts=replace(first.facts, relations=1))
    found = Page(report_page(replace(contents, report=replace(contents.report, runs=(run,)))))
    assert "PARTIAL, 1 of 3 relations" in found.text


def test_manifest_and_options_end_the_page(contents: ReportContents, page: Page) -> None:
    shown = [json.loads(text) for text in page.inside["pre"]]
    assert [manifest["model"]["name"] for manifest in shown] == ["tiny", "tiny"]
    assert "95 % bootstrap, 6 resamples of the instances, seed 0" in page.text


def test_without_templates_for_a_figure_there_is_none(tmp_path: Path) -> None:
    single = Page(report_page(page_contents(report(write_run(tmp_path / "one", SHAPES, (0,)), QUICK))))
    assert "Epistemic markers" not in single.text
    assert "Across runs" not in single.text
    assert "Calibration" in single.text


def test_exposure_is_drawn_where_it_is_known(tmp_path: Path) -> None:
    run = write_run(tmp_path / "counted", SHAPES)
    found = page_contents(report(run, QUICK), all_counts(str(run)))
    assert "1 time in training: accuracy" in report_page(found)


def test_slices_that_were_asked_for_are_not_computed_anew(tmp_path: Path) -> None:
    run = write_run(tmp_path / "sliced", SHAPES)
    asked = report(run, ReportOptions(resampling=Resampling(5), slices=SliceOptions("relation", ("margin",))))
    found = page_contents(asked).runs[str(run)]
    assert [own.by for own in found.slices] == ["domain", "relation"]
    assert found.slices[1] is asked.runs[0].slices
    assert {own.estimators for own in found.slices} == {("margin",)}


def test_points_of_several_runs_are_the_reports_own(contents: ReportContents) -> None:
    estimators = {
        (run.label, estimator.name): estimator.metrics for run in contents.report.runs for estimator in run.estimators
    }
    found = contents.across["accuracy-ace"]
    assert isinstance(found, AccuracyAce)
    assert found.points
    for point in found.points:
        assert point.ace is estimators[point.run, point.estimator]["ace"]
        assert point.accuracy is estimators[point.run, point.estimator]["accuracy"]


def test_sixteen_runs_stay_below_a_megabyte(contents: ReportContents) -> None:
    first = contents.report.runs[0]
    runs = tuple(replace(first, facts=replace(first.facts, label=f"runs/{place}")) for place in range(16))
    few = ("base", "average_min")
    own = contents.runs[first.label]
    drawn = replace(own.only(few), slices=own.slices[:1])
    many = replace(contents, report=replace(contents.report, runs=runs), runs={run.label: drawn for run in runs})
    assert len(report_page(many).encode()) < 1_000_000
