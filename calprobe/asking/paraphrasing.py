"""Paraphrases made by a model: asked for as a run of replies of its own, checked, written as a paraphrase file."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.asking.ask import ask
from calprobe.asking.ask_options import AskOptions
from calprobe.asking.rewordings import Entailment, Rewordings, checked_rewordings
from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Backend
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import counted, shown
from calprobe.prompts import PromptSet
from calprobe.questions import Question, QuestionOptions, QuestionSet, load_questions
from calprobe.questions.paraphrase_file import read_paraphrases
from calprobe.runs import AskedRun, Reply
from calprobe.runs.atomic import named_file

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

log = logging.getLogger(__name__)

RUN = ".run"  # the folder of the replies: the file's name with this in the place of its suffix
_FIX = "give another --out"


@dataclass(frozen=True, slots=True)
class ParaphraseOptions:
    """How many paraphrases, and how they are sampled. Raises UsageError for a count below 1."""

    count: int = 5  # of each question, at most
    samples: int | None = None  # replies to each question; None: twice as many as paraphrases
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    prompts: str | Path | PromptSet = "paraphrase"
    max_new_tokens: int | None = None  # of a reply; None: the variant's
    nli: str | None = None  # a model of entailment that judges whether the meaning is the same; None: it is not judged
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"--n must be a whole number of at least 1, got {self.count}")

    @property
    def asked(self) -> AskOptions:
        """The options of the run that asks for them."""
        return AskOptions(
            prompts=self.prompts,
            collect=("answer",),
            samples=2 * self.count if self.samples is None else self.samples,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            max_new_tokens=self.max_new_tokens,
            quiet=self.quiet,
        )


@dataclass(frozen=True, slots=True)
class Paraphrased:
    """What was written, and what the checks made of the replies."""

    path: Path
    fingerprint: str  # SHA-256 (hex) of the file
    questions: int
    replies: int
    passed: int  # replies that every check let pass
    written: int  # of these, in the file: `count` of a question at most
    reached: int  # questions with `count` paraphrases
    without: int  # questions with none: they have no line in the file
    dropped: Mapping[str, int]  # replies by reason


def paraphrase(
    model: str | Backend,
    questions: str | Path | QuestionSet,
    out: str | Path,
    options: ParaphraseOptions = ParaphraseOptions(),
    *,
    question_options: QuestionOptions | None = None,
    backend_options: BackendOptions = BackendOptions(),
    load_options: LoadOptions | None = None,
) -> Paraphrased:
    """Let a model put questions in other words, check what it says, and write what passes for `--paraphrases FILE`.

    The replies are a run of their own beside the file, so that the same call resumes and asks for nothing twice.

    Args:
        model: as `calprobe.ask` takes it.
        questions: a name of a set, a question file, or a set from `load_questions`.
        out: the file, JSON lines; its run is the folder of the same name that ends in .run.
        options: how many, how they are sampled, and which model judges whether the meaning is the same.
        question_options: which questions of the set; None: all.
        backend_options: which engine answers, and where.
        load_options: how models are loaded into this process.
    Raises:
        UsageError: the file is there and has other paraphrases. CalprobeError: no reply passed. Else as `calprobe.ask`.

    Example:
        >>> paraphrase("qwen2.5-7b", "quiz.jsonl", "quiz-paraphrases.jsonl").written  # doctest: +SKIP
        431
    """
    path = Path(out).expanduser()
    question_set = _loaded(questions, question_options or QuestionOptions(seed=options.seed))
    if not question_set.source.quotable:
        log.warning(
            "%s: its authors ask that none of its questions is published; keep %s to yourself", question_set.name, path
        )
    run = ask(
        model,
        _to_be_worded(question_set),
        path.with_suffix(RUN),
        options.asked,
        backend_options=backend_options,
        load_options=load_options,
    )
    replies = _replies(run)
    reworded = checked_rewordings(replies, question_set.questions, _entailment(options, load_options))
    chosen = [_first(rewordings, options.count) for rewordings in reworded]
    fingerprint = _write(path, question_set.name, chosen, _source(run, options))
    return Paraphrased(
        path=path,
        fingerprint=fingerprint,
        questions=len(reworded),
        replies=sum(map(len, replies.values())),
        passed=sum(len(rewordings.kept) for rewordings in reworded),
        written=sum(len(rewordings.kept) for rewordings in chosen),
        reached=sum(len(rewordings.kept) == options.count for rewordings in chosen),
        without=sum(not rewordings.kept for rewordings in chosen),
        dropped=dict(sum((rewordings.dropped for rewordings in reworded), Counter[str]()).most_common()),
    )


def _first(rewordings: Rewordings, count: int) -> Rewordings:
    """With the first `count` of those that passed."""
    return replace(rewordings, kept=rewordings.kept[:count])


def _loaded(questions: str | Path | QuestionSet, chosen: QuestionOptions) -> QuestionSet:
    if isinstance(questions, QuestionSet):
        return questions
    (question_set,) = load_questions([questions], chosen)
    return question_set


def _to_be_worded(questions: QuestionSet) -> QuestionSet:
    """The set's texts alone, as open questions: options and context stay as they are."""
    return replace(
        questions,
        questions=tuple(
            Question(question.id, question.text, "open", accepted=(question.text,)) for question in questions.questions
        ),
        shots=(),
    )


def _replies(run: AskedRun) -> dict[str, list[Reply]]:
    """By question, in the order of samples, of the first variant."""
    first = run.manifest.prompts.variants[0].name
    replies: dict[str, list[Reply]] = {}
    for asked_piece, piece in run.by_piece.items():
        if asked_piece.variant == first:
            for reply in sorted(piece.replies, key=lambda reply: reply.sample):
                replies.setdefault(reply.question, []).append(reply)
    return replies


def _entailment(options: ParaphraseOptions, load_options: LoadOptions | None) -> Entailment | None:
    if options.nli is None:
        return None
    from calprobe.models import LoadOptions
    from calprobe.models.pair_classifier import load_pair_classifier

    classifier = load_pair_classifier(options.nli, load_options or LoadOptions(quiet=options.quiet))

    def entailment(pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        return [float(row[0]) for row in classifier.probabilities(pairs)[0]]

    return entailment


def _source(run: AskedRun, options: ParaphraseOptions) -> str:
    prompts = run.manifest.prompts
    judged = f", entailed both ways by {shown(options.nli)}" if options.nli else ""
    return (
        f"{run.manifest.model.name}, prompts {prompts.name} ({prompts.fingerprint[:12]}), temperature "
        f"{options.temperature:g}, seed {options.seed}; checked{judged}"
    )


def _write(path: Path, name: str, reworded: Sequence[Rewordings], source: str) -> str:
    """Write the file, and give its fingerprint; raise UsageError if one with another content is there."""
    lines = [
        {"id": rewordings.question.id, "set": name, "paraphrases": list(rewordings.kept), "paraphrase_source": source}
        for rewordings in reworded
        if rewordings.kept
    ]
    if not lines:
        raise CalprobeError(
            f"none of the rewordings of {counted(len(reworded), 'question')} passed the checks, so {path} is not "
            f"written; their texts are in {path.with_suffix(RUN)}. Give another --model, or --prompts"
        )
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    if path.exists() and path.read_text("utf-8") != text:
        raise UsageError(f"{path} is there, with other paraphrases; {_FIX}, or remove it")
    with named_file(path, _FIX) as temporary:
        temporary.write_text(text, "utf-8")
    return read_paraphrases(path).fingerprint
