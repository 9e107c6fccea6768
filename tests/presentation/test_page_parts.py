"""The one builder of pages: sections in their order, and texts of every kind of part that stay text."""

from __future__ import annotations

import pytest
from markupsafe import Markup
from page_samples import EVIL, Page

from calprobe.messages import in_page
from calprobe.show.html import views
from calprobe.show.html.page import render
from calprobe.show.tables import Column, Row, Table

DRAWING = Markup("<svg></svg>")


def page_of(*sections: views.Section, text: str = "text") -> Page:
    definition = views.Definition("m-ace", text, text, text)
    return Page(render(views.Page(text, text, sections, (definition,), ((text, text),), ((text, text),))))


def every_part(text: str) -> tuple[views.Part, ...]:
    figure = views.FigureView(text, DRAWING, text, (views.Choice(text, 0, DRAWING),))
    table = Table(
        text,
        "table",
        text,
        (Column(text, {"metric": "ace"}),),
        (Row(text, (0.5,), group=text, note=text),),
        lead=(text,),
        notes=(text,),
    )
    number = views.BigNumber(text, text, text, "m-ace")
    head = views.RunHead(0, text, text, text, (text,), (number,))
    parts = (text, views.Heading(text), views.Heading(views.with_name("of {}", text)), views.Facts(((text, text),)))
    return (*parts, figure, (figure, figure), table, head, views.Folded(text, (text, table)))


def test_the_contents_lead_to_each_section_in_order() -> None:
    sections = (
        views.Section("one", "One", ("first",), lead="before"),
        views.Section("two", "Two", (), "Heading of two", "many", link="two.html"),
    )
    page = page_of(*sections)
    ids = [attributes["id"] for attributes in page.all("section") if "id" in attributes]
    assert ids == ["one", "two", "definitions", "made"]
    assert [link["href"] for link in page.all("a")] == ["#one", "#two", "#definitions", "#made", "two.html"]
    assert page.text.index("before") < page.text.index("first") < page.text.index("Heading of two")
    assert views.filled(*sections) == sections[:1]


def test_runs_are_named_where_there_are_several() -> None:
    assert views.by_run({"a": ("text",)}) == ("text",)
    named = views.by_run({"a": ("text",), "b": (), "c": ("more",)})
    assert named == (views.Heading("<bdi>a</bdi>"), "text", views.Heading("<bdi>c</bdi>"), "more")


@pytest.mark.parametrize("text", EVIL)
def test_every_part_shows_text_as_text(text: str) -> None:
    page = page_of(views.Section("all", text, every_part(text), lead=text), text=text)
    plain = page_of(views.Section("all", "text", every_part("text"), lead="text"))
    assert page.open == []
    assert [tag for tag, _ in page.elements if tag != "wbr"] == [tag for tag, _ in plain.elements]
    assert page.text.count(in_page(text).encode("utf-8", "backslashreplace").decode()) == plain.text.count("text")
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


def test_examples_that_are_held_back_leave_a_run_complete() -> None:
    for state in ("complete", "complete but for 3 questions held back as examples"):
        assert not views.RunHead(0, "run", state, "how").partial
    assert views.RunHead(0, "run", "LIMITED: 5 of 46 questions of mini", "how").partial
