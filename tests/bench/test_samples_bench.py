"""bench/samples.py: samples are the model's own, or there is no ratio."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import samples
import torch
from askers.job import SampleJob
from askers.sampled_right import Right, sampled_right
from harness.child import take_part
from harness.job import Outcome

from calprobe.models.source import resolve

P = torch.tensor([0.5, 0.25, 0.15, 0.1])  # of four tokens, the last of which ends a reply
END = 3


class Tokenizer:
    """One token in front of each reply."""

    eos_token_id = END

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [0]}


class Model:
    """Gives each token the same probabilities wherever it stands."""

    tokenizer = Tokenizer()

    def rendered(self, prompt: str) -> str:
        return prompt

    def network(self, input_ids: torch.Tensor, logits_to_keep: int) -> Any:
        return SimpleNamespace(logits=P.log().expand(1, logits_to_keep, len(P)))


def drawn(p: torch.Tensor, n: int) -> dict[str, Any]:
    """Replies of at most six tokens."""
    rng, tokens = np.random.default_rng(0), []
    for _ in range(n):
        own = rng.choice(4, 6, p=(p / p.sum()).double().numpy()).tolist()
        tokens.append(own[: own.index(END)] if END in own else own)
    return {"tokens": tokens, "ended": [len(own) < 6 for own in tokens], "logprobs": []}


def right(own: dict[str, Any]) -> Right:
    return sampled_right(Model(), ["p"], [own], 1.0)  # type: ignore[arg-type]


def test_samples_of_the_model_have_its_entropy_and_others_do_not() -> None:
    assert right(drawn(P, 400)).why_not is None
    assert abs(right(drawn(P, 400)).z) < 3
    flat = right(drawn(torch.ones(4), 400))
    assert flat.why_not is not None
    assert "standard deviations from its entropy" in flat.why_not


def test_log_probabilities_are_computed_again() -> None:
    own = drawn(P, 20)
    exact = [[float(P[token].log()) for token in tokens] for tokens in own["tokens"]]
    assert right(own | {"logprobs": exact}).why_not is None
    exact[3][0] += 0.01
    assert "log-probabilities differ" in (right(own | {"logprobs": exact}).why_not or "")


def test_no_ratio_unless_both_are_right() -> None:
    def outcome(name: str, seconds: tuple[float, ...]) -> Outcome:
        facts = {"new_tokens": [100] * len(seconds), "prefill": [30] * len(seconds)}
        return Outcome(name, "1", seconds=seconds, processor_seconds=seconds, peak_mib=1.0, facts=facts)

    outcomes = {"calprobe": outcome("calprobe", (1.0, 2.0)), "generate": outcome("generate", (3.0, 6.0))}
    checks: dict[str, Any] = {name: (None, {"z": 0.1}) for name in outcomes}
    rows = samples.rows_of(outcomes, checks, 20)
    assert rows[1]["calprobe_is_times_as_fast"] == 3.0
    assert "3.0 times as fast (3.0 times per new token)" in samples.render({"rows": rows})
    checks["generate"] = ("samples are not the model's", {})
    assert "calprobe_is_times_as_fast" not in samples.rows_of(outcomes, checks, 20)[1]
    faulty = Outcome("llama.cpp server", fault="skipped: xllamacpp is not installed")
    assert samples.rows_of({"llama.cpp server": faulty}, {}, 20)[0]["note"] == faulty.fault


@pytest.mark.parametrize(("name", "sizes"), [("calprobe", ()), ("generate", (1, 2))])
def test_what_a_child_counts_of_its_samples(name: str, sizes: tuple[int, ...]) -> None:
    """In this process."""
    folder = resolve("tiny-chat").location
    job = SampleJob(name, sizes, 1, "replies", folder, ("Where?", "Who was it?"), 4, samples=3)
    found = take_part(job, ["again\n"] * 2, io.StringIO())
    assert [len(drawn["tokens"]) for drawn in found.facts["drawn"]] == [3, 3]
    assert all(len(tokens) <= 4 for drawn in found.facts["drawn"] for tokens in drawn["tokens"])
    assert len(found.facts["new_tokens"]) == len(found.processor_seconds) == len(found.seconds) == 2
    assert found.facts["new_tokens"][1] == sum(len(t) for drawn in found.facts["drawn"] for t in drawn["tokens"])
    assert all(prefill > 0 for prefill in found.facts["prefill"])
    assert len(found.facts["texts"]) == 2
    assert samples.rows_of({name: found}, {}, 6)[0]["samples"] == 6


def test_a_contest_from_its_options_to_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_this_process(jobs: list[SampleJob], repeats: int) -> dict[str, Outcome]:
        return {job.scorer: take_part(job, ["again\n"] * repeats, io.StringIO()) for job in jobs}

    monkeypatch.setattr(samples, "in_turns", in_this_process)
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f'{{"id": "{n}", "question": "Who {n}?", "answer": ["x"]}}\n' for n in range(3)), "utf-8")
    options = ["--questions", str(file), "--n", "2", "--samples", "2", "--model", "tiny-chat", "--repeats", "2"]
    options += ["--max-new-tokens", "4", "--checked", "1", "--contestants", "calprobe", "generate"]
    record = samples.measured(samples.options().parse_args(options))
    ours, theirs = record["rows"]
    assert (ours["contestant"], ours["samples"], ours["note"]) == ("calprobe", 4, None)
    assert theirs["calprobe_is_times_as_fast"] > 0
    assert ours["largest_difference"] <= 1e-3
    assert record["settings"]["samples"] == 2


@pytest.mark.parametrize("seconds", [(2.0, 4.0)])
def test_new_tokens_are_those_of_all_repeats(seconds: tuple[float, ...]) -> None:
    own = Outcome("calprobe", seconds=seconds, facts={"new_tokens": [10, 20]})
    assert samples.tokens_per_s(own, own.seconds) == 5.0
