"""How an entry of the table is bound to the templates of a run: which it reads, and what it is called then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from calprobe.confidence.estimator import Entry, Estimator
from calprobe.confidence.paraphrases import Aggregation, aggregations
from calprobe.confidence.types import default_row, paraphrase_rows

if TYPE_CHECKING:
    from calprobe.runs import TemplateRecord

Templates = Sequence["TemplateRecord"]  # in the order of the rows of a run's scores

VERBAL = ("possibly", "certainly")


def of_one_template(entry: Entry, templates: Templates) -> Iterator[Estimator]:
    """The estimator on template 0, else the first paraphrase."""
    row = default_row(templates)
    if row is not None:
        yield entry.bound(partial(entry.estimator.compute, row=row), templates=(templates[row].number,))


def of_paraphrases(entry: Entry, templates: Templates) -> Iterator[Estimator]:
    """The estimator on all paraphrases, if there are two or more."""
    if rows := paraphrase_rows(templates):
        yield _on_rows(entry, templates, rows)


def of_one_answer(entry: Entry, templates: Templates) -> Iterator[Estimator]:
    """The estimator on base's answer over all paraphrases, if there are two or more."""
    row = default_row(templates)
    if row is not None and (rows := paraphrase_rows(templates)):
        numbers = tuple(sorted({templates[place].number for place in (row, *rows)}))
        yield entry.bound(partial(entry.estimator.compute, rows=rows, row=row), templates=numbers)


def of_aggregations(entry: Entry, templates: Templates) -> Iterator[Estimator]:
    """An estimator for each aggregation of the paraphrases, if there are two or more."""
    if rows := paraphrase_rows(templates):
        yield from (_on_rows(entry, templates, rows, aggregation) for aggregation in aggregations(len(rows)))


def of_markers(entry: Entry, templates: Templates) -> Iterator[Estimator]:
    """An estimator for each epistemic template: possibly, certainly, then percentages ascending.

    Of several templates with one marker, the first.
    """
    rows: dict[str, int] = {}
    for row, template in enumerate(templates):
        if template.marker is not None:
            rows.setdefault(template.marker, row)
    percentages = sorted((marker for marker in rows if marker not in VERBAL), key=int)
    for marker in (*(marker for marker in VERBAL if marker in rows), *percentages):
        row = rows[marker]
        compute = partial(entry.estimator.compute, row=row)
        meaning = marker if marker in VERBAL else f"{marker} %"
        yield entry.bound(compute, marker, meaning, templates=(templates[row].number,), marker=marker)


def _on_rows(
    entry: Entry, templates: Templates, rows: tuple[int, ...], aggregation: Aggregation | None = None
) -> Estimator:
    numbers = tuple(templates[row].number for row in rows)
    if aggregation is None:
        return entry.bound(partial(entry.estimator.compute, rows=rows), templates=numbers)
    chosen: dict[str, Any] = {"choose": aggregation.choose}
    compute = partial(entry.estimator.compute, rows=rows, **chosen)
    return entry.bound(compute, aggregation.name, aggregation.meaning, templates=numbers, votes=aggregation.votes)
