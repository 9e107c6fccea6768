"""Filled templates: texts, spans, and the upper-cased first character."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.probes import Instance, Relation, load_probe
from calprobe.statements import Statement, fill, load_template_set, statements_of

LABELS = st.text(max_size=12) | st.sampled_from(["[X]", "[Y]", "a[Y]b", "ß", "ǆ", "ŉ", ""])


def test_spans_in_both_orders() -> None:
    assert fill("[X] lies in [Y].", "Ghana", "Africa") == Statement("Ghana lies in Africa.", (0, 5), (14, 20))
    assert fill("in [Y] lies [X].", "Ghana", "Africa") == Statement("In Africa lies Ghana.", (15, 20), (3, 9))


def test_first_character_is_upper_cased_wherever_it_comes_from() -> None:
    assert fill("[X] is [Y].", "éclair", "cake").text == "Éclair is cake."
    assert fill("[Y]: [X].", "cake", "iPod").text == "IPod: cake."
    assert fill("[X] is [Y].", " crazy", "a song").text == " crazy is a song."


def test_upper_casing_that_would_lengthen_the_text_is_left_out() -> None:
    assert fill("[X] is [Y].", "ßeta", "a letter") == Statement("ßeta is a letter.", (0, 4), (8, 16))


def test_labels_that_hold_slots_are_plain_text() -> None:
    assert fill("[X] is [Y].", "[Y]", "[X]") == Statement("[Y] is [X].", (0, 3), (7, 10))


@pytest.mark.parametrize("template", ["[X].", "[Y].", "[X] [X] [Y]", "[X] [Y] [Y]", ""])
def test_template_without_its_two_slots(template: str) -> None:
    with pytest.raises(ValueError, match=r"template must have \[X\] and \[Y\] once each"):
        fill(template, "a", "b")


@given(LABELS, LABELS, st.sampled_from(["[X][Y]", "[Y][X]", "ß [Y] of [X]!", "a [X] b [Y]", "[Y], [X]."]))
def test_spans_hold_the_labels(subject: str, answer: str, template: str) -> None:
    text, (subject_start, subject_end), (answer_start, answer_end) = fill(template, subject, answer)
    assert len(text) == len(template) - 6 + len(subject) + len(answer)
    found = text[subject_start:subject_end], text[answer_start:answer_end]
    # Upper-casing may have changed the first character of the text, and no other.
    assert [part[1:] for part in found] == [subject[1:], answer[1:]]
    for part, label, start in zip(found, (subject, answer), (subject_start, answer_start), strict=True):
        assert part[:1] == label[:1] or (start == 0 and part[:1] == label[:1].upper())


def test_statements_are_instance_major_and_candidate_minor() -> None:
    relation = Relation("P1", ("a", "b", "c"), (Instance(0, "x", 0), Instance(1, "y", 2)))
    statements = statements_of(relation, "[X] [Y]")
    assert [statement.text for statement in statements] == ["X a", "X b", "X c", "Y a", "Y b", "Y c"]
    assert statements[4] == fill("[X] [Y]", "y", "b")
    assert statements_of(Relation("P2", ("a",), ()), "[X] [Y]") == []


def text_of_sentencepiece(tokens: list[str]) -> str:
    """The text of tokens that mark a space by U+2581 and a byte without a token of its own by <0xC2>."""
    pieces = (bytes.fromhex(token[3:5]) if re.fullmatch("<0x..>", token) else token.encode() for token in tokens)
    return b"".join(pieces).decode().replace("▁", " ")


def test_texts_are_those_that_the_reference_scores_were_computed_on(shared: Path) -> None:
    probe = load_probe(shared / "bear/BEAR")
    templates = load_template_set(str(shared / "paper/metadata_relations_12_templates.json"), probe)
    checked = 0
    with gzip.open(shared / "reference/gemma3_bear.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            relation = probe.relation(row["relation"])
            fact = relation.instances[row["instance"]]
            assert (fact.subject, fact.answer_idx) == (row["subject"], row["answer_idx"])
            template = templates.template(relation.name, row["template"])
            for candidate, tokens in zip(relation.candidates, row["tokens"], strict=True):
                assert fill(template.text, fact.subject, candidate).text == text_of_sentencepiece(tokens)
                checked += 1
    assert checked > 200
