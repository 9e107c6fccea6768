"""Asks models what the answers of a run mean: each two of a question's different answers, and each answer as a point.

What was asked before is never asked again. Parts are written as they are computed, so that a kill loses at most one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from calprobe.answers import read
from calprobe.answers.said import said
from calprobe.errors import UsageError
from calprobe.grading.answers_of import answer_readers
from calprobe.messages import counted
from calprobe.questions import Question
from calprobe.runs import AskedRun, open_asked
from calprobe.runs.lock import locked
from calprobe.runs.meanings import Pair, Source, make_current, read_pairs, read_points, write_pairs, write_points
from calprobe.runs.stages import ANSWER, FINAL

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

Each = TypeVar("Each")

log = logging.getLogger(__name__)

PART = 32_768  # pairs or texts of a part
FORM = "each answer behind its question"
Answers = dict[tuple[str, str], tuple[Question, list[str]]]  # by set and question: its different answers


def judge_meanings(
    run: str | Path | AskedRun,
    nli: str | None = None,
    embed: str | None = None,
    load_options: LoadOptions | None = None,
) -> tuple[Source, ...]:
    """Judge which answers to a question mean the same, and store that in the run's folder, where reports find it.

    Each ordered pair of different answers to an open question is judged once, in this call and in later ones.

    Args:
        run: the run folder, open or by path.
        nli: a sequence-classification model with the labels entailment, neutral and contradiction.
        embed: a sentence encoder.
        load_options: how both are loaded.
    Raises:
        UsageError: no open answers. CalprobeError, DataMissingError: as loading a model does, or files are damaged.

    Example:
        >>> judge_meanings("runs/smollm2-135m-nq", embed="all-minilm-l6-v2")  # doctest: +SKIP
    """
    from calprobe.models import LoadOptions

    opened = run if isinstance(run, AskedRun) else open_asked(run)
    answers = different_answers(opened)
    if not answers:
        raise UsageError(f"{opened.path}: no answers to open questions; labels and numbers are compared as they are")
    options, found = load_options or LoadOptions(), []
    with locked(opened.path):
        if nli is not None:
            found.append(_judge(opened.path, answers, nli, options))
        if embed is not None:
            found.append(_embed(opened.path, answers, embed, options))
        make_current(opened.path, found)
    return tuple(found)


def different_answers(run: AskedRun) -> Answers:
    """The different answers to each open question, over all variants, paraphrases and samples; by text."""
    found: dict[tuple[str, str], tuple[Question, set[str]]] = {}
    for asked, piece in run.by_piece.items():
        known = {question.id: question for question in run.questions[asked.set].questions}
        for reply in piece.replies:
            question = known[reply.question]
            if reply.stage in (ANSWER, FINAL) and reply.finish != "error" and question.kind == "open":
                readers = answer_readers(asked, question)
                if reply.stage not in readers:
                    continue
                text = said(reply, question, read(reply, question, readers[reply.stage]))
                if text is not None:
                    found.setdefault((asked.set, question.id), (question, set()))[1].add(text)
    return {place: (question, sorted(texts)) for place, (question, texts) in found.items()}


def _judge(run: Path, answers: Answers, name: str, options: LoadOptions) -> Source:
    from calprobe.models.pair_classifier import load_pair_classifier

    classifier = load_pair_classifier(name, options)
    source = Source("nli", name, classifier.model.fingerprint, FORM)
    total = sum(len(texts) * (len(texts) - 1) for _, texts in answers.values())
    log.info("%s of answers for %s, those judged before left out", counted(total, "pair"), name)
    cut = done = 0
    for part in _parts(_missing_pairs(run, source, answers)):
        rows = [_with_question(answers[place][0], pair) for place, pair in part]
        probabilities, own = classifier.probabilities(rows)
        cut += own
        write_pairs(run, source, [place for place, _ in part], [pair for _, pair in part], probabilities)
        done += len(part)
        log.info("%s judged", counted(done, "pair"))
    if cut:
        log.warning("%s longer than the positions of %s, and cut", counted(cut, "pair"), name)
    return source


def _missing_pairs(run: Path, source: Source, answers: Answers) -> Iterator[tuple[tuple[str, str], Pair]]:
    """Each ordered pair of different answers to a question that was not judged yet."""
    stored = read_pairs(run, source)
    for place, (_, texts) in answers.items():
        pairs = list(permutations(texts, 2))
        known = stored.judged(*place, pairs)[:, 0] if len(stored) else None
        for at, pair in enumerate(pairs):
            if known is None or known[at] != known[at]:
                yield place, pair


def _with_question(question: Question, pair: Pair) -> Pair:
    """Short answers lean on their question: each stands behind it, as in a dialogue."""
    one, other = pair
    return f"{question.text} {one}".strip(), f"{question.text} {other}".strip()


def _embed(run: Path, answers: Answers, name: str, options: LoadOptions) -> Source:
    from calprobe.models.sentence_encoder import load_sentence_encoder

    encoder = load_sentence_encoder(name, options)
    source = Source("embed", name, encoder.model.fingerprint, "the answer alone")
    known = read_points(run, source)
    texts = sorted({text for _, own in answers.values() for text in own} - known.keys())
    log.info("%s to embed by %s", counted(len(texts), "answer"), name)
    for part in _parts(texts):
        points, _ = encoder.embeddings(part)
        write_points(run, source, part, points)
    return source


def _parts(every: Iterable[Each]) -> Iterator[list[Each]]:
    """In the order that they come in, without all of them in memory."""
    rest = iter(every)
    while part := list(islice(rest, PART)):
        yield part
