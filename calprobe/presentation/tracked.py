"""A run as a tracker of experiments gets it: what it is of, and the numbers that a page would print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from calprobe.cells.run_facts import model_name
from calprobe.measures.options import ReportOptions
from calprobe.messages import shown
from calprobe.metrics import Estimate, Resampling
from calprobe.presentation.reporting import report
from calprobe.runs import AskedRun, AskManifest, Manifest, Run
from calprobe.runs.manifest_text import templates_text
from calprobe.runs.task import RunManifest, sha256_of
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.cell_results import CellReport

Value = str | int | float | bool

# Values alone: a tracker has no place for intervals, which take most of a report's time.
_VALUES_ALONE = Resampling(n_resamples=0)


def tracked_id(manifest: RunManifest, name: str) -> str:
    """Sixteen letters and digits for a run under a name: the same each time, another where it has grown or was made
    anew."""
    return sha256_of([manifest.identity(), manifest.created, name])[:16]


def configuration(manifest: RunManifest) -> dict[str, Value]:
    """What a run is of, without folders, addresses and fingerprints; what is not known is left out."""
    settings: Mapping[str, Value | None]
    if isinstance(manifest, Manifest):
        settings = _of_scores(manifest)
    elif isinstance(manifest, AskManifest):
        settings = _of_replies(manifest)
    else:
        settings = {}
    values = {"task": manifest.task, "calprobe": manifest.versions.get("calprobe"), **settings}
    return {
        key: shown(value) if isinstance(value, str) else value for key, value in values.items() if value is not None
    }


def _of_scores(manifest: Manifest) -> dict[str, Value | None]:
    settings = manifest.settings
    return {
        **_of_model(manifest),
        "probe": manifest.probe.name,
        "template_set": manifest.template_set.name,
        "templates": templates_text([template.number for template in manifest.templates]),
        "relations": len(manifest.relations),
        "instances": sum(relation.n_instances for relation in manifest.relations),
        "limit": manifest.limit,
        "seed": manifest.sample_seed,
        "dtype": settings.dtype,
        "device": settings.device,
        "path": settings.shown_path,
        "precision": settings.precision,
        "pll_metric": settings.pll_metric,
        "word_split": settings.word_split,
    }


def _of_replies(manifest: AskManifest) -> dict[str, Value | None]:
    sampling = manifest.sampling
    return {
        **_of_model(manifest),
        "backend": manifest.backend.name,
        "dtype": manifest.backend.settings.get("dtype"),
        "sets": ",".join(record.name for record in manifest.sets),
        "questions": manifest.n_questions,
        "study": manifest.study,
        "overrides": " ".join(manifest.overrides) or None,
        "variants": ",".join(variant.name for variant in manifest.prompts.variants),
        "stages": ",".join(dict.fromkeys(stage for piece in manifest.asked for stage in piece.stages)),
        "samples": max((piece.samples for piece in manifest.asked), default=None),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
    }


def _of_model(manifest: Manifest | AskManifest) -> dict[str, Value | None]:
    model = manifest.model
    return {
        "model": model_name(model),
        "revision": model.revision,
        "kind": model.kind,
        "architecture": model.architecture,
        "parameters": None if model.size is None else model.size.parameters,
    }


def figures(run: Run | AskedRun) -> dict[str, float]:
    """The numbers of a run that a page prints, by name; without those that are undefined.

    Of scores: `accuracy`, `bear_score`, and for each estimator `base/ace`, .., `base/coverage`. Of replies all stand
    below `SET/VARIANT/`: `last_marker/accuracy` for each reader, `label/ece`, `label/coverage` for each estimator.
    """
    if isinstance(run, AskedRun):
        estimates = dict(_asked_figures(report(run, ReportOptions(resampling=_VALUES_ALONE))))
    else:
        estimates = dict(_scored_figures(run))
    values = {name: estimate.value for name, estimate in estimates.items() if estimate is not None}
    return {name: float(value) for name, value in values.items() if value == value}


def _scored_figures(run: Run) -> Iterator[tuple[str, Estimate | None]]:
    reported = report(run, ReportOptions(resampling=_VALUES_ALONE))
    printed = [metric.name for metric in reported.metrics if metric.printed]
    (run_report,) = reported.runs
    yield "accuracy", run_report.accuracy
    yield "bear_score", run_report.bear_score
    for estimator in run_report.estimators:
        for name in printed:
            yield f"{estimator.name}/{name}", estimator.metrics.get(name)
        yield f"{estimator.name}/coverage", estimator.coverage


def _asked_figures(reported: AskedReport) -> Iterator[tuple[str, Estimate | None]]:
    printed = [metric.name for metric in reported.metrics if metric.printed]
    (run_report,) = reported.runs
    for cell in run_report.reports():
        for name, estimate in _cell_figures(cell, printed):
            yield f"{cell.set}/{cell.variant}/{name}", estimate


def _cell_figures(cell: CellReport, printed: list[str]) -> Iterator[tuple[str, Estimate | None]]:
    for reader, accuracy in cell.accuracy.items():
        yield f"{reader}/accuracy", accuracy.value
    for name, estimator in cell.estimators.items():
        for metric in printed:
            yield f"{name}/{metric}", estimator.metrics.get(metric)
        yield f"{name}/coverage", estimator.coverage
