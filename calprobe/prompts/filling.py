"""Fills prompts with questions and examples: the turns that a model reads."""

from __future__ import annotations

from collections.abc import Sequence

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.prompts.placeholders import placeholders_of, replace_placeholders
from calprobe.prompts.types import Message, PromptSet, Role, Variant, form_of
from calprobe.questions import Question
from calprobe.questions.examples import shown_to


def fill(variant: Variant, question: Question, shots: Sequence[Question], prompt_set: PromptSet) -> tuple[Message, ...]:
    """The turns of one question under one variant. Braces in a question's text are text.

    The last turn has no white space at its end, so that the reply's first token is a word with its own space.

    Args:
        variant: one of the set's.
        question: what is asked.
        shots: examples in their order; the first `variant.shots` of the question's kind are shown, of its group
            where there are so many.
        prompt_set: has the layout of options, and what stands between examples.
    Returns:
        A system turn if there is one, earlier turns, the user's turn, and the opening of the assistant's turn if there
        is one. A raw variant has the user's turn alone, which is all of its text.
    Raises:
        UsageError: the variant has no words for such a question, does not show its options, or needs more shots.

    >>> from calprobe.prompts import load_prompts
    >>> prompts = load_prompts("audit")
    >>> variant = next(each for each in prompts.variants if each.name == "implicit_framing")
    >>> question = Question("1", "Which is a planet?", "choice", ("Mars", "Moon"), ("A", "B"), answer=0)
    >>> print(fill(variant, question, (), prompts)[0].text)
    Which is a planet?
    A. Mars
    B. Moon
    The correct option is:
    """
    wording = variant.of(question)
    _check_options_are_shown(wording, question)
    values = _values(question, prompt_set)
    shown = shown_to(question, shots, wording.shots)
    if len(shown) < wording.shots:
        raise UsageError(
            f"variant {wording.name!r} shows {counted(wording.shots, 'example')}, and there are {len(shown)} for "
            f"questions of the kind {question.kind}; choose other --variants, or fewer --shots"
        )
    values["fewshot_examples"] = _examples(wording, shown, prompt_set)
    turns: tuple[tuple[Role, str], ...] = (
        ("system", wording.system),
        *((turn.role, turn.text) for turn in wording.earlier),
        ("user", wording.user),
        ("assistant", wording.opening),
    )
    messages = [Message(role, replace_placeholders(text, values)) for role, text in turns if text]
    if wording.raw:
        messages = [Message("user", _as_one_text(messages))]
    last = messages.pop()
    return (*messages, Message(last.role, last.text.rstrip()))


def _as_one_text(messages: Sequence[Message]) -> str:
    """Turns as plain text: a blank line behind a system turn, the assistant's opening on a line of its own."""
    return "".join(
        f"{message.text}\n\n"
        if message.role == "system"
        else f"\n{message.text}"
        if message.role == "assistant"
        else message.text
        for message in messages
    )


def _check_options_are_shown(variant: Variant, question: Question) -> None:
    form = form_of(question)
    if form not in ("letters", "words") or question.of:  # of a claim, Yes and No are no news
        return
    placeholders = placeholders_of(variant.texts)
    enough = {"input", "options"} if form == "letters" else {"input", "options", "label_list"}
    if not enough & set(placeholders):
        raise UsageError(
            f"question {question.id}: variant {variant.name!r} does not show the question's options; "
            "use {input} or {options} in its text"
        )


def _values(question: Question, prompt_set: PromptSet) -> dict[str, str]:
    """What the placeholders of turns stand for, examples apart."""
    text = f"{question.context}\n{question.text}" if question.context else question.text
    words = form_of(question) == "words"
    options = "\n".join(
        option if words else replace_placeholders(prompt_set.layout, {"label": label, "option": option})
        for label, option in zip(question.labels, question.options, strict=True)
    )
    unit = f"Unit of the answer: {question.unit}" if question.unit else ""
    return {
        "input": "\n".join(section for section in (text, options, unit) if section),
        "question": text,
        "options": options,
        "label_list": ", ".join(question.labels),
    }


def _examples(variant: Variant, shots: Sequence[Question], prompt_set: PromptSet) -> str:
    """The examples one after another, in the variant's layout."""
    return prompt_set.separator.join(
        replace_placeholders(variant.shot, {**_values(shot, prompt_set), "answer": shot.gold, "number": str(number)})
        for number, shot in enumerate(shots, start=1)
    )
