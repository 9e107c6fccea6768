"""`ask --study stated` of a server that plays known models, and what `report` makes of it: closed forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import completion, serving
from commands import calprobe
from stated_samples import (
    Rule,
    Scripted,
    calibrated,
    constant,
    ignores_reversal,
    in_conversation,
    stated_prompts,
    write_scripted,
)

from calprobe.metrics.consistency import largest_deviation

PLAN = (  # right as often as the confidences say
    *((0.25, at < 1) for at in range(4)),
    *((0.5, at < 1) for at in range(2)),
    *((0.8, at < 4) for at in range(5)),
)
QUICK = ("--bootstrap", "20")


def questions(path: Path) -> Path:
    file = path / "facts.jsonl"
    rows = [{"id": f"q{at}", "question": f"What is number {at}?", "answer": [f"gold {at}"]} for at in range(len(PLAN))]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def _playing(model: Scripted) -> Callable[[Any, dict[str, Any]], None]:
    """What sends the reply of a scripted model."""
    says = in_conversation(model, stated_prompts())

    def send(handler: Any, body: dict[str, Any]) -> None:
        answer = completion(body)
        answer["choices"][0]["message"]["content"] = says(body["messages"])
        handler._raw(json.dumps(answer).encode())

    return send


def asked(path: Path, rule: Rule) -> dict[str, Any]:
    """What the report of a run says of the study, after asking a server that plays this model."""
    pytest.importorskip("openai")
    out = path / "run"
    with serving() as server:
        server.faults = [_playing(Scripted(PLAN, rule))] * 1000  # replies in the place of its own
        done = calprobe(
            *("ask", "--model", "toy-chat", "--backend", "openai", "--base-url", server.url, "--study", "stated"),
            *("--questions", questions(path), "--replaced", "counterfactual", "--out", out, "--quiet"),
        )
    assert done.returncode == 0, done.stderr
    found = calprobe("report", out, "--json", *QUICK)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)[str(out)]["stated"]  # type: ignore[no-any-return]


def test_a_calibrated_model_that_ignores_reversed_scales_behind_a_server(tmp_path: Path) -> None:
    stated = asked(tmp_path, ignores_reversal)
    facts = stated["variants"]["direct"]["ok"]["sets"]["facts"]
    for name in ("probability_1", "probability_percent", "probability_10", "expression", "letter"):
        own = facts["reliability"][name]
        assert own["metrics"]["ece_values"]["value"] == pytest.approx(0, abs=1e-12)
        assert own["metrics"]["brier"]["value"] == pytest.approx((4 * 0.1875 + 2 * 0.25 + 5 * 0.16) / 11)
        assert own["coverage"] == 1
        fidelity = facts["fidelity"][name]
        assert (fidelity["n"], fidelity["fidelity"]["value"], fidelity["dropped"]) == (11, 1.0, 0)
    assert facts["fidelity"]["reversed_1"]["fidelity"]["value"] == 0  # 1 - c of both: the other way round
    assert {own["ignored"] for own in facts["reversed"].values()} == {True}
    assert [own["pearson"]["value"] for own in facts["reversed"].values()] == pytest.approx([-1] * 3)
    assert [facts["consistency"][name]["msd"]["value"] for name in ("scale", "linguistic", "reversed")] == [0, 0, 0]
    # Seven times c and three times 1 - c: |1 - 2c| apart.
    apart = (4 * 0.5 + 5 * 0.6) / 11
    assert facts["consistency"]["All"]["msd"]["value"] == pytest.approx(apart * (0.21 * 10 / 9) ** 0.5)
    assert facts["consistency"]["All"]["largest"] == pytest.approx(largest_deviation(10))
    assert len(stated["warnings"]) == 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    path = tmp_path_factory.mktemp("stated")
    models = {"calibrated": calibrated, "constant": constant}
    return [write_scripted(path / name, {"facts": Scripted(PLAN, rule)}, name) for name, rule in models.items()]


def test_tables_are_printed_by_name(runs: list[Path]) -> None:
    done = calprobe("report", *runs, *QUICK, "--tables", "consistency,fidelity,reversed,models")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for words in ("scale 3 11 0.0000", "F, half of ties", "not reversed", "calibrated constant"):
        assert words in said


def test_published_tables_stand_beside(runs: list[Path]) -> None:
    arguments = ("--against", "stated2025", "--tables", "paper", "--format", "csv", *QUICK)
    plain = calprobe("report", runs[1], *arguments)
    assert plain.returncode == 0, plain.stderr
    own = [line for line in plain.stdout.splitlines() if line.startswith(str(runs[1]))]
    assert len(own) == 5 + 4 * 11  # nothing of its own beside their smooth ECE
    paper = calprobe("report", runs[1], *arguments, "--compat", "stated2025")
    assert len([line for line in paper.stdout.splitlines() if line.startswith(str(runs[1]))]) == 5 + 5 * 11


def test_the_page_has_the_figures(runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "stated.html"
    done = calprobe("report", runs[0], "--bootstrap", 0, "--html", page, "--json")
    assert done.returncode == 0, done.stderr
    html = page.read_text("utf-8")
    for title in ("Reliability by prompt", "Correlation of prompts", "Confidence by condition", "Disclosure"):
        assert title in html


def test_rules_of_the_study_are_of_replies_alone(tmp_path: Path) -> None:
    from run_samples import write_run

    scored = write_run(tmp_path / "scored")
    for option in ("--compat", "--against"):
        done = calprobe("report", scored, option, "stated2025")
        assert done.returncode == 2
        assert f"{option} stated2025 is of runs of replies" in done.stderr
