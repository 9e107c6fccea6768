"""Make calprobe/studies/scored/paper_figures.json of the tables of Kissling et al. 2026 (arXiv 2601.18901).

    python bench/paper_figures.py TABLES.json REDUCTIONS.jsonl [--out FILE.json]

TABLES.json is `{TABLE: {MODEL: {COLUMN: NUMBER}}}` with the tables of `NAMES`; accuracies are percentages under keys
that say so. REDUCTIONS.jsonl has a line {model, reduction, accuracy, ace} for each number of appendix B.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from calprobe.studies.scored.paper_figures import FILE_NAME, Figure, PaperFigures

# Keys of a model in the tables -> estimator and metric here.
TABLE_1 = {
    "ace_base": ("base", "ace"),
    "ace_margin": ("margin", "ace"),
    "ace_average_vote": ("average_vote_2", "ace"),
    "ace_average_min": ("average_min", "ace"),
    "brier_base": ("base", "brier"),
    "brier_margin": ("margin", "brier"),
    "brier_average_vote": ("average_vote_2", "brier"),
    "brier_average_min": ("average_min", "brier"),
    "brier_consistency_vote": ("consistency_vote_2", "brier"),
    "brier_consistency_min": ("consistency_min", "brier"),
}
TABLE_2 = {
    "domain_accuracy_percent": ("", "bear_score"),
    "domain_brier_margin": ("margin", "brier"),
    "domain_brier_average_min": ("average_min", "brier"),
}
TABLE_4 = {name: (f"average_{name}", "brier") for name in ("min", "max", "vote_2", "vote_3", "vote_4", "vote_5")}
TABLE_6 = {
    "accuracy_percent": ("base", "accuracy"),
    "ace_base": ("base", "ace"),
    "ace_margin": ("margin", "ace"),
    "brier_base": ("base", "brier"),
    "brier_margin": ("margin", "brier"),
}
NAMES = {
    "1": "table1_calibration_bear",
    "2": "table2_matched_pairs",
    "3": "table3_models",
    "4": "table4_brier_average_confidence_by_aggregation",
    "5": "table5_matched_domains",
    "6": "table6_wiki_factor",
}
REDUCTIONS = {
    "pll_scores_sum": "sum",
    "pll_scores_avg": "mean",
    "pll_scores_answer_sum": "sum_answer",
    "pll_scores_answer_avg": "mean_answer",
}

Tables = Mapping[str, Any]


def paper_figures_of(tables: Tables, reductions: list[dict[str, Any]]) -> PaperFigures:
    """The figures of every model, in the order of the tables, appendix B last."""
    rows = {number: tables.get(name, {}) for number, name in NAMES.items() if number != "5"}
    models = dict.fromkeys(model for number in "1346" for model in rows[number])
    figures = {model: (*_of_tables(tables, rows, model), *_of_appendix(reductions, model)) for model in models}
    return PaperFigures(str(tables["source"]), figures)


def _of_tables(tables: Tables, rows: Mapping[str, Tables], model: str) -> Iterator[Figure]:
    yield from _of("1", rows, model, TABLE_1)
    pairs = tables.get(NAMES["5"], [])
    domain = next((pair["domain"] for pair in pairs if model in pair.get("pair", []) and "domain" in pair), None)
    if domain is not None:
        yield from _of("2", rows, model, TABLE_2, domain)
    # A model of table 2 has its accuracy there: it is the same number.
    for number in ("2", "3"):
        if model in rows[number]:
            yield Figure("3", "", "bear_score", _share(rows[number][model], "accuracy_percent"))
            break
    yield from _of("4", rows, model, TABLE_4)
    yield from _of("6", rows, model, TABLE_6)


def _of(
    number: str, rows: Mapping[str, Tables], model: str, columns: Mapping[str, tuple[str, str]], of: str | None = None
) -> Iterator[Figure]:
    row = rows[number].get(model, {})
    for key, (estimator, metric) in columns.items():
        if key in row:
            yield Figure(number, estimator, metric, _share(row, key), of)


def _of_appendix(reductions: list[dict[str, Any]], model: str) -> Iterator[Figure]:
    for line in reductions:
        if line["model"] == model:
            for metric in ("accuracy", "ace"):
                yield Figure("B", "base", metric, line[metric], REDUCTIONS[line["reduction"]])


def _share(row: Tables, key: str) -> float:
    """A number in [0, 1]; of a percentage its hundredth, exactly: 14.9 / 100 is not 0.149 in floating point."""
    value = float(Decimal(str(row[key])).scaleb(-2)) if key.endswith("percent") else float(row[key])
    if not 0 <= value <= 1:
        raise ValueError(f"{key} must be a share or a percentage; got {row[key]!r}")
    return value


def main() -> None:
    """Write the figures from the paper's tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("reductions", type=Path)
    parser.add_argument("--out", type=Path, default=Path(str(resources.files("calprobe.studies.scored") / FILE_NAME)))
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.reductions.read_text("utf-8").splitlines()]
    found = paper_figures_of(json.loads(options.tables.read_text("utf-8")), lines)
    options.out.write_text(json.dumps(found.to_json()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
