"""Replies that give no answer: the model says that it does not know."""

from __future__ import annotations

import re

_NOT = (
    r"(?:do not|don't|dont|did not|can not|cannot|can't|cant|could not|couldn't|am not able to|'m not able to"
    r"|am unable to|'m unable to)"
)
_VERBS = (
    r"(?:know|remember|recall|answer|say|tell|determine|provide|find|confirm|verify|identify|be (?:sure|certain)"
    r"|have (?:(?:any|an|the|enough|sufficient|access to|specific|reliable|a definitive|that|this)\s)*"
    r"(?:information|knowledge|data|details|idea|answer|clue|context|access))"
)
_SAID = re.compile(
    rf"\bi (?:really |honestly |just |simply |currently |personally |actually )*{_NOT} {_VERBS}\b"
    rf"|\bi{_NOT} {_VERBS}\b"
    r"|\bi(?: am|'m) (?:really |honestly |just )*"
    r"(?:not (?:\w+ )?(?:sure|certain|aware|familiar)|unsure|uncertain|unaware)\b"
    r"|\bi have no (?:idea|knowledge|information|clue|answer|comment)\b"
    r"|\b(?:outside|beyond|out of) (?:of )?(?:the (?:scope|limits) of )?my (?:current )?"
    r"(?:knowledge|training|expertise|scope)\b"
    r"|\b(?:not enough|insufficient) (?:information|context|data)\b"
)
_WHOLE = re.compile(
    r"(?:sorry )?(?:(?:the|my) )?(?:answer )?(?:is |it is |it's )?"
    r"(?:unknown|not known|no idea|not sure|unsure|uncertain|n/?a|idk|dunno|no answer|no comment|cannot answer"
    r"|can't answer|can't say|cannot say|cannot be determined|don't know|do not know)(?: sorry)?"
)
# Nothing else may stand beside these: "we don't know each other", "I can't help you, it's Paris".
_THIS = r"(?:this|that|it|(?:your|this|that|the) (?:answer|question|request|topic))"
_ALONE = re.compile(
    rf"(?:i {_NOT} (?:help|assist)(?: you)?(?: (?:with|in) {_THIS})?"
    rf"|we (?:really |simply |just )?{_NOT} (?:know|determine|answer|be (?:sure|certain)|say for (?:sure|certain)"
    rf"|have (?:any |enough |the )?information)(?: (?:on |about |of )?{_THIS})?(?: yet| for (?:sure|certain))?"
    rf"|(?:there(?: is|'s) )?no (?:\w+ ){{0,2}}information"
    rf"(?:(?: (?:is|was))? (?:available|provided|given)(?: (?:on|about|for) {_THIS})?| (?:on|about|for) {_THIS}))"
    r"(?:\W+sorry)?"
    r"(?:\W+please (?:ask|try|provide|rephrase|clarify|give|check|consult)\b[^.,;:!?]{0,80})?"
)
# In front of a refusal: a "but" behind it offers no guess.
_OPENING = re.compile(
    r"\W*(?:(?:i(?: am|'m)|we(?: are|'re)) )?(?:(?:really|so|very|truly|terribly|afraid|unfortunately|regrettably|sadly"
    r"|sorry|my apologies|apologies|(?:i|we) (?:must |do )?apologi[sz]e|(?:as )?an? (?:ai|language model)"
    r"(?: (?:language )?(?:model|assistant))?"
    r"|(?:that is|that's|this is|it's|it is|what) an? (?:good|great|interesting|difficult|hard|tough) question"
    r"|thank you|thanks|for (?:the|your|any) (?:question|inconvenience|confusion|asking)|for asking"
    r"|about that|to say|to hear that)\W+){1,6}(?:(?:but|however)\W+)?"
)
# Behind these words an answer may come all the same.
_GUESS = re.compile(
    r"\b(?:but|however|though|although|i (?:would |'d )?(?:think|guess|believe|suppose|say)|maybe|perhaps|probably"
    r"|possibly|likely|guess|might|could be|may be)\b"
)
_APOSTROPHES = re.compile(r"[’‘`´]")
_AROUND = " \t\r\n.,;:!?\"'*_()[]-–—"


def abstains(text: str) -> bool:
    """Whether a reply says that the model does not know, in English, and offers no guess; "I'm sorry, but" is none.

    >>> [abstains(text) for text in ("I don't know.", "That's outside my knowledge", "I'm not sure, but Paris")]
    [True, True, False]
    """
    plain = " ".join(_APOSTROPHES.sub("'", text.casefold()).split())
    if opening := _OPENING.match(plain):
        plain = plain[opening.end() :]
    if _GUESS.search(plain):
        return False
    whole = plain.strip(_AROUND)
    return bool(_SAID.search(plain) or _WHOLE.fullmatch(whole) or _ALONE.fullmatch(whole))
