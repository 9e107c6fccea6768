"""Ranked right, answered right: how often both, how often one alone, in which facts and in which relations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calprobe.arrays import Mask
from calprobe.cells.cell import sample_of
from calprobe.measures.contrasts import Drawn
from calprobe.metrics import Estimate, bootstrap_many, holm, mcnemar, mean_draws
from calprobe.metrics.ranking import AUROC
from calprobe.metrics.statistics import paired_share_difference
from calprobe.questions.facts import reads_as
from calprobe.studies.four_ways.numbers import fair_rankings, share
from calprobe.studies.four_ways.results import RelationGap, TwoByTwo
from calprobe.studies.four_ways.shared_facts import Fact
from calprobe.studies.four_ways.ways import Way


def two_by_twos(ways: Sequence[Way], facts: Sequence[Fact], drawn: Drawn) -> tuple[TwoByTwo, ...]:
    """Each way that answers with the fair ranking of each run of scores, then with its ranking of all candidates."""
    pairs = []
    for answering in ways:
        fair = fair_rankings(ways, answering)
        for ranking in fair:
            pairs.append(two_by_two(ranking, answering, facts, drawn, fair=True))
        if fair:
            rankings = [way for way in ways if way.kind == "ranking" and way not in fair]
            pairs += [two_by_two(ranking, answering, facts, drawn, fair=False) for ranking in rankings]
    return tuple(pairs)


def two_by_two(ranking: Way, answering: Way, facts: Sequence[Fact], drawn: Drawn, *, fair: bool) -> TwoByTwo:
    """The four shares, the conditional ones, and the facts and relations where one alone is right."""
    ranks, answers = ranking.correct, answering.correct
    cells = (ranks & answers, ranks & ~answers, ~ranks & answers, ~ranks & ~answers)
    both, ranked_only, answered_only, neither = (int(cell.sum()) for cell in cells)
    surest = ranking.views[0].sureness
    return TwoByTwo(
        ranking=ranking,
        answering=answering,
        fair=fair,
        facts=len(facts),
        counts=(both, ranked_only, answered_only, neither),
        shares=(share(cells[0], drawn), share(cells[1], drawn), share(cells[2], drawn), share(cells[3], drawn)),
        answers_if_ranked=share(answers, drawn, ranks),
        answers_if_not=share(answers, drawn, ~ranks),
        ranks_if_answered=share(ranks, drawn, answers),
        ranks_if_not=share(ranks, drawn, ~answers),
        foretold=_foretold(ranking, answers, drawn),
        difference=mean_draws(ranks.astype(float) - answers, drawn.resampling, drawn.clusters).difference(),
        mcnemar_p=float("nan") if drawn.unit == "relation" else mcnemar(ranked_only, answered_only),
        same_answer=_same(ranking, answering),
        ranked_only=_sorted(cells[1], surest),
        answered_only=_sorted(cells[2], surest),
        relations=relation_gaps(ranks, answers, facts) if fair else (),
    )


def _foretold(ranking: Way, answers: Mask, drawn: Drawn) -> Estimate:
    view = ranking.views[0]
    sample = sample_of(replace(view.confidence, correct=answers), scale=view.estimator.scale)
    estimates = bootstrap_many([AUROC], {view.name: sample}, drawn.resampling, drawn.clusters)
    return estimates[view.name][AUROC.name]


def relation_gaps(ranks: Mask, answers: Mask, facts: Sequence[Fact]) -> tuple[RelationGap, ...]:
    """Each relation's share ranked right minus that answered right, the largest first.

    Holm's correction counts these relations.
    """
    relation = np.array([fact.relation for fact in facts], np.str_)
    names = np.unique(relation).tolist()
    places = [relation == name for name in names]
    only = [(int((ranks & ~answers & mask).sum()), int((~ranks & answers & mask).sum())) for mask in places]
    p_values = [mcnemar(*counts) for counts in only]
    rows = zip(names, places, only, p_values, holm(p_values).tolist(), strict=True)
    gaps = [
        RelationGap(
            name,
            int(mask.sum()),
            float(ranks[mask].mean()),
            float(answers[mask].mean()),
            paired_share_difference(*counts, int(mask.sum())),
            p_value,
            p_holm,
        )
        for name, mask, counts, p_value, p_holm in rows
    ]
    return tuple(sorted(gaps, key=lambda gap: (gap.few, -gap.difference.value, gap.relation)))


def _sorted(cell: Mask, surest: np.ndarray) -> tuple[int, ...]:
    return tuple(sorted(np.flatnonzero(cell).tolist(), key=lambda place: (-surest[place], place)))


def _same(ranking: Way, answering: Way) -> float:
    """The share of the facts with the same answer in words, but for case and white space; NaN where none is known.

    Free answers are in other words, whatever they say, and have none.
    """
    pairs = list(zip(ranking.said, answering.said, strict=True))
    if answering.kind == "open" or all(ranked is None for ranked, _ in pairs):
        return float("nan")
    return float(
        np.mean(
            [
                ranked is not None and answered is not None and reads_as(ranked) == reads_as(answered)
                for ranked, answered in pairs
            ]
        )
    )
