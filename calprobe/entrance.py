"""Public functions that need the command line: the jobs of a sweep are commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calprobe.cli.job_commands import job_commands
from calprobe.sweep import Place, SweepOptions, SweepPlan, SweepResult
from calprobe.sweep.sweeping import run_sweep


def sweep(
    definition: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    on: str | Place = "local",
    dry_run: bool = False,
    options: SweepOptions = SweepOptions(),
) -> SweepPlan | SweepResult:
    """Make many runs by one definition: each model scores each probe, and answers each question set under each study.

    Each job is `calprobe score` or `calprobe ask` in a process of its own, and an ordinary run in OUT/MODEL/. All are
    checked before the first begins; one that fails stops no other. The same call again makes what is missing.

    Args:
        definition: a TOML file (docs/how-to/sweep.md), or what such a file has, as a dictionary.
        out: the folder of all runs; None: that of the definition, else `runs/` with the name of its file.
        on: `local`, `ray` or `slurm`, or one of these with what jobs may take there, as `OnSlurmCluster(gpus=2)` of
            `calprobe.sweep`.
        dry_run: run nothing, and give the plan: the jobs with their costs, in the order in which they would start.
        options: the report at the end, trackers, progress.

    Returns:
        With `dry_run` a `SweepPlan`, which prints as a table; else a `SweepResult`: jobs that are complete, those that
        failed with the reason, and the overview over all runs that is on OUT/report.html.

    Raises:
        UsageError: a definition with a mistake, or a job that its command refuses or that could never run there.
        CalprobeError: the cluster cannot be reached, a package is missing, or another process runs this sweep.
        Interrupted: by Ctrl-C, SIGTERM or SIGHUP; what jobs have is kept.

    >>> mini = {"relations": ["month"]}
    >>> plan = sweep({"models": ["tiny-clm"], "probes": {"mini": mini}}, "runs/tiny", dry_run=True)
    >>> [(planned.job.name, planned.units) for planned in plan.jobs]
    [('tiny-clm/mini', 144)]
    """
    return run_sweep(definition, out, on, options, job_commands(), dry_run=dry_run)
