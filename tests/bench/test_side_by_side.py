"""The harness: what a row says, when a ratio is refused, what happens to a contestant that cannot take part."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import side_by_side
from harness.child import take_part
from harness.contestants import CONTESTANTS, Contestant
from harness.job import Outcome, read, write
from harness.machine import Company
from peers.afterwards import scaling
from peers.compare import achieved, rows_of, why_no_ratio
from peers.contest import Contest
from peers.render import render, summary
from peers.statements import ModelSpec, Piece, ScoreJob, scaling_pieces, slice_of
from tiny_models import save_tiny_masked_model, save_tiny_model

import calprobe
from calprobe.errors import UsageError

README = Path(str(side_by_side.__file__)).with_name("README.md")
SUMS = np.array([-10.0, -20.0, -30.0])


def outcome(scorer: str, seconds: tuple[float, ...], shift: float = 0.0, **facts: Any) -> Outcome:
    sums = SUMS + np.array([0.0, 0.0, shift])
    return Outcome(scorer, "1.0", sums=sums, seconds=seconds, load_s=1.0, peak_mib=600.0, facts=facts)


def row_of(name: str, **outcomes: Outcome) -> dict[str, Any]:
    return next(row for row in rows_of("P36:1", outcomes, 3, "float32") if row["scorer"] == name)


def test_a_ratio_is_that_of_the_medians() -> None:
    row = row_of("peer", calprobe=outcome("calprobe", (1.0, 2.0, 9.0)), peer=outcome("peer", (11.0, 8.0, 10.0)))
    assert row["calprobe_is_times_as_fast"] == 5.0
    assert row["note"] is None


@pytest.mark.parametrize("shift", [1.1e-3, -1.1e-3, np.nan])
def test_no_ratio_where_float32_sums_differ(shift: float) -> None:
    row = row_of("peer", calprobe=outcome("calprobe", (1.0,)), peer=outcome("peer", (5.0,), shift))
    assert "calprobe_is_times_as_fast" not in row
    assert row["note"].startswith("scores differ by ")
    assert row["note"].endswith(": no ratio")
    record = {"machine": MACHINE, "settings": SETTINGS, "note": "", "rows": [row], "achieved": [], "scaling": []}
    assert "times as fast" not in render([record])
    assert row["note"] in render([record])


def test_differences_are_of_statement_sums() -> None:
    row = row_of("peer", calprobe=outcome("calprobe", (1.0,)), peer=outcome("peer", (5.0,), 6e-4))
    assert row["largest_difference"] == pytest.approx(6e-4)
    assert row["mean_difference"] == pytest.approx(2e-4)
    assert row["calprobe_is_times_as_fast"] == 5.0


def test_no_ratio_where_statements_are_missing() -> None:
    short = replace(outcome("peer", (5.0,)), sums=SUMS[:2])
    row = row_of("peer", calprobe=outcome("calprobe", (1.0,)), peer=short)
    assert row["note"] == "2 scores for 3 statements: no ratio"
    assert "calprobe_is_times_as_fast" not in row


def test_in_short_dtypes_our_error_against_float32_decides() -> None:
    near, far = SUMS + 0.1, SUMS - 0.2
    assert why_no_ratio(near, far, "bfloat16", SUMS) is None
    assert why_no_ratio(near, near, "bfloat16", SUMS) is None
    assert why_no_ratio(far, near, "bfloat16", SUMS) == "our error against float32 is 0.2, theirs 0.1: no ratio"
    assert "no ratio" in str(why_no_ratio(near * np.nan, far, "bfloat16", SUMS))
    assert "no ratio" in str(why_no_ratio(near, far, "bfloat16"))


def test_percentiles_are_of_speeds() -> None:
    times = (1.0, 2.0, 3.0, 6.0)  # 3 statements: 3.0, 1.5, 1.0 and 0.5 a second
    row = row_of("calprobe", calprobe=outcome("calprobe", times, tokens=30))
    assert (row["p20"], row["p50"], row["p80"]) == (0.8, 1.25, 2.1)
    assert row["scored_tokens_per_s"] == 12.5
    assert (row["unit"], row["repeats"]) == ("statements/s", 4)


def test_rows_have_one_schema() -> None:
    rows = rows_of("P36:1", {"calprobe": outcome("calprobe", (1.0,)), "peer": outcome("peer", (2.0,))}, 3, "float32")
    assert set(rows[1]) - set(rows[0]) == {"largest_difference", "mean_difference", "calprobe_is_times_as_fast"}
    assert set(rows[0]) < set(rows[1])


def test_a_peer_without_a_package_is_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Contestant("peers.minicons:load", "no_such_package_here", "minicons")
    monkeypatch.setitem(CONTESTANTS["statements"], "minicons", absent)
    spec = ModelSpec("tiny", "causal", "nowhere", None, "nowhere", "float32", "cpu")
    found = contest_of(spec).once("minicons", [PIECE])
    assert found.fault == "skipped: no_such_package_here is not installed (pip install -r bench/requirements.txt)"
    row = row_of("minicons", calprobe=outcome("calprobe", (1.0,)), minicons=found)
    assert row == {"slice": "P36:1", "scorer": "minicons", "version": None, "note": found.fault}


def test_nothing_is_compared_where_calprobe_failed() -> None:
    row = row_of("peer", calprobe=Outcome("calprobe", fault="failed"), peer=outcome("peer", (1.0,)))
    assert row["p50"] == 3.0
    assert "calprobe_is_times_as_fast" not in row
    assert achieved(Outcome("calprobe", fault="failed")) == {}


def test_achieved_counts_what_had_to_be_done() -> None:
    roof = {"peak_gflop_per_s": 4.0, "fastest_gflop_per_s": 8.0}
    facts = {"flop": 4 * 10**9, "weights_mib": 500.0, "roof": roof}
    found = achieved(outcome("calprobe", (1.0, 2.0, 4.0), **facts))
    assert (found["gflop_per_s"], found["share_of_peak"], found["share_of_fastest"]) == (2.0, 0.5, 0.25)
    assert found["above_weights_mib"] == 100.0


def test_time_is_shown_by_kinds_of_work() -> None:
    operators = {
        "aten::mm": 0.5,
        "mkldnn::_linear_pointwise": 0.1,
        "aten::copy_": 0.05,
        "aten::cat": 0.05,
        "aten::mul": 0.1,
    }
    row = {"slice": "P36:1", "path": "tree", "tokens": 9, "forwarded": 5, "heads": 4, "gflop_per_s": 2.0, "flop": 320}
    row |= {
        "share_of_peak": 0.5,
        "share_of_fastest": 0.25,
        "above_weights_mib": 1.0,
        "profile": {"operators": operators},
    }
    row["roof"] = {"peak_gflop_per_s": 4.0, "fastest_gflop_per_s": 8.0, "shapes": {"2x2": 4.0, "10x2": 8.0}}
    record = {"machine": MACHINE, "settings": SETTINGS, "note": "", "rows": [], "achieved": [row], "scaling": []}
    # 4 evaluations of a head of 10 words x 2 take 160 of the 320 operations.
    assert "| P36:1 | 60% | 0% | 10% | 0% | 30% | 50% |" in render([record])


PIECE = Piece("author", "[Y] wrote [X].", ("Ulysses", "Emma"), ("Joyce", "Austen", "Woolf"))
SETTINGS = {"model": "tiny", "dtype": "float32", "threads": 1}
MACHINE = {"card": None, "processor": "CPU", "isa": "none", "versions": {"torch": "2"}, "date": "2026-01-01"}
MACHINE |= {"others_used_cores": 0.0}


def contest_of(spec: ModelSpec) -> Contest:
    return Contest(spec, ("calprobe",), threads=1, repeats=3, sample_statements=3)


def job_of(spec: ModelSpec, *pieces: Piece, scorer: str = "calprobe", sample: int = 3, then: str = "") -> ScoreJob:
    return ScoreJob(scorer, (), 1, spec, pieces or (PIECE,), sample, then)


def test_texts_are_subject_major() -> None:
    assert PIECE.texts()[:2] == ["Joyce wrote Ulysses.", "Austen wrote Ulysses."]
    assert len(PIECE.texts()) == PIECE.n_statements == 6


def test_a_sample_is_complete_instances_spread_over_the_pieces() -> None:
    many = [replace(PIECE, relation=name, subjects=tuple("abcdefgh")) for name in ("one", "two")]
    spec = ModelSpec("tiny", "causal", "nowhere", None, "nowhere", "float32", "cpu")
    sample = job_of(spec, *many, sample=12).sample()
    assert [piece.relation for piece in sample] == ["one", "two"]
    assert [piece.subjects for piece in sample] == [("a", "e"), ("a", "e")]
    assert job_of(spec, *many).sample() == (replace(PIECE, relation="one", subjects=("a",)),)
    assert job_of(spec, *many, sample=2).sample()[0].texts() == ["Joyce wrote a.", "Austen wrote a."]
    assert job_of(spec, *many, sample=10**6).sample() == tuple(many)


def test_slices_of_a_probe() -> None:
    probe = calprobe.load_probe("mini")
    (piece,) = slice_of(probe, "capital:2")
    relation = probe.relation("capital")
    assert piece.template == relation.templates[0]
    assert piece.subjects == tuple(instance.subject for instance in relation.instances[:2])
    assert piece.candidates == relation.candidates
    assert len(slice_of(probe, "all")) == len(slice_of(probe, "mixed:1")) == len(probe.relations)
    assert len(scaling_pieces(probe, "capital")) == 12
    assert slice_of(probe, "capital:2:3") == (replace(piece, candidates=piece.candidates[:3]),)
    for wrong in ("capital:few", "capital:", "capital:0", "capital:1:2:3"):
        with pytest.raises(UsageError, match="NAME:INSTANCES"):
            slice_of(probe, wrong)
    with pytest.raises(UsageError, match="no P9999"):
        slice_of(probe, "P9999")


@pytest.mark.proof
def test_a_child_scores_and_answers(tmp_path: Path) -> None:
    folder = str(save_tiny_model(tmp_path / "model"))
    spec = ModelSpec("tiny", "causal", folder, None, folder, "float32", "cpu")
    rows, (reached,) = contest_of(spec).on_slice("author", [PIECE])
    assert [row["scorer"] for row in rows] == ["calprobe"]
    assert rows[0]["note"] is None
    assert (rows[0]["statements"], rows[0]["repeats"]) == (6, 3)
    assert rows[0]["peak_mib"] > 10
    assert reached["path"] == "tree"
    assert 0 < reached["forwarded"] == reached["heads"] < reached["tokens"] == sum(len(t) for t in PIECE.texts())
    assert reached["roof"]["fastest_gflop_per_s"] >= reached["roof"]["all_shapes_gflop_per_s"] > 0
    assert sum(reached["profile"]["operators"].values()) <= 1.001
    assert json.dumps([rows, reached])


def test_what_a_child_does(tmp_path: Path) -> None:
    """In this process: `test_a_child_scores_and_answers` is the proof."""
    folder = str(save_tiny_model(tmp_path / "model"))
    spec = ModelSpec("tiny", "causal", folder, None, folder, "float32", "cpu")
    said = io.StringIO()
    found = take_part(job_of(spec, then="analyse"), ["again\n"] * 3, said)
    assert said.getvalue() == "ready\ndone\ndone\ndone\n"
    (row,), reached = rows_of("author", {"calprobe": found}, PIECE.n_statements, "float32"), achieved(found)
    assert (row["note"], row["statements"], row["repeats"], reached["path"]) == (None, 6, 3, "tree")
    assert 0 < reached["forwarded"] == reached["heads"] < reached["tokens"] == sum(len(t) for t in PIECE.texts())
    assert reached["roof"]["fastest_gflop_per_s"] >= reached["roof"]["all_shapes_gflop_per_s"] > 0
    assert sum(reached["profile"]["operators"].values()) <= 1.001
    assert json.dumps([row, reached])


def test_a_child_scores_a_masked_model(tmp_path: Path) -> None:
    """What its process does, in this one."""
    folder = str(save_tiny_masked_model(tmp_path / "model"))
    spec = ModelSpec("tiny", "masked", folder, None, folder, "float32", "cpu")
    said = io.StringIO()
    found = take_part(job_of(spec, then="analyse"), ["again\n"] * 3, said)
    assert said.getvalue() == "ready\ndone\ndone\ndone\n"
    rows, reached = rows_of("author", {"calprobe": found}, PIECE.n_statements, "float32"), achieved(found)
    assert rows[0]["note"] is None
    assert reached["path"] == "masked"
    assert 0 < reached["heads"] < reached["edges"] <= reached["tokens"] < reached["forwarded"]
    assert reached["gflop_per_s"] == pytest.approx(reached["flop"] / (6 / rows[0]["p50"]) / 1e9, abs=0.1)
    record = {
        "machine": MACHINE,
        "settings": SETTINGS,
        "note": "",
        "rows": rows,
        "achieved": [{"slice": "author", **reached}],
    }
    assert f"| {reached['forwarded']} | {reached['heads']} |" in render([record | {"scaling": []}])


def test_a_file_of_two_models_is_rendered_one_after_the_other() -> None:
    row = row_of("calprobe", calprobe=outcome("calprobe", (1.0,), tokens=30))
    record = {"machine": MACHINE, "settings": SETTINGS, "note": "", "rows": [row], "achieved": [], "scaling": []}
    other = record | {"settings": SETTINGS | {"model": "other"}}
    assert render([record, other]) == f"{render([record])}\n{render([other])}"


def test_who_takes_part_follows_from_the_kind() -> None:
    assert side_by_side.contestants("causal", "") == ("calprobe", "lm-pub-quiz", "lm-eval", "minicons")
    assert side_by_side.contestants("masked", "") == ("calprobe", "lm-pub-quiz", "minicons")
    assert side_by_side.contestants("masked", "minicons,calprobe") == ("calprobe", "minicons")
    with pytest.raises(SystemExit, match="'lm-eval' is none of those that score masked models"):
        side_by_side.contestants("masked", "lm-eval")


def test_models_that_the_options_name(tmp_path: Path) -> None:
    causal, masked = save_tiny_model(tmp_path / "causal"), save_tiny_masked_model(tmp_path / "masked")
    for folder, kind in ((causal, "causal"), (masked, "masked")):
        (spec,) = models_of("--model", str(folder))
        assert (spec.name, spec.kind, spec.folder, spec.shape) == (str(folder), kind, str(folder), None)
    first, second = models_of("--random", "minilm", "xlm-r-mini", "--tokenizer", str(masked))
    assert (first.name, first.kind, first.folder) == ("minilm (random head)", "masked", None)
    assert (second.name, second.tokenizer) == ("xlm-r-mini (random weights)", str(masked))
    with pytest.raises(SystemExit, match="'bert' is none of gpt2, "):
        models_of("--random", "bert")


def models_of(*arguments: str) -> list[ModelSpec]:
    found: list[ModelSpec] = side_by_side.models_of(side_by_side.options().parse_args(arguments))
    return found


def test_truth_and_scaling_score_the_same_statements(tmp_path: Path) -> None:
    folder = str(save_tiny_model(tmp_path / "model"))
    spec = ModelSpec("tiny", "causal", folder, None, folder, "float32", "cpu")
    ours, plain = (CONTESTANTS["statements"][name].load(job_of(spec)) for name in ("calprobe", "float32"))
    np.testing.assert_allclose(*(each.answer([PIECE], None, 0).sums for each in (ours, plain)), atol=1e-4)
    large = replace(PIECE, candidates=tuple(str(number) for number in range(10)))
    rows = scaling(ours, [large, PIECE])  # type: ignore[arg-type]
    assert [(row["axis"], row["value"]) for row in rows] == [
        ("candidates", 5), ("candidates", 10), ("templates", 1), ("templates", 2)
    ]  # fmt: skip
    assert [row["statements"] for row in rows[:2]] == [10, 20]
    assert rows[0]["forwarded"] < rows[1]["forwarded"] < rows[1]["tokens"]
    twelve = [
        replace(piece, subjects=piece.subjects[:1]) for piece in scaling_pieces(calprobe.load_probe("mini"), "month")
    ]
    assert len(ours.answer(twelve, None, 0).sums) == sum(piece.n_statements for piece in twelve)  # of several kinds


def test_a_child_that_fails_is_a_row_and_no_more(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print('first', file=sys.stderr); sys.exit('the folder is gone')")
    spec = ModelSpec("tiny", "causal", "nowhere", None, "nowhere", "float32", "cpu")
    found = replace(contest_of(spec), script=script).once("calprobe", [PIECE])
    assert found.fault == "failed (exit status 1): the folder is gone"
    (row,), reached = replace(contest_of(spec), script=script).on_slice("author", [PIECE])
    assert (row["scorer"], row["note"], reached) == ("calprobe", found.fault, [])


@pytest.mark.proof
def test_a_child_without_a_model_fails(tmp_path: Path) -> None:
    spec = ModelSpec("tiny", "causal", str(tmp_path), None, str(tmp_path), "float32", "cpu")
    found = contest_of(spec).once("calprobe", [PIECE])
    assert found.fault is not None
    assert found.fault.startswith("failed (exit status 1): ")
    assert "is not a model folder" in found.fault


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bear", "/nowhere"], "no probe '/nowhere'"),
        (["--bear", "mini", "--slices", "P36:x"], "--slices P36:x: a slice is NAME"),
        (["--repeats", "0"], "--repeats must be at least 1, got 0"),
    ],
)
def test_a_wrong_call_is_said_without_a_traceback(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["side_by_side.py", "--random", "xlm-r-mini", *options])
    spec = ModelSpec("tiny", "masked", "nowhere", None, "nowhere", "float32", "cpu")
    monkeypatch.setattr(side_by_side, "models_of", lambda arguments: [spec])
    try:
        status = side_by_side.main()
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    assert said in capsys.readouterr().err


def test_a_job_and_its_outcome_survive_their_files(tmp_path: Path) -> None:
    job = ScoreJob("minicons", (8, 16), 2, ModelSpec("tiny", "masked", None, "minilm", "f", "bfloat16", "cuda"), (), 9)
    write(job, tmp_path / "job")
    assert read(tmp_path / "job") == job
    write(outcome("peer", (1.0,), tokens=3), tmp_path / "outcome")
    found = read(tmp_path / "outcome")
    assert (found.sums.tolist(), found.seconds, found.facts) == ([-10.0, -20.0, -30.0], (1.0,), {"tokens": 3})


def test_a_shared_machine_is_noticed() -> None:
    company = Company()
    spin = "import time; end = time.time() + 1.5\nwhile time.time() < end: pass"
    other = subprocess.Popen([sys.executable, "-c", spin])
    time.sleep(1.2)
    busy = company.cores()  # not waited for yet, so a stranger
    other.wait()
    record = {"machine": MACHINE | {"others_used_cores": busy}, "settings": SETTINGS, "note": "", "rows": []}
    assert busy > 0.2
    assert f"Other processes kept {busy} cores busy" in render([record | {"achieved": [], "scaling": []}])


def test_a_summary_has_a_row_for_each_slice() -> None:
    calprobe, peer = outcome("calprobe", (1.0, 2.0, 9.0)), outcome("peer", (11.0, 8.0, 10.0))
    rows = [
        {**row, "slice": piece}
        for piece in ("a", "b")
        for row in rows_of(piece, {"calprobe": calprobe, "peer": peer}, 3, "float32")
    ]
    lines = summary([{"machine": MACHINE, "settings": SETTINGS, "note": "", "rows": rows}]).splitlines()
    assert lines[2] == "| slice | calprobe | peer |"
    assert [line.split(" | ")[0] for line in lines[4:]] == ["| a", "| b"]
    assert lines[4].startswith("| a | 1.5/s, ")
    assert lines[4].endswith(" MiB, 5.00 times |")


@pytest.mark.parametrize("name", re.findall(r"<!-- table: (.+) -->", README.read_text("utf-8")))
def test_the_readme_shows_what_was_recorded(name: str) -> None:
    records = json.loads((README.parent / "results" / name).read_text("utf-8"))
    block = f"<!-- table: {name} -->\n\n{summary(records)}\n<!-- end -->"
    assert block in README.read_text("utf-8"), (
        f"update it from: bench/side_by_side.py --summary --render bench/results/{name}"
    )
