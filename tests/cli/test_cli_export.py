"""`calprobe export`: each kind of table from the command line, and its errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from commands import exit_code
from labelled_runs import named_run
from run_samples import make_manifest, write_run

from calprobe.analysis import answers
from calprobe.cli.app import main
from calprobe.confidence import confidences
from calprobe.runs import RunFolder, SourceRecord, open_run

Invoke = Callable[..., tuple[int, str]]


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    """Runs the command line; gives the exit code and stderr without what was written. Stdout must stay empty."""

    def run(*arguments: object) -> tuple[int, str]:
        code = exit_code(*arguments)
        captured = capsys.readouterr()
        assert captured.out == ""
        return code, "".join(line for line in captured.err.splitlines(True) if not line.startswith("wrote "))

    return run


def test_what_was_written_is_said_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, out = write_run(tmp_path / "run"), tmp_path / "c.parquet"
    main(["export", str(run), "--what", "candidates", "--out", str(out)])
    assert capsys.readouterr() == ("", f"wrote {out}: 70 rows\n")


def test_candidates_and_tokens(tmp_path: Path, invoke: Invoke) -> None:
    run = write_run(tmp_path / "run", tokens=True)
    assert invoke("export", run, "--what", "candidates", "--out", tmp_path / "c.parquet") == (0, "")
    assert invoke("export", run, "--what", "tokens", "--out", tmp_path / "t.csv") == (0, "")
    assert pq.read_table(tmp_path / "c.parquet").num_rows == 2 * (12 + 15 + 8)
    with (tmp_path / "t.csv").open(newline="") as file:
        header = next(csv.reader(file))
    assert header == ["relation", "template", "instance", "candidate", "position", "token", "role", "logprob"]


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path, invoke: Invoke) -> None:
    run = write_run(tmp_path / "run")
    for name in ("a", "b"):
        invoke("export", run, "--what", "candidates", "--out", tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_confidences(tmp_path: Path, invoke: Invoke, suffix: str) -> None:
    run, out = write_run(tmp_path / "run", numbers=(0,)), tmp_path / f"confidences.{suffix}"
    assert invoke("export", run, "--what", "confidences", "--reduction", "sum_answer", "--out", out) == (0, "")
    columns = ["relation", "instance", "estimator", "prediction", "confidence", "correct", "failed"]
    if suffix == "parquet":
        assert pq.read_table(out).column_names == columns
    elif suffix == "csv":
        assert out.read_text().splitlines()[0] == ",".join(f'"{name}"' for name in columns)
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert list(rows[0]) == columns
        assert {(row["relation"], row["instance"]) for row in rows if row["estimator"] == "base"} == {
            (name, i) for name, n in (("P30", 4), ("P1376", 3), ("P36", 2)) for i in range(n)
        }


def test_confidences_as_the_paper_computes_them(tmp_path: Path, invoke: Invoke) -> None:
    run = write_run(tmp_path / "run")
    written = tmp_path / "confidences.parquet"
    assert invoke("export", run, "--what", "confidences", "--compat", "kissling2026", "--out", written) == (0, "")
    expected = confidences(open_run(run), compat="kissling2026")
    pd.testing.assert_frame_equal(pq.read_table(written).to_pandas(), expected)
    assert not expected["confidence"].equals(confidences(open_run(run))["confidence"])


@pytest.mark.parametrize(
    ("what", "option", "kinds"),
    [
        ("candidates", ["--reduction", "sum"], "confidences, lm-pub-quiz, hub-card or hub-dataset"),
        ("tokens", ["--compat", "kissling2026"], "confidences, readings, hub-card or hub-dataset"),
        ("lm-pub-quiz", ["--compat", "kissling2026"], "confidences, readings, hub-card or hub-dataset"),
        ("confidences", ["--template", 0], "lm-pub-quiz"),
        ("tokens", ["--labels"], "candidates, confidences or hub-dataset"),
    ],
)
def test_an_option_of_another_kind_of_export_is_refused(
    tmp_path: Path, invoke: Invoke, what: str, option: list[object], kinds: str
) -> None:
    run, out = write_run(tmp_path / "run"), tmp_path / "out.csv"
    code, said = invoke("export", run, "--what", what, *option, "--out", out)
    assert code == 2
    assert f"{option[0]} applies to --what {kinds}, and this is --what {what}; leave it out\n" in said
    assert not out.exists()


def test_lm_pub_quiz_takes_its_labels_from_the_probe(tmp_path: Path, invoke: Invoke) -> None:
    run = write_run(tmp_path / "run")
    code, said = invoke("export", run, "--what", "lm-pub-quiz", "--out", tmp_path / "out")
    assert code == 2
    assert "the labels are in the run's probe, made-up; give its folder with --probe DIR" in said
    code, said = invoke("export", run, "--what", "lm-pub-quiz", "--out", tmp_path / "out", "--probe", "mini")
    assert code == 2
    assert "probe mini: not the one that" in said
    assert not (tmp_path / "out").exists()


def test_labels_of_a_probe_that_is_not_here_name_both_fixes(
    tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "no data"))
    manifest = replace(make_manifest(), probe=SourceRecord("bear", "bb" * 32))
    run = RunFolder.create(tmp_path / "run", manifest).path
    code, said = invoke("export", run, "--what", "lm-pub-quiz", "--out", tmp_path / "out")
    assert code == 3
    labels = f"{run}: the labels are in the run's probe, bear; give its folder with --probe DIR"
    assert said == f"calprobe: {labels}, or run `calprobe fetch bear`\n"


def test_a_partial_run_is_exported_and_said(tmp_path: Path, invoke: Invoke) -> None:
    run = write_run(tmp_path / "run")
    (run / "shards" / "P30.t1.parquet").unlink()
    code, said = invoke("export", run, "--what", "candidates", "--out", tmp_path / "c.parquet")
    assert (code, said) == (0, "partial run: 5 of 6 pieces scored\n")
    assert pq.read_table(tmp_path / "c.parquet").num_rows == 12 + 2 * (15 + 8)


@pytest.mark.parametrize(
    ("what", "out", "code", "message"),
    [
        ("tokens", "t.csv", 1, "--save-tokens"),
        ("candidates", "c.xlsx", 2, "the suffix sets the format"),
        ("sums", "c.csv", 2, "'sums' is not one of"),
    ],
)
def test_errors(tmp_path: Path, invoke: Invoke, what: str, out: str, code: int, message: str) -> None:
    found, said = invoke("export", write_run(tmp_path / "run"), "--what", what, "--out", tmp_path / out)
    assert found == code
    assert message in said
    assert not (tmp_path / out).exists()


def test_no_run_is_missing_data(tmp_path: Path, invoke: Invoke) -> None:
    code, said = invoke("export", tmp_path / "none", "--what", "candidates", "--out", tmp_path / "c.csv")
    assert code == 3
    assert "no such run; make one with `calprobe score" in said


def test_labels_are_added_at_the_end(tmp_path: Path, invoke: Invoke) -> None:
    run = named_run(tmp_path / "run")
    frames = {}
    for what in ("candidates", "confidences"):
        for option in ([], ["--labels"]):
            out = tmp_path / f"{what}{len(option)}.parquet"
            assert invoke("export", run, "--what", what, *option, "--out", out) == (0, "")
            frames[what, len(option)] = pq.read_table(out).to_pandas()
    added = {
        "candidates": ["subject", "label", "answer", "statement"],
        "confidences": ["subject", "answer", "predicted"],
    }
    for what, names in added.items():
        plain, labelled = frames[what, 0], frames[what, 1]
        assert list(labelled.columns) == [*plain.columns, *names]
        pd.testing.assert_frame_equal(labelled[plain.columns], plain)
    one = frames["candidates", 1].iloc[-1]
    assert one["label"] == f"{one['relation']} answer {one['candidate']}"
    assert one["answer"] == f"{one['relation']} answer {one['answer_idx']}"
    assert one["statement"] == f"One calls {one['subject']} {one['label']}."
    words = answers(run).set_index(["relation", "instance"])
    base = frames["confidences", 1].query("estimator == 'base'").set_index(["relation", "instance"])
    assert base["predicted"].to_dict() == words["predicted"].to_dict()
    assert base["answer"].to_dict() == words["answer"].to_dict()


def test_labels_that_are_not_known_and_a_probe_that_is_not_read(tmp_path: Path, invoke: Invoke) -> None:
    run, out = named_run(tmp_path / "run", labels=False), tmp_path / "out.csv"
    assert invoke("export", run, "--what", "candidates", "--labels", "--out", out)[0] == 3
    code, said = invoke("export", run, "--what", "candidates", "--probe", "mini", "--out", out)
    assert (code, "add --labels, or leave it out" in said) == (2, True)
    assert not out.exists()
