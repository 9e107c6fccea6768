"""The replies of a run as one page: searched, filtered and ordered in the browser, prompts unpacked when one is opened.

What a model or a file wrote is data in the page, compressed, and is only ever set as text.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from calprobe.show.html.page import filled
from calprobe.studies.asked.shown_replies import RunReplies, ShownReply

BLOCK = 500  # prompts that are unpacked at once
FIELDS = (
    *("question", "variant", "wording", "sample", "reply", "thought", "answer", "start", "end", "reader", "status"),
    *("correct", "cut", "abstained", "graded_by", "confidence", "confident_in", "labels", "confidences", "error"),
)


def replies_page(every: RunReplies) -> str:
    """The page as HTML, of all replies of a run."""
    replies = every.replies
    questions: dict[tuple[str, str, str], int] = {}  # a variant may turn the options of a question
    kept: list[dict[str, Any]] = []
    for shown in replies:
        place = (shown.set, shown.question, "/".join(shown.options))
        if place not in questions:
            questions[place] = len(kept)
            kept.append(_question(shown))
    variants = list(dict.fromkeys(shown.variant for shown in replies))
    estimators = list(dict.fromkeys(name for shown in replies for name in shown.confidences))
    rows = [
        _row(shown, questions[shown.set, shown.question, "/".join(shown.options)], variants, estimators)
        for shown in replies
    ]
    has_prompts = any(shown.prompt for shown in replies)
    content = {
        "fields": FIELDS,
        "questions": kept,
        "variants": variants,
        "estimators": estimators,
        "rows": rows,
        "block": BLOCK if has_prompts else 0,
    }
    starts = range(0, len(replies), BLOCK) if has_prompts else ()
    prompts = [_packed([shown.prompt for shown in replies[start : start + BLOCK]]) for start in starts]
    return filled("replies.html.j2", "replies.js", title=every.run, data=_packed(content), prompts=prompts)


def _question(shown: ShownReply) -> dict[str, Any]:
    options = [list(option) for option in shown.options.items()]
    return {
        "set": shown.set,
        "id": shown.question,
        "group": shown.group,
        "text": shown.text,
        "options": options,
        "gold": shown.gold,
    }


def _row(shown: ShownReply, question: int, variants: Sequence[str], estimators: Sequence[str]) -> list[Any]:
    # JavaScript counts in UTF-16, where a character outside of the first 65,536 is two.
    start, end = (_utf16(shown.reply, place) for place in (shown.start, shown.end))
    return [
        *(question, variants.index(shown.variant), shown.paraphrase, shown.sample, shown.reply, shown.thought),
        *(shown.answer, start, end, shown.reader, shown.status, shown.correct, shown.cut, shown.abstained),
        shown.graded_by if shown.kind == "open" else "",
        _short(shown.confidence),
        "" if shown.confident_in == shown.answer else shown.confident_in,
        _rounded(shown.labels.values()),
        [_short(shown.confidences.get(name, math.nan)) for name in estimators],
        shown.error,
    ]


def _utf16(text: str, place: int) -> int:
    return place if place < 0 else len(text[:place].encode("utf-16-le", "surrogatepass")) // 2


def _short(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def _rounded(values: Iterable[float]) -> list[float | None]:
    return [_short(value) for value in values]


def _packed(content: Any) -> str:
    """JSON, deflated, in base64: letters that no parser of HTML takes for anything else."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("ascii"), 9)).decode("ascii")
