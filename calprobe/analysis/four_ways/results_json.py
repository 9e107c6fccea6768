"""The JSON of the same facts in several ways: docs/reference/files.md describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calprobe.analysis.four_ways.results import (
    FourWays,
    RankCorrelation,
    RelationGap,
    TwoByTwo,
    ViewNumbers,
    ViewPair,
    WayNumbers,
)
from calprobe.analysis.json_values import estimate_json, number_json
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

CELLS = ("both_right", "only_ranked_right", "only_answered_right", "neither_right")
CONDITIONS = ("answers_if_ranked", "answers_if_not", "ranks_if_answered", "ranks_if_not")


def four_ways_json(found: FourWays) -> dict[str, Any]:
    """The whole result; NaN is None."""
    return {
        "runs": {
            run.label: run.facts.to_json() | {"kind": "scored"}
            if run.facts is not None
            else {"model": run.model, "kind": "asked", "partial": run.partial}
            for run in found.runs
        },
        "probe": found.probe,
        "n": len(found.facts),
        "facts_of_any": found.every,
        "lacking": [own.to_json() for own in found.lacking],
        "left_out": list(found.left_out),
        "unit": found.unit,
        "tests": found.tests,
        "correction": found.correction,
        "ways": {own.way.letter: _way(own) for own in found.ways},
        "views": {str(own.view.number): _view(own, len(found.facts)) for own in found.views},
        "differences": [_pair(own) for own in found.pairs],
        "correlations": [_correlation(own) for own in found.correlations],
        "two_by_two": [_table(own, found) for own in found.two_by_two],
        "facts": list(_facts(found)),
    }


def _way(own: WayNumbers) -> dict[str, Any]:
    way = own.way
    return {
        "kind": way.kind,
        "run": way.run,
        "model": way.model,
        "variant": way.variant or None,
        "options_of": way.of.split(", ") if way.of else None,
        "by": way.by,
        "chance": number_json(way.chance),
        "accuracy": {name: estimate_json(value) for name, value in own.accuracy.items()},
        "unread": own.unread,
        "most_frequent_of_samples": way.sampled,
    }


def _view(own: ViewNumbers, facts: int) -> dict[str, Any]:
    view = own.view
    return {
        "way": view.way,
        "estimator": view.name,
        "definition": view.definition,
        "scale": view.scale,
        "n": own.facts,
        "coverage": own.facts / facts,
        "metrics": {name: estimate_json(value) for name, value in own.metrics.items()},
    }


def _pair(own: ViewPair) -> dict[str, Any]:
    metrics = {contrast.metric: contrast.to_json() for contrast in own.contrasts}
    return {"first": own.first.number, "second": own.second.number, "n": own.facts, "metrics": metrics}


def _correlation(own: RankCorrelation) -> dict[str, Any]:
    return {
        "first": own.first.number,
        "second": own.second.number,
        "n": own.facts,
        "spearman": estimate_json(own.rho),
    }


def _table(own: TwoByTwo, found: FourWays) -> dict[str, Any]:
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
        "difference": (estimate_json(Estimate(difference.value, difference.low, difference.high)) or {})
        | {"p": number_json(difference.p_value)},
        "mcnemar_p": number_json(own.mcnemar_p),
        "same_answer": number_json(own.same_answer),
        "only_ranked_right": [found.facts[place].id for place in own.ranked_only],
        "only_answered_right": [found.facts[place].id for place in own.answered_only],
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


def _facts(found: FourWays) -> Iterator[dict[str, Any]]:
    """Every fact, with each way's answer and each view's confidence."""
    for place, fact in enumerate(found.facts):
        yield {
            "id": fact.id,
            "relation": fact.relation,
            "instance": fact.instance,
            "subject": fact.subject,
            "answer": fact.answer,
            "ways": {
                own.way.letter: {"said": own.way.said[place], "correct": bool(own.way.correct[place])}
                for own in found.ways
            },
            "views": {
                str(own.view.number): {
                    "confidence": number_json(own.view.confidence[place]),
                    "correct": bool(own.view.correct[place]),
                }
                for own in found.views
            },
        }
