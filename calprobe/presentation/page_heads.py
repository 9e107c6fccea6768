"""What stands above the sections of any page: its title, the heading of each run, and the runs' manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from calprobe.cells.asked_extent import state_of
from calprobe.cells.run_facts import RunFacts
from calprobe.runs.run import whole_record
from calprobe.show import prose
from calprobe.show.html.views import BigNumber, RunHead, few
from calprobe.studies.asked.compared import ComparedRun
from calprobe.studies.asked.results import AskedRunReport


def page_title(runs: Sequence[RunFacts]) -> str:
    """The model and the probe of one run; how many there are of several."""
    probes = list(dict.fromkeys(run.manifest.probe.name for run in runs))
    return (
        f"{few([run.model for run in runs], 'model')} on {probes[0] if len(probes) == 1 else f'{len(probes)} probes'}"
    )


def manifests(runs: Sequence[RunFacts]) -> tuple[tuple[str, str], ...]:
    """Each run's manifest and costs as JSON, by its label. Relations and templates of an earlier run stand there."""
    records, first = [], dict[str, str]()
    for run in runs:
        record = whole_record(run.manifest, run.progress, run.cut_contexts)
        for key in ("relations", "templates"):
            label = first.setdefault(f"{key} {json.dumps(record[key])}", run.label)
            if label != run.label:
                record[key] = f"those of {label}"
        records.append((run.label, json.dumps(record, indent=2, ensure_ascii=False)))
    return tuple(records)


def run_head(run: RunFacts, place: int) -> RunHead:
    """The heading of a run of scores, as on a terminal."""
    lines = (*prose.heading(run)[1:], *prose.cost(run))
    return RunHead(place, run.label, prose.state(run), prose.how_scored(run), lines)


def asked_head(
    run: AskedRunReport | ComparedRun,
    place: int,
    line: str,
    numbers: Iterable[BigNumber] = (),
    sentences: tuple[str, ...] = (),
) -> RunHead:
    """The heading of a run of replies, whose line on a terminal says its label, state and more."""
    state = state_of(run.extent)
    how = line.removeprefix(f"{run.label}: ").replace(f", {state}", "")
    return RunHead(place, run.label, state, how, numbers=tuple(numbers), verdict=sentences)
