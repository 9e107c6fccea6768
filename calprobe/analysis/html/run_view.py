"""What every page says of a run, and of how it was made: the terminal's heading, numbers, manifest, options."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from calprobe.analysis.html.definitions import BEAR_SCORE, CHANCE
from calprobe.analysis.html.page import UNDEFINED
from calprobe.analysis.html.views import BigNumber, RunView
from calprobe.analysis.number_text import interval, number
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.prose import DRAWN, cost, heading, how_scored, left_out, mean_accuracy_name, state
from calprobe.analysis.results import RunReport
from calprobe.cells.run_facts import RunFacts
from calprobe.metrics import Estimate
from calprobe.runs.run import whole_record


def run_head(run: RunFacts, place: int) -> RunView:
    """A run's heading, as on a terminal."""
    lines = (*heading(run)[1:], *cost(run))
    return RunView(f"run-{place}", run.label, state(run), bool(left_out(run)), how_scored(run), lines)


def big_numbers(run: RunReport) -> tuple[BigNumber, ...]:
    """Accuracy and mean accuracy over the paraphrases, as far as the run has them, and what guessing would give."""
    found = [
        ("accuracy", run.accuracy, "m-accuracy"),
        (mean_accuracy_name([run.facts]), run.bear_score, BEAR_SCORE.key),
    ]
    shown = [_big(name, estimate, key) for name, estimate, key in found if estimate is not None]
    return (*shown, replace(_big("chance", Estimate(run.facts.chance_accuracy), CHANCE.key), lesser=True))


def options_made(options: ReportOptions) -> tuple[tuple[str, str], ...]:
    """The options that the numbers depend on."""
    from calprobe.version import __version__

    resampling = options.resampling
    drawn = f"{resampling.n_resamples:,} resamples of {DRAWN[options.cluster]}"
    return (
        ("calprobe", __version__),
        ("reduction", options.reduction + (f", compat {options.compat}" if options.compat else "")),
        ("bins of ACE", "by instances" if options.ace_bins is None else str(options.ace_bins)),
        ("intervals", f"95 % bootstrap, {drawn}, seed {resampling.seed}")
        if resampling.n_resamples
        else ("intervals", "none asked for"),
    )


def manifests(runs: Sequence[RunFacts]) -> tuple[tuple[str, str], ...]:
    """Each run's manifest and costs as JSON, by its label. Relations and templates of an earlier run stand there."""
    found, known = [], dict[str, str]()
    for run in runs:
        shown = whole_record(run.manifest, run.progress, run.cut_contexts)
        for key in ("relations", "templates"):
            label = known.setdefault(f"{key} {json.dumps(shown[key])}", run.label)
            if label != run.label:
                shown[key] = f"those of {label}"
        found.append((run.label, json.dumps(shown, indent=2, ensure_ascii=False)))
    return tuple(found)


def page_title(runs: Sequence[RunFacts]) -> str:
    """The model and the probe of one run; how many there are of several."""
    models = list(dict.fromkeys(run.model for run in runs))
    probes = list(dict.fromkeys(run.manifest.probe.name for run in runs))
    what = models[0] if len(models) == 1 else f"{len(models)} models"
    if len(models) == 2:
        what = " and ".join(models)
    return f"{what} on {probes[0] if len(probes) == 1 else f'{len(probes)} probes'}"


def _big(name: str, estimate: Estimate, key: str) -> BigNumber:
    value = UNDEFINED if math.isnan(estimate.value) else number(estimate.value)
    return BigNumber(name, value, interval(estimate), key)
