"""calprobe's metrics inside lm-evaluation-harness: the task files of the documentation, run by the real package."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import ROOT

lm_eval = pytest.importorskip("lm_eval")

from lm_eval.api.model import LM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

from calprobe.analysis import ReportOptions, report  # noqa: E402
from calprobe.integrations import lm_eval as ours  # noqa: E402
from calprobe.integrations.run_numbers import NUMBERS  # noqa: E402
from calprobe.interop.lm_eval_import import evaluation_of, import_lm_eval  # noqa: E402
from calprobe.interop.lm_eval_replies import HarnessGrades, are_generated, import_generated  # noqa: E402
from calprobe.metrics import Resampling  # noqa: E402
from calprobe.runs import open_asked  # noqa: E402

PAGE = (ROOT / "docs" / "how-to" / "elsewhere.md").read_text("utf-8")
DOCS = [
    {"question": f"The capital of {country} is", "choices": ["Paris", "Rome", "Oslo", "Madrid"], "answer": answer}
    for country, answer in (("France", 0), ("Italy", 1), ("Norway", 2), ("Spain", 3), ("Peru", 0), ("Chile", 2))
]
SAID = """
task: capitals_said
dataset_path: json
dataset_kwargs:
  data_files:
    test: capitals.jsonl
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{choices[answer]}}"
generation_kwargs:
  until: ["."]
  max_gen_toks: 8
filter_list:
  - name: as_said
    filter:
      - function: take_first
  - name: first_word
    filter:
      - function: regex
        regex_pattern: "(\\\\w+)"
      - function: take_first
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""
SAMPLED = (
    SAID.replace("capitals_said", "capitals_sampled")
    .replace('until: ["."]', 'until: ["."]\n  do_sample: true\n  temperature: 1.0')
    .replace("doc_to_text", "repeats: 3\ndoc_to_text")
)


# Without the class: what the page says of the metric `likelihood`.
PLAIN = """metric_list:
  - metric: acc
  - metric: likelihood
    aggregation: !function calprobe.integrations.lm_eval.ece
    higher_is_better: false
  - metric: brier_score
"""


def written_tasks(folder: Path) -> list[str]:
    """The task files of the page, and what they lack there; their names."""
    whole = re.findall(r"```yaml[^\n]*\n(.*?)```", PAGE, re.DOTALL)[0]
    head = whole.replace("task: capitals", "task: capitals_plain").replace("class:", "# class:")
    plain = head[: head.index("metric_list")] + PLAIN
    texts = {"capitals": whole, "capitals_plain": plain, "capitals_said": SAID, "capitals_sampled": SAMPLED}
    (folder / "capitals.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS))
    for name, text in texts.items():
        placed = text.replace("capitals.jsonl", str(folder / "capitals.jsonl"))
        (folder / f"{name}.yaml").write_text(placed)
    metrics = "metric_list:\n  - metric: calprobe_nll\n  - metric: calprobe_confidence_gap\n"
    included = f"include: capitals.yaml\ntask: capitals_included\n{metrics}"
    (folder / "capitals_included.yaml").write_text(included)
    return [*texts, "capitals_included"]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The results by task, and the folder with the samples, of one run of the real command."""
    folder = tmp_path_factory.mktemp("harness")
    (folder / "tasks").mkdir()
    names = written_tasks(folder / "tasks")
    from lm_eval.__main__ import cli_evaluate

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
        patch.setenv("HF_HUB_OFFLINE", "1")
        arguments = {
            "--model": "hf",
            "--model_args": f"pretrained={ROOT / 'calprobe/models/tiny/tiny-clm'}",
            "--include_path": str(folder / "tasks"),
            "--tasks": ",".join(names),
            "--output_path": str(folder / "out"),
        }
        patch.setattr("sys.argv", ["lm_eval", "run", *(w for pair in arguments.items() for w in pair), "--log_samples"])
        cli_evaluate()
    (results,) = (folder / "out").rglob("results_*.json")
    return json.loads(results.read_text())["results"], results.parent


def test_documented_tasks_have_calprobe_s_numbers(evaluated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    results, folder = evaluated
    (samples,) = folder.glob("samples_capitals_2*")
    run = import_lm_eval([samples], tmp_path / "run", evaluation_of([samples]))
    base = report(run.path, ReportOptions(resampling=Resampling(0))).to_json()[str(run.path)]["estimators"]["base"]
    found = results["capitals"]
    assert found["acc,none"] == base["accuracy"]["value"]
    for name in ("ece", "smooth_ece", "brier", "auroc"):
        assert found[f"calprobe_{name},none"] == pytest.approx(base[name]["value"], abs=1e-9)
    assert results["capitals_plain"]["likelihood,none"] == found["calprobe_ece,none"]
    gap = results["capitals_included"]["calprobe_confidence_gap,none"]
    assert gap == pytest.approx(base["confidence_gap"]["value"], abs=1e-9)
    assert results["capitals_included"]["calprobe_nll,none"] == pytest.approx(base["nll"]["value"], abs=1e-9)


def test_the_brier_score_of_the_harness_is_another(evaluated: tuple[dict[str, Any], Path]) -> None:
    results, folder = evaluated
    (samples,) = folder.glob("samples_capitals_plain_*")
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    scores = np.array([[float(resp[0][0]) for resp in row["resps"]] for row in rows])
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    right = np.eye(4)[[doc["answer"] for doc in DOCS]]
    assert results["capitals_plain"]["brier_score,none"] == pytest.approx(((shares - right) ** 2).sum(1).mean())
    top = shares.max(1), shares.argmax(1) == right.argmax(1)
    assert results["capitals"]["calprobe_brier,none"] == pytest.approx(((top[0] - top[1]) ** 2).mean())


def test_generated_samples_of_the_package_are_read(evaluated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    results, folder = evaluated
    (said,), (sampled,) = (list(folder.glob(f"samples_capitals_{name}_*")) for name in ("said", "sampled"))
    assert are_generated([said, sampled])
    made = import_generated([said], tmp_path / "said", evaluation_of([said]), HarnessGrades(filter="first_word"))
    grades = [reply.correct for reply in open_asked(made.run.path).pieces[0].replies]
    assert np.mean([bool(own) for own in grades]) == results["capitals_said"]["exact_match,first_word"] > 0
    made = import_generated([sampled], tmp_path / "sampled", evaluation_of([sampled]))
    assert len(open_asked(made.run.path).pieces[0].replies) == 3 * len(DOCS)


class Scripted(LM):
    """A model that says what it is told to."""

    def __init__(self, said: dict[str, str]) -> None:
        super().__init__()
        self.said = said

    def generate_until(self, requests: list[Any], *_: Any, **__: Any) -> list[str]:
        return [next(text for key, text in self.said.items() if key in request.args[0]) for request in requests]

    def loglikelihood(self, requests: list[Any], *_: Any, **__: Any) -> list[tuple[float, bool]]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood  # type: ignore[assignment]


def test_a_stated_confidence_has_its_documented_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = re.findall(r'```yaml title="tasks/legs.yaml"\n(.*?)```', PAGE, re.DOTALL)
    (code,) = re.findall(r'```python title="tasks/legs.py"\n(.*?)```', PAGE, re.DOTALL)
    docs = [
        {"question": f"How many legs has a {animal}?", "answer": legs} for animal, legs in (("hen", "2"), ("ant", "6"))
    ]
    docs.append({"question": "How many legs has a snake?", "answer": "0"})
    (tmp_path / "legs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (tmp_path / "legs.yaml").write_text(task.replace("legs.jsonl", str(tmp_path / "legs.jsonl")))
    (tmp_path / "legs.py").write_text(code)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    model = Scripted({"hen": "2\n90%", "ant": "8\nI am 70% sure.", "snake": "0\nThat is easy."})
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(model, tasks=["legs"], task_manager=manager, bootstrap_iters=0)["results"]["legs"]
    assert found["ece,none"] == pytest.approx((0.1 + 0.7) / 2)
    assert (found["acc,none"], found["stated,none"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


AGGREGATIONS: dict[str, Callable[[Any], float]] = {name: getattr(ours, name) for name in NUMBERS}


@pytest.mark.parametrize("name", NUMBERS)
def test_each_number_is_that_of_confidences(name: str) -> None:
    rng = np.random.default_rng(5)
    scores, gold = rng.normal(0, 2, (40, 3)) - 5, rng.integers(0, 3, 40)
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    right = shares.argmax(1) == gold
    wanted = NUMBERS[name].of(shares.max(1), right)
    logs = [(int(own), list(row)) for own, row in zip(gold, scores, strict=True)]
    probabilities = [(int(own), row) for own, row in zip(gold, shares, strict=True)]
    pairs = [(float(own), bool(hit)) for own, hit in zip(shares.max(1), right, strict=True)]
    for items in (logs, probabilities, pairs):
        assert AGGREGATIONS[name](items) == pytest.approx(wanted, abs=1e-12)
    assert math.isnan(AGGREGATIONS[name]([]))


def test_numbers_of_the_whole_range_are_taken() -> None:
    assert ours.confidence_of((0, [-math.inf, -math.inf])) == (0.5, True)
    assert ours.confidence_of((1, [-1e4, -2e4])) == (1.0, False)
    with pytest.raises(ValueError, match="no number for each choice"):
        ours.confidence_of((0, []))


def test_documents_without_a_confidence_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    lacking = [(math.nan, True), (0, [math.nan, -1.0]), (1, [math.nan, math.nan])]
    assert ours.ece([(0.8, True), *lacking, (0.6, False)]) == ours.ece([(0.8, True), (0.6, False)])
    assert "ece: 3 of 5 documents have no confidence (NaN), and are left out" in caplog.text
    assert math.isnan(ours.brier(lacking))
