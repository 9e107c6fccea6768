"""What headings say of the runs."""

from __future__ import annotations

from calprobe.analysis.four_ways.ranked import Ranked
from calprobe.analysis.four_ways.results import RunRecord
from calprobe.cells.asked import Asked
from calprobe.cells.asked_extent import limited_json, state_of
from calprobe.messages import counted


def scored_record(ranked: Ranked) -> RunRecord:
    """A run of scores."""
    facts = ranked.run.facts
    return RunRecord(facts.label, facts.model, facts.partial, facts)


def asked_record(run: Asked) -> RunRecord:
    """A run of replies."""
    questions = sum(own.n_roots for own in run.sets)
    asked = [run.about[name] for name in ("asked by", "asked as") if name in run.about]
    lines = (f"model {run.model}, {counted(questions, 'question')}",)
    limits = limited_json(run.extent)
    return RunRecord(run.label, run.model, run.partial, None, state_of(run.extent), "; ".join(asked), lines, limits)
