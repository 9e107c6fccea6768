"""All tables of the same facts in several ways, with what stands before and below them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from calprobe.cells.asked_extent import state_of
from calprobe.cells.run_facts import RunFacts
from calprobe.messages import counted
from calprobe.metrics import LEAST_CLUSTERS
from calprobe.show.prose import DRAWN, cluster_notes, heading, how_scored, range_note, sentence, state
from calprobe.show.tables.types import Table
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.asked.compared_layouts import compared_warnings
from calprobe.studies.four_ways.disagreement import facts_table, relations_table, two_by_two_table
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.four_ways.results import TwoByTwo
from calprobe.studies.four_ways.view_layouts import correlation_table, differences_table, views_table, ways_table


def four_ways_tables(found: FourWays, *, narrow: bool = False) -> tuple[Table, ...]:
    """Ways, confidences, their differences and correlations, ranked against answered, by relation, in single facts.

    `narrow`: for a terminal, with correlations of many confidences in a few letters.
    """
    tables = [
        ways_table(found),
        views_table(found),
        differences_table(found),
        correlation_table(found, narrow=narrow),
        two_by_two_table(found),
        relations_table(found),
        facts_table(found),
    ]
    first, *following = [table for table in tables if table is not None and table.rows]
    first = replace(first, heading=four_ways_heading(found), lead=tuple(joined_notes(found)))
    return (
        (first, *following[:-1], replace(following[-1], general=tuple(general_notes(found)))) if following else (first,)
    )


def four_ways_heading(found: FourWays) -> tuple[str, ...]:
    """What each run is; whether one model is scored and another asked."""
    return (*(line for run in found.runs for line in run_lines(run)), *models_note(found))


def models_note(found: FourWays) -> Iterator[str]:
    """That one model was scored and another asked, where that is so."""
    scored, asked = (
        sorted({run.model for run in found.runs if isinstance(run, kind)}) for kind in (RunFacts, ComparedRun)
    )
    if scored != asked:
        yield f"SEVERAL MODELS: scored {', '.join(scored)}; asked {', '.join(asked)}"


def run_lines(run: RunFacts | ComparedRun) -> tuple[str, ...]:
    """A run in lines, its label first."""
    state, how, *lines = run_parts(run)
    return (f"{run.label}: {'; '.join(filter(None, (state, how)))}", *lines)


def run_parts(run: RunFacts | ComparedRun) -> tuple[str, ...]:
    """What a run is, without its label: whether it is complete, how it was made, and further lines."""
    if isinstance(run, ComparedRun):
        return (state_of(run.extent), run.how, f"model {run.model}, {counted(run.questions, 'question')}")
    _, *lines = heading(run)
    return (state(run), how_scored(run), *lines)


def joined_notes(found: FourWays) -> Iterator[str]:
    """How many facts are compared, and which are not."""
    relations = len({fact.relation for fact in found.facts})
    yield (
        f"{counted(len(found.facts), 'fact')} of {counted(relations, 'relation')} that all runs have, of "
        f"{found.every:,} that any of them has."
    )
    if found.lacking:
        yield f"Left out: {'; '.join(map(str, found.lacking))}."
    yield from (f"{clause}." for clause in found.left_out)  # each begins with a run as it was typed
    yield from compared_warnings(found.runs)
    for pair in found.two_by_two:
        if pair.fair:
            yield _said_of_known(pair)


def _said_of_known(pair: TwoByTwo) -> str:
    """The one sentence for which two ways are compared."""
    both, ranked_only, *_ = pair.counts
    ranked = both + ranked_only
    share = "" if not ranked else f" ({100 * both / ranked:.0f} %)"
    return (
        f"Of the {counted(ranked, 'fact')} that {pair.ranking.letter} ranks right, {pair.answering.letter} answers "
        f"{both:,}{share} right."
    )


def general_notes(found: FourWays) -> Iterator[str]:
    """How all numbers were made."""
    scores = found.options.scores
    relations = len({fact.relation for fact in found.facts})
    yield from map(sentence, cluster_notes(relations, scores))
    if scores.resampling.n_resamples and (found.unit == "instance" or relations >= LEAST_CLUSTERS):
        units = "the facts" if found.unit == "instance" else DRAWN[found.unit].replace("instances", "facts")
        yield range_note(scores.resampling, units)
    if any(numbers.way.sampled for numbers in found.ways):
        yield (
            "Of several samples of a question, the answer is the most frequent one, and a confidence the mean over the "
            "samples that give it."
        )
