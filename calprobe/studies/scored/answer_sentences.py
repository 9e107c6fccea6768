"""Answers of a run as sentences: which are shown, what the paraphrases change, and each one as lines of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from calprobe.confidence import Headline, headline
from calprobe.measures.number_text import number, ranges, without_zero
from calprobe.messages import counted
from calprobe.show.prose import sentence
from calprobe.studies.scored.answers import CONFIDENT, Answer, Shown, TemplateAnswer

NO_ANSWER = "no answer"
LONGEST = 160  # characters of a subject or statement in lines of text: contexts are longer
FIRST_SHOWN = headline(Headline.FIRST)


def headline_of(shown: Shown) -> str:
    """224 of 583 answers are wrong by base (template 0), 69 with a confidence above 0.5. The 10 surest"""
    if not shown.instances and shown.unfinished:
        return shown.unfinished
    options = shown.options
    verdict = "right or wrong" if options.right and options.wrong else "right" if options.right else "wrong"
    sure = "surest" if options.surest else "least sure"
    heading = f"The {len(shown.answers):,} {sure}" if len(shown.answers) < shown.selected else f"The {sure} first"
    verb = "is" if shown.selected == 1 else "are"
    sentence = f"{shown.selected:,} of {counted(shown.instances, 'answer')} {verb} {verdict} by {shown.by}"
    none = f" ({shown.unanswered:,} of them without an answer)" if shown.unanswered else ""
    return f"{sentence}{none}, {shown.confident:,} with a confidence above {CONFIDENT}. {heading}"


def notes_of(shown: Shown) -> Iterator[str]:
    """What the answers are not of, and how the paraphrases agree on all selected ones, of two or more."""
    if shown.instances and shown.unfinished:
        yield sentence(shown.unfinished)
    if (wordings := shown.wordings) is not None and shown.selected:
        how_many = "Both" if len(wordings.templates) == 2 else f"All {len(wordings.templates)}"
        all_of = f"{how_many} paraphrases (templates {ranges(wordings.templates)})"
        elsewhere = f"; at least one of them is right in {wordings.right_elsewhere:,}" if shown.options.wrong else ""
        yield f"{all_of} give the same answer in {wordings.same:,} of the {shown.selected:,}{elsewhere}."


def agreement(answer: Answer) -> str:
    """3 of 5: how many of the templates give the answer."""
    return f"{sum(template.agrees for template in answer.templates)} of {len(answer.templates)}"


def right_in(answer: Answer) -> str:
    """2 of 5: in how many of the templates the answer is right."""
    return f"{sum(template.correct for template in answer.templates)} of {len(answer.templates)}"


def answers_text(shown: Shown, width: int) -> str:
    """The answers as lines of at most `width` columns: subject and answers, statement, confidences, templates."""
    lines = [*_wrapped(f"{shown.run}: {headline_of(shown)}{':' if shown.answers else '.'}", width)]
    for note in notes_of(shown):
        lines += _wrapped(note, width)
    for place, answer in enumerate(shown.answers, 1):
        lines += ["", *_block(f"{place}. ", answer, width)]
    return "\n".join(lines)


def _block(mark: str, answer: Answer, width: int) -> Iterator[str]:
    indent = " " * len(mark)
    verdict = "right" if answer.correct else f"right is {answer.answer}"
    if len(answer.templates) > 1 and not answer.correct:
        verdict += f", given by {right_in(answer)} templates"
    text = f"{answer.predicted or NO_ANSWER} {number(answer.confidence)}"
    subject = short(answer.subject or f"instance {answer.instance}")
    yield from _wrapped(f"{mark}{subject}: {text}, {verdict} ({answer.relation} {answer.instance})", width, indent)
    if answer.statement is not None:
        yield from _wrapped(f'{indent}"{short(answer.statement)}"', width, indent)
    if sure := list(_others(answer)):
        yield from _wrapped(indent + ", ".join(sure), width, indent)
    if len(answer.templates) > 1:
        for line in _by_answer(answer):
            yield from _wrapped(indent + line, width, f"{indent}  ")


def _others(answer: Answer) -> Iterator[str]:
    """margin 0.9780, average_min 0.1704 (Jane Austen): an answer that is not the one shown is named."""
    for name, estimator in answer.estimators.items():
        is_shown_above = (estimator.place, estimator.confidence) == (answer.place, answer.confidence)
        if name in FIRST_SHOWN and not is_shown_above:
            note = "" if estimator.place == answer.place else f" ({estimator.label or NO_ANSWER})"
            yield f"{name} {number(estimator.confidence)}{note}"


def _by_answer(answer: Answer) -> Iterator[str]:
    """A line for each answer that a template gives: Saturn: templates 0 (.991), 1 (.953)."""
    groups: dict[int, list[TemplateAnswer]] = {}
    for template_answer in sorted(answer.templates, key=lambda template_answer: not template_answer.agrees):
        groups.setdefault(template_answer.place, []).append(template_answer)
    for members in groups.values():
        label = members[0].label or NO_ANSWER
        name = f"{label}, which is right" if members[0].correct and not answer.correct else label
        numbers = ", ".join(
            f"{template_answer.template} ({_short(template_answer.confidence)})" for template_answer in members
        )
        yield f"{name}: template{'s' if len(members) > 1 else ''} {numbers}"


def short(text: str) -> str:
    """The text on one line, a long one without its middle."""
    line = " ".join(text.split())
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} .. {line[-half:]}"


def _short(value: float) -> str:
    return without_zero(f"{value:.3f}")


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, max(width, 20), subsequent_indent=indent, break_on_hyphens=False)
