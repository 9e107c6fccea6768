"""The layouts of public sets: which columns a file has, and who reads its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calprobe.questions import columns
from calprobe.questions.columns import RowReader
from calprobe.questions.types import QuestionKind


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout. A set can be asked in each of the kinds that it has a reader for; the first is the usual one."""

    name: str
    has: frozenset[str]  # columns; of alternatives, written a|b, one
    readers: Mapping[QuestionKind, RowReader]
    also: Callable[[Mapping[str, Any]], bool] = lambda row: True  # what else a row of this layout is like

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is of this layout."""
        return all(any(name in row for name in column.split("|")) for column in self.has) and self.also(row)


def _layout(
    name: str,
    needed: str,
    readers: Mapping[QuestionKind, RowReader],
    also: Callable[[Mapping[str, Any]], bool] = lambda row: True,
) -> Layout:
    return Layout(name, frozenset(needed.split(",")), readers, also)


# In this order a row is tried, so that no layout stands behind one with fewer columns of the same names.
LAYOUTS: tuple[Layout, ...] = (
    _layout("mmlu-pro", "question_id,question,options,answer_index,category", {"choice": columns.mmlu_pro}),
    _layout(
        "mmlu",
        "subject,question,choices|options,answer",
        {"choice": columns.mmlu},
        lambda row: isinstance(row.get("choices", row.get("options")), list),
    ),
    _layout("arc", "id,question|question_stem,answerKey", {"choice": columns.arc}),
    _layout(
        "sciq",
        "question,correct_answer,distractor1,distractor2,distractor3",
        {"choice": columns.sciq_choice, "open": columns.sciq_open},
    ),
    _layout("gpqa", "Question,Correct Answer,Incorrect Answer 1,Record ID", {"choice": columns.gpqa}),
    _layout("sst2", "sentence,label", {"choice": columns.sst2}),
    _layout("mnli", "premise,hypothesis,label", {"choice": columns.mnli}),
    _layout("ag-news", "text,label", {"choice": columns.ag_news}),
    _layout("gsm-mc", "Question,A,B,C,D,Answer", {"choice": columns.gsm_mc}),
    _layout("svamp", "Body,Question,Answer", {"number": columns.svamp}),
    _layout("scibench", "problem_text,answer_number,unit,source", {"number": columns.scibench}),
    _layout(
        "truthfulqa",
        "category|Category,best_answer|Best Answer,correct_answers|Correct Answers,incorrect_answers|Incorrect Answers",
        {"open": columns.truthfulqa_open, "choice": columns.truthfulqa_choice},
    ),
    _layout("popqa", "question,possible_answers,prop", {"open": columns.popqa}),
    _layout(
        "triviaqa",
        "question,question_id,answer",
        {"open": columns.triviaqa},
        lambda row: isinstance(row["answer"], dict),
    ),
    _layout("nq-open", "question,answer", {"open": columns.nq_open}, lambda row: isinstance(row["answer"], list)),
    _layout("gsm8k", "question,answer", {"number": columns.gsm8k}, lambda row: "####" in str(row["answer"])),
)
LAYOUT_OF = {layout.name: layout for layout in LAYOUTS}


def layout_of_row(row: Mapping[str, Any]) -> Layout | None:
    """The layout that a row has; None if it is of no public set.

    >>> layout_of_row({"sentence": "A fine film.", "label": 1}).name
    'sst2'
    """
    return next((layout for layout in LAYOUTS if layout.fits(row)), None)
