"""The bundled figures of the paper are those of its tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from paper_figures import paper_figures_of

from calprobe.studies.scored.paper_figures import paper_figures


def test_bundled_figures_are_those_of_the_tables(shared: Path) -> None:
    folder = shared / "paper"
    tables = json.loads((folder / "tables.json").read_text("utf-8"))
    lines = [json.loads(line) for line in (folder / "reduction_strategies.json").read_text("utf-8").splitlines()]
    assert len(lines) == 16 * 4
    made = paper_figures_of(tables, lines)
    paper = paper_figures()
    assert (paper.source, list(paper.models)) == (made.source, list(made.models))
    for model, figures in paper.models.items():
        assert sorted(figures, key=repr) == sorted(made.models[model], key=repr)


def test_a_number_that_is_no_share_is_refused() -> None:
    tables = {"source": "a paper", "table3_models": {"gpt2": {"accuracy_percent": 101}}}
    with pytest.raises(ValueError, match="accuracy_percent must be a share or a percentage; got 101"):
        paper_figures_of(tables, [])


def test_percentages_are_shares_exactly() -> None:
    tables = {"source": "a paper", "table3_models": {"gpt2": {"accuracy_percent": 14.9}}}
    ((figure,),) = paper_figures_of(tables, []).models.values()
    assert (figure.table, figure.metric, figure.value) == ("3", "bear_score", 0.149)
