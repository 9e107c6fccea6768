"""What a sweep's file asks for: jobs of all pairs, whose option wins, and errors that name the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from calprobe.errors import UsageError
from calprobe.sweep import Sweep, read_sweep
from calprobe.sweep.definition import Known

FLAGS = ("save-labels", "no-save-labels", "allow-pickle")
SCORE = ("model", "probe", "templates", "dtype", "save-labels", "no-save-labels", "limit", "allow-pickle", "out")
ASK = ("model", "questions", "study", "draw", "dtype", "collect", "allow-pickle", "out")
KNOWN: Known = {"score": {name: name in FLAGS for name in SCORE}, "ask": {name: name in FLAGS for name in ASK}}


def read(folder: Path, text: str) -> Sweep:
    path = folder / "paper.toml"
    path.write_text(text)
    return read_sweep(path, KNOWN)


def names(sweep: Sweep) -> list[str]:
    return [job.name for job in sweep.jobs]


def test_each_model_scores_each_probe_and_answers_each_set_under_each_study(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        models = ["gpt2", "meta/Llama"]
        probes = ["bear", "mini"]
        questions = ["mmlu"]
        studies = ["audit", "stated"]
        """,
    )
    assert names(sweep) == [
        f"{model}/{task}" for model in ("gpt2", "meta--Llama") for task in ("bear", "mini", "mmlu-audit", "mmlu-stated")
    ]
    first, last = sweep.jobs[0], sweep.jobs[-1]
    assert sweep.out == Path("runs/paper")
    assert first.arguments == ("score", "--model=gpt2", "--probe=bear", "--out=runs/paper/gpt2/bear")
    assert last.arguments == (
        *("ask", "--model=meta/Llama", "--questions=mmlu", "--study=stated"),
        "--out=runs/paper/meta--Llama/mmlu-stated",
    )
    several = read(tmp_path, 'models = ["m"]\n[questions.both]\nquestions = ["a.jsonl", "b.jsonl"]')
    assert several.jobs[0].arguments[2] == "--questions=a.jsonl,b.jsonl"
    assert last.tables == ("[models.meta/Llama]", "[questions.mmlu]", "[studies.stated]")


def test_folders_of_models_by_path_leave_out_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    models = '["/home/ada/models/mine", "~/models/other", "/scratch/theirs", "./here"]'
    found = names(read(tmp_path, f'models = {models}\nprobes = ["mini"]'))
    assert found[:3] == ["models--mine/mini", "models--other/mini", "scratch--theirs/mini"]
    with pytest.raises(UsageError, match=r"have one folder.*rename a table"):
        read(tmp_path, 'models = ["/home/ada/m", "~/m"]\nprobes = ["mini"]')


def test_without_studies_questions_are_asked_as_the_command_does(tmp_path: Path) -> None:
    sweep = read(tmp_path, 'models = ["m"]\nquestions = ["mmlu"]')
    assert [job.arguments[1:-1] for job in sweep.jobs] == [("--model=m", "--questions=mmlu")]
    plain = read(tmp_path, 'models = ["m"]\nquestions = ["mmlu"]\n[studies.free]\nstudy = "none"\ncollect = ["answer"]')
    assert plain.jobs[0].arguments[1:-1] == ("--model=m", "--questions=mmlu", "--collect=answer")


def test_where_an_option_stands_in_the_file_changes_no_job(tmp_path: Path) -> None:
    lines = ['templates = "0"', "limit = 5", 'dtype = "float32"']
    one, other = (
        read(tmp_path, "\n".join(['models = ["m"]', "[probes.bear]", *order])).jobs for order in (lines, lines[::-1])
    )
    assert one[0].arguments == other[0].arguments
    assert one[0].arguments[1:] == (
        *("--model=m", "--probe=bear", "--dtype=float32", "--limit=5", "--templates=0"),
        "--out=runs/paper/m/bear",
    )


def test_the_nearer_option_wins_and_each_command_gets_its_own(tmp_path: Path) -> None:
    sweep = read(
        tmp_path,
        """
        out = "here"
        probes.bear = {templates = [0, 2], limit = 5}
        questions.mmlu = {draw = 10}
        [options]
        dtype = "float32"
        save_labels = false
        limit = 9
        [models.a]
        model = "folder/a"
        dtype = "bfloat16"
        allow-pickle = true
        [models.b]
        allow-pickle = false
        """,
    )
    scored, asked, other, _ = sweep.jobs
    assert scored.model == "folder/a"
    assert scored.options == {
        "model": "folder/a",
        "probe": "bear",
        "dtype": "bfloat16",
        "save-labels": False,
        "limit": 5,
        "templates": [0, 2],
        "allow-pickle": True,
    }
    assert {"--templates=0,2", "--no-save-labels", "--allow-pickle"} <= set(scored.arguments)
    assert asked.options == {
        "model": "folder/a",
        "questions": "mmlu",
        "dtype": "bfloat16",
        "draw": 10,
        "allow-pickle": True,
    }
    assert not any("pickle" in word for word in other.arguments)  # a flag that only switches on


@pytest.mark.parametrize(
    ("only", "tasks"),
    [
        (["bear"], ["bear"]),
        (["mmlu"], ["mmlu-audit", "mmlu-stated"]),
        (["stated"], ["mmlu-stated", "nq-stated"]),
        (["nq", "audit", "bear"], ["bear", "nq-audit"]),
        ([], []),
    ],
)
def test_a_model_takes_part_in_what_it_names(tmp_path: Path, only: list[str], tasks: list[str]) -> None:
    text = 'probes = ["bear"]\nquestions = ["mmlu", "nq"]\nstudies = ["audit", "stated"]\n[models.all]\n'
    sweep = read(tmp_path, f"{text}[models.some]\nonly = {only}")
    assert [name.split("/")[1] for name in names(sweep) if name.startswith("some/")] == tasks
    assert sum(name.startswith("all/") for name in names(sweep)) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ['a']", r"no \[model\]; did you mean models\?"),
        ("models = ['a']", "no jobs; give .models., and .probes. or .questions."),
        ("models = 3", "models is a list of names or a table for each, got 3"),
        ("models = ['a', 3]", "models is a list of names or a table for each, got 3 in the list"),
        ("models = ['a', 'a']", "models names a twice"),
        ("models = ['a']\nstudies = ['x']", "studies need questions; give .questions."),
        (
            "models = ['a']\n[probes.bear]\ntemplate = 1",
            r"\[probes.bear\]: `calprobe score` has no --template; did you",
        ),
        ("models = ['a']\n[studies.x]\nlimit = 1", r"\[studies.x\]: `calprobe ask` has no --limit"),
        ("models = ['a']\n[options]\nout = 'x'", r"\[options\]: out is not set here; a sweep sets it for each job"),
        ("probes = ['b']\n[models.a]\nonly = ['bb']", r"\[models.a\]: only: no table 'bb'"),
        ("probes = ['b', 'c']\n[models.a]\nonly = ['nope']", r"only: no table 'nope'; there are b, c"),
        (
            "models = ['a']\n[probes.b]\nlimit = true",
            r"\[probes.b\]: limit is .* a list or a table, got true",
        ),
        ("models = ['a']\n[probes.b]\nlimit = false", "limit is a text, a number, a list or a table, got false"),
        (
            "models = ['a']\n[probes.b]\nlimit = 2026-01-01",
            "a list or a table, got 2026-01-01",
        ),
        ("models = ['a']\n[probes.b]\nsave-labels = 1", "save-labels is true or false, got 1"),
        ("probes = ['b']\n[models.a]\nonly = 'b'", r"\[models.a\]: only is a list of names"),
        ("models = ['a', 'A']\nprobes = ['b']", r"\[models.a\] x .* and \[models.A\] x .* have one folder"),
        ("models = ['a']\nprobes = ['b']\nout = 3", "out is the folder of all runs, a text; got 3"),
        ("models = ['a'", "not TOML"),
    ],
)
def test_errors_name_the_file_and_the_table(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "paper.toml"))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_sweep(tmp_path / "none.toml", KNOWN)
