"""The report as text: what its first line says, what fits, what a pipe gets."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from run_samples import make_manifest, make_piece, write_run

from calprobe.analysis import Report, ReportOptions, report
from calprobe.analysis.terminal import print_report
from calprobe.metrics import Estimate, Resampling
from calprobe.runs import RunFolder, StartToken, open_run

QUICK = ReportOptions(resampling=Resampling(20))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report(write_run(tmp_path_factory.mktemp("runs") / "whole"), QUICK)


def with_run(found: Report, **changes: object) -> Report:
    return replace(found, runs=(replace(found.runs[0], **changes),))


def with_facts(found: Report, **changes: Any) -> Report:
    return with_run(found, facts=replace(found.runs[0].facts, **changes))


def with_model(found: Report, **changes: object) -> Report:
    manifest = found.runs[0].manifest
    return with_facts(found, manifest=replace(manifest, model=replace(manifest.model, **changes)))


def text(found: Report, width: int = 80) -> str:
    """What a pipe gets: no terminal, so no colours."""
    out = io.StringIO()
    print_report(found, Console(file=out, width=width))
    return out.getvalue()


def test_first_line_says_how_the_run_was_made(found: Report) -> None:
    manifest = found.runs[0].manifest
    settings = replace(manifest.settings, start_token=StartToken("[BOS]", 0))
    first = text(with_facts(found, label="runs/x", manifest=replace(manifest, settings=settings))).splitlines()[0]
    assert first == ("runs/x: complete; path padded, dtype float32, start token [BOS], template set native (0-1)")


@pytest.mark.parametrize(
    ("word_split", "shown"),
    [("unicode", "PLL original, word split unicode"), (None, "PLL original, word split not known")],
)
def test_first_line_of_a_masked_run_says_what_was_masked(found: Report, word_split: str | None, shown: str) -> None:
    manifest = found.runs[0].manifest
    settings = replace(manifest.settings, path="masked", start_token=StartToken("[CLS]", 0), pll_metric="original")
    settings = replace(settings, word_split=word_split)
    first = text(with_facts(found, label="runs/x", manifest=replace(manifest, settings=settings))).splitlines()[0]
    assert first == f"runs/x: complete; path masked, dtype float32, {shown}, template set native (0-1)"


def test_first_line_of_a_partial_run(found: Report) -> None:
    first = text(with_facts(found, label="runs/x", relations=1)).splitlines()[0]
    assert first.startswith("runs/x: PARTIAL, 1 of 3 relations; path padded")


def test_what_the_lines_below_say(found: Report) -> None:
    estimate = Estimate(0.25, 0.1, 0.4)
    shown = text(with_run(with_model(found, note="rounded to Q4_1"), accuracy=estimate, bear_score=estimate))
    assert "model tiny, causal: rounded to Q4_1\n" in shown
    assert "probe made-up: 9 instances in 3 relations, K = 3 to 5 candidates\n" in shown
    assert "accuracy 0.2500 (.100-.400); chance 0.2704 (mean 1/K)\n" in shown
    assert "BEAR score 0.2500 (.100-.400): mean accuracy over 2 paraphrases\n" in shown
    assert "normalised over the K candidates" in shown
    assert "20 resamples of the instances, seed 0" in shown


def test_cells_hold_value_and_interval(found: Report) -> None:
    base = found.runs[0].estimators[0]
    metrics = dict(base.metrics) | {
        "accuracy": Estimate(0.5, 0.12345, 1.0),
        "mean_confidence": Estimate(0.25),
        "ace": Estimate(float("nan")),
    }
    lines = text(with_run(found, estimators=(replace(base, metrics=metrics),))).splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("  base "))
    assert lines[row].split()[:4] == ["base", "0.5000", "0.2500", "undefined"]
    assert lines[row + 1].split()[0] == ".123-1.00"


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_the_table_fits_any_width(found: Report, width: int) -> None:
    short = with_run(found, estimators=found.runs[0].estimators[:2])  # their names leave the most room
    for report_of_run in (found, short):
        lines = text(report_of_run, width).splitlines()
        head, wording = (
            next(i for i, line in enumerate(lines) if line.startswith(w)) for w in ("estimator", "wording")
        )
        table = [line for line in lines[head:wording] if not line.endswith(("template 0", "templates 0-1"))]
        assert all(len(line) <= width for line in (table if width < 80 else lines[head:]))
    columns = [metric.title for metric in found.metrics]
    shown = [title for title in columns if f" {title} " in f"{lines[head]} "]
    assert {"accuracy", "ACE"} <= set(shown)
    assert len(shown) == {40: 3, 80: 7, 120: 11, 300: len(columns)}[width]
    assert ("Only with --format json or csv" in text(short, width)) == (len(shown) < len(columns))
    assert not any(line != line.rstrip() for line in lines)


def test_long_names_leave_room_for_fewer_columns(found: Report) -> None:
    long = replace(found.runs[0].estimators[0], name="consistency_vote_2")
    lines = text(with_run(found, estimators=(long,))).splitlines()
    (row,) = (line for line in lines if line.startswith("  consistency_vote_2 "))
    assert len(row) <= 80
    assert len(row.split()) == 7


def test_the_notes_say_what_intervals_draw(found: Report) -> None:
    clustered = replace(found, options=replace(found.options, cluster="relation"))
    assert "(20 resamples of the instances, seed 0)" in text(found, 200)
    assert "(20 resamples of the relations, each drawn whole, seed 0)" in text(clustered, 200)


def test_a_pipe_gets_plain_text(found: Report) -> None:
    shown = text(found)
    assert "\x1b" not in shown
    assert shown.isascii()


def test_a_terminal_gets_the_same_words(found: Report) -> None:
    out = io.StringIO()
    print_report(found, Console(file=out, width=80, force_terminal=True, color_system="standard"))
    assert "\x1b[" in out.getvalue()


def test_names_are_not_read_as_markup(found: Report) -> None:
    assert text(with_facts(found, label="runs/[red]x[/red]")).startswith("runs/[red]x[/red]: complete")


def test_failed_instances_are_counted(tmp_path: Path) -> None:
    path, shape = tmp_path / "run", ("P30", 4, 3)
    piece = replace(make_piece(shape), tokens=None)
    scores = piece.sum.copy()
    scores[1] = np.nan
    RunFolder.open(path, make_manifest([shape], [0])).write_piece(replace(piece, sum=scores))
    shown = text(report(open_run(path), QUICK))
    assert shown.count("\n  1 failed ") == 5
    assert "\nFailed: no prediction (a vote without a winner, or no scores); counted as" in shown
    assert "no BEAR score, no estimator over paraphrases: they take two paraphrases or more\n" in shown


def test_one_is_singular(found: Report) -> None:
    shown = text(with_facts(found, instances=1, relations=1, candidates=(1, 1)))
    assert "probe made-up: 1 instance in 1 relation, K = 1 candidate\n" in shown


def test_groups_say_once_which_templates_they_read(found: Report) -> None:
    lines = text(found).splitlines()
    heads = ["intrinsic: template 0", "consistency: templates 0-1"]
    heads.append("beyond the paper: mixture templates 0-1; entropy, temperature, chance template 0")
    places = [lines.index(head) for head in heads]
    assert places == sorted(places)
    assert [lines[place + 1].split()[0] for place in places] == ["base", "average_vote_2", "mixture"]


def test_markers_are_one_line(found: Report) -> None:
    base = found.runs[0].estimators[0]
    markers = [replace(base, name=f"marker_{n}", group="grounding", templates=(n,)) for n in (5, 6, 7, 9)]
    assert "\ngrounding: templates 5-7,9, one each\n" in text(with_run(found, estimators=tuple(markers)))
    shuffled = text(with_run(found, estimators=tuple(markers[::-1])))
    assert "\ngrounding: marker_9 template 9; marker_7 template 7; " in shuffled


def test_what_the_wording_changes(found: Report) -> None:
    sensitivity, uncertainty = found.runs[0].sensitivity, found.runs[0].uncertainty
    assert sensitivity is not None
    assert uncertainty is not None
    known = replace(sensitivity, accuracy=np.array([0.5, 0.25]), msd=Estimate(0.125, 0.1, 0.2), failed=0)
    known_too = replace(uncertainty, epistemic=Estimate(0.5), rho=0.75)
    shown = text(with_run(found, sensitivity=known, uncertainty=known_too))
    assert "\n\nwording: templates 0-1\n" in shown
    assert "\n  accuracy of base   0.2500 to 0.5000, spread 0.2500\n" in shown
    assert "\n  MSD                0.1250 (.100-.200), of p of template 0's answer\n" in shown
    assert "\n    epistemic        0.5000, between paraphrases; rho 0.7500\n" in shown
    failed = text(with_run(found, sensitivity=replace(known, failed=1)))
    assert "\n  failed             1 instance, left out of all but accuracy and ACE\n" in failed


def with_ace(found: Report, *values: float) -> Report:
    """The first estimators, with these values of ACE and one accuracy."""
    estimators = tuple(
        replace(estimator, metrics={**estimator.metrics, "ace": Estimate(ace), "accuracy": Estimate(ace)})
        for estimator, ace in zip(found.runs[0].estimators, values, strict=False)
    )
    return with_run(found, estimators=estimators)


def test_the_best_of_a_column_has_a_star_where_there_is_no_bold(found: Report) -> None:
    shown = text(with_ace(found, 0.12341, 0.12339, 0.5, float("nan")))
    lines = [line for line in shown.splitlines() if line.startswith("  ")]
    assert [line for line in lines if "0.1234    0.1234" in line] == []
    assert sum(" *0.1234" in line for line in lines) == 2  # printed alike, so both; accuracy is not marked
    assert "*undefined" not in shown
    assert "\n*: the best of a run's column, by what is printed" in shown
    alike = with_ace(found, 0.5, 0.5)
    assert "*0.5000" not in text(alike)


def test_the_best_of_a_column_is_bold_on_a_terminal(found: Report) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    print_report(with_ace(found, 0.125, 0.5), console)
    assert "\x1b[1m0.1250\x1b[0m" in out.getvalue()
    assert "*" not in out.getvalue()
    assert "Bold: the best of a run's column" in out.getvalue()


def test_a_run_of_one_template_has_no_wording(tmp_path: Path) -> None:
    shown = text(report(write_run(tmp_path / "run", numbers=[3]), QUICK))
    assert "wording" not in shown
    assert "no BEAR score, no estimator over paraphrases: they take two paraphrases or more\n" in shown


def test_markers_alone_have_no_accuracy(found: Report) -> None:
    base = replace(found.runs[0].estimators[0], name="marker_0", group="grounding", templates=(7,))
    bare = with_run(found, estimators=(base,), accuracy=None, bear_score=None, sensitivity=None, uncertainty=None)
    lines = text(bare, 120).splitlines()
    assert "  marker_0" in lines[lines.index("grounding: template 7") + 1]
    assert "no accuracy, no estimator on one plain template: the run has neither template 0 nor a paraphrase" in lines


def test_two_runs_are_two_sections(found: Report) -> None:
    shown = text(
        replace(found, runs=(found.runs[0], replace(found.runs[0], facts=replace(found.runs[0].facts, label="other"))))
    )
    assert shown.count("estimator ") == 2
    assert shown.count("bootstrap intervals") == 1
