"""Tables of what is ranked right and answered wrong, and the reverse: shares, relations, single facts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calprobe.messages import shortened
from calprobe.metrics import Difference
from calprobe.metrics.intervals import SIGNIFICANT
from calprobe.show.tables.layout import UNRANKED, Layout, Numbers, by_name, quantity
from calprobe.show.tables.types import Cell, Row, Table
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.results import FEW, RelationGap, TwoByTwo

NOTHING, LONGEST = "(nothing read)", 40  # characters of an answer
SHARES = {
    "both_right": "both right",
    "only_ranked_right": "only ranked right",
    "only_answered_right": "only answered right",
    "neither_right": "neither right",
}
CONDITIONS = {
    "answers_if_ranked": "answered right, of those ranked right",
    "answers_if_not": "answered right, of those ranked wrong",
    "ranks_if_answered": "ranked right, of those answered right",
    "ranks_if_not": "ranked right, of those answered wrong",
}


TWO_BY_TWO = Layout[Numbers](
    "Ranked right and answered right, fact by fact",
    "two-by-two",
    "facts",
    lambda row: row.head,
    by_name({"count": "facts", "share": "share"}),
    more=UNRANKED,
)


def two_by_two_table(found: FourWays) -> Table:
    """Ranked right against answered right, a group for each pair of ways."""
    return TWO_BY_TWO.table((row for pair in found.two_by_two for row in _agreement(pair)), *_on_two_by_two(found))


def _agreement(pair: TwoByTwo) -> Iterator[Numbers]:
    def row(name: str, label: str, count: int, value: Cell) -> Numbers:
        return Numbers(
            Row(label, group=pair.title, keys={**_letters(pair), "metric": name}), {"count": count, "share": value}
        )

    for (name, label), count, value in zip(SHARES.items(), pair.counts, pair.shares, strict=True):
        yield row(name, label, count, value)
    both, ranked, answered, neither = pair.counts
    of = (both + ranked, answered + neither, both + answered, ranked + neither)
    for (name, label), count in zip(CONDITIONS.items(), of, strict=True):
        yield row(name, label, count, getattr(pair, name))
    yield row("foretold", "AUROC of ranking's confidence for answers", pair.facts, pair.foretold)
    yield row("difference", "ranked right minus answered right", pair.facts, pair.difference)
    if not math.isnan(pair.mcnemar_p):
        yield row("mcnemar_p", "McNemar p", ranked + answered, pair.mcnemar_p)
    if not math.isnan(pair.same_answer):
        yield row("same_answer", "same answer, right or wrong", pair.facts, pair.same_answer)


def _letters(pair: TwoByTwo) -> dict[str, str]:
    return {"ranking": pair.ranking.letter, "answering": pair.answering.letter}


def _on_two_by_two(comparison: FourWays) -> Iterator[str]:
    if any(not pair.fair for pair in comparison.two_by_two):
        yield "Other chances: the ranking is of all candidates, the answer one of a few options."
    yield (
        "McNemar p: exact, of both ways being right equally often, not corrected; its facts are those right in one way."
    )


def _difference(gap: RelationGap) -> Difference:
    return Difference(gap.difference.value, gap.difference.low, gap.difference.high)


RELATIONS = Layout[RelationGap].given(
    "Which relations are ranked right more often than answered right",
    "relations",
    "relation",
    quantity("facts", lambda gap: gap.facts, name="n"),
    quantity("ranked right", lambda gap: gap.ranks, name="ranks_right"),
    quantity("answered right", lambda gap: gap.answers, name="answers_right"),
    quantity("difference", _difference, name="gap"),
    quantity("p", lambda gap: gap.p_value, name="mcnemar_p"),
    quantity("Holm p", lambda gap: gap.p_holm, name="mcnemar_p_holm"),
    notes=(
        "Difference: ranked right minus answered right, with a closed-form 95 % interval of paired shares; the "
        f"largest first, relations with fewer than {FEW} facts last. p: McNemar's, exact; Holm p: corrected for "
        f"the relations of its group, * below {SIGNIFICANT}.",
    ),
    more=UNRANKED,
)


def relations_table(found: FourWays) -> Table:
    """How much more often the facts of each relation are ranked right than answered right."""
    return RELATIONS.of_rows(
        (
            Row(
                gap.relation,
                group=pair.title,
                note="few facts" if gap.few else "",
                keys={**_letters(pair), "relation": gap.relation},
                significant=gap.p_holm < SIGNIFICANT,
            ),
            gap,
        )
        for pair in found.two_by_two
        for gap in pair.relations
    )


FACTS = Layout[Numbers](
    "Facts that one way alone gets right",
    "facts",
    "fact",
    lambda row: row.head,
    by_name(
        {
            "subject": "subject",
            "right": "right",
            "ranked": "ranked first",
            "ranking_confidence": "sure",
            "answered": "answered",
        }
    ),
    ("Sure: the confidence of the ranking, by which the surest come first. --facts FILE.csv writes all.",),
    more={"tidy": False, **UNRANKED},
)


def facts_table(found: FourWays) -> Table:
    """The surest of the facts where one way alone is right."""
    return FACTS.table(row for pair in found.two_by_two if pair.fair for row in _facts(found, pair))


def _facts(comparison: FourWays, pair: TwoByTwo) -> Iterator[Numbers]:
    most = comparison.wanted.examples
    for places, outcome in (
        (pair.ranked_only, "ranked right, answered wrong"),
        (pair.answered_only, "ranked wrong, answered right"),
    ):
        letters = f"{pair.ranking.letter}, {pair.answering.letter}"
        extent = f"the {most} surest of {len(places):,}" if len(places) > most else f"all {len(places):,}"
        for place in places[:most]:
            fact, answer = comparison.facts[place], pair.answering.said[place]
            cells: dict[str, Cell] = {
                "subject": fact.subject,
                "right": fact.answer,
                "ranked": pair.ranking.said[place],
                "ranking_confidence": float(pair.ranking.views[0].confidence.confidence[place]),
                "answered": NOTHING if answer is None else shortened(answer, LONGEST),
            }
            yield Numbers(Row(fact.id, group=f"{letters}: {outcome}, {extent}"), cells)
