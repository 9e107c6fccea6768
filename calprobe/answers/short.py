"""A short text as an answer, and the form in which texts are compared."""

from __future__ import annotations

import re
import unicodedata

from calprobe.answers.reading import Reading
from calprobe.answers.reply_tails import where_a_new_question_begins

_MARKER = re.compile(
    r"(?:^[^\w\n]{0,12}|(?<=[.!?:,;])[^\S\n]{1,3})(?:(?:the|my|so|final|short|correct|best)\s){0,3}answer"
    r"(?:\sto\s(?:(?:the|your|this|that)\s)?question)?"
    r"(?:\s(?:is|would\sbe)\b:?[*_]{0,3}|[*_]{0,3}[^\S\n]{0,3}[:=][*_]{0,3})(?=\s{0,4}(?P<rest>[^\n]*)$)",
    re.IGNORECASE | re.MULTILINE,
)
# The same in other languages; and "A:" at the beginning or below "Q:", unless a line has B: they are options then.
_OTHER_MARKER = re.compile(
    r"(?:^[^\w\n]{0,12}(?:antwort|respuesta|réponse|risposta|resposta|antwoord|svar|odpowiedź|ответ|cevap|答案|答え|回答|答|정답|답)"
    r"|(?:\A\s{0,8}|^Q[^\w\n][^\n]*\n\s{0,8})[*_]{0,3}(?-i:A)(?![\s\S]*^[*_]{0,3}(?-i:B)[*_]{0,3}[:：]))"
    r"[*_]{0,3}[^\S\n]{0,3}[:：][*_]{0,3}(?=\s{0,4}(?P<rest>[^\n]*)$)",
    re.IGNORECASE | re.MULTILINE,
)
# Frames that a reply puts its answer in: LaTeX's box, which may have a text in it, a field of JSON, a tag of XML.
_FRAMES = (
    ("boxed", re.compile(r"\\boxed\s?\{(?:\\(?:text|mathrm|textbf|mathbf)\s?\{)?(?P<rest>[^{}\n]*)\}")),
    (
        "json",
        re.compile(
            r"""(?i)(["'])(?:\w{1,12}_)?answer\1\s{0,3}:\s{0,3}\[?(?:(["'])(?P<rest>(?:[^"\\\n]|\\.)*?)\2|(?P<bare>[-\w.]+))"""
        ),
    ),
    ("tag", re.compile(r"(?i)<(?P<tag>(?:\w{1,12}_)?answer)>\s{0,8}(?P<rest>[^<>\n]*)\s{0,8}</(?P=tag)>")),
)
_FIRST_OF_A_LIST = re.compile(r"[^\w\n]{0,4}\(?1[.)][^\S\n]{1,3}(?=[^\W\d_])")
_SECOND_OF_A_LIST = re.compile(r"^[^\w\n]{0,4}\(?2[.)][^\S\n]", re.MULTILINE)
# Where a reply goes on behind its answer in one line: a speaker, a heading, remarks about the answer.
_GOES_ON = re.compile(
    r"[^\S\n]{1,3}(?:(?:AI[^\S\n])?(?:User|USER|Human|Assistant|Question|Q[0-9]{0,3}|Explanation|Tags|Categor(?:y|ies))"
    r"[^\S\n]?:|#{2,6}[^\S\n])"
)
# How sure the reply is, behind the answer: (90% sure), [confidence: 0.9], - I am 80 percent certain.
_HOW_SURE = re.compile(
    r"""(?ix) [^\S\n]{0,3} (?:[(\[] | [,;–—-]\s | (?<=[.!?])[^\S\n]) [^\S\n]? (?:I(?:\s am|['’]m)\s)? (?:about\s|~)?
    (?:\d{1,3}(?:\.\d{1,4})?[^\S\n]?(?:%|percent)[^\S\n](?:sure|certain|confident|confidence|certainty|probability|likely)
    |(?:my\s)?(?:confidence|certainty|probability)(?:[^\S\n]is|[:=])?[^\S\n]{0,3}[\d.]{1,6}[^\S\n]?(?:%|percent)?)
    [)\].]{0,2} [^\S\n]*\Z"""
)
# A point right in front of a digit is a decimal one.
_IN_FRONT = re.compile(r"""(?:[\s*_`"'“”‘’«»<>\[\]{}():;,!?]|\.(?:\.+|(?!\d))|[-–—•#]{1,6}\s)*""")
_BEHIND = " \t\r\v\f\u00a0*_`\"'“”‘’«»<>[]{}()-–—•:;,.!?"
_OPENED_BY = {")": "(", "]": "[", "}": "{"}
_KEPT = frozenset("#%@&")  # punctuation by Unicode's categories, and part of names: C#, 5%
_ARTICLES = frozenset(("an", "the"))
_FOLDED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i"})
_A = re.compile(r"(?<![^\s\"'“”‘’«»(\[{*_`])a\s+(?!(?:and|or)\b)(?=[^\w\s]*[^\W_])")
_INITIALS = re.compile(r"(?<![^\W_])([^\W\d_]\.)[^\S\n]+(?=[^\W\d_]\.)")
# A minus that is part of a grade, a blood group or an ion: A-, AB-, Cl-.
_WITH_MINUS = r"(?<![^\W_])(?:[^\W\d_]|ab|oh|cl|br|cn)"
_MINUS = re.compile(rf"({_WITH_MINUS})[-–−](?![-–—−\w])", re.IGNORECASE)
# Scripts in which marks are accents, or vowels that most texts leave out; in others they make another letter.
_ACCENTED = ("LATIN", "GREEK", "ARABIC", "HEBREW")
_STRESSED = frozenset("аеиоуыэюяіє")  # Cyrillic letters on which an acute or a grave is stress alone


def read_short(text: str) -> Reading:
    """The reply's short answer, without what stands around it: quotes, Markdown, a full stop, how sure the reply is.

    1. `boxed`, `json`, `tag`: what LaTeX's box, a field "answer" of JSON or a tag <answer> has in it, the last of them;
    2. `answer_marker`: what follows "Answer:" or "The answer is" on the last line with a sentence that begins so, or on
       the line below; else "A:", or the word in another language with a colon (Antwort:, 答案：);
    3. `first_line`: the first line that has a letter or digit, without the number of a list that has no second item.

    The text is read up to where the model asks itself a new question, or within the line goes on as another speaker,
    with a heading or with an explanation.

    >>> [read_short(text).value for text in ('**Paris.**', 'I think of France.\\nAnswer: "Paris"', "\\\\boxed{Paris}")]
    ['Paris', 'Paris', 'Paris']
    """
    end = next(where_a_new_question_begins(text, len(text)), len(text))
    framed = _framed(text, end)
    marked = _last_marked(_MARKER, text, end) or _last_marked(_OTHER_MARKER, text, end)
    if framed and (marked is None or marked.start() < framed[2]):
        return _stripped(text, *framed)
    if marked:
        return _stripped(text, "answer_marker", *marked.span("rest"))
    something = re.compile(r"[^\W_]").search(text, 0, end)
    if something is None:
        return _as_it_stands(text, end)
    begin = text.rfind("\n", 0, something.start()) + 1
    line_end = text.find("\n", something.start(), end)
    stop = line_end if line_end >= 0 else end
    item = _FIRST_OF_A_LIST.match(text, begin, stop)
    if item and not _SECOND_OF_A_LIST.search(text, stop, end):
        begin = item.end()
    return _stripped(text, "first_line", begin, stop)


def first_paragraph(text: str) -> str:
    """The text up to its first blank line behind an answer; a paragraph that ends with a colon has none yet.

    >>> first_paragraph("\\n Paris\\n\\nThe answer is Rome."), first_paragraph("Answer:\\n\\nParis\\n\\nRome")
    ('\\n Paris', 'Answer:\\n\\nParis')
    """
    begin = 0
    for blank in re.finditer(r"\n\s*\n", text):
        paragraph = text[begin : blank.start()].rstrip(_BEHIND.replace(":", ""))
        if any(map(str.isalnum, paragraph)) and not paragraph.endswith(":"):
            return text[: blank.start()]
        begin = blank.end()
    return text


def _last_marked(marker: re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    marked = None
    for match in marker.finditer(text, 0, end):
        if any(map(str.isalnum, match["rest"])):
            marked = match
    return marked


def _framed(text: str, end: int) -> tuple[str, int, int] | None:
    """The rule and the span of the last frame that has a letter or digit in it."""
    last: tuple[str, int, int] | None = None
    for rule, pattern in _FRAMES:
        for match in pattern.finditer(text, 0, end):
            group = "rest" if match["rest"] is not None else "bare"
            begin, stop = match.span(group)
            if any(map(str.isalnum, match[group])) and (last is None or begin > last[1]):
                last = rule, begin, stop
    return last


def _as_it_stands(text: str, end: int) -> Reading:
    """A reply of signs alone: an answer of a question about signs."""
    stripped = text[:end].strip()
    if not stripped:
        return Reading(None, "none", "")
    begin = text.index(stripped)
    return Reading(stripped, "ok", "first_line", begin, begin + len(stripped))


def _stripped(text: str, rule: str, begin: int, end: int) -> Reading:
    """The part of the text without what stands around it; a closing bracket whose opening one is inside stays."""
    start = begin + len(_IN_FRONT.match(text[begin:end])[0])  # type: ignore[index]  # an empty match is one
    for behind in (_GOES_ON, _HOW_SURE):
        if more := behind.search(text, start + 1, end):
            end = more.start()
    inner = text[start:end].rstrip(_BEHIND)
    if minus := _MINUS.search(text, max(start, start + len(inner) - 2), end):
        inner = text[start : max(start + len(inner), minus.end())]
    closing = text[start + len(inner) : end][:1]
    if closing in _OPENED_BY and inner.count(_OPENED_BY[closing]) > inner.count(closing):
        inner += closing
    return Reading(inner, "ok", rule, start, start + len(inner))


def normalised(text: str) -> str:
    """The text as it is compared: lower case, without accents, punctuation and articles, single spaces.

    Hyphens and slashes separate words; `#`, `%`, `@` and signs such as `+` and `$` stay, and so does the minus of A-.
    Marks stay where they make another letter (バ is no ハ, й no и). Initials are one word. A text of articles alone
    keeps them, and so does an `a` with no word behind it (Hepatitis A, A-ha).

    >>> normalised("The  Café-Bar, “U.S.”"), normalised("C++"), normalised("The The")
    ('cafe bar us', 'c++', 'the the')
    """
    plain = _without_accents(unicodedata.normalize("NFKD", text.casefold())).casefold()
    plain = _MINUS.sub(r"\1−", plain.translate(_FOLDED))
    plain = _A.sub("", _INITIALS.sub(r"\1", plain))
    words = "".join(map(_sign, plain.replace("&", " and "))).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _without_accents(decomposed: str) -> str:
    kept, letter = [], ""
    for character in decomposed:
        is_mark = unicodedata.combining(character) > 0
        if not is_mark:
            letter = character
        if not (is_mark and _is_accent(character, letter)):
            kept.append(character)
    return "".join(kept)


def _is_accent(mark: str, letter: str) -> bool:
    """Whether the letter is the same without the mark. Russian mostly writes е for ё."""
    if (mark in "\u0300\u0301" and letter in _STRESSED) or (mark, letter) == ("\u0308", "е"):
        return True
    return unicodedata.name(letter or " ", "").startswith(_ACCENTED)


def _sign(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Pd" or character in "/_":
        return " "
    return "" if category.startswith("P") and character not in _KEPT else character
