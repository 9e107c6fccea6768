"""What a sweep checks of its jobs, and counts of them, before anything is printed or written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from calprobe.cli.job_commands import job_commands
from calprobe.errors import UsageError
from calprobe.models.sizes import folder_of
from calprobe.models.source import resolve
from calprobe.runs.remembered import Remembered
from calprobe.sweep import Planned, read_sweep
from calprobe.sweep.commands import checked_jobs
from calprobe.sweep.workloads import REMEMBERED, Costs

ASKED = """
[questions.mini]
as = "choice"
groups = ["month"]
limit = 3
[studies.letters]
study = "none"
collect = ["labels"]
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))


def planned(folder: Path, text: str) -> list[Planned]:
    """The jobs as a dry run sees them; what it has counted is remembered."""
    path = folder / "some.toml"
    path.write_text(f'out = "{folder}/out"\n{text}')
    costs = Costs(Remembered.read(REMEMBERED), counting=True)
    commands = job_commands()
    found = checked_jobs(read_sweep(path, commands.known, None, commands.fits), commands, costs)
    costs.store.write()
    return found


@pytest.mark.parametrize("address", ["https://me:hunter2@example.org/v1", "me:hunter2@example.org"])
def test_an_address_with_a_password_is_refused_and_not_repeated(tmp_path: Path, address: str) -> None:
    model = f'[models.gpt]\nbackend = "openai"\nbase-url = "{address}"\n'
    with pytest.raises(UsageError, match="credentials do not belong there") as error:
        planned(tmp_path, model + ASKED)
    assert "hunter2" not in str(error.value)


def test_options_of_all_runs_hold_where_they_have_a_meaning(tmp_path: Path) -> None:
    server = """[models.gpt]
    base-url = "http://127.0.0.1:1/v1"
    extra-body = {top_k = 5, provider = {order = ["a"]}}
    header = {X-Gateway = "Token $GATEWAY"}
    reasoning-effort = "low"
    """
    jobs = planned(tmp_path, f'[options]\ndevice = "cpu"\n[models.tiny-chat]\n{server}{ASKED}')
    words = {planned_job.job.model: planned_job.job.arguments for planned_job in jobs}
    assert ("--device=cpu" in words["tiny-chat"], "--device=cpu" in words["gpt"]) == (True, False)
    assert '--extra-body={"top_k": 5, "provider": {"order": ["a"]}}' in words["gpt"]
    assert '--header={"X-Gateway": "Token $GATEWAY"}' in words["gpt"]
    with pytest.raises(UsageError, match=r"\[models.gpt\].*would stand in logs; write X-Gateway =") as error:
        planned(tmp_path, server.replace("Token $GATEWAY", "hunter2hunter2") + ASKED)
    assert "hunter2" not in str(error.value)


def test_a_model_whose_tokenizer_cannot_be_read_is_guessed(tmp_path: Path) -> None:
    here = folder_of(resolve("tiny-clm"))
    assert here is not None
    shutil.copytree(here, tmp_path / "newer")
    later = json.loads((here / "tokenizer.json").read_text()) | {"pre_tokenizer": {"type": "Later"}}
    (tmp_path / "newer" / "tokenizer.json").write_text(json.dumps(later))
    shutil.copytree(here, tmp_path / "template")
    (tmp_path / "template" / "chat_template.jinja").write_text("{{ 1 / 0 }}")
    models = f'[models]\n[models.a]\nmodel = "{tmp_path}/newer"\n[models.b]\nmodel = "{tmp_path}/template"\n'
    found = planned(tmp_path, models + ASKED)
    assert [each.cost is not None and each.cost.counted for each in found] == [False, False]


def test_an_edited_prompt_file_is_counted_anew(tmp_path: Path) -> None:
    prompts = tmp_path / "own.json"
    text = f'models = ["tiny-clm"]\n{ASKED}prompts = "{prompts}"\n'
    counts = []
    for words in ("", "Take your time and think of each of the options before you choose one. "):
        prompts.write_text(json.dumps({"variants": {"direct": words + "{input}\nAnswer:"}}))
        (found,) = planned(tmp_path, text)
        assert found.cost is not None
        counts.append(found.cost.forwarded)
    assert counts[1] > counts[0]
