"""The page of replies in a real browser: search, filters, keys, links, and replies that would like to be markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from asked_replies import asked, choice, reply

from calprobe.presentation.replies_page import BLOCK, replies_page
from calprobe.questions import Question
from calprobe.studies.asked.shown_replies import shown_replies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = (
    "B <script>document.title='owned'</script>",
    "B <img src=x onerror=\"document.title='owned'\">",
    "B </script><script>document.title='owned'</script><!--",
    "B \u202egnp.exe \u2028 \U0001f9ea lone \udcff",
)


def page_of(texts: tuple[str, ...], *, copies: int = 1) -> str:
    questions = [choice(f"q{place}", place % 2) for place in range(len(texts) * copies)]
    replies = [
        reply(question.id, texts[place % len(texts)], prompt=f"prompt {place} of {question.id}")
        for place, question in enumerate(questions)
    ]
    return replies_page(shown_replies(asked(questions, replies, label="runs/<b>x</b>")))


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Page]:
    def open_page(html: str, fragment: str = "", width: int = 1280) -> Page:
        file = tmp_path_factory.mktemp("page") / "replies.html"
        file.write_text(html, "utf-8")
        page = browser.new_context(offline=True, viewport={"width": width, "height": 800}).new_page()
        page.goto(f"{file.as_uri()}{fragment}")
        page.wait_for_selector("body[data-ready]")
        return page

    return open_page


def test_replies_stay_text(opened: Any) -> None:
    page = opened(page_of(HOSTILE))
    page.select_option("#kind", "all")
    page.select_option("#order", "file")
    assert page.title() == "runs/<b>x</b>: replies"
    assert page.locator("article").count() == len(HOSTILE)
    assert page.locator("article img, article script, main b").count() == 0
    shown = page.locator(".reply").all_text_contents()
    assert shown[:3] == list(HOSTILE[:3])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_reply_turns_no_text_of_the_page_around(opened: Any) -> None:
    page = opened(page_of(("\u202eA",)))
    page.select_option("#kind", "all")
    isolated = "nodes => nodes.map(node => getComputedStyle(node).unicodeBidi)"
    for part in ("article a", "article bdi", "article strong"):
        kinds = page.locator(part).evaluate_all(isolated)
        assert kinds
        assert set(kinds) == {"isolate"}


def test_a_reply_that_was_imported_with_its_grade_says_so(opened: Any) -> None:
    questions = [Question("q0", "Which?", "open", accepted=("",)), choice("q1", 1)]
    replies = [reply("q0", "Rome", correct=False), reply("q1", "B", correct=True)]
    page = opened(replies_page(shown_replies(asked(questions, replies))))
    page.select_option("#kind", "all")
    page.select_option("#order", "file")
    expected = ["graded wrong by the import", "graded right by the import; right is B"]
    assert page.locator(".verdict").all_text_contents() == expected
    page.select_option("#kind", "unread")
    assert page.locator("article").count() == 0


def test_search_filters_and_marks(opened: Any) -> None:
    page = opened(page_of(("It is A.", "It is B."), copies=30))
    page.select_option("#kind", "all")
    page.fill("#search", "IT IS A")
    page.locator("#count", has_text="30 of 60 replies").wait_for()
    assert set(page.locator("article mark").all_text_contents()) == {"A"}
    page.keyboard.press("Escape")
    assert page.locator("#count").text_content() == "60 of 60 replies"


def test_keys_go_on_and_open_prompts(opened: Any) -> None:
    page = opened(page_of(("A", "B"), copies=30))
    page.select_option("#kind", "all")
    page.select_option("#order", "file")
    page.locator("h1").click()
    for key in "jjk":
        page.keyboard.press(key)
    page.keyboard.press("j")
    assert page.locator("article.current .question").text_content() == "Which of q1?"
    page.keyboard.press("p")
    page.locator("article.current pre", has_text="prompt 1 of q1").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


def test_a_link_leads_to_its_reply(opened: Any) -> None:
    page = opened(page_of(("A", "B"), copies=BLOCK // 2 + 5), f"#quiz%2Fq{BLOCK + 3}%2Fplain%2F0%2F0")
    assert page.locator("article .question").all_text_contents() == [f"Which of q{BLOCK + 3}?"]
    page.locator("article summary").first.click()
    page.locator("pre", has_text=f"prompt {BLOCK + 3} of q{BLOCK + 3}").wait_for()


def test_a_report_links_to_replies_of_a_kind(opened: Any) -> None:
    html = page_of(("It is A.",), copies=5)
    assert opened(html, "#show=right").locator("#count").text_content() == "3 of 5 replies"
    for unknown in ("nothing", "constructor"):
        assert opened(html, f"#show={unknown}").locator("#kind").input_value() == "wrong"


def test_a_phone_has_no_sideways_scroll(opened: Any) -> None:
    page = opened(page_of(("A" * 500, "B")), width=390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_equal_replies_give_equal_bytes(tmp_path: Path) -> None:
    assert page_of(("A", "B")) == page_of(("A", "B"))
