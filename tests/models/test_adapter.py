"""PEFT adapters: merged into their base, or refused with the reason."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, LoraModel, PromptTuningConfig, TaskType, get_peft_model
from safetensors.torch import load_file, save_file
from tiny_models import CAUSAL_CONFIGS, save_tiny_model, tiny_tokenizer
from tolerances import TINY_SCORE
from transformers import AutoModelForCausalLM, DeepseekV3Config

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.models import LoadOptions, load_model
from calprobe.models.network import in_dtype

DEEPSEEK = DeepseekV3Config(
    vocab_size=64, hidden_size=32, intermediate_size=32, moe_intermediate_size=16, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=2, n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2,
    first_k_dense_replace=1, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
    max_position_embeddings=64,
)  # fmt: skip
TOKENS = torch.tensor([[1, 40, 41, 42, 43, 60]])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "base")


def adapted(base: Path, config: Any) -> Any:
    torch.manual_seed(5)
    network = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "lora_" in name:  # B starts at zero, which would make any test of the effect pass
                parameter.normal_(std=0.3)
    return network.eval()


def save_lora(base: Path, folder: Path) -> torch.Tensor:
    """Saves a LoRA adapter; gives the logits of base and adapter, unmerged."""
    network = adapted(base, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type=TaskType.CAUSAL_LM))
    network.save_pretrained(folder)
    with torch.no_grad():
        return network(TOKENS).logits


@pytest.mark.parametrize("targets", [["lm_head"], ["embed_tokens"], ["lm_head", "embed_tokens"]])
def test_an_adapter_of_one_of_two_tied_embeddings_leaves_the_other(targets: list[str], tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "base", tie_word_embeddings=True)
    network = adapted(base, LoraConfig(r=2, target_modules=targets, task_type=TaskType.CAUSAL_LM))
    network.save_pretrained(tmp_path / "lora")
    merged = load_model(str(tmp_path / "lora"), LoadOptions(device="cpu"))
    assert merged.adapter_merged
    with torch.no_grad():
        assert torch.allclose(merged.network(TOKENS).logits, network(TOKENS).logits, atol=TINY_SCORE, rtol=0)


def edit_config(folder: Path, **changes: Any) -> None:
    file = folder / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_an_adapter_is_merged_into_its_base(base: Path, tmp_path: Path) -> None:
    logits = save_lora(base, tmp_path / "lora")
    model = load_model(str(tmp_path / "lora"))
    with torch.no_grad():
        assert torch.allclose(model.network(TOKENS).logits, logits, atol=TINY_SCORE, rtol=0)
        assert not torch.allclose(load_model(str(base)).network(TOKENS).logits, logits, atol=1e-2)
    assert (model.kind, model.architecture, model.adapter_merged) == ("causal", "LlamaForCausalLM", True)
    assert model.source == f"{base} + {tmp_path / 'lora'}"
    assert model.weights_fingerprint != load_model(str(base)).weights_fingerprint
    assert not any(parameter.requires_grad for parameter in model.network.parameters())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_merged_in_float32_and_rounded_as_a_merged_folder_is(base: Path, tmp_path: Path, dtype: Any) -> None:
    """Also what no file has: frequencies of positions stay in float32, an embedding's scale may."""
    save_lora(base, tmp_path / "lora")
    load_model(str(tmp_path / "lora")).network.save_pretrained(tmp_path / "merged")
    tiny_tokenizer().save_pretrained(tmp_path / "merged")
    merged, found = (load_model(str(tmp_path / name), LoadOptions(dtype=dtype)) for name in ("merged", "lora"))
    assert found.dtype == merged.dtype == dtype
    wanted, others = (
        {**dict(model.network.named_buffers()), **model.network.state_dict()} for model in (merged, found)
    )
    assert wanted.keys() == others.keys()
    assert all(torch.equal(value, others[name]) and value.dtype == others[name].dtype for name, value in wanted.items())
    assert torch.float32 in {buffer.dtype for buffer in found.network.buffers()}


@pytest.mark.parametrize("architecture", ["gemma3", "deepseek_v3"])
def test_a_network_gets_the_dtypes_that_it_is_read_in(architecture: str, tmp_path: Path) -> None:
    """DeepSeek keeps its experts' biases in float32."""
    config = DEEPSEEK if architecture == "deepseek_v3" else CAUSAL_CONFIGS[architecture]
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    wanted, read = (AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype) for dtype in ("bfloat16", "float32"))
    found = in_dtype(read, torch.bfloat16).state_dict()
    assert {name: value.dtype for name, value in wanted.state_dict().items()} == {
        name: value.dtype for name, value in found.items()
    }
    assert all(torch.equal(value, found[name]) for name, value in wanted.state_dict().items())


def test_where_it_is_computed_is_said_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    save_lora(base, tmp_path / "lora")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("calprobe.models.placement.unseen_card", lambda: ("a card is there", "use it"))
    load_model(str(tmp_path / "lora"))
    assert caplog.messages.count("computing on the CPU: a card is there; use it") == 1


def test_merged_with_products_in_full(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the process has set: NVIDIA's images let cards cut B and A to TF32, autocast would to bfloat16."""
    save_lora(base, tmp_path / "lora")
    exact = load_model(str(tmp_path / "lora")).network.state_dict()
    merge, seen = LoraModel.merge_and_unload, []

    def merged(self: LoraModel, **options: Any) -> Any:
        seen.append(torch.get_float32_matmul_precision())
        return merge(self, **options)

    monkeypatch.setattr(LoraModel, "merge_and_unload", merged)
    try:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = load_model(str(tmp_path / "lora")).network.state_dict()
    finally:
        torch.set_float32_matmul_precision("highest")
    assert seen == ["highest"]
    assert all(torch.equal(value, exact[name]) for name, value in found.items())


def test_a_tokenizer_beside_the_adapter_comes_first(base: Path, tmp_path: Path) -> None:
    save_lora(base, tmp_path / "lora")
    tokenizer = tiny_tokenizer()
    tokenizer.bos_token = "</s>"
    tokenizer.save_pretrained(tmp_path / "lora")
    assert load_model(str(base)).start_token == "<s>"
    assert load_model(str(tmp_path / "lora")).start_token == "</s>"


def test_prompt_tuning_is_refused(base: Path, tmp_path: Path) -> None:
    config = PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=3)
    adapted(base, config).save_pretrained(tmp_path / "prompt")
    with pytest.raises(UsageError, match="PROMPT_TUNING puts trained vectors in front of the text"):
        load_model(str(tmp_path / "prompt"))


def test_pickle_only_with_leave(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lora"
    save_lora(base, folder)
    torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(UsageError, match=r"adapter_model\.safetensors.*\n.*--allow-pickle"):
        load_model(str(folder))
    assert load_model(str(folder), LoadOptions(allow_pickle=True)).adapter_merged


def test_an_adapter_with_missing_parts(base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lora"
    save_lora(base, folder)
    state = load_file(folder / "adapter_model.safetensors")
    save_file({key: value for key, value in state.items() if "v_proj" in key}, folder / "adapter_model.safetensors")
    with pytest.raises(CalprobeError, match="does not fit its base model"):
        load_model(str(folder))


def test_an_adapter_of_another_base(base: Path, tmp_path: Path) -> None:
    save_lora(base, tmp_path / "lora")
    edit_config(tmp_path / "lora", r=4)
    with pytest.raises(CalprobeError, match="does not fit its base model"):
        load_model(str(tmp_path / "lora"))


@pytest.mark.parametrize(
    ("name", "message"), [(None, "names no base model"), ("./gone", "gone: no such file or folder")]
)
def test_a_base_that_is_not_there(base: Path, tmp_path: Path, name: str | None, message: str) -> None:
    save_lora(base, tmp_path / "lora")
    edit_config(tmp_path / "lora", base_model_name_or_path=name)
    with pytest.raises(CalprobeError, match=message):
        load_model(str(tmp_path / "lora"))


def test_without_peft(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_lora(base, tmp_path / "lora")
    plain_import = builtins.__import__

    def no_peft(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "peft":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_peft)
    with pytest.raises(DataMissingError, match=r"pip install 'calprobe\[peft\]'"):
        load_model(str(tmp_path / "lora"))
