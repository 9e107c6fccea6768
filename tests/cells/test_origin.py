"""Answers that fixed a promise do not check it: one run or file is refused, the same facts are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import calprobe
from compared_runs import run_of, with_model

from calprobe.analysis import answer_sets
from calprobe.errors import UsageError

SHAPES = [(f"P{number}", 6, 3) for number in range(100, 112)]
FIXING = ("--risk", "0.9", "--level", "0.5", "--estimator", "base")


def printed(*arguments: object) -> str:
    done = calprobe(*arguments)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def refused(*arguments: object) -> str:
    done = calprobe(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


def checked(path: str, on: str, *columns: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `threshold` and `sets` say of a promise that is checked on another run or table."""
    fixing = FIXING[:4] if columns else FIXING
    (threshold,) = json.loads(printed("threshold", path, *fixing, "--on", on, *columns, "--json"))["thresholds"]
    sets = json.loads(printed("sets", path, "--on", on, "--coverage", "0.5", *columns, "--json"))
    return threshold, (sets["sets"] or sets["withheld"])[0]


def assert_held_out(found: tuple[dict[str, Any], dict[str, Any]], held_out: bool) -> None:
    threshold, sets = found
    assert (threshold["held_out"], sets["held_out"]) == (held_out, held_out)
    assert (threshold["checked"]["risk_upper"] is None) is not held_out
    expected = sets["rules"][0]["expected"] if "rules" in sets else sets["expected"]
    assert (expected is None) is not held_out


@pytest.fixture(scope="module")
def clm(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_of(tmp_path_factory.mktemp("clm") / "run", shapes=SHAPES)


def test_a_run_does_not_check_its_own_promise(clm: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(clm, target_is_directory=True)
    for on in (clm, f"{clm}/", str(link)):
        for command in (("threshold", clm, *FIXING), ("sets", clm)):
            assert "fixes the promise too, so it cannot check it" in refused(*command, "--on", on)
    with pytest.raises(UsageError, match="cannot check it"):
        answer_sets(clm, clm)


def test_the_same_facts_under_the_same_weights_are_not_held_out(clm: str, tmp_path: Path) -> None:
    copy = str(shutil.copytree(clm, tmp_path / "copy"))
    part = run_of(tmp_path / "part", shapes=SHAPES[:4])
    for on in (copy, part):
        assert_held_out(checked(clm, on), held_out=False)
    for command in (("threshold", clm, *FIXING), ("sets", clm)):
        text = printed(*command, "--on", copy)
        assert "NOT HELD OUT" in text
        assert "at most 9" not in text.partition("certainty")[2]


def test_other_weights_and_other_facts_are_held_out(clm: str, tmp_path: Path) -> None:
    weights = with_model(name="other", weights_fingerprint="dd" * 32)
    other = run_of(tmp_path / "other", seed=9, shapes=SHAPES, change=weights)
    facts = run_of(tmp_path / "facts", seed=9, shapes=[(f"P{number}", 6, 3) for number in range(200, 212)])
    for on in (other, facts):
        assert_held_out(checked(clm, on), held_out=True)
        for command in (("threshold", clm, *FIXING), ("sets", clm)):
            assert "NOT HELD OUT" not in printed(*command, "--on", on)


def test_a_table_is_known_by_its_rows(tmp_path: Path) -> None:
    rows = [f"{place / 100},{int(place % 3 > 0)}" for place in range(1, 90)]
    table, turned, other = (tmp_path / f"{name}.csv" for name in ("table", "turned", "other"))
    for path, lines in ((table, rows), (turned, rows[::-1]), (other, rows[1:])):
        path.write_text("\n".join(["p,y", *lines]) + "\n", "utf-8")
    columns = ("--score", "p", "--correct", "y")
    for command in (("threshold", str(table), *FIXING[:4]), ("sets", str(table))):
        assert "cannot check it" in refused(*command, *columns, "--on", str(table))
    assert_held_out(checked(str(table), str(turned), *columns), held_out=False)
    assert_held_out(checked(str(table), str(other), *columns), held_out=True)


def test_of_replies_the_same_questions_are_not_held_out(tmp_path: Path) -> None:
    """A part of the questions is another set, and still was seen."""
    runs = {}
    for name, places, model in (("all", range(60), "m"), ("part", range(20), "m"), ("model", range(60), "n")):
        questions, replies = tmp_path / f"{name}-q.jsonl", tmp_path / f"{name}-r.jsonl"
        asked = [
            {"id": f"q{place}", "question": f"What is {place}?", "options": ["yes", "no"], "answer": "A"}
            for place in places
        ]
        said = [
            {
                "set": f"{name}-q",
                "question": f"q{place}",
                "text": "A" if place % 4 else "B",
                "labels": {"A": -0.1 - place / 1000, "B": -4.0} if place % 4 else {"A": -4.0, "B": -0.2},
            }
            for place in places
        ]
        questions.write_text("".join(f"{json.dumps(row)}\n" for row in asked), "utf-8")
        replies.write_text("".join(f"{json.dumps(row)}\n" for row in said), "utf-8")
        runs[name] = str(tmp_path / name)
        printed("import", "replies", str(replies), "--questions", str(questions), "--model", model, "--out", runs[name])
    for on, held_out in (("part", False), ("model", True)):
        found = printed("threshold", runs["all"], *FIXING[:4], "--estimator", "label", "--on", runs[on], "--json")
        assert json.loads(found)["thresholds"][0]["held_out"] is held_out
        sets = json.loads(printed("sets", runs["all"], "--on", runs[on], "--json"))
        assert sets["sets"][0]["held_out"] is held_out
