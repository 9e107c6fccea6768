"""What runs are called, and which models are a family."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from calprobe.measures.model_families import families
from calprobe.models.aliases import ALIASES
from calprobe.show.plots.look import Look
from calprobe.show.plots.names import NAME_WIDTH, run_names


@dataclass(frozen=True)
class Named:
    run: str
    model: str
    estimator: str = "base"


def names(*runs: tuple[str, str], **labels: str) -> list[str]:
    return list(run_names([Named(*own) for own in runs], Look(labels=labels)).values())


def test_runs_are_called_by_their_models() -> None:
    assert names(("/home/me/runs/a", "org/gpt2"), ("b", "/data/models/gemma.gguf/")) == ["gpt2", "gemma.gguf"]


def test_where_models_repeat_by_the_last_parts_of_their_folders() -> None:
    assert names(("/home/me/fp32", "gpt2"), ("/home/me/bf16", "gpt2"), ("x", "opt")) == ["fp32", "bf16", "opt"]
    assert names(("/r/a/mini", "gpt2"), ("/r/b/mini", "gpt2")) == ["a/mini", "b/mini"]
    assert names(("gpt2", "opt"), ("runs/x", "opt"), ("runs/y", "gpt2")) == ["gpt2", "x", "y"]


def test_labels_come_first() -> None:
    assert names(("a", "gpt2"), ("b", "gpt2"), ("c", "opt"), a="GPT-2, fp32") == ["GPT-2, fp32", "gpt2", "opt"]


def test_names_of_limited_and_partial_runs_say_so() -> None:
    runs = [Named("a", "gpt2"), Named("b", "opt")]
    assert run_names(runs, Look(limited=frozenset("b"))) == {"a": "gpt2", "b": "opt (LIMITED)"}
    labels = {"a": "GPT-2"}
    assert run_names(runs[:1], Look(labels=labels, limited=frozenset("a"))) == {"a": "GPT-2 (LIMITED)"}
    both = Look(limited=frozenset("ab"), partial=frozenset("b"))
    assert run_names(runs, both) == {"a": "gpt2 (LIMITED)", "b": "opt (LIMITED, PARTIAL)"}


def test_long_names_are_short_and_differ() -> None:
    runs = [(f"many/clm-template-number-{at}-with-a-very-long-run-folder-name", "tiny") for at in range(5)]
    found = names(*runs)
    assert len(set(found)) == 5
    assert all(len(name) <= NAME_WIDTH + 4 for name in found)


def test_the_papers_models_are_six_families() -> None:
    sixteen = [name for name, alias in ALIASES.items() if alias.paper]
    assert families(sixteen) == [
        ["bert-base-cased", "bert-large-cased"],
        ["roberta-base", "roberta-large"],
        ["xlm-roberta-base", "xlm-roberta-large"],
        ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"],
        ["opt-125m", "opt-350m", "opt-1.3b", "opt-6.7b"],
        ["gemma-2b", "gemma-7b"],
    ]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (["gemma-2b", "gemma-2-2b", "gemma-2-9b"], [["gemma-2-2b", "gemma-2-9b"]]),
        (["org/Qwen2.5-7B", "Qwen2.5-0.5B", "Qwen3-8B"], [["Qwen2.5-0.5B", "org/Qwen2.5-7B"]]),
        (["step-1000", "step-2000"], []),
        (["a/opt-125m", "b/opt-125m", "opt-350m"], []),  # two of one size: no order
        ([], []),
    ],
)
def test_families_differ_in_size_alone(models: list[str], expected: list[list[str]]) -> None:
    assert families(models) == expected
