"""Tables of what is ranked right and answered wrong, and the reverse: shares, relations, single facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from calprobe.analysis.compare_results import SIGNIFICANT
from calprobe.analysis.four_ways.joint import FourWays
from calprobe.analysis.four_ways.results import FEW, TwoByTwo
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.messages import shortened
from calprobe.metrics import Difference

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


def two_by_two_table(found: FourWays) -> Table:
    """Ranked right against answered right, a group for each pair of ways."""
    return Table(
        caption="Ranked right and answered right, fact by fact",
        label="two-by-two",
        stub="facts",
        columns=(
            Column("facts", keys={"quantity": "count"}),
            Column("share", keys={"quantity": "share"}),
        ),
        rows=tuple(row for own in found.two_by_two for row in _rows(own)),
        notes=tuple(_on_two_by_two(found)),
        best_within=None,
    )


def _rows(own: TwoByTwo) -> Iterator[Row]:
    group, keys = own.title, {"ranking": own.ranking.letter, "answering": own.answering.letter}

    def row(name: str, label: str, count: int | None, value: Cell) -> Row:
        return Row(label, (count, value), group=group, keys={**keys, "metric": name})

    for (name, label), count, value in zip(SHARES.items(), own.counts, own.shares, strict=True):
        yield row(name, label, count, value)
    both, ranked, answered, neither = own.counts
    of = (both + ranked, answered + neither, both + answered, ranked + neither)
    for (name, label), count in zip(CONDITIONS.items(), of, strict=True):
        yield row(name, label, count, getattr(own, name))
    yield row("foretold", "AUROC of ranking's confidence for answers", own.facts, own.foretold)
    yield row("difference", "ranked right minus answered right", own.facts, own.difference)
    if not math.isnan(own.mcnemar_p):
        yield row("mcnemar_p", "McNemar p", ranked + answered, own.mcnemar_p)
    if not math.isnan(own.same_answer):
        yield row("same_answer", "same answer, right or wrong", own.facts, own.same_answer)


def _on_two_by_two(found: FourWays) -> Iterator[str]:
    if any(not own.fair for own in found.two_by_two):
        yield "Other chances: the ranking is of all candidates, the answer one of a few options."
    yield (
        "McNemar p: exact, of both ways being right equally often, not corrected; its facts are those right in one way."
    )


def relations_table(found: FourWays) -> Table:
    """How much more often the facts of each relation are ranked right than answered right."""
    return Table(
        caption="Which relations are ranked right more often than answered right",
        label="relations",
        stub="relation",
        columns=(
            Column("facts", keys={"quantity": "n"}),
            Column("ranked right", keys={"quantity": "ranks_right"}),
            Column("answered right", keys={"quantity": "answers_right"}),
            Column("difference", keys={"quantity": "gap"}),
            Column("p", keys={"quantity": "mcnemar_p"}),
            Column("Holm p", keys={"quantity": "mcnemar_p_holm"}),
        ),
        rows=tuple(
            Row(
                own.relation,
                (
                    own.facts,
                    own.ranks,
                    own.answers,
                    Difference(own.difference.value, own.difference.low, own.difference.high),
                    own.p_value,
                    own.p_holm,
                ),
                group=pair.title,
                note="few facts" if own.few else "",
                keys={"ranking": pair.ranking.letter, "answering": pair.answering.letter, "relation": own.relation},
                significant=own.p_holm < SIGNIFICANT,
            )
            for pair in found.two_by_two
            for own in pair.relations
        ),
        notes=(
            "Difference: ranked right minus answered right, with a closed-form 95 % interval of paired shares; the "
            f"largest first, relations with fewer than {FEW} facts last. p: McNemar's, exact; Holm p: corrected for "
            f"the relations of its group, * below {SIGNIFICANT}.",
        ),
        best_within=None,
    )


def facts_table(found: FourWays) -> Table:
    """The surest of the facts where one way alone is right."""
    return Table(
        caption="Facts that one way alone gets right",
        label="facts",
        stub="fact",
        columns=(
            Column("subject", keys={"quantity": "subject"}),
            Column("right", keys={"quantity": "right"}),
            Column("ranked first", keys={"quantity": "ranked"}),
            Column("sure", keys={"quantity": "ranking_confidence"}),
            Column("answered", keys={"quantity": "answered"}),
        ),
        rows=tuple(row for pair in found.two_by_two if pair.fair for row in _fact_rows(found, pair)),
        notes=("Sure: the confidence of the ranking, by which the surest come first. --facts FILE.csv writes all.",),
        best_within=None,
        tidy=False,
    )


def _fact_rows(found: FourWays, pair: TwoByTwo) -> Iterator[Row]:
    most = found.wanted.examples
    for places, what in (
        (pair.ranked_only, "ranked right, answered wrong"),
        (pair.answered_only, "ranked wrong, answered right"),
    ):
        letters = f"{pair.ranking.letter}, {pair.answering.letter}"
        shown = f"the {most} surest of {len(places):,}" if len(places) > most else f"all {len(places):,}"
        for place in places[:most]:
            yield _fact_row(found, pair, place, f"{letters}: {what}, {shown}")


def _fact_row(found: FourWays, pair: TwoByTwo, place: int, group: str) -> Row:
    fact, ranking = found.facts[place], pair.ranking
    said = pair.answering.said[place]
    sure = float(ranking.views[0].confidence.confidence[place])
    cells: Sequence[Cell] = (
        fact.subject,
        fact.answer,
        ranking.said[place],
        sure,
        NOTHING if said is None else shortened(said, LONGEST),
    )
    return Row(fact.id, tuple(cells), group=group)
