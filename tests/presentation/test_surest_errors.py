"""The page's table of surest errors: the answers of `show`, in words where texts are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from labelled_runs import named_run
from page_samples import QUICK, Page, page_contents

from calprobe.analysis import ShowOptions, report, show
from calprobe.measures.number_text import number
from calprobe.presentation.report_pages import report_page


@pytest.mark.parametrize("labels", [True, False])
def test_each_run_has_its_surest_errors(tmp_path: Path, labels: bool) -> None:
    run = named_run(tmp_path / "run", labels=labels)
    page = Page(report_page(page_contents(report(run, QUICK))))
    expected = show(named_run(tmp_path / "with labels"), ShowOptions(top=10)).answers
    assert expected
    assert "Surest errors" in page.text
    for answer in expected:
        words = (answer.subject, answer.predicted, answer.answer, answer.statement)
        assert all((str(word) in page.text) == labels for word in words)
        assert number(answer.confidence) in page.text
        assert (f"candidate {answer.place}" in page.text) != labels
    assert ("`calprobe show RUN --probe DIR` shows them" in page.text) != labels


def test_a_page_of_several_runs_begins_with_their_verdicts_and_one_figure_and_has_a_table_of_them(
    tmp_path: Path,
) -> None:
    runs = [named_run(tmp_path / name, numbers) for name, numbers in (("one", (0,)), ("other", (0,)))]
    html = report_page(page_contents(report(runs, QUICK)))
    page = Page(html)
    figure, table = html.index("<h4>Reliability of base on "), html.index("Accuracy and calibration by run.")
    assert html.rindex('<article class="run"') < figure < table
    assert ">average_min<" not in html  # no run has paraphrases: no column of dashes
    assert page.open == []
    alone = report_page(page_contents(report(runs[0], QUICK)))
    assert "Accuracy and calibration by run." not in alone
