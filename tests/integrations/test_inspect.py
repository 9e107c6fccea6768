"""inspect_ai's own evaluations with calprobe's metrics, and its own logs as runs; a model of made-up replies."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sources import ROOT

inspect_ai = pytest.importorskip("inspect_ai")

import inspect_logs as made  # noqa: E402
from inspect_ai.log import EvalLog  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.scorer import SampleScore, Score, choice  # noqa: E402

from calprobe.cli.app import main  # noqa: E402
from calprobe.errors import ProbeFormatError  # noqa: E402
from calprobe.integrations import inspect_ai as ours  # noqa: E402
from calprobe.integrations.run_numbers import NUMBERS  # noqa: E402
from calprobe.interop.inspect_import import import_inspect, read_log  # noqa: E402
from calprobe.runs import open_asked  # noqa: E402

PAGE = (ROOT / "docs" / "how-to" / "elsewhere.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of both tasks, as .eval, and that of one as .json."""
    place = tmp_path_factory.mktemp("logs")
    made.capitals_log(place)
    made.sums_log(place)
    made.sums_log(place / "json", "json")
    return place


def score(value: Any, confidence: float | None = None) -> SampleScore:
    return SampleScore(score=Score(value=value, metadata=None if confidence is None else {"confidence": confidence}))


@pytest.mark.parametrize("name", NUMBERS)
def test_each_metric_is_that_of_the_samples_with_a_confidence(name: str) -> None:
    rng = np.random.default_rng(3)
    confidence, right = rng.uniform(size=30), rng.uniform(size=30) < 0.6
    scores = [score("C" if hit else "I", float(own)) for own, hit in zip(confidence, right, strict=True)]
    scores += [score("C"), score(math.nan, 0.5)]  # without a confidence; unscored
    metric = getattr(ours, name)()
    assert metric(scores) == pytest.approx(NUMBERS[name].of(confidence, right))
    as_values = [
        score({"correct": int(hit), "confidence": float(own)}) for own, hit in zip(confidence, right, strict=True)
    ]
    assert metric(as_values) == pytest.approx(NUMBERS[name].of(confidence, right))
    assert math.isnan(metric([]))
    assert math.isnan(metric([score(0.5, 0.5)]))


def test_the_share_with_a_confidence_is_of_the_scored() -> None:
    scores = [score("C", 0.5), score("I"), score(math.nan), score(1, 2.0)]
    assert ours.with_a_confidence()(scores) == pytest.approx(1 / 3)
    assert math.isnan(ours.with_a_confidence()([]))


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("8\nConfidence: 90%", 0.9),
        ("In 1912, 3% were lost.\nI am 80% sure.", 0.8),
        ("Confidence: 90%\nI am confident in this.", 0.9),
        ("0.7", None),  # the answer
        ("Oslo", None),
        ("I am sure.", None),
    ],
)
def test_a_stated_confidence_is_that_of_its_line(reply: str, value: float | None) -> None:
    assert ours.stated_confidence(reply) == value


def test_a_letter_has_its_share_of_the_letters() -> None:
    output = made.output("ANSWER: B", 0.6)
    assert ours.label_probability(output, "ABCD", "B") == pytest.approx(0.6)
    assert ours.label_probability(output, "ABCD", "C") is None  # not written
    assert ours.label_probability(ModelOutput.from_content("m", "B"), "ABCD", "B") is None


def test_logs_become_runs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(folder.glob("*.eval"))
    assert not main(["import", "inspect", *map(str, files), "--out", str(tmp_path / "run")])
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path / 'run'}: mockllm/model, 9 questions, 1 variant, 2 samples",
        "capitals: 1 sample failed, no reply: RuntimeError('no such place')",
    ]
    run = open_asked(tmp_path / "run")
    by_set = {piece.set: [own for own in piece.replies if own.stage == "answer"] for piece in run.pieces}
    assert [own.correct for own in by_set["capitals"]] == [True, True, False, True, False, None]
    assert [own.correct for own in by_set["sums"]] == [True, True, True, False, False, True]
    again = import_inspect(sorted((folder / "json").glob("*.json")), tmp_path / "json").run
    texts = {(own.question, own.sample, own.stage): own.text for own in open_asked(again.path).pieces[0].replies}
    assert texts == {(r.question, r.sample, r.stage): r.text for p in run.pieces if p.set == "sums" for r in p.replies}


def test_a_damaged_log_is_named(folder: Path, tmp_path: Path) -> None:
    whole = next(folder.glob("*capitals*.eval")).read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ProbeFormatError, match=r"cut\.eval: (not a log of inspect_ai|inspect_ai cannot read it)"):
        read_log(tmp_path / "cut.eval")
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(ProbeFormatError, match=r"other.json: inspect_ai cannot read it \("):
        read_log(tmp_path / "other.json")


def results_of(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: metric.value for own in log.results.scores for name, metric in own.metrics.items()}


def test_the_documented_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)  # untitled: of inspect_ai
    for name, text in (("legs", first), ("mine", second)):
        (tmp_path / f"{name}_of_the_page.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    legs = __import__("legs_of_the_page").legs()
    said = {"spider": ModelOutput.from_content("m", "8\nConfidence: 90%")}
    said["hen"] = ModelOutput.from_content("m", "4\nConfidence: 80%")
    found = results_of(made._evaluated(legs, said, tmp_path, "eval"))
    assert (found["accuracy"], found["with_a_confidence"], found["auroc"]) == (0.5, 1.0, 1.0)
    assert found["ece"] == pytest.approx((0.1 + 0.8) / 2)
    assert found["confidence_gap"] == pytest.approx(0.35)
    shown = dict(re.findall(r"^(\w+) +(\d\.\d+)$", PAGE, re.MULTILINE))
    assert {name: f"{value:.3f}" for name, value in found.items()} == shown
    legs.scorer = [__import__("mine_of_the_page").mine()]
    found = results_of(made._evaluated(legs, said, tmp_path, "eval"))
    assert found["ece"] == pytest.approx(0.1)
    for name in ("legs_of_the_page", "mine_of_the_page"):
        sys.modules.pop(name)


def test_letters_of_a_multiple_choice_have_their_probability(tmp_path: Path) -> None:
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import multiple_choice

    samples = [Sample(question, list(made.CITIES), right) for question, right, *_ in made.CAPITALS]
    said = {question: made.output(text, share) for question, _, text, share in made.CAPITALS}
    scorer = ours.with_confidence(choice(), source="probability")
    log = made._evaluated(Task(MemoryDataset(samples), solver=multiple_choice(), scorer=scorer), said, tmp_path, "eval")
    found = results_of(log)
    assert found["with_a_confidence"] == 0.8  # one chose no letter
    assert found["mean_confidence"] == pytest.approx((0.9 + 0.6 + 0.5 + 0.8) / 4)
    run = import_inspect([Path(log.location)], tmp_path / "run").run
    stages = {own.stage for own in open_asked(run.path).pieces[0].replies}
    assert stages == {"answer"}  # a probability of letters is not a stated confidence
    with pytest.raises(ValueError, match="no source 'said'"):
        ours.with_confidence(choice(), source="said")  # type: ignore[arg-type]  # on purpose


def test_the_stored_logs_are_what_the_package_writes(folder: Path) -> None:
    from stored_logs import stored_log

    for name in ("capitals", "sums"):
        now = read_log(next(folder.glob(f"*_{name}_*.eval")))
        then = stored_log(name)
        assert isinstance(then, SimpleNamespace)
        assert [own.output.completion for own in now.samples] == [own.output.completion for own in then.samples]
        assert [own.target for own in now.samples] == [own.target for own in then.samples]
