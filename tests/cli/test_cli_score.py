"""`calprobe score` as a command: options, exit codes, messages."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from commands import exit_code
from tiny_models import save_tiny_model

from calprobe.cli.app import cli
from calprobe.errors import UsageError
from calprobe.runs import open_run
from calprobe.scoring import ScoreOptions


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


def test_options_reach_the_run(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments: list[Any] = ["--templates", "0,verbal", "--relations", "month, continent", "--limit", "2"]
    arguments += ["--batch-tokens", "99", "--path", "padded", "--save-tokens", "--quiet", "--dtype", "float32"]
    assert exit_code("score", "--model", model, "--probe", "mini", "--out", tmp_path / "run", *arguments) == 0
    manifest = open_run(tmp_path / "run").manifest
    assert [template.number for template in manifest.templates] == [0, 5, 6]
    assert {r.name: (r.n_instances, r.n_candidates) for r in manifest.relations} == {
        "month": (2, 12),
        "continent": (2, 6),
    }
    settings = manifest.settings
    assert (settings.batch_tokens, settings.path, settings.save_tokens, settings.dtype) == (
        99,
        "padded",
        True,
        "float32",
    )
    output = capsys.readouterr()
    assert output.out == ""  # results go into the run; stdout is for data
    assert "next: calprobe report" in output.err
    assert "statements/s" not in output.err  # --quiet


@pytest.mark.parametrize(
    ("typed", "scored"),
    [
        ((), ("bear", "all", "kissling2026")),
        (("--probe", "mini", "--templates", "0,1"), ("mini", "0,1", "kissling2026")),
        (("--template-set", "native"), ("bear", "all", "native")),
    ],
)
def test_a_study_sets_what_is_scored_and_options_override_it(
    typed: tuple[str, ...], scored: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str, str | None]] = []

    def preview(model: str, probe: str, out: Path | None, options: ScoreOptions, loading: Any) -> None:
        seen.append((probe, options.templates, options.template_set))
        raise UsageError("seen")

    monkeypatch.setattr("calprobe.scoring.preview", preview)
    assert exit_code("score", "--model", "tiny-clm", "--study", "kissling", "--dry-run", *typed) == 2
    assert seen == [scored]


def test_progress_of_a_captured_run_is_lines(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code("score", "--model", model, "--probe", "mini", "--relations", "month", "--out", tmp_path / "run")
    said = capsys.readouterr().err
    assert said.startswith(f"loading {model}\n")
    assert "144 of 144 statements" in said


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Missing option '--model'"),
        (["--model", "x", "--batch-tokens", "many"], 2, "'many' is neither auto nor a positive whole number"),
        (["--model", "x", "--batch-tokens", "-5"], 2, "'-5' is neither auto nor a positive whole number"),
        (["--model", "x", "--batch-tokens", "0"], 2, "'0' is neither auto nor a positive whole number"),
        (["--model", "x", "--probe", "mini", "--limit", "0"], 2, "--limit must be at least 1, got 0"),
        (["--model", "x", "--probe", "mini", "--relations", ","], 2, "--relations has no names"),
        (["--model", "x", "--probe", "mini", "--relations", "P30"], 2, "probe mini has no P30"),
        (["--model", "x", "--probe", "mini", "--templates", "12"], 2, "has no template 12"),
        (["--model", "x", "--probe", "nope"], 2, "nope"),
        (["--model", "x", "--probe", "mini", "--json"], 2, "--json is for --dry-run"),
        (["--model", "x", "--probe", "mini", "--limit", "2", "--first", "2"], 2, "give one of them"),
        (["--model", "x"], 3, "calprobe fetch bear"),
        (["--model", "./nowhere.gguf"], 2, "./nowhere.gguf: no such file"),  # before a probe has to be fetched
        (["--model", "tiny-clm", "--device-map", "cuda"], 2, "--device-map 'cuda' is not one of auto, balanced"),
        (["--model", "x", "--probe", "mini", "--path", "quick"], 2, "'quick' is not one of"),
    ],
)
def test_what_cannot_be_asked(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert exit_code("score", *arguments) == code
    message = capsys.readouterr().err
    assert said in message
    assert len(message.strip().splitlines()) <= 2
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_is_printed_and_nothing_is_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--model", model, "--probe", "mini", "--relations", "month", "--limit", "2", "--dry-run", "--quiet"]
    assert exit_code("score", *asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "probe        mini: 2 instances in 1 relation, template set calprobe (0)"
    assert "run          runs/tiny-mini: 0 of 1 piece done; nothing is written now" in lines
    assert any(line.startswith("to score     24 statements: about ") for line in lines)
    assert exit_code("score", *asked, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["work"]["statements"] == 24
    roles = {role for example in found["examples"] for _, role in example["tokens"]}
    assert roles == {"subject", "answer", "template"}
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_run_is_left_alone(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    assert exit_code("score", "--model", model, "--probe", "mini", "--out", tmp_path, "--no-resume") == 2
    assert "not a run folder, and not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_debug_works_behind_the_command_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("score", "--model", str(tmp_path / "nope"), "--probe", "mini", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_says_how_to_go_on(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write, written = pq.write_table, []

    def write_table(*given: Any, **named: Any) -> None:
        if not written:  # Ctrl-C while the first shard is written
            signal.raise_signal(signal.SIGINT)
        written.append(1)
        write(*given, **named)

    monkeypatch.setattr(pq, "write_table", write_table)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        asked = ["--probe", "mini", "--limit", "6", "--templates", "0,1"]
        assert exit_code("score", "--model", model, *asked, "--out", tmp_path / "run") == 130
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert "pieces are left.\nRun the same command again to resume in" in said
    assert "Traceback" not in said
    run = open_run(tmp_path / "run")
    assert run.partial
    # What was in flight is there: all of a first group of small pieces.
    assert run.progress.pieces > 1


def test_it_says_so_too_where_click_names_no_cause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: Any) -> None:
        try:
            raise KeyboardInterrupt("interrupted; run it again")
        except KeyboardInterrupt:
            raise click.Abort from None  # as early 8.1 does

    monkeypatch.setattr(cli, "main", interrupted)
    assert exit_code("models") == 130
    assert capsys.readouterr().err == "calprobe: interrupted; run it again\n"


def test_two_processes_do_not_share_a_folder(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from filelock import FileLock

    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / ".lock"):
        assert exit_code("score", "--model", model, "--probe", "mini", "--out", tmp_path / "run") == 1
    assert "another process is writing to this folder" in capsys.readouterr().err


FACTOR = Path(__file__).resolve().parent.parent / "data" / "factor" / "made_up.csv"


def test_a_file_of_factors_columns(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments: list[Any] = ["--model", model, "--probe", FACTOR, "--limit", "3", "--quiet"]
    assert exit_code("score", *arguments, "--out", tmp_path / "run") == 0
    assert exit_code("report", tmp_path / "run", "--bootstrap", "0") == 0
    heading = (
        "probe made_up: 3 instances in 1 relation, K = 4 candidates; completions scored, 0 contexts cut from the left"
    )
    assert heading in " ".join(capsys.readouterr().out.split())
    assert exit_code("export", tmp_path / "run", "--what", "candidates", "--out", tmp_path / "scores.csv") == 0
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 13
    assert exit_code("export", tmp_path / "run", "--what", "lm-pub-quiz", "--out", tmp_path / "results") == 1
    assert "export --what candidates" in capsys.readouterr().err


def test_factor_that_is_not_here(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALPROBE_DATA", str(tmp_path / "nothing"))
    assert exit_code("score", "--model", model, "--probe", "factor", "--out", tmp_path / "run") == 3
    assert "run `calprobe fetch factor`,\nor say where it is with --probe FILE.csv" in capsys.readouterr().err
    assert exit_code("probes") == 0
    assert "not here: run `calprobe fetch factor`" in capsys.readouterr().out
