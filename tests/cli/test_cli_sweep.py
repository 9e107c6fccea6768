"""`calprobe sweep` on the command line: everything is checked first, a second call does what is missing."""

from __future__ import annotations

import json
import re
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from commands import exit_code
from run_samples import write_run
from sources import ROOT

from calprobe.cli.job_commands import job_commands
from calprobe.cli.sweep import command
from calprobe.measures.options import ReportOptions
from calprobe.metrics import Resampling
from calprobe.runs import open_run
from calprobe.sweep import Attempt, Local, OnRayCluster, read_sweep
from calprobe.sweep.job_record import add_attempt
from calprobe.sweep.on_ray import OnRay
from calprobe.sweep.on_ray.needs import Node

JOBS = """
models = ["tiny-clm"]
[options]
device = "cpu"
[probes.months]
probe = "mini"
relations = ["month"]
[questions.mini]
as = "choice"
groups = ["month"]
limit = 3
[studies.letters]
study = "none"
collect = ["labels"]
variants = ["implicit_framing"]
"""

MORE = """
[probes.all]
probe = "mini"
[questions.two]
questions = "mini"
as = "choice"
limit = 2
"""


def swept(file: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = exit_code("sweep", file, *arguments)
    said = capsys.readouterr()
    return code, said.out, said.err


def write(folder: Path, text: str) -> Path:
    path = folder / "some.toml"
    path.write_text(f'out = "{folder}/out"\n{text}')
    return path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Jobs that make a small complete run at once, and fail where other files are. What they are called with."""
    calls: list[tuple[str, ...]] = []

    def run_here(engine: Any, jobs: Any, out: Path, started: Any, ended: Any) -> None:
        for planned in jobs:
            started(planned.job)
            calls.append(planned.job.arguments)
            code = int((planned.job.out / "other.txt").exists())
            if not code and not planned.job.out.exists():
                write_run(planned.job.out)
            ended(planned.job, Attempt(planned.job.arguments, code, 0.1, "now", "why it failed" if code else ""))

    monkeypatch.setattr(Local, "run", run_here)
    return calls


@pytest.fixture(autouse=True)
def _own_cache_and_few_resamples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    few = ReportOptions(resampling=Resampling(20))
    monkeypatch.setattr("calprobe.measures.options.DEFAULT_OPTIONS", few)


def test_the_examples_of_help_and_page_are_sweeps(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "sweep.md").read_text(encoding="utf-8")
    shown = (command.help or "").split("\b\n")[1].split("\n\n")[0]
    for text, jobs in ((page.split("```toml\n")[1].split("```")[0], 13), (textwrap.dedent(shown), 3)):
        (tmp_path / "paper.toml").write_text(text)
        sweep = read_sweep(tmp_path / "paper.toml", job_commands().known)
        assert len(sweep.jobs) == jobs


@pytest.mark.proof
def test_real_processes_make_real_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, JOBS)
    assert swept(file, capsys, "--jobs", "2")[0] == 0
    assert not any(open_run(tmp_path / "out" / "tiny-clm" / name).partial for name in ("months", "mini-letters"))
    assert "2 jobs of 2 done before" in swept(file, capsys)[2]


def test_a_dry_run_shows_all_jobs_with_their_size_and_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = swept(write(tmp_path, JOBS), capsys, "--dry-run")
    assert code == 0
    scored, asked = sorted(line for line in out.splitlines() if line.startswith("tiny-clm/"))[::-1]
    assert re.search(r"0\.4799 M  144 statements +[1-9][0-9]{2}  to do$", scored)
    assert re.search(r"3 requests +[1-9][0-9]{2} \+ 3  to do$", asked)
    assert f"\ncalprobe score --model=tiny-clm --probe=mini --device=cpu --relations=month --out={tmp_path}" in out
    assert "2 jobs, one after the other" in out
    assert "how long they take is known when the first has ended" in out
    assert not (tmp_path / "out").exists()


def test_a_sweep_refuses_what_the_engine_could_never_run_and_a_dry_run_says_it_of_each_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line: Any = None  # to a driver; nothing is to be run
    cluster = OnRay("auto", (Node("a", 2, 0, 2**20),), line)
    monkeypatch.setattr(OnRayCluster, "engine", lambda place: cluster)
    file, unfit = write(tmp_path, JOBS), r"(tiny-clm/[a-z-]+) needs 2 cores and .* GiB of memory, and no node of"
    code, out, said = swept(file, capsys, "--on", "ray")
    assert (code, out) == (2, "")
    assert said.startswith(f"calprobe: {file}: [models.tiny-clm] [")
    assert len(re.findall(unfit, said)) == 1
    code, out, said = swept(file, capsys, "--on", "ray", "--dry-run")  # a sweep may be planned on a smaller machine
    assert (code, len(set(re.findall(unfit, said)))) == (0, 2)
    assert said.endswith("without --dry-run, 2 such jobs would be refused here\n")
    assert "2 jobs, " in out
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("in_process")
def test_a_sweep_ends_with_its_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = JOBS.replace('["tiny-clm"]', '["tiny-clm", "tiny-chat"]').split("[questions.mini]")[0]
    code, out, said = swept(write(tmp_path, two), capsys)
    assert code == 0
    assert re.search(r"^months\n *tiny-clm .*(?:\n.*)?\n *tiny-chat ", out, re.MULTILINE)
    folder = tmp_path / "out"
    assert f"wrote {folder}/report.html" in said
    found = json.loads((folder / "report" / "overview.json").read_text())["tasks"]["months"]
    assert list(found["runs"]) == ["tiny-clm", "tiny-chat"]
    assert found["comparison"]["pairs"]
    assert 'href="report/months.html"' in (folder / "report.html").read_text()
    for name in ("months.html", "overview.csv", "differences.csv"):
        assert (folder / "report" / name).stat().st_size > 500
    # A call that has nothing to do makes none again, until a run has changed.
    code, out, said = swept(tmp_path / "some.toml", capsys)
    assert (code, out) == (0, "")
    assert f"{folder}/report.html: shows all of them" in said
    (folder / "tiny-clm" / "months" / "manifest.json").touch()
    assert f"wrote {folder}/report.html" in swept(tmp_path / "some.toml", capsys)[2]
    # Without it, and where it cannot be written, the runs are made all the same.
    (folder / "report.html").unlink()
    assert swept(write(tmp_path, two), capsys, "--no-report")[:2] == (0, "")
    assert not (folder / "report.html").exists()
    (folder / "report.html").mkdir()
    code, _, said = swept(write(tmp_path, two), capsys)
    assert code == 0
    assert f"{folder}/report.html: not written: " in said


def test_a_second_call_does_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: list[tuple[str, ...]]
) -> None:
    file, out = write(tmp_path, JOBS), tmp_path / "out"
    code, _, said = swept(file, capsys, "--no-report")
    assert (code, len(in_process)) == (0, 2)
    assert f"2 runs of 2 complete; next: calprobe runs {out}" in said
    # Nothing is to be done; then one attempt has failed, and that job alone runs.
    assert swept(file, capsys, "--no-report")[0] == 0
    assert len(in_process) == 2
    job = read_sweep(file, job_commands().known).jobs[0]
    add_attempt(out, job, Attempt(job.arguments, 1, 0.1, "now", "why"))
    shown = swept(file, capsys, "--dry-run")[1]
    assert "failed (1)" in shown
    assert "; 1 job left, about 0 min by the rates of " in shown
    assert "0.0 min" in next(line for line in shown.splitlines() if line.startswith("tiny-clm/months"))
    assert swept(file, capsys, "--no-report")[0] == 0
    assert [call[0] for call in in_process[2:]] == ["score"]
    # Other options are another job.
    write(tmp_path, JOBS.replace("limit = 3", "limit = 4"))
    assert swept(file, capsys, "--no-report")[0] == 0
    assert [call[0] for call in in_process[3:]] == ["ask"]
    assert json.loads((out / "sweep.jsonl").read_text().splitlines()[0]) == {"calprobe_sweep": 1}


def test_a_job_that_fails_is_named_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], in_process: list[tuple[str, ...]]
) -> None:
    (tmp_path / "out" / "tiny-clm" / "months").mkdir(parents=True)
    (tmp_path / "out" / "tiny-clm" / "months" / "other.txt").write_text("not a run")
    code, _, said = swept(write(tmp_path, JOBS), capsys)
    assert code == 1
    assert len(in_process) == 2
    assert "tiny-clm/months failed: why it failed\n  all that it said: " in said
    assert "1 run of 2 complete" in said
    assert said.index("months failed: ") < said.index("wrote ")
    assert "why it failed" in (tmp_path / "out" / "report.html").read_text()
    assert said.endswith("1 job failed; to try again, run the same command again\n")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            ("tiny-clm", "tiny-cml"),
            "[models.tiny-cml] [probes.months]: no alias tiny-cml; did you",
        ),
        (('probe = "mini"', 'probe = "minni"'), "[probes.months]: "),
        (('relations = ["month"]', 'relations = ["moth"]'), "did you mean month"),
        (('relations = ["month"]', 'templates = "99"'), "[probes.months]: "),
        (("[studies.letters]\nstudy", "[studies.audti]\nold"), "[studies.audti]: `calprobe ask` has no --old"),
        (('[studies.letters]\nstudy = "none"', "[studies.audti]"), "did you mean audit"),
        (('variants = ["implicit_framing"]', 'variants = ["implicit_framng"]'), "no variant 'implicit_framng'"),
        (("limit = 3", 'limit = "three"'), "[questions.mini] [studies.letters]: Invalid value for '--limit'"),
        (('device = "cpu"', 'device = "cpu"\nbatch-tokens = "few"'), "neither auto nor a positive whole number"),
        (('device = "cpu"', 'device = "gpu"'), "--device 'gpu' is not one of auto, cpu, cuda, cuda:N"),
        (('device = "cpu"', 'device = "cuda"\ndevice-map = "auto"'), "exclude each other"),
        (('models = ["tiny-clm"]', 'models = ["Qwen/Qwen3-900B"]'), "needs about 3,353."),
        (
            ('models = ["tiny-clm"]', 'models = ["tiny-mlm"]'),
            "[models.tiny-mlm] [questions.mini] [studies.letters]: a masked",
        ),
    ],
)
def test_all_is_checked_before_anything_runs(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    in_process: list[tuple[str, ...]],
    changed: tuple[str, str],
    said: str,
) -> None:
    assert changed[0] in JOBS
    code, _, err = swept(write(tmp_path, JOBS.replace(*changed)), capsys)
    assert code in (2, 3)
    assert not in_process
    assert err.startswith(f"calprobe: {tmp_path}/some.toml: ")
    assert said in err
    assert len(err.splitlines()) <= 3


@pytest.mark.proof
def test_ten_thousand_jobs_are_checked_in_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    models = ", ".join(f'"lab{n % 40}/model{n}-{(70, 160, 410)[n % 3]}M"' for n in range(2_500))
    file = write(tmp_path, f"models = [{models}]\n" + JOBS.split("\n", 2)[2].replace("limit = 3", "") + MORE)
    began = time.process_time()
    code, shown, _ = swept(file, capsys, "--dry-run")
    assert (code, shown.count("calprobe ")) == (0, 10_000)
    assert time.process_time() - began < 20
