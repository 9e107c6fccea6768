"""The table of estimators of replies: what each is, where it comes from and what a cell must have for it.

Add an estimator as an entry of `ENTRIES`; an uncertainty of all samples of a question is one of `MEASURES`
(`question_measures.py`), one of an answer beside the others one of `BESIDE` (`beside_samples.py`). Reports, tables,
figures and exports take it from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from calprobe.confidence.asked.beside_samples import BESIDE
from calprobe.confidence.asked.closed_confidence import expected_confidence, has_closed
from calprobe.confidence.asked.label_masses import own_confidence, paper_confidence
from calprobe.confidence.asked.p_true import of_option, p_true, p_true_raw
from calprobe.confidence.asked.question_measures import MEASURES
from calprobe.confidence.asked.read_cell import Read
from calprobe.confidence.asked.reply_table import ANSWER, FINAL, LABEL, P_TRUE, ReplyTable
from calprobe.confidence.asked.sample_readings import exact_frequency, frequency, of_replies
from calprobe.confidence.asked.sampled import mean_logprob
from calprobe.confidence.asked.stated_confidence import stated_confidence
from calprobe.confidence.asked.token_estimators import ccp, ccp_mean, perplexity, sequence, token_entropy
from calprobe.confidence.estimator import Entry, Estimator
from calprobe.confidence.types import Confidence

AUDIT, KADAVATH = "arXiv 2605.02038", "Kadavath et al. 2022"
FADEEVA, FOMICHEVA = "Fadeeva et al. 2024", "Fomicheva et al. 2020"


def evidence_of(read: Read) -> frozenset[str]:
    """What a cell has of what estimators may need, by the words of `Estimator.needs`."""
    table, meanings = read.table, read.meanings
    is_closed = all(row.question.kind != "open" for row in table.rows)
    evidence = {
        "labels": _any(table, "label_scores", LABEL, ANSWER),
        "places of labels": _knows_places(table),
        "final labels": _any(table, "label_scores", FINAL),
        "p_true": table.has(P_TRUE),
        "verdicts": table.judges_options,
        "written replies": _any(table, "logprobs", ANSWER)
        and (table.is_sampled or any(row.question.kind != "choice" for row in table.rows)),
        "alternatives": _any(table, "alternatives", ANSWER),
        "claims": meanings is not None and meanings.has_claims(read.way.claims),
        "samples": table.is_sampled,
        "wordings": len({row.paraphrase for row in table.rows}) > 1,
        "repeats": len({(row.question.id, row.paraphrase) for row in table.rows}) < len(table),
        "relations": is_closed or (meanings is not None and meanings.has_relations),
        "contradictions": is_closed or (meanings is not None and meanings.has_contradictions),
        "embeddings": meanings is not None and meanings.has_embeddings,
        "logprobs": any(not np.isnan(mean_logprob(row)[0]) for row in table.rows),
    }
    return frozenset(word for word, is_there in evidence.items() if is_there)


def asked_estimators(read: Read, wanted: Collection[str] = ()) -> dict[str, Estimator]:
    """The estimators that a cell's replies allow, by name, in the order of reports.

    `wanted` are names of forms that are not usual, such as semantic_entropy.likelihood.
    """
    evidence = evidence_of(read)
    allowed = [
        estimator
        for entry in ENTRIES
        if entry.estimator.needs <= evidence and _is_wanted(entry.estimator, wanted)
        for estimator in entry.bind(entry, read)
    ]
    return {estimator.name: replace(estimator, compute=partial(_rounded, estimator.compute)) for estimator in allowed}


def _rounded(compute: Callable[[Read], Confidence], read: Read) -> Confidence:
    return compute(read).rounded()


def _is_wanted(estimator: Estimator, names: Collection[str]) -> bool:
    return not estimator.on_request or any(f"{name}.".startswith(f"{estimator.name}.") for name in names)


def _any(table: ReplyTable, field: str, *stages: str) -> bool:
    """Whether any row has something in its reply at one of these stages."""
    replies = (row.replies.get(stage) for row in table.rows for stage in stages)
    return any(reply is not None and bool(getattr(reply, field)) for reply in replies)


def _knows_places(table: ReplyTable) -> bool:
    """Whether any reply says at which of its tokens its label probabilities are."""
    replies = (row.replies.get(ANSWER) for row in table.rows)
    pairs = ((reply.token_ids, reply.label_scores) for reply in replies if reply is not None)
    return any(scores is not None and (ids is not None or scores.starts is not None) for ids, scores in pairs)


def _first(read: Read, *, normalised: bool) -> Confidence:
    if read.way.compat:
        return read.answers.of_asked(paper_confidence(read.table, read.first, read.answers, normalised))
    return own_confidence(read.table, read.first, normalised)


def _of_stated_prompts(entry: Entry, read: Read) -> Iterator[Estimator]:
    """Of each prompt that asks for a confidence: what it states, read of the option, and its expected value."""
    for prompt in read.table.stated:
        stated, expected = _stated(prompt), _expected(prompt)
        yield entry.bound(stated, prompt, f"that the model states when asked by {prompt}, of the answer that was read")
        if read.table.judges_options:
            definition = f"as stated_{prompt}, read as said of the option: 1 minus it where the verdict is No"
            of_verdict = entry.bound(of_option(stated), f"{prompt}.option")
            yield replace(of_verdict, definition=definition, source="")
        if has_closed(read.table, prompt):
            definition = (
                f"expected value of what the model would state when asked by {prompt}, over all replies of the scale"
            )
            yield replace(entry.bound(expected, f"{prompt}.expected"), definition=definition, source="")


def _stated(prompt: str) -> Callable[[Read], Confidence]:
    return lambda read: read.answers.of_asked(stated_confidence(read.table, prompt, read.answers, read.way))


def _expected(prompt: str) -> Callable[[Read], Confidence]:
    return lambda read: read.answers.of_asked(expected_confidence(read.table, prompt, read.answers, read.way))


_CLAIMS = "claim-conditioned probability: that the reply's tokens say what they say, and not the contrary"

# In the order of reports.
ENTRIES: tuple[Entry, ...] = (
    Entry(
        Estimator(
            "label_raw",
            "probability of the most probable label at the first position, under the whole softmax",
            "label",
            lambda read: _first(read, normalised=False),
            AUDIT,
            needs=frozenset({"labels"}),
        )
    ),
    Entry(
        Estimator(
            "label",
            "probability of the most probable label at the first position, normalised over the labels",
            "label",
            lambda read: _first(read, normalised=True),
            AUDIT,
            needs=frozenset({"labels"}),
        )
    ),
    Entry(
        Estimator(
            "label_answer",
            "as label, at the position where the answer that was read was generated",
            "label",
            lambda read: own_confidence(read.table, read.at_answer, normalised=True),
            needs=frozenset({"places of labels"}),
        )
    ),
    Entry(
        Estimator(
            "label_final",
            "as label, behind the reply and a cue for the final answer",
            "label",
            lambda read: own_confidence(read.table, read.final, normalised=True),
            needs=frozenset({"final labels"}),
        )
    ),
    Entry(
        Estimator(
            "p_true",
            "P(true) / (P(true) + P(false)) when asked whether the answer is true",
            "p_true",
            p_true,
            KADAVATH,
            needs=frozenset({"p_true"}),
        )
    ),
    Entry(
        Estimator(
            "p_true_raw",
            "P(true) under the whole softmax when asked whether the answer is true",
            "p_true",
            p_true_raw,
            needs=frozenset({"p_true"}),
        )
    ),
    Entry(
        Estimator(
            "p_true.option",
            "as p_true, read as said of the option: 1 minus it where the verdict is No",
            "p_true",
            of_option(p_true),
            needs=frozenset({"p_true", "verdicts"}),
        )
    ),
    Entry(Estimator("stated_{}", "confidence {}", "stated", stated_confidence, AUDIT), _of_stated_prompts),
    Entry(
        Estimator(
            "frequency",
            "share of the samples that give the same answer",
            "samples",
            frequency,
            needs=frozenset({"samples"}),
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "frequency.exact",
            "share of identical strings",
            "samples",
            exact_frequency,
            needs=frozenset({"samples"}),
            on_request=True,
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "sequence",
            "length-normalised probability of the reply",
            "samples",
            sequence,
            needs=frozenset({"written replies"}),
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "perplexity",
            "1 / sequence",
            "samples",
            perplexity,
            scale="uncertainty",
            needs=frozenset({"written replies"}),
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "token_entropy",
            "mean entropy of the reply's tokens",
            "samples",
            token_entropy,
            FOMICHEVA,
            "uncertainty",
            frozenset({"alternatives"}),
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "ccp",
            f"{_CLAIMS}, product over the tokens",
            "samples",
            ccp,
            FADEEVA,
            needs=frozenset({"alternatives", "claims"}),
        ),
        of_replies,
    ),
    Entry(
        Estimator(
            "ccp_mean",
            f"{_CLAIMS}, geometric mean over the tokens",
            "samples",
            ccp_mean,
            needs=frozenset({"alternatives", "claims"}),
        ),
        of_replies,
    ),
    *MEASURES,
    *BESIDE,
)
