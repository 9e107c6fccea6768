"""The page in a real browser, offline: it renders, sorts, shows values, changes its theme, fits a phone, needs no
script."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_samples import SCRIPT, with_names
from proofs import few_of
from sources import ROOT

from calprobe.presentation.report_pages import report_page
from calprobe.studies.scored.contents import ReportContents

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


@pytest.fixture(scope="module")
def file(contents: ReportContents, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("page") / "report.html"
    written.write_text(report_page(contents), "utf-8")
    return written


class Opened:
    """A page that is open, and everything that went wrong on it."""

    def __init__(self, browser: Browser, file: Path, **settings: Any) -> None:
        self.context = browser.new_context(offline=True, **settings)
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", lambda request: self.wrong.append(request.url))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, *_error: object) -> None:
        self.context.close()


def column(table: Locator, place: int) -> list[float]:
    """The numbers of a column from top to bottom."""
    read = "(rows, place) => rows.map(row => row.querySelectorAll('td')[place].firstChild.textContent)"
    return [float(text) for text in table.locator("tbody tr:not(.group)").evaluate_all(read, place)]


def test_it_renders_without_an_error_or_a_request(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file)
    with opened as page:
        assert page.locator("h1").inner_text() == "tiny on made-up"
        assert page.locator("figure > svg").count() >= 5
        assert page.locator("figure > svg .mark").first.bounding_box() is not None
        assert opened.wrong == []
        assert opened.asked in ([file.as_uri()], [file.as_uri(), "data:,"])


@pytest.mark.proof
def test_numbers_of_runs_stand_in_columns_though_one_has_no_bear_score(
    browser: Browser, contents: ReportContents, tmp_path: Path
) -> None:
    first, *rest = contents.report.runs
    runs = (first, *(replace(run, bear_score=None) for run in rest))
    page_file = tmp_path / "report.html"
    page_file.write_text(report_page(replace(contents, report=replace(contents.report, runs=runs))), "utf-8")
    read = "rows => rows.map(row => [...row.children].map(one => Math.round(one.getBoundingClientRect().left)))"
    with Opened(browser, page_file) as page:
        (accuracy, _, chance), without, *_ = page.locator(".numbers").evaluate_all(read)
        assert without == pytest.approx([accuracy, chance], abs=2)


def test_a_click_sorts_by_number_and_the_third_brings_the_order_back(browser: Browser, file: Path) -> None:
    with Opened(browser, file) as page:
        table = page.locator("#estimators table").first
        head = table.locator("thead th", has_text="AUROC").first  # every estimator has one
        place = table.locator("thead tr").last.locator("th").all_inner_texts().index(head.inner_text()) - 1
        before = column(table, place)
        assert head.get_attribute("aria-sort") == "none"
        for way, reverse in (("descending", True), ("ascending", False)):
            head.locator(".sort").click()
            assert head.get_attribute("aria-sort") == way
            assert column(table, place) == sorted(before, reverse=reverse)
            assert table.locator("tr.group:visible").count() == 0
        head.locator(".sort").click()
        assert head.get_attribute("aria-sort") == "none"
        assert column(table, place) == before
        assert table.locator("tr.group:visible").count() > 0


@pytest.mark.proof
def test_sorting_works_from_the_keyboard_and_starts_with_the_best(browser: Browser, file: Path) -> None:
    with Opened(browser, file) as page:
        table = page.locator("#estimators table").first
        head = table.locator("thead th", has_text="AUROC")
        head.locator(".sort").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        table.locator("thead th").first.locator(".sort").press("Enter")
        assert head.get_attribute("aria-sort") == "none"
        names = table.locator("tbody tr:not(.group) th button").all_inner_texts()
        assert names[:2] == ["average_max", "average_min"]


@pytest.mark.proof
def test_undefined_values_stay_last(browser: Browser, tmp_path: Path) -> None:
    row = "<tr><th scope='row'>{}</th><td>{}</td></tr>".format
    rows = "".join(row(name, text) for name, text in (("a", "–"), ("b", "0.2"), ("c", "10.0"), ("d", "-0.3")))
    script = (ROOT / "calprobe" / "show" / "html" / "pages" / "page.js").read_text("utf-8")
    head = "<thead><tr><th>name</th><th><span class=head>x</span></th></tr></thead>"
    written = tmp_path / "table.html"
    table = f"<table class=sortable>{head}<tbody>{rows}</tbody></table>"
    written.write_text(f"<!DOCTYPE html><button class=theme></button>{table}<script>{script}</script>", "utf-8")
    with Opened(browser, written) as page:
        for order in ("dbca", "cbda", "abcd"):
            page.locator(".sort").click()
            assert "".join(page.locator("tbody th").all_inner_texts()) == order


def test_a_point_under_the_pointer_shows_its_value(browser: Browser, file: Path) -> None:
    with Opened(browser, file) as page:
        drawing = page.locator("#figures figure > svg").first
        drawing.scroll_into_view_if_needed()
        mark = drawing.locator(".mark:visible").last
        mark.hover()
        assert page.locator(".tip").inner_text() == mark.get_attribute("data-said")
        assert "accuracy" in page.locator(".tip").inner_text()
        drawing.focus()
        page.keyboard.press("Escape")
        assert page.locator(".tip").is_hidden()
        page.keyboard.press("ArrowRight")
        assert page.locator(".tip").is_visible()


@pytest.mark.proof
def test_a_legend_hides_and_shows_a_series(browser: Browser, file: Path) -> None:
    with Opened(browser, file, java_script_enabled=False) as page:
        figure = page.locator("#figures figure").first
        box = figure.get_by_role("checkbox", name="base", exact=True)
        assert box.is_checked()
        base, other = (figure.locator(f":scope > svg .{place} .mark").first for place in ("s0", "s5"))
        assert base.is_visible()
        assert other.is_hidden()
        box.uncheck()
        figure.get_by_role("checkbox", name="consistency_min").check()
        assert base.is_hidden()
        assert other.is_visible()


@pytest.mark.parametrize(
    ("system", "other"), few_of([("light", "dark"), ("dark", "light")], lambda system, other: system == "light")
)
def test_the_theme_follows_the_system_until_it_is_changed(
    browser: Browser, file: Path, system: Any, other: str
) -> None:
    bright = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).every(part => part > 127)"
    with Opened(browser, file, color_scheme=system) as page:
        assert page.evaluate(bright) == (system == "light")
        page.get_by_role("button", name=f"{other.title()} theme").click()
        assert page.evaluate(bright) == (other == "light")
        assert page.evaluate("localStorage.getItem('calprobe-theme')") == other


def test_a_phone_scrolls_tables_and_not_the_page(browser: Browser, file: Path) -> None:
    with Opened(browser, file, viewport={"width": 360, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.locator("#estimators .box").first.evaluate("box => box.scrollWidth > box.clientWidth")
        page.locator(".all").first.check()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_without_script_tables_figures_and_definitions_are_there(browser: Browser, file: Path) -> None:
    with Opened(browser, file, java_script_enabled=False) as page:
        assert page.locator("#estimators tbody tr").first.is_visible()
        assert page.locator("#figures figure > svg .mark:visible").count() > 10
        assert page.locator(".theme").is_hidden()
        assert page.locator(".sort").count() == 0
        definition = page.locator("#m-ace")
        assert definition.is_hidden()
        page.locator("[popovertarget=m-ace]").first.click()
        assert definition.is_visible()
        assert "20 quantile bins" in definition.inner_text()


@pytest.mark.proof
def test_print_is_light_and_cuts_no_figure(browser: Browser, file: Path) -> None:
    with Opened(browser, file, color_scheme="dark") as page:
        page.emulate_media(media="print")
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert ground == "rgb(255, 255, 255)"
        assert page.locator("nav").is_hidden()
        assert page.locator("figure").first.evaluate("figure => getComputedStyle(figure).breakInside") == "avoid"
        head = page.locator("#estimators thead .sort").first  # of a button, a repeated head would show nothing
        assert head.evaluate("button => getComputedStyle(button).display") == "contents"


def test_a_script_in_a_name_stays_text(browser: Browser, contents: ReportContents, tmp_path: Path) -> None:
    written = tmp_path / "evil.html"
    written.write_text(report_page(with_names(contents, SCRIPT)), "utf-8")
    opened = Opened(browser, written)
    with opened as page:
        assert page.title() == f"{SCRIPT} and tiny on 2 probes · calprobe"
        assert page.locator("h2", has_text=SCRIPT).first.is_visible()
        assert page.locator("script").count() == 1
        assert opened.wrong == []


def test_names_turn_no_text_around_and_reach_no_terminal(
    browser: Browser, contents: ReportContents, tmp_path: Path
) -> None:
    name = "R\x1b[31m\x9b2J\u202eexe\u2066\x07" + "W" * 60
    written = tmp_path / "evil.html"
    written.write_text(report_page(with_names(contents, name)), "utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written.read_text("utf-8"))
    with Opened(browser, written, viewport={"width": 390, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert "\ufffdexe\ufffd" in page.title()


@pytest.mark.proof
def test_heads_stay_in_sight_in_long_tables(browser: Browser, file: Path) -> None:
    with Opened(browser, file, viewport={"width": 1280, "height": 400}) as page:
        table = page.locator("#estimators table").first
        assert page.locator("#estimators .box").first.evaluate("box => box.classList.contains('fits')")
        page.evaluate("document.documentElement.style.scrollBehavior = 'auto'")
        table.locator("tbody tr").nth(10).evaluate(
            "row => scrollTo(0, row.getBoundingClientRect().top + scrollY - 200)"
        )
        assert table.locator("thead th").nth(1).bounding_box()["y"] == pytest.approx(0, abs=1)  # type: ignore[index]


@pytest.mark.proof
def test_a_phone_shows_whole_numbers_beside_the_names(browser: Browser, file: Path) -> None:
    with Opened(browser, file, viewport={"width": 390, "height": 700}) as page:
        box = page.locator("#estimators .box").first
        for asked in (1, 130, 333, 10_000):
            left, names, starts = box.evaluate(
                "async (box, asked) => { box.scrollTo({left: asked, behavior: 'instant'});"
                " await new Promise(done => setTimeout(done, 150));"
                " const row = box.querySelector('tbody tr:not(.group)');"
                " return [box.getBoundingClientRect().left, row.cells[0].getBoundingClientRect().right,"
                " [...row.cells].slice(1).map(cell => cell.getBoundingClientRect().left)]; }",
                asked,
            )
            assert any(abs(start - names) < 1.5 for start in starts)
            caption = box.locator("caption .stay").bounding_box()
            group = box.locator("tr.group .stay").first.bounding_box()
            assert caption is not None
            assert group is not None
            assert (caption["x"], group["x"]) == pytest.approx((left, left), abs=1.5)
        corner = box.locator("thead tr:last-child th").first
        opaque = "cell => getComputedStyle(cell).backgroundColor.startsWith('rgb(')"
        assert corner.evaluate(opaque)
        seen = (
            "cell => { const at = cell.getBoundingClientRect();"
            " return cell.contains(document.elementFromPoint(at.right - 3, at.top + at.height / 2)); }"
        )
        corner.scroll_into_view_if_needed()
        assert corner.evaluate(seen)
