"""`calprobe import`: what other tools saved in, a run out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import exit_code
from lm_eval_rows import choice_row, write_samples

from calprobe.runs import open_run

DATA = Path(__file__).resolve().parent.parent / "data" / "lm_eval"
ENTRY = {"model_name_or_path": "gpt2", "template_index": 0, "reduction": "sum", "dataset_name": "BEAR"}


def _results(folder: Path) -> Path:
    folder.mkdir()
    (folder / "metadata_results.json").write_text(json.dumps({"P30": ENTRY}))
    (folder / "P30_results.jsonl").write_text('{"answer_idx": 1, "pll_scores": [-2, -1.5]}\n')
    return folder


def test_an_import_makes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert exit_code("import", "lm-pub-quiz", _results(tmp_path / "in"), "--kind", "causal", "--out", out) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{out}: gpt2, 1 relation, 1 instance\n")
    run = open_run(out)
    assert run.manifest.model.kind == "causal"
    assert run.table().scores.tolist() == [[-2, -1.5]]


def test_the_kind_of_a_model_that_has_an_alias_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _results(tmp_path / "in")
    assert exit_code("import", "lm-pub-quiz", folder, "--out", tmp_path / "known") == 0
    assert open_run(tmp_path / "known").manifest.model.kind == "causal"
    assert exit_code("import", "lm-pub-quiz", folder, "--kind", "masked", "--out", tmp_path / "masked") == 2
    assert "--kind masked: gpt2 is a causal language model" in capsys.readouterr().err
    arguments = ("lm-eval", next(DATA.glob("samples_facts_place_*")), "--model", "bert-base-cased", "--kind", "causal")
    assert exit_code("import", *arguments, "--out", tmp_path / "causal") == 2
    assert "--kind causal: bert-base-cased is a masked language model" in capsys.readouterr().err


def test_the_folder_of_an_evaluation_is_that_of_its_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "results" / "tiny-clm"
    folder.mkdir(parents=True)
    for file in (*DATA.glob("results_*"), *DATA.glob("samples_facts_place_*"), *DATA.glob("samples_pronouns_*")):
        (folder / file.name).write_bytes(file.read_bytes())
    assert exit_code("import", "lm-eval", folder.parent, "--out", tmp_path / "run") == 0
    assert capsys.readouterr().err.endswith("tiny-clm, 4 relations, 10 instances\n")
    (summary,) = folder.glob("results_*")
    assert exit_code("import", "lm-eval", summary, "--out", tmp_path / "other") == 2
    assert "the summary of an evaluation, without scores of choices" in capsys.readouterr().err
    (folder / "samples_facts_2025-01-02T03-04-05.6.jsonl").write_text("")
    assert exit_code("import", "lm-eval", folder, "--out", tmp_path / "other") == 2
    assert "samples of 2 evaluations; give the files of one, such as" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert exit_code("import", "lm-eval", tmp_path / "empty", "--out", tmp_path / "other") == 2
    assert "no samples_TASK_DATE.jsonl here; run lm_eval with --log_samples" in capsys.readouterr().err


def test_samples_of_the_harness_make_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted(DATA.glob("samples_facts_place_*")) + sorted(DATA.glob("samples_pronouns_*"))
    monkeypatch.chdir(tmp_path)
    assert exit_code("import", "lm-eval", *files) == 0
    assert capsys.readouterr().err == "runs/tiny-clm-lm-eval: tiny-clm, 4 relations, 10 instances\n"
    assert exit_code("import", "lm-eval", files[1], "--model", "bert-base-cased", "--out", "mine") == 0
    assert open_run("mine").manifest.model.kind == "masked"
    capsys.readouterr()
    assert exit_code("report", "runs/tiny-clm-lm-eval", "--bootstrap", 2, "--json") == 0
    (run,) = json.loads(capsys.readouterr().out).values()
    assert (run["kind"], run["accuracy"]["value"], run["instances"]) == ("causal", 0.5, 10)
    assert exit_code("export", "mine", "--what", "lm-pub-quiz", "--out", "back") == 0


def test_samples_that_cannot_be_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_samples(tmp_path / "mine.jsonl", [choice_row(0, [-1.0, -2.0], 2)])
    (tmp_path / "empty.jsonl").touch()
    for arguments, code, message in (
        ([path], 2, "mine.jsonl: no results_*.json of its date beside it to name the model; give --model NAME"),
        ([path, "--model", "m"], 1, 'mine.jsonl:1: target "2" is neither the place of a choice, 0 to 1, nor the text'),
        ([tmp_path / "none.jsonl", "--model", "m"], 2, "none.jsonl' does not exist"),
        ([tmp_path / "empty.jsonl", "--model", "m"], 1, "the file is empty; run the task again with `lm_eval"),
        ([], 2, "Missing argument 'FILE|DIR..'"),
    ):
        assert exit_code("import", "lm-eval", *arguments, "--out", tmp_path / "run") == code
        error = capsys.readouterr().err
        assert message in error
        assert len(error.splitlines()) <= 2
    assert not (tmp_path / "run").exists()


def test_an_import_needs_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from calprobe.cli.app import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    arguments = ["import", "lm-pub-quiz", str(_results(tmp_path / "in")), "--out", str(tmp_path / "run")]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)


def test_errors_have_the_contract_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = _results(tmp_path / "in"), tmp_path / "run"
    assert exit_code("import", "lm-pub-quiz", tmp_path / "none", "--out", out) == 2
    assert exit_code("import", "lm-pub-quiz", folder, "--probe", "nonesuch", "--out", out) == 2
    (folder / "P30_results.jsonl").write_text('{"answer_idx": 2, "pll_scores": [-2, -1.5]}\n')
    capsys.readouterr()
    assert exit_code("import", "lm-pub-quiz", folder, "--out", out) == 1
    assert "P30_results.jsonl:1: answer_idx 2 is not 0 to 1; correct it" in capsys.readouterr().err
    assert not out.exists()


def test_the_published_gpt2_scores(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--probe", shared / "bear" / "BEAR", "--out", tmp_path / "run")
    assert exit_code("import", "lm-pub-quiz", shared / "lm_pub_quiz_gpt2", *arguments) == 0
    assert open_run(tmp_path / "run").table().n_instances == 1053
    capsys.readouterr()
    assert exit_code("report", tmp_path / "run", "--bootstrap", 2, "--json") == 0
    assert [run["kind"] for run in json.loads(capsys.readouterr().out).values()] == ["causal"]
