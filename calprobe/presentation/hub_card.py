"""A run's numbers as the block of a model card that the hub reads: `model-index`, one entry for each number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calprobe.cells.run_facts import model_name
from calprobe.confidence import Headline, headline
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions, check_rules
from calprobe.messages import counted
from calprobe.metrics import Estimate, Resampling
from calprobe.presentation.reporting import report
from calprobe.runs import AskedRun, Manifest, Run
from calprobe.runs.asked_records import QuestionSetRecord
from calprobe.runs.atomic import write_text
from calprobe.runs.manifest_text import templates_text

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

# Where the hub has a metric of the kind, its name there; else calprobe's own.
_HUB_METRICS = {"brier": "brier_score", "auroc": "roc_auc"}
_COVERAGE = ("coverage", "coverage")  # name and title
# Where the hub has a probe's facts, data set and configuration there.
_HUB_PROBES = {"bear": ("lm-pub-quiz/BEAR", "BEAR"), "bear-big": ("lm-pub-quiz/BEAR", "BEAR_big")}

_YAML = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class _Result:
    """What the numbers of one probe or question set share."""

    task: tuple[str, str]  # the hub's name of the task, and one for people
    dataset: Mapping[str, Any]  # fields of an EvalResult, without their `dataset_`
    args: dict[str, Any]  # what decides each of the numbers


@dataclass(frozen=True, slots=True)
class _Number:
    """One entry of the card."""

    of: _Result
    name: str  # calprobe's, of the metric
    title: str
    args: dict[str, str]  # estimator and templates, or estimator or reader with the variant
    estimate: Estimate | None


def hub_card(run: Run | AskedRun, options: ReportOptions, source: str | None = None) -> str:
    """YAML with the key `model-index`, as huggingface_hub writes it.

    Of a run of scores: the estimators that a page shows first; of replies all, under each variant.

    Args:
        run: a complete run.
        options: how its scores or replies are read; without resamples, since a card has no place for intervals.
        source: address of what the numbers can be checked by: the run, its report.
    Raises:
        UsageError: a partial run, rules of a paper on the other kind, or an address that does not begin with https://
            or http://.
    """
    from huggingface_hub import ModelCardData

    if run.partial:
        raise UsageError(f"{run.path}: a card of a partial run would say too much; complete the run first")
    if source is not None and not source.startswith(("https://", "http://")):
        raise UsageError(f"--source {source}: no address; give one that begins with https://")
    check_rules(options.compat, "asked" if isinstance(run, AskedRun) else "scored")
    numbers = _asked(run, options) if isinstance(run, AskedRun) else _scored(run, options)
    version = run.manifest.versions.get("calprobe", "")
    named = None if source is None else f"calprobe {version}".rstrip()
    results = [
        _eval_result(number, named, source)
        for number in numbers
        if number.estimate is not None and not math.isnan(number.estimate.value)
    ]
    return ModelCardData(model_name=model_name(run.manifest.model), eval_results=results).to_yaml() + "\n"


def write_card(run: Run | AskedRun, options: ReportOptions, out: Path, source: str | None) -> None:
    """Write YAML, or a card of the block alone that is to become a README.md.

    Raises UsageError for another suffix, for a card that is there already, and as `hub_card`.
    """
    suffix = out.suffix.lower()
    if suffix not in (*_YAML, ".md"):
        raise UsageError(f"--out {out}: a hub card is a .yaml file, or a new .md file")
    if suffix == ".md" and out.exists():
        raise UsageError(f"{out} is there; write a .yaml file, and put it into the card's head")
    block = hub_card(run, replace(options, resampling=Resampling(n_resamples=0)), source)
    write_text(out, block if suffix in _YAML else f"---\n{block}---\n")


def _eval_result(number: _Number, source_name: str | None, source: str | None) -> EvalResult:
    from huggingface_hub import EvalResult

    of = number.of
    args = {key: value for key, value in (number.args | of.args).items() if key != "ace_bins" or number.name == "ace"}
    by = ", ".join(args[key] for key in ("estimator", "reader", "variant") if key in args)
    return EvalResult(
        task_type=of.task[0],
        task_name=of.task[1],
        **{f"dataset_{key}": value for key, value in of.dataset.items()},
        metric_type=_HUB_METRICS.get(number.name, number.name),
        metric_name=f"{number.title} ({by})",
        metric_value=float(number.estimate.value) if number.estimate is not None else None,
        metric_args=args,
        source_name=source_name,
        source_url=source,
    )


def _scored(run: Run, options: ReportOptions) -> Iterator[_Number]:
    reported = report(run, options)
    (run_report,) = reported.runs
    manifest = run.manifest
    result = _Result(_task(manifest), _probe(manifest), _how(manifest, options))
    for estimator in run_report.estimators:
        if estimator.name in headline(Headline.PAGE):
            args = {"estimator": estimator.name, "templates": templates_text(estimator.templates)}
            for metric in reported.metrics:
                if metric.printed:
                    yield _Number(result, metric.name, metric.title, args, estimator.metrics.get(metric.name))
            if estimator.failed:
                yield _Number(result, *_COVERAGE, args, estimator.coverage)


def _task(manifest: Manifest) -> tuple[str, str]:
    return ("fill-mask" if manifest.model.kind == "masked" else "text-generation"), "knowledge probing"


def _probe(manifest: Manifest) -> Mapping[str, Any]:
    """The probe as a data set. Its configuration says all that keeps numbers apart: the hub sorts them by it."""
    probe, used = manifest.probe.name, manifest.template_set.name
    kind, config = _HUB_PROBES.get(probe, (probe, ""))
    templates = templates_text([template.number for template in manifest.templates])
    texts = [config, f"template set {used} ({templates})", manifest.limits()]
    return {"type": kind, "name": probe, "config": ", ".join(filter(None, texts))}


def _how(manifest: Manifest, options: ReportOptions) -> dict[str, Any]:
    instances = sum(relation.n_instances for relation in manifest.relations)
    facts = {
        "probe": manifest.probe.name,
        "template_set": manifest.template_set.name,
        "instances": instances,
        "reduction": options.reduction,
        "compat": options.compat,
        "ace_bins": options.ace_bins,
        "dtype": manifest.settings.dtype,
        "pll_metric": manifest.settings.pll_metric,
        "calprobe": manifest.versions.get("calprobe"),
    }
    return {key: value for key, value in facts.items() if value is not None}


def _asked(run: AskedRun, options: ReportOptions) -> Iterator[_Number]:
    reported = report(run, options)
    (run_report,) = reported.runs
    manifest = run.manifest
    records = {record.name: record for record in manifest.sets}
    accuracy_metric, *metrics = (metric for metric in reported.metrics if metric.printed)
    how = {
        "study": manifest.study,
        "backend": manifest.backend.name,
        "temperature": manifest.sampling.temperature,
        "ace_bins": options.ace_bins,
        "calprobe": manifest.versions.get("calprobe"),
    }
    shared = {key: value for key, value in how.items() if value is not None}
    for cell in run_report.reports():
        result = _Result(("question-answering", "question answering"), _set(records[cell.set]), shared)
        for reader, accuracy in cell.accuracy.items():
            args = {"reader": reader, "variant": cell.variant}
            yield _Number(result, accuracy_metric.name, accuracy_metric.title, args, accuracy.value)
        for name, estimator in cell.estimators.items():
            args = {"estimator": name, "variant": cell.variant}
            for metric in metrics:
                yield _Number(result, metric.name, metric.title, args, estimator.metrics.get(metric.name))
            yield _Number(result, *_COVERAGE, args, estimator.coverage)


def _set(record: QuestionSetRecord) -> Mapping[str, Any]:
    """The question set as a data set; a draw of it is another configuration."""
    source = record.source
    drawn = "" if source.rule == "all" else f"{record.n_asked:,} of {counted(source.available, 'question')}"
    seed = f", seed {source.seed}" if drawn and source.places is not None else ""
    shots = f", {counted(len(record.shots), 'example')} in prompts" if record.shots else ""
    entry = {
        "type": source.repository or record.name,
        "name": record.name,
        "config": f"{drawn}{seed}{shots}".removeprefix(", "),
        "split": source.split,
        "revision": source.revision,
    }
    return {key: value for key, value in entry.items() if value}
