"""Pages made up for tests: a small run's report, and one with names that try to be more than text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from run_samples import write_run

from calprobe.analysis import Report, ReportOptions, report
from calprobe.curves.accuracy_ace import AccuracyAce
from calprobe.metrics import Resampling
from calprobe.presentation.report_pages import page_wants
from calprobe.studies.scored.contents import ReportContents, gather

QUICK = ReportOptions(resampling=Resampling(6))
SHAPES = (("P30", 12, 3), ("P1376", 9, 5), ("P36", 8, 4))

SCRIPT = "<script>document.title='owned'</script>"
EVIL = (
    SCRIPT,
    "</script><script>document.title='owned'</script>",
    "--><img src=x onerror=\"document.title='owned'\">",
    "\"' onmouseover=document.title='owned' x='",
    "</style></title></textarea></svg><b>bold</b>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;already&amp;escaped&gt;",
    "\u202egnp.exe\u2066 \U0001f9ea\u200d\U0001f52c",
    "lone \udcff surrogate, nul-free \x07",
)


def page_contents(found: Report, exposures: Mapping[str, Any] | None = None) -> ReportContents:
    """What the page of a report shows."""
    return gather(found, page_wants(found), exposures)


def contents_of(folder: Path, n_runs: int = 2) -> ReportContents:
    """The contents of a page over so many made-up runs."""
    runs = [write_run(folder / f"run{place}", SHAPES, (0, 1, 2)) for place in range(n_runs)]
    return page_contents(report(runs, QUICK))


def all_counts(label: str) -> Mapping[str, Any]:
    """Numbers of times for every instance of a made-up run."""
    return {label: {name: [place % 5 for place in range(n)] for name, n, _ in SHAPES}}


def with_names(contents: ReportContents, name: str) -> ReportContents:
    """The contents with `name` in every place that a run's author fills: label, model, probe, templates, relations."""
    run = contents.report.runs[0]
    manifest = replace(
        run.manifest,
        model=replace(run.manifest.model, name=name, note=name, id=name),
        probe=replace(run.manifest.probe, name=name),
        template_set=replace(run.manifest.template_set, name=name),
        relations=tuple(replace(r, name=name, domains=(name,), texts=(name,)) for r in run.manifest.relations),
        versions={name: name},
    )
    own = contents.runs[run.label]
    drawn = replace(
        own,
        slices=tuple(
            replace(found, slices=tuple(replace(part, name=name) for part in found.slices)) for found in own.slices
        ),
    )
    found = contents.across["accuracy-ace"]
    assert isinstance(found, AccuracyAce)
    across = replace(found, points=tuple(replace(point, run=name, model=name) for point in found.points))
    named = replace(
        contents.report,
        runs=(
            replace(run, facts=replace(run.facts, label=name, recorded=replace(run.facts.recorded, manifest=manifest))),
            *contents.report.runs[1:],
        ),
    )
    return replace(contents, report=named, runs={**contents.runs, name: drawn}, across={across.kind: across})


class Page(HTMLParser):
    """A page taken apart: elements by tag, the text that is shown, and whether every element is closed in its turn."""

    VOID = frozenset(("meta", "link", "input", "br", "img", "wbr"))

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute of <{tag}> stands there twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        self.inside.setdefault(where, []).append(data)
        if where not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]
