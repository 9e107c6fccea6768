"""What every command does with its options: lists, repeated options, limits, places, and those that do not apply."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from commands import calprobe
from run_samples import write_run

from calprobe.cli.app import cli


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("score --model tiny-clm --model tiny-mlm", "--model given twice"),
        ("score --model tiny-clm --limit 1 --limit 1 --limit 2", "--limit given 3 times"),
        ("score --model tiny-clm --resume --no-resume", "--resume given twice"),
        ("report RUN --by relation --by domain", "--by given twice"),
        ("curve RUN --kind options --kind markers --out x.csv", "--kind given twice"),
        ("export RUN --what candidates --out a.csv --out b.csv", "--out given twice"),
        ("import lm-eval RUN --model a --model b", "--model given twice"),
    ],
)
def test_an_option_of_one_value_is_given_once(line: str, said: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    done = calprobe(*line.replace("RUN", str(run)).split())
    assert done.returncode == 2
    assert f"calprobe: {said}; give it once\n" in done.stderr
    assert "--help" in done.stderr


def test_a_list_is_the_union_of_what_is_given(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    common = ("curve", run, "--kind", "calibration", "--bootstrap", 0)
    calprobe(*common, "--estimator", "base", "--estimator", "margin, base", "--out", tmp_path / "a.csv")
    calprobe(*common, "--estimator", "base,margin", "--out", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() != b""


def test_relations_and_templates_may_be_repeated(tmp_path: Path) -> None:
    out = tmp_path / "run"
    lists = "--relations month --relations capital --templates 3 --templates 0-1,0"
    done = calprobe("score", "--model", "tiny-clm", "--limit", 1, *lists.split(), "--out", out, "--quiet")
    assert done.returncode == 0, done.stderr
    shards = {path.name.partition(".parquet")[0] for path in (out / "shards").iterdir()}
    assert shards == {f"{relation}.t{number}" for relation in ("capital", "month") for number in (0, 1, 3)}


def test_a_flag_may_be_repeated() -> None:
    assert calprobe("models", "--json", "--json").returncode == 0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("report RUN --bins 100000000", "'--bins': '100000000' is not a whole number from 1 to 10,000"),
        ("report RUN --bins 0", "'--bins': '0' is not a whole number from 1 to 10,000"),
        ("report RUN --bootstrap 100000000000", "'100000000000' is not a whole number from 0 to 100,000"),
        ("curve RUN --kind calibration --out x.csv --bootstrap many", "'many' is not a whole number"),
        ("rank RUN/manifest.json --score a --correct b --bootstrap 100001", "from 0 to 100,000"),
    ],
)
def test_numbers_have_limits(line: str, said: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    done = calprobe(*line.replace("RUN", str(run)).split())
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(("resamples", "few"), [(0, False), (1, True), (19, True), (20, False)])
def test_too_few_resamples_for_an_interval_are_noted(resamples: int, few: bool, tmp_path: Path) -> None:
    done = calprobe("report", write_run(tmp_path / "run"), "--bootstrap", resamples)
    note = "a 95 % interval, and a verdict by it, has no meaning with fewer than 20 resamples; give 1000, or 0 for none"
    assert (done.returncode, done.stderr) == (0, f"--bootstrap {resamples}: {note}\n" if few else "")


@pytest.mark.parametrize(
    "line",
    [
        "report RUN --html PLACE/report.html",
        "report RUN --plots PLACE/figures",
        "compare RUN RUN --html PLACE/pairs.html",
        "curve RUN --kind calibration --out PLACE/curve.csv",
        "export RUN --what candidates --out PLACE/scores.csv",
        "export RUN --what lm-pub-quiz --out PLACE/results",
    ],
)
def test_a_mistyped_place_makes_no_folder(line: str, tmp_path: Path) -> None:
    run, place = write_run(tmp_path / "run"), tmp_path / "absent"
    done = calprobe(*line.replace("RUN", str(run)).replace("PLACE", str(place)).split())
    assert done.returncode == 2
    assert f"there is no folder {place}; create it" in done.stderr
    assert not place.exists()


@pytest.mark.parametrize(
    "line", ["report RUN --html", "report RUN --plots", "export RUN --what candidates --out", "doctor --report"]
)
def test_an_empty_place_is_not_this_folder(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    done = calprobe(*line.replace("RUN", str(run)).split(), "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the path is empty; give one" in done.stderr
    assert list(tmp_path.iterdir()) == [run]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("curve RUN --kind accuracy-rejection --bins 5 --out x.csv", "--bins does not apply to --kind accuracy-rejec"),
        ("curve RUN --kind exposure --bins 5 --out x.csv", "--bins does not apply to --kind exposure"),
        ("compare RUN --intersect", "--intersect compares two runs; give another RUN"),
        ("compare RUN --by-domain", "--by-domain compares two runs; give another RUN"),
        ("compare RUN --margin .01 --bootstrap 0", "--margin needs resamples; leave out --bootstrap 0"),
        ("report RUN --cluster relation --bootstrap 0", "--cluster is a way to draw resamples; --bootstrap 0 has none"),
    ],
)
def test_an_option_that_changes_nothing_is_refused(line: str, said: str, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    done = calprobe(*line.replace("RUN", str(run)).split())
    assert done.returncode == 2
    assert said in done.stderr


def test_the_shell_completes_commands_options_and_values() -> None:
    complete = BashComplete(cli, {}, "calprobe", "_CALPROBE_COMPLETE").get_completions
    assert [item.value for item in complete([], "rep")] == ["report"]
    assert [item.value for item in complete(["report", "--format"], "m")] == ["markdown"]
    assert "--out" in [item.value for item in complete(["import", "lm-eval", "--model", "a"], "--")]
    assert [item.value for item in complete(["ask", "--backend-option", "atte"], "--conc")] == ["--concurrency"]


def test_a_closed_terminal_keeps_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_text: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("calprobe.cli.app.say", closed)
    assert calprobe("report").returncode == 2


def test_an_interrupt_of_a_closed_terminal_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_arguments: object) -> None:
        try:
            raise KeyboardInterrupt("ended by SIGHUP")
        except KeyboardInterrupt:
            raise OSError(5, "Input/output error")  # as click's line end after it  # noqa: B904

    monkeypatch.setattr("calprobe.cli.app.cli.main", interrupted)
    done = calprobe("report")
    assert (done.returncode, done.stderr) == (130, "calprobe: ended by SIGHUP\n")
