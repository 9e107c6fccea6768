"""The public question sets that calprobe knows by name: one entry of NAMED_SETS each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from calprobe.questions.table_layouts import LAYOUT_OF, Layout


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A public question set: where it lies on the hub, its splits and its terms."""

    name: str
    title: str
    repository: str  # data set on the hub, owner/name
    layout: Layout
    splits: Mapping[str, str]  # split -> pattern of its files in the repository; the first is asked by default
    licence: str | None = None  # as the data set's page names it; None: it names none
    terms: str = ""  # what a user has to know
    gated: bool = False  # whether its page asks for an account
    quotable: bool = True  # whether reports may show its texts

    @property
    def split(self) -> str:
        """What is asked unless another split is chosen."""
        return next(iter(self.splits))

    @property
    def shots_split(self) -> str | None:
        """Where examples for prompts come from, the last split; None: the set has one split only."""
        return list(self.splits)[-1] if len(self.splits) > 1 else None

    @property
    def url(self) -> str:
        """The data set's page."""
        return f"https://huggingface.co/datasets/{self.repository}"

    def files_of(self, split: str, names: Iterable[str]) -> list[str]:
        """Those of the names that are files of a split, in order; KeyError if there is no such split."""
        return sorted(name for name in names if fnmatchcase(name, self.splits[split]))


def _in(folder: str, *splits: str) -> dict[str, str]:
    return {split: f"{folder}/{split}-*.parquet" for split in splits}


_ARC = LAYOUT_OF["arc"]
_GPQA = {"main": "gpqa_main.csv", "diamond": "gpqa_diamond.csv", "extended": "gpqa_extended.csv"}
_ENTRIES = (
    NamedSet(
        "mmlu",
        "57 subjects, 4 options",
        "cais/mmlu",
        LAYOUT_OF["mmlu"],
        _in("all", "test", "validation", "dev"),
        "mit",
    ),
    NamedSet(
        "mmlu-pro",
        "14 subjects, 3 to 10 options",
        "TIGER-Lab/MMLU-Pro",
        LAYOUT_OF["mmlu-pro"],
        _in("data", "test", "validation"),
        "mit",
    ),
    NamedSet(
        "arc-easy",
        "easy school science, 3 to 5 options",
        "allenai/ai2_arc",
        _ARC,
        _in("ARC-Easy", "test", "validation", "train"),
        "cc-by-sa-4.0",
    ),
    NamedSet(
        "arc-challenge",
        "hard school science, 3 to 5 options",
        "allenai/ai2_arc",
        _ARC,
        _in("ARC-Challenge", "test", "validation", "train"),
        "cc-by-sa-4.0",
    ),
    NamedSet(
        "openbookqa",
        "elementary science, 4 options",
        "allenai/openbookqa",
        _ARC,
        _in("main", "test", "validation", "train"),
    ),
    NamedSet(
        "sciq",
        "science exams, 4 options or open",
        "allenai/sciq",
        LAYOUT_OF["sciq"],
        _in("data", "test", "validation", "train"),
        "cc-by-nc-3.0",
    ),
    NamedSet(
        "gpqa",
        "graduate science, 4 options",
        "Idavidrein/gpqa",
        LAYOUT_OF["gpqa"],
        _GPQA,
        "cc-by-4.0",
        "Its authors ask that none of its questions is published: reports show none.",
        gated=True,
        quotable=False,
    ),
    NamedSet(
        "sst2",
        "sentiment of film reviews, 2 classes",
        "stanfordnlp/sst2",
        LAYOUT_OF["sst2"],
        _in("data", "validation", "train"),
    ),
    NamedSet(
        "mnli",
        "inference between sentences, 3 classes",
        "nyu-mll/glue",
        LAYOUT_OF["mnli"],
        _in("mnli", "validation_matched", "validation_mismatched", "train"),
    ),
    NamedSet(
        "ag-news",
        "topics of news articles, 4 classes",
        "fancyzhx/ag_news",
        LAYOUT_OF["ag-news"],
        _in("data", "test", "train"),
    ),
    NamedSet(
        "gsm8k",
        "arithmetic in words, a number",
        "openai/gsm8k",
        LAYOUT_OF["gsm8k"],
        _in("main", "test", "train"),
        "mit",
    ),
    NamedSet(
        "gsm-mc",
        "GSM8K with 4 options",
        "guipenedo/gsm8k-mc",
        LAYOUT_OF["gsm-mc"],
        {"test": "test.jsonl", "train": "train.jsonl"},
    ),
    NamedSet(
        "svamp",
        "arithmetic in words, a number",
        "ChilleD/SVAMP",
        LAYOUT_OF["svamp"],
        _in("data", "test", "train"),
        "mit",
    ),
    NamedSet(
        "scibench",
        "calculations of textbooks, with units",
        "xw27/scibench",
        LAYOUT_OF["scibench"],
        {"train": "*.json"},
        terms="Its page names no licence; the authors' own repository, mandyyyyii/scibench, is under MIT.",
    ),
    NamedSet(
        "truthfulqa",
        "common misconceptions, open or as choice",
        "truthfulqa/truthful_qa",
        LAYOUT_OF["truthfulqa"],
        {"validation": "generation/validation-*.parquet"},
        "apache-2.0",
    ),
    NamedSet(
        "nq-open",
        "questions of a search engine, open",
        "google-research-datasets/nq_open",
        LAYOUT_OF["nq-open"],
        _in("nq_open", "validation", "train"),
        "cc-by-sa-3.0",
    ),
    NamedSet(
        "triviaqa",
        "quiz questions, open",
        "mandarjoshi/trivia_qa",
        LAYOUT_OF["triviaqa"],
        _in("rc.nocontext", "validation", "train"),
    ),
    NamedSet(
        "popqa",
        "facts by popularity of the subject, open",
        "akariasai/PopQA",
        LAYOUT_OF["popqa"],
        {"test": "test.tsv"},
    ),
)
NAMED_SETS: Mapping[str, NamedSet] = {entry.name: entry for entry in _ENTRIES}
