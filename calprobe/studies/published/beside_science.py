"""The published figures of the studies of science questions, beside those of one's own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from calprobe.cells.asked import AskedCell
from calprobe.metrics import auroc
from calprobe.metrics.concentration import BINS, FREQUENCY_BINS, ece_of_centred_bins, ece_of_middles
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.labels.results import KINDS, LabelDesign
from calprobe.studies.published.beside import Beside, BesideRow, published

SCIENCE2026 = "science2026"  # the file of its tables
# The study's names of its sets -> how one's own may be called.
SETS: Mapping[str, tuple[str, ...]] = {
    "MMLU": ("mmlu",),
    "MMLU physics": ("mmlu-physics", "mmlu_physics"),
    "ARC": ("arc",),
    "ARC-E": ("arc-easy", "arc_easy"),
    "ARC-C": ("arc-challenge", "arc_challenge", "arc-c"),
    "SciQ": ("sciq",),
    "GSM-MC": ("gsm-mc", "gsm_mc", "gsm8k-mc"),
    "GPQA": ("gpqa",),
    "GSM8K": ("gsm8k",),
    "SVAMP": ("svamp",),
    "SciBench": ("scibench",),
}
# The study's designs -> how one's own variants may be called.
DESIGNS: Mapping[str, tuple[str, ...]] = {
    "headings": ("design1", "design_1"),
    "plain": ("design2", "design_2"),
    "sentence": ("design3", "design_3"),
    "tags": ("design4", "design_4"),
}


def beside_science(report: AskedReport) -> tuple[Beside, ...]:
    """Each published table, and what the report has of the same quantity."""
    labels = [run for run in report.runs if run.labels is not None]
    answers = [run for run in report.runs if run.answers is not None]
    return tuple(table.below(_rows(key, table, labels, answers)) for key, table in published(SCIENCE2026).items())


def _rows(
    key: str, table: Beside, labels: Sequence[AskedRunReport], answers: Sequence[AskedRunReport]
) -> Iterator[BesideRow]:
    """One's own rows of a table: of runs of label probabilities, or of sampled answers."""
    if key == "comprehension":
        return _comprehension(labels, table.columns)
    if key == "invalid":
        return _invalid(labels, table.columns)
    if key == "labels":
        return _of_sets(labels, table.columns, _label_ece)
    metric, _, method = key.partition("_")
    values = {"accuracy": _accuracy, "auroc": _auroc(method), "ece": _ece(method)}
    return _of_sets(answers, table.columns, values[metric])


def _designs(run: AskedRunReport) -> Iterator[tuple[str, Mapping[str, LabelDesign]]]:
    for name, label_set in (run.labels.sets if run.labels is not None else {}).items():
        designs = {design.variant: design for design in label_set.designs}
        named = {
            column: next((designs[n] for n in (column, *names) if n in designs), None)
            for column, names in DESIGNS.items()
        }
        if matched := {column: design for column, design in named.items() if design is not None}:
            yield f"{name}, prompts {run.labels.prompts}" if run.labels and run.labels.prompts else name, matched


def _comprehension(runs: Sequence[AskedRunReport], columns: Sequence[str]) -> Iterator[BesideRow]:
    """A row a run and set, then the means over those of base, of instruct and of reasoning models."""
    by_kind: dict[str, list[tuple[float | None, ...]]] = {}
    for run in runs:
        for name, designs in _designs(run):
            asked_as = run.labels.asked_as if run.labels is not None else ""
            values = tuple(designs[column].comprehension.value if column in designs else None for column in columns)
            by_kind.setdefault(asked_as, []).append(values)
            yield BesideRow(run.label, f"{name}, {asked_as}", values)
    for kind in (kind for kind in KINDS if kind != "unknown"):
        if len(rows := by_kind.get(kind, [])) > 1:
            yield BesideRow("mean", f"{kind}, {len(rows)} runs and sets", tuple(map(_mean, zip(*rows, strict=True))))


def _mean(values: Iterable[float | None]) -> float | None:
    """Of those that there are; None of none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _invalid(runs: Sequence[AskedRunReport], columns: Sequence[str]) -> Iterator[BesideRow]:
    """Shares of rows without a label in the window of 20 tokens, where the paper counts 25,316 rows."""
    for run in runs:
        for name, designs in _designs(run):
            values = tuple(
                designs[column].invalid["not_in_20"] / designs[column].rows
                if column in designs and designs[column].rows
                else None
                for column in columns
            )
            yield BesideRow(run.label, name, values)


def _of_sets(
    runs: Sequence[AskedRunReport], columns: Sequence[str], value: Callable[[AskedCell], float | None]
) -> Iterator[BesideRow]:
    """A row for each run and variant that has any of the sets."""
    for run in runs:
        for variant in dict.fromkeys(cell.table.variant for cell in run.cells):
            cells = {cell.table.set.lower(): cell for cell in run.cells if cell.table.variant == variant}
            matched = [next((cells[name] for name in SETS[column] if name in cells), None) for column in columns]
            if any(cell is not None for cell in matched):
                yield BesideRow(run.label, variant, tuple(None if cell is None else value(cell) for cell in matched))


def _label_ece(cell: AskedCell) -> float | None:
    confidence = cell.confidences.get("label")
    return (
        None
        if confidence is None
        else ece_of_middles(confidence.confidence[confidence.read], confidence.correct[confidence.read])
    )


def _accuracy(cell: AskedCell) -> float | None:
    right = cell.read.answers.correct
    return float(right.mean()) if len(right) else None


def _auroc(method: str) -> Callable[[AskedCell], float | None]:
    def value(cell: AskedCell) -> float | None:
        name = _estimator(cell, method)
        if name is None:
            return None
        confidence = cell.confidences[name]
        return float(auroc(confidence.confidence[confidence.read], confidence.correct[confidence.read]))

    return value


def _ece(method: str) -> Callable[[AskedCell], float | None]:
    def value(cell: AskedCell) -> float | None:
        name = _estimator(cell, method)
        if name is None:
            return None
        confidence = cell.confidences[name]
        sample = (confidence.confidence[confidence.read], confidence.correct[confidence.read])
        if method == "frequency":
            return ece_of_centred_bins(*sample, FREQUENCY_BINS)
        return ece_of_middles(*sample, BINS)

    return value


def _estimator(cell: AskedCell, method: str) -> str | None:
    """The first estimator of a method, as said of the verdict."""
    names = [name for name in cell.confidences if name == method or name.startswith(f"{method}_")]
    return next((name for name in names if "." not in name), None)
