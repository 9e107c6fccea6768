"""Asked runs side by side, in pairs, or the variants of one run: differences on the questions that both have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from calprobe.cells.asked import Asked, AskedCell, ReadSet, format_changes, read_sets
from calprobe.cells.cell_readers import check_used
from calprobe.errors import UsageError
from calprobe.measures.chosen import known_estimators, known_metrics, known_names
from calprobe.measures.compare_pairs import pairs_with, wanted_pairs
from calprobe.measures.contrasts import corrected
from calprobe.measures.estimates import few_values_of
from calprobe.measures.options import DEFAULT_COMPARISON, CompareOptions, Pair, ReportOptions
from calprobe.messages import counted
from calprobe.metrics import ACCURACY, Metric
from calprobe.metrics.error_shown import error_shown
from calprobe.studies.asked.compare_cells import compare_cells, is_same_question
from calprobe.studies.asked.compared import AskedComparison, AskedPair, CellPair, ComparedRun
from calprobe.studies.asked.exact_matches import exact_matches, exact_warnings
from calprobe.studies.asked.overall import ANSWER, LABELS, first_estimator

WITH_ERROR = ("brier", "error", "auroc")  # by default; error: ACE or ECE, see `calprobe.metrics.error_shown`


@dataclass(frozen=True, slots=True)
class _Run:
    """A run with its sets, read."""

    facts: ComparedRun
    sets: Mapping[str, ReadSet]
    other_forms: Mapping[str, tuple[str, ...]]  # by set, the variants that ask for another form of reply

    def cells(self, name: str) -> Mapping[str, AskedCell]:
        """The cells of a set, by variant; none of a set that the run does not have."""
        read_set = self.sets.get(name)
        return {} if read_set is None else read_set.cells

    @property
    def variants(self) -> tuple[str, ...]:
        """Those with replies, of any set."""
        return tuple(dict.fromkeys(variant for read_set in self.sets.values() for variant in read_set.cells))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is compared, and of what."""

    estimators: tuple[str, ...]
    readers: tuple[str, ...] | None  # None: the one that confidences go by
    metrics: tuple[Metric, ...]
    options: CompareOptions
    variants: Sequence[Pair] | None

    def estimators_of(self, *, other_form: bool) -> tuple[str, ...]:
        """Those of a cell: by default label_answer in the place of label, where the reply has another form."""
        if not other_form or self.options.estimators is not None:
            return self.estimators
        return tuple(dict.fromkeys(ANSWER if name in LABELS else name for name in self.estimators))


def compare_asked(
    runs: Iterable[Asked],
    options: CompareOptions = DEFAULT_COMPARISON,
    variants: Sequence[Pair] | None = None,
) -> AskedComparison:
    """Accuracy, and Brier score, calibration error and AUROC of confidences, with paired differences and p-values.

    Unless estimators are named, one of each kind is compared: of label probabilities `label`, or where a variant asks
    for another form of reply `label_answer`; the first of what is stated, of P(True) and of samples. Unless readers are
    named, accuracy is that of the reader which confidences go by. P-values are corrected by max-T.

    Two runs are compared set by set and variant by variant; of more, each is compared with the first. Of one run, each
    variant is compared with the first. Every difference is of the questions that both have, on the same resamples of
    questions.

    Args:
        runs: one or more.
        options: pairs or baseline, of one run the variant to compare with; estimators, metrics, margin, correction,
            resamples, how replies are read.
        variants: pairs of variants to compare, first with second; None: each with itself, of one run with the first.
    Raises:
        UsageError: names of no run, variant, estimator or metric, or nothing that two runs have in common.
    """
    reading = options.scores
    opened = {run.label: _opened(run, reading) for run in runs}
    read = [read_set for run in opened.values() for read_set in run.sets.values()]
    check_used(reading.readers, [reader for read_set in read for reader in read_set.readers])
    cells = [cell for read_set in read for cell in read_set.cells.values()]
    scales = {name: estimator.scale for cell in cells for name, estimator in cell.estimators.items()}
    chosen = replace(options, correction=options.correction or "max-t")
    estimators = _primary(cells)
    if options.estimators is not None:
        estimators = known_estimators("the comparison", options.estimators, scales)
    few = any(
        few_values_of(cell.cell, name, reading.ace_bins)
        for cell in cells
        for name in estimators
        if name in cell.confidences
    )
    names = chosen.metrics or [error_shown(few_values=few) if name == "error" else name for name in WITH_ERROR]
    of_confidences = known_metrics(names, reading.ace_bins)
    wanted = _Wanted(estimators, reading.readers, of_confidences, chosen, variants)
    pairs = tuple(_pair(opened[first], opened[second], wanted) for first, second in _run_pairs(list(opened), chosen))
    metrics = (ACCURACY, *(metric for metric in wanted.metrics if metric.name != ACCURACY.name))
    facts = tuple(run.facts for run in opened.values())
    by_name = tuple(_by_name(read, estimators, chosen))
    return corrected(AskedComparison(facts, pairs, metrics, chosen, by_name))


def _by_name(read: Sequence[ReadSet], estimators: Sequence[str], options: CompareOptions) -> Iterator[str]:
    """The options that name the estimators and readers which are not compared by default."""
    if options.estimators is None:
        cells = [cell for read_set in read for cell in read_set.cells.values()]
        present = dict.fromkeys(name for cell in cells for name in cell.estimators)
        if omitted := [name for name in present if name not in estimators]:
            yield f"--estimator {','.join(omitted)}"
    if options.scores.readers is None:
        by_cell = [list(cell.answers) for read_set in read for cell in read_set.cells.values()]
        firsts = {readers[0] for readers in by_cell if readers}
        if omitted := [name for name in dict.fromkeys(n for readers in by_cell for n in readers) if name not in firsts]:
            yield f"--reader {','.join(omitted)}"


def _primary(cells: Iterable[AskedCell]) -> tuple[str, ...]:
    """One estimator of each kind of evidence, the best known first.

    Uncertainties without a scale have no calibration to compare: their order is compared where they are named.
    """
    by_group: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, estimator in cell.estimators.items():
            if estimator.scale == "probability":
                by_group.setdefault(estimator.group, {})[name] = None
    firsts = (first_estimator(names) for names in by_group.values())
    return tuple(name for name in firsts if name is not None)


def _opened(run: Asked, options: ReportOptions) -> _Run:
    sets = {read_set.name: read_set for read_set in read_sets(run, options)}
    other_forms = {name: format_changes(run, read_set.cells) for name, read_set in sets.items()}
    facts = replace(
        ComparedRun.of(run),
        questions=sum(read_set.questions for read_set in sets.values()),
        warnings=warnings_of(sets.values()),
    )
    return _Run(facts, sets, other_forms)


def warnings_of(sets: Iterable[ReadSet]) -> tuple[str, ...]:
    """What a reader of the accuracies of sets has to know, by the reader that confidences go by."""
    matches = {
        read_set.name: exact_matches(
            next(iter(cell.answers.values())) for cell in read_set.cells.values() if cell.answers
        )
        for read_set in sets
    }
    return tuple(exact_warnings({name: of_set for name, of_set in matches.items() if of_set is not None}))


def _run_pairs(labels: Sequence[str], options: CompareOptions) -> list[Pair]:
    """The pairs of runs that the options name; of one run, it and itself."""
    if len(labels) == 1:
        if options.pairs is not None:
            raise UsageError("--pairs names pairs of runs; of one run of replies, give --variants A:B")
        return [(labels[0], labels[0])]
    return wanted_pairs(labels, options) or pairs_with(labels[0], labels)


def _pair(first: _Run, second: _Run, wanted: _Wanted) -> AskedPair:
    """Two runs, or one with itself, on all that both have."""
    for one, two in wanted.variants or ():
        known_names("--variants", [one], first.variants)
        known_names("--variants", [two], second.variants)
    cells: list[CellPair] = []
    left_out = [
        f"set {name}: only in {run.facts.label}"
        for run, other in ((first, second), (second, first))
        for name in run.sets
        if name not in other.sets
    ]
    for name in first.sets:
        own, other = first.cells(name), second.cells(name)
        pairs = _variant_pairs(list(own), list(other), first is second, wanted)
        for one, two in pairs:
            other_form = one in first.other_forms[name] or two in second.other_forms[name]
            estimators = wanted.estimators_of(other_form=other_form)
            cells.append(
                compare_cells(own[one], other[two], wanted.readers, estimators, wanted.metrics, wanted.options)
            )
        left_out += _left_out(name, first, second, pairs)
    if not any(cell.rows for cell in cells):
        raise UsageError(_nothing_in_common(first, second))
    return AskedPair(first.facts.label, second.facts.label, tuple(cells), tuple(left_out))


def _variant_pairs(firsts: Sequence[str], seconds: Sequence[str], within: bool, wanted: _Wanted) -> list[Pair]:
    """Which variants of a set are compared."""
    if wanted.variants is not None:
        return [(first, second) for first, second in wanted.variants if first in firsts and second in seconds]
    if not within:
        return [(name, name) for name in firsts if name in seconds]
    baseline = wanted.options.baseline
    if baseline is not None and baseline not in firsts:
        known_names("--baseline", [baseline], firsts)
    return pairs_with(baseline or firsts[0], firsts) if len(firsts) > 1 else []


def _left_out(name: str, first: _Run, second: _Run, pairs: Sequence[Pair]) -> Iterator[str]:
    """What is not compared in a set: variants of one run alone, and questions of one id with other words."""
    first_cells, second_cells = first.cells(name), second.cells(name)
    if not first_cells or not second_cells:
        return
    if first is not second:
        for run, cells, used in (
            (first, first_cells, {one for one, _ in pairs}),
            (second, second_cells, {two for _, two in pairs}),
        ):
            if alone := [variant for variant in cells if variant not in used]:
                yield f"{name}, {', '.join(alone)}: not compared, of {run.facts.label}"
    first_questions = {row.question.id: row.question for cell in first_cells.values() for row in cell.table.rows}
    second_questions = {row.question.id: row.question for cell in second_cells.values() for row in cell.table.rows}
    if differing := sum(
        not is_same_question(first_questions[key], second_questions[key])
        for key in first_questions.keys() & second_questions.keys()
    ):
        yield f"{name}: {counted(differing, 'question')} of one id, with other words or answers"


def _nothing_in_common(first: _Run, second: _Run) -> str:
    if first is second:
        return f"{first.facts.label}: no two variants with replies to the same questions; name another run"
    return (
        f"{first.facts.label} and {second.facts.label} have no question in common under one variant; "
        "give --variants A:B, or runs of the same questions"
    )
