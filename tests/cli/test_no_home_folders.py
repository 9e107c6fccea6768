"""Paths below the home folder are stored and shown with a ~, wherever a run keeps them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from commands import calprobe

from calprobe.interop.reply_import import import_replies
from calprobe.probes import load_probe
from calprobe.prompts.prompt_sets import load_prompts
from calprobe.scoring import ScoreOptions
from calprobe.scoring.probe_selection import select

PACKAGE = Path(str(__import__("calprobe").__file__)).parent


def test_names_of_files_below_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copy(PACKAGE.parent / "templates" / "prompts" / "audit.json", tmp_path / "prompts.json")
    shutil.copy(PACKAGE.parent / "templates" / "mini.json", tmp_path / "mini.json")
    assert load_prompts(str(tmp_path / "prompts.json")).path == "~/prompts.json"
    options = ScoreOptions(template_set=str(tmp_path / "mini.json"), relations=("month",))
    assert select(load_probe("mini"), options).template_source().name == "~/mini.json"
    replies = tmp_path / "replies.jsonl"
    replies.write_text('{"set": "quiz", "question": "1", "text": "two", "correct": true}\n', "utf-8")
    import_replies(replies, tmp_path / "run", model=str(tmp_path / "models" / "mine"))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text("utf-8"))
    assert (manifest["model"]["name"], manifest["model"]["id"]) == ("~/models/mine", "~/models/mine")


@pytest.mark.proof
def test_no_file_of_a_run_names_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, runs = tmp_path / "home" / "ada", tmp_path / "runs"
    model = home / "models" / "mine"
    shutil.copytree(PACKAGE / "models" / "tiny" / "tiny-clm", model)
    wordings = home / "mini.json"
    shutil.copy(PACKAGE.parent / "templates" / "mini.json", wordings)
    (home / "facts.jsonl").write_text(
        '{"id": "1", "question": "Which is larger?", "options": ["one", "two"], "answer": "two"}\n', "utf-8"
    )
    shutil.copy(PACKAGE.parent / "templates" / "prompts" / "audit.json", home / "prompts.json")
    runs.mkdir()
    monkeypatch.setenv("HOME", str(home))
    given = ("--template-set", wordings, "--relations", "month", "--limit", 2)
    scored = calprobe("score", "--model", model, "--probe", "mini", *given, "--out", runs / "scored")
    assert scored.returncode == 0, scored.stderr
    how = ("--questions", home / "facts.jsonl", "--prompts", home / "prompts.json", "--max-new-tokens", 2)
    asked = calprobe("ask", "--model", model, *how, "--variants", "format_change", "--out", runs / "asked")
    assert asked.returncode == 0, asked.stderr
    kept = {path: path.read_bytes() for path in runs.rglob("*") if path.is_file()}
    assert not [path for path, content in kept.items() if str(home).encode() in content]
    assert json.loads((runs / "scored" / "manifest.json").read_text("utf-8"))["model"]["name"] == "~/models/mine"
    page = tmp_path / "page.html"
    shown = calprobe("report", runs / "scored", "--bootstrap", 0, "--json", "--html", page)
    assert shown.returncode == 0, shown.stderr
    assert str(home) not in shown.stdout + page.read_text("utf-8")
    again = calprobe("score", "--model", model, "--probe", "mini", *given, "--out", runs / "scored")
    assert again.returncode == 0, again.stderr


@pytest.mark.proof
def test_no_file_of_a_sweep_nor_a_page_names_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of a model below the home folder into a folder there, and pages of its run named by its whole path."""
    home = tmp_path / "home" / "ada"
    shutil.copytree(PACKAGE / "models" / "tiny" / "tiny-clm", home / "models" / "mine")
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "paper.toml").write_text(
        f'out = "{home}/runs"\nmodels = ["{home}/models/mine"]\nprobes = ["mini"]\n'
        'options = { relations = "month", limit = 2 }\n',
        "utf-8",
    )
    swept = calprobe("sweep", tmp_path / "paper.toml")
    assert swept.returncode == 0, swept.stderr
    run = home / "runs" / "models--mine" / "mini"
    page, figures = home / "runs" / "page.html", home / "runs" / "figures"
    shown = calprobe("report", run, "--bootstrap", 0, "--html", page, "--plots", figures)
    assert shown.returncode == 0, shown.stderr
    assert calprobe("export", run, "--what", "hub-card", "--out", home / "runs" / "card.md").returncode == 0
    for form in ("json", "csv", "markdown", "latex"):
        done = calprobe("report", run, "--bootstrap", 0, "--format", form)
        assert done.returncode == 0, done.stderr
        (home / "runs" / f"report.{form}").write_text(done.stdout, "utf-8")
    kept = {path: path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file()}
    assert len(kept) > 20
    assert not [path for path, content in kept.items() if str(home).encode() in content]
    assert not [path for path in kept if "ada" in str(path.relative_to(home))]
    assert "done before" in calprobe("sweep", tmp_path / "paper.toml").stderr
