"""Dialogues as token ids: through the model's own chat template, or as plain text behind one start token."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from jinja2 import TemplateError

from calprobe.backends.local.token_text import TokenText
from calprobe.backends.protocol import Dialogue, FollowUp, Message
from calprobe.errors import CalprobeError
from calprobe.models import LoadedModel
from calprobe.runs.thoughts import Markers, is_opened, markers_of

_REPLY = "\ue000"  # private-use character that stands for a reply while the template renders what follows it
# Variables by which templates let thinking be switched off, and one by which Llama's takes a date instead of today's.
_THINKING_SWITCHES = ("enable_thinking", "thinking")
_DATE = ("date_string", "26 Jul 2024")  # Llama 3's own default
_DAY = datetime(2024, 7, 26)  # the same, for templates that ask for today's by `strftime_now`
_OF_SOME_SYSTEMS = {"%-d": "26", "%e": "26", "%-m": "7", "%F": "2024-07-26"}
_DATE_CODES = {f"%{code}": _DAY.strftime(f"%{code}") for code in "aAbBcdfHIjmMpSUwWxXyYzZ"} | _OF_SOME_SYSTEMS


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text and tokens in front of a reply, or behind one."""

    text: str
    ids: tuple[int, ...]


class PromptWriter:
    """Makes prompts of dialogues for one model."""

    def __init__(self, model: LoadedModel) -> None:
        self._tokenizer: Any = model.tokenizer
        self.tokens = TokenText(model)
        self.template = _template(self._tokenizer)
        self._dated = _dated(self.template or "")
        self.variables = _variables(self.template or "")
        self.markers = markers_of(self.template, self._tokenizer.get_vocab()) if self.template else None
        self._name = model.name

    def opening(self, dialogue: Dialogue) -> Prompt:
        """All in front of the first reply. Blanks at the end of a text that the reply continues are left out.

        Raises CalprobeError for messages that the template refuses.
        """
        if not self._is_chat(dialogue):
            text = "\n".join(message.text for message in dialogue.messages).rstrip(" \t")
            return Prompt(text, self.tokens.raw(text))
        turns, opened = _with_opening(dialogue.messages)
        text = self._rendered(turns)
        if opened is not None:
            text += self._between(turns, text) + self.tokens.as_text(opened.text.rstrip(" \t"))
        return Prompt(self.tokens.plain(text), self.tokens.chat(text))

    def follow_up(self, dialogue: Dialogue, follow_up: FollowUp) -> Prompt:
        """All between a reply's last token, without its end token, and the reply to the follow-up.

        Behind raw text: the text on lines of its own. Raises CalprobeError for turns that the template refuses.
        """
        text = follow_up.text.rstrip(" \t")
        if follow_up.continues:
            return Prompt(text, self.tokens.inner(text))
        if not self._is_chat(dialogue):
            return Prompt(f"\n{text}\n", self.tokens.inner(f"\n{text}\n"))
        turns, _ = _with_opening(dialogue.messages)
        rendered = self._rendered([*turns, Message("assistant", _REPLY), Message("user", text)])
        _, separator, behind = rendered.rpartition(_REPLY)
        if not separator or self.tokens.as_text(text.strip()) not in behind:
            raise CalprobeError(
                f"{self._name}: its chat template does not show a reply and the turn behind it, so nothing can be asked"
                " after a reply; use prompts without follow-ups"
            )
        return Prompt(self.tokens.plain(behind), self.tokens.inner_chat(behind))

    def replaced(self, dialogue: Dialogue, answer: str) -> Prompt:
        """An answer in the place of the first reply, as the model would have written it."""
        text = self.in_front_of_reply(dialogue) + answer
        return Prompt(text, self.tokens.inner(text))

    def in_front_of_reply(self, dialogue: Dialogue, follow_up: FollowUp | None = None) -> str:
        """What is written between a prompt and the reply to it: nothing, or a blank.

        A blank where the reply continues text, and where the template has one there.
        """
        if follow_up is None:
            continues = dialogue.messages[-1].role == "assistant" or not self._is_chat(dialogue)
        else:
            continues = follow_up.continues
        if continues:
            return " "
        return self._of_template if self._is_chat(dialogue) else ""

    @cached_property
    def _of_template(self) -> str:
        question = [Message("user", "a")]
        return self._between(question, self._rendered(question))

    def opens_thought(self, prompt: str) -> bool:
        """Whether that prompt ends inside a thought."""
        return self.markers is not None and is_opened(prompt, self.markers)

    def _is_chat(self, dialogue: Dialogue) -> bool:
        return self.template is not None and not dialogue.raw

    def _rendered(self, turns: Sequence[Message], generation_prompt: bool = True) -> str:
        messages = [{"role": turn.role, "content": self.tokens.as_text(turn.text)} for turn in turns]
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages,
                chat_template=self._dated,
                tokenize=False,
                add_generation_prompt=generation_prompt,
                **self.variables,
            )
        except TemplateError as error:
            roles = ", ".join(turn.role for turn in turns)
            raise CalprobeError(
                f"{self._name}: its chat template refuses the turns {roles} ({error}); use prompts without the turn"
                " that it does not take, for most templates the system turn"
            ) from error
        return text

    def _between(self, turns: Sequence[Message], rendered: str) -> str:
        """What the template writes between its generation prompt and a reply: nothing, or a blank."""
        answered = self._rendered([*turns, Message("assistant", _REPLY)], generation_prompt=False)
        before, separator, _ = answered.rpartition(_REPLY)
        return before[len(rendered) :] if separator and before.startswith(rendered) else ""

    def header(self) -> str | None:
        """All that the template writes in front of a user's first message; None without a template."""
        return None if self.template is None else self._rendered([Message("user", _REPLY)]).partition(_REPLY)[0]

    def turn_end(self) -> int | None:
        """The special token by which the template ends a reply; None where it is none, or not of the template."""
        if self.template is None or "<|channel|>" in self.template:  # gpt-oss: it also ends a thought
            return None
        question, reply = Message("user", "a"), Message("assistant", _REPLY)
        behind = self._rendered([question, reply], generation_prompt=False).rpartition(_REPLY)[2].lstrip()
        ids = self.tokens.inner_chat(behind) if behind else ()
        return ids[0] if ids and ids[0] in self._tokenizer.all_special_ids else None

    def keeps_prompts(self) -> bool:
        """Whether the template renders a conversation as this class grows it: what was in front of a reply unchanged.

        Templates that drop a thought, or an empty one, from earlier turns do not; the model then sees here what it has
        really written.
        """
        question = Message("user", "a")
        grown = self._rendered([question, Message("assistant", _REPLY), question])
        return grown.startswith(self._rendered([question]))


def _with_opening(messages: Sequence[Message]) -> tuple[list[Message], Message | None]:
    """The turns to be rendered, and the beginning of the reply if the last message is one."""
    *before, last = messages
    return (before, last) if last.role == "assistant" else ([*before, last], None)


def _template(tokenizer: Any) -> str | None:
    if tokenizer.chat_template is None:
        return None
    template: str = tokenizer.get_chat_template()
    return template


def _variables(template: str) -> dict[str, Any]:
    values: dict[str, Any] = {name: False for name in _THINKING_SWITCHES if re.search(rf"\b{name}\b", template)}
    if _DATE[0] in template:
        values[_DATE[0]] = _DATE[1]
    return values


def _dated(template: str) -> str:
    """The template with a fixed day in place of today: prompts, and so a run that is resumed, do not depend on it.

    A macro in front of it, since variables that templates are given can be no functions in transformers.
    """
    if "strftime_now" not in template:
        return template
    codes = "".join(f"|replace({code!r}, {text!r})" for code, text in _DATE_CODES.items())
    # The line break belongs to the tag: the template still begins a line, as its blanks may have to.
    return f"{{%- macro strftime_now(format) -%}}{{{{ format{codes} }}}}{{%- endmacro %}}\n{template}"


def thinking_mode(variables: dict[str, Any], markers: Markers | None) -> str:
    """What the manifest says of thoughts: `off` by the template's switch, `kept apart`, or `none` to be known of."""
    if any(name in variables for name in _THINKING_SWITCHES):
        return "off"
    return "none" if markers is None else "kept apart"


def template_hash(template: str | None) -> str | None:
    """SHA-256 (hex) of a chat template; None of none."""
    return None if template is None else hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
