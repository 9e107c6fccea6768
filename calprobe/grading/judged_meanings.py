"""Asks models what the answers of a run mean: each two of a question's different answers, and each answer as a point.

What was asked before is never asked again. Parts are written as they are computed, so that a kill loses at most one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from calprobe.answers import read
from calprobe.answers.equal_answers import said
from calprobe.answers.token_claims import Context, ccp_pairs
from calprobe.backends.protocol import Backend
from calprobe.errors import UsageError
from calprobe.grading.answers_of import answer_readers, plain_variants
from calprobe.grading.entailment import Judge, judge_of
from calprobe.messages import counted, shown
from calprobe.questions import Question
from calprobe.runs import AskedRun, open_asked
from calprobe.runs.lock import locked
from calprobe.runs.meanings import (
    Kind,
    Pair,
    Source,
    make_current,
    place_of_claim,
    read_pairs,
    read_points,
    write_pairs,
    write_points,
)
from calprobe.runs.stages import ANSWER

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

Each = TypeVar("Each")

log = logging.getLogger(__name__)

PART = 32_768  # pairs or texts of a part
FORM = "each answer behind its question"
FORMS: Mapping[Context, str] = {
    "sentence": "the sentence up to the token, with the token and with its alternative",
    "token": "token and alternative alone",
}
Place = tuple[str, str]  # set and question
Answers = dict[Place, tuple[Question, list[str]]]  # the different answers to a question
Pairs = dict[Place, dict[Pair, None]]  # the different pairs, in their order


def judge_meanings(
    run: str | Path | AskedRun,
    nli: str | Backend | None = None,
    embed: str | None = None,
    load_options: LoadOptions | None = None,
    contexts: Sequence[Context] = ("sentence",),
) -> tuple[Source, ...]:
    """Judge what the answers of a run mean, and store that in its folder, where reports find it.

    Each ordered pair of different answers to an open question is judged once, in this call and in later ones. Of a run
    with alternatives of tokens, so is what each alternative says beside the token that was generated.

    Args:
        run: the run folder, open or by path.
        nli: a sequence-classification model with the labels entailment, neutral and contradiction; `self` for the model
            that has answered, which is then asked; or a backend that is open, which the caller closes.
        embed: a sentence encoder.
        load_options: how both are loaded.
        contexts: in which alternatives of tokens are judged, see `calprobe.answers.token_claims.ccp_pairs`.
    Raises:
        UsageError: neither open answers nor alternatives. CalprobeError, DataMissingError: as loading a model does, or
            files are damaged.

    Example:
        >>> judge_meanings("runs/smollm2-135m-nq", embed="all-minilm-l6-v2")  # doctest: +SKIP
    """
    from calprobe.models import LoadOptions

    opened = run if isinstance(run, AskedRun) else open_asked(run)
    answers = different_answers(opened)
    claims = {context: token_pairs(opened, context) for context in contexts} if nli is not None else {}
    if not answers and not any(claims.values()):
        raise UsageError(
            f"{opened.path}: no answers to open questions, and no alternatives of tokens; labels and numbers are "
            "compared as they are"
        )
    options = load_options or LoadOptions()
    sources: list[Source] = []
    with locked(opened.path):
        # Embedding is first, since it is quick: what is no encoder is found before hours of judging.
        embedded = [_embed(opened.path, answers, embed, options)] if embed is not None and answers else []
        if nli is not None:
            with judge_of(nli, opened.manifest, options) as judge:
                sources += _judged(opened.path, answers, claims, judge)
        sources += embedded
        make_current(opened.path, sources)
    return tuple(sources)


def different_answers(run: AskedRun) -> Answers:
    """The different answers to each open question, over all variants, paraphrases and samples, with greedy ones."""
    answers: dict[tuple[str, str], tuple[Question, set[str]]] = {}
    plain = plain_variants(run)
    for piece, record in run.by_piece.items():
        questions = {question.id: question for question in run.questions[piece.set].questions}
        for reply in record.replies:
            question = questions[reply.question]
            readers = answer_readers(piece, question) if question.kind == "open" else {}
            if reply.stage in readers and reply.finish != "error":
                reading = read(reply, question, readers[reply.stage], plain=piece.variant in plain)
                text = said(reply, question, reading)
                if text is not None:
                    answers.setdefault((piece.set, question.id), (question, set()))[1].add(text)
    return {place: (question, sorted(texts)) for place, (question, texts) in answers.items()}


def token_pairs(run: AskedRun, context: Context) -> Pairs:
    """What the tokens of a run's answers and their alternatives say, each different pair in both directions; by place.

    Empty where the run has no alternatives.
    """
    by_place: Pairs = {}
    for piece, record in run.by_piece.items():
        for reply in record.replies:
            if reply.stage == ANSWER and reply.alternatives is not None:
                place = place_of_claim(piece.set, reply.question, context)
                pairs = ccp_pairs(reply.alternatives.tokens(), context)
                by_place.setdefault(place, {}).update(dict.fromkeys(pairs))
    return by_place


def _judged(run: Path, answers: Answers, claims: Mapping[Context, Pairs], judge: Judge) -> Iterator[Source]:
    if answers:
        source = Source("nli", shown(judge.name), judge.fingerprint, _form(FORM, judge))
        pairs = {place: dict.fromkeys(permutations(texts, 2)) for place, (_, texts) in answers.items()}
        _judge(run, pairs, source, judge, {place: question for place, (question, _) in answers.items()})
        yield source
    if not judge.contradicts:
        log.warning("%s tells entailment from the rest alone: without ccp, ccp_mean and no_contradiction", judge.name)
        if not answers:
            raise UsageError(f"--nli {judge.name}: ccp needs a model that names contradictions; give another one")
    for context, context_pairs in claims.items() if judge.contradicts else ():
        if context_pairs:
            kind: Kind = "ccp_token" if context == "token" else "ccp_sentence"
            source = Source(kind, shown(judge.name), judge.fingerprint, _form(FORMS[context], judge))
            _judge(run, context_pairs, source, judge, {})
            yield source


def _form(form: str, judge: Judge) -> str:
    return f"{form}, {judge.how}" if judge.how else form


def _judge(run: Path, pairs: Pairs, source: Source, judge: Judge, questions: Mapping[Place, Question]) -> None:
    """Judge the pairs that the source has not judged yet, each behind its question where one is given."""
    total = sum(map(len, pairs.values()))
    noun = "of answers" if source.kind == "nli" else "of alternative tokens"
    log.info("%s %s for %s, those judged before left out", counted(total, "pair"), noun, source.model)
    cut = done = lacking = 0
    for batch in _parts(_missing_pairs(run, source, pairs), min(PART, judge.at_once)):
        rows = [_with_question(questions[place], pair) if place in questions else pair for place, pair in batch]
        probabilities, cuts = judge.probabilities(rows)
        cut += cuts
        answered = np.flatnonzero(~np.isnan(probabilities).any(axis=1)).tolist()
        places, judged = [batch[at][0] for at in answered], [batch[at][1] for at in answered]
        if answered:
            write_pairs(run, source, places, judged, probabilities[answered])
        done += len(batch)
        lacking += len(batch) - len(answered)
        log.info("%s judged", counted(done, "pair"))
    if lacking:
        log.warning("%s without a judgement; the same command asks again", counted(lacking, "pair"))
    if cut:
        log.warning("%s longer than the positions of %s, and cut", counted(cut, "pair"), source.model)


def _missing_pairs(run: Path, source: Source, pairs: Pairs) -> Iterator[tuple[Place, Pair]]:
    """Each pair that was not judged yet."""
    stored = read_pairs(run, source)
    for place, of_place in pairs.items():
        ordered = list(of_place)
        probabilities = stored.judged(*place, ordered)[:, 0] if len(stored) else None
        for at, pair in enumerate(ordered):
            if probabilities is None or probabilities[at] != probabilities[at]:
                yield place, pair


def _with_question(question: Question, pair: Pair) -> Pair:
    """Short answers lean on their question: each stands behind it, as in a dialogue."""
    first, second = pair
    return f"{question.text} {first}".strip(), f"{question.text} {second}".strip()


def _embed(run: Path, answers: Answers, name: str, options: LoadOptions) -> Source:
    from calprobe.models.sentence_encoder import load_sentence_encoder

    encoder = load_sentence_encoder(name, options)
    source = Source("embed", shown(name), encoder.model.fingerprint, "the answer alone")
    stored = read_points(run, source)
    texts = sorted({text for _, strings in answers.values() for text in strings} - stored.keys())
    log.info("%s to embed by %s", counted(len(texts), "answer"), name)
    for batch in _parts(texts, PART):
        points, _ = encoder.embeddings(batch)
        write_points(run, source, batch, points)
    return source


def _parts(items: Iterable[Each], most: int) -> Iterator[list[Each]]:
    """In the order that they come in, without all of them in memory."""
    iterator = iter(items)
    while batch := list(islice(iterator, most)):
        yield batch
