"""The JSON of the same facts in several ways: docs/reference/files.md describes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from calprobe.analysis.four_ways.facts import Fact
from calprobe.analysis.four_ways.results import (
    RankCorrelation,
    RelationGap,
    TwoByTwo,
    ViewNumbers,
    ViewPair,
    WayNumbers,
)
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.metrics import Estimate

CELLS = ("both_right", "only_ranked_right", "only_answered_right", "neither_right")
CONDITIONS = ("answers_if_ranked", "answers_if_not", "ranks_if_answered", "ranks_if_not")


def way_json(own: WayNumbers) -> dict[str, Any]:
    """A way of answering."""
    way = own.way
    return {
        "kind": way.kind,
        "run": way.run,
        "model": way.cell.model,
        "variant": way.cell.variant or None,
        "options_of": way.of.split(", ") if way.of else None,
        "by": way.by,
        "chance": number_json(way.chance),
        "accuracy": {name: estimate_json(value) for name, value in own.accuracy.items()},
        "unread": own.unread,
        "most_frequent_of_samples": way.sampled,
    }


def view_json(own: ViewNumbers) -> dict[str, Any]:
    """A confidence."""
    view = own.view
    return {
        "way": view.way,
        "estimator": view.name,
        "definition": view.estimator.definition,
        "scale": view.estimator.scale,
        "n": own.facts,
        "coverage": own.facts / len(own.view.confidence.correct),
        "metrics": {name: estimate_json(value) for name, value in own.metrics.items()},
    }


def pair_json(own: ViewPair) -> dict[str, Any]:
    """Two confidences."""
    metrics = {contrast.metric: contrast.to_json() for contrast in own.contrasts}
    return {"first": own.first.number, "second": own.second.number, "n": own.facts, "metrics": metrics}


def correlation_json(own: RankCorrelation) -> dict[str, Any]:
    """Their rank correlation."""
    return {
        "first": own.first.number,
        "second": own.second.number,
        "n": own.facts,
        "spearman": estimate_json(own.rho),
    }


def two_by_two_json(own: TwoByTwo, facts: Sequence[Fact]) -> dict[str, Any]:
    """Ranked right against answered right."""
    shares = {name: estimate_json(value) for name, value in zip(CELLS, own.shares, strict=True)}
    difference = own.difference
    return {
        "ranking": own.ranking.letter,
        "answering": own.answering.letter,
        "fair": own.fair,
        "n": own.facts,
        "counts": dict(zip(CELLS, own.counts, strict=True)),
        "shares": shares,
        **{name: estimate_json(getattr(own, name)) for name in CONDITIONS},
        "foretold": estimate_json(own.foretold),
        "difference": (estimate_json(Estimate(difference.value, difference.low, difference.high)) or {})
        | {"p": number_json(difference.p_value)},
        "mcnemar_p": number_json(own.mcnemar_p),
        "same_answer": number_json(own.same_answer),
        "only_ranked_right": [facts[place].id for place in own.ranked_only],
        "only_answered_right": [facts[place].id for place in own.answered_only],
        "relations": [_relation(each) for each in own.relations],
    }


def _relation(own: RelationGap) -> dict[str, Any]:
    return {
        "relation": own.relation,
        "n": own.facts,
        "ranks_right": own.ranks,
        "answers_right": own.answers,
        "difference": estimate_json(own.difference),
        "p": own.p_value,
        "p_holm": own.p_holm,
    }


def facts_json(
    facts: Sequence[Fact], ways: Sequence[WayNumbers], views: Sequence[ViewNumbers]
) -> Iterator[dict[str, Any]]:
    """Every fact, with each way's answer and each view's confidence."""
    for place, fact in enumerate(facts):
        yield {
            "id": fact.id,
            "relation": fact.relation,
            "instance": fact.instance,
            "subject": fact.subject,
            "answer": fact.answer,
            "ways": {
                own.way.letter: {"said": own.way.said[place], "correct": bool(own.way.correct[place])} for own in ways
            },
            "views": {
                str(own.view.number): {
                    "confidence": number_json(own.view.confidence.confidence[place]),
                    "correct": bool(own.view.confidence.correct[place]),
                }
                for own in views
            },
        }
