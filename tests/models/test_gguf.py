"""GGUF files: dequantised once, complete or not at all, with the weights and tokens they had before."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGUFWriter, LlamaFileType, TokenType
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import pre_tokenizers
from tolerances import TINY_SCORE
from transformers import AutoModelForCausalLM, LlamaConfig

from calprobe.errors import CalprobeError
from calprobe.folders import cache_root
from calprobe.models import gguf, load_model, tokenise
from calprobe.statements import fill

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
TOKENS = ["<|endoftext|>", "<s>", "</s>", *ALPHABET, "Ġt", "th"]
HEADS, LAYERS = 4, 2
CONFIG = LlamaConfig(
    vocab_size=len(TOKENS),
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=LAYERS,
    num_attention_heads=HEADS,
    num_key_value_heads=HEADS,
    max_position_embeddings=128,
    tie_word_embeddings=True,
)
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def interleaved(weight: np.ndarray) -> np.ndarray:
    """GGUF's order of the rotary halves of query and key rows."""
    rows, columns = weight.shape
    return weight.reshape(HEADS, 2, rows // HEADS // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_gguf(file: Path, network: Any) -> Path:
    """A Llama as llama.cpp would store it in float32."""
    writer = GGUFWriter(str(file), "llama")
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_context_length(CONFIG.max_position_embeddings)
    writer.add_embedding_length(CONFIG.hidden_size)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(CONFIG.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(CONFIG.rms_norm_eps)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([TokenType.CONTROL] * 3 + [TokenType.NORMAL] * (len(TOKENS) - 3))
    writer.add_token_merges(["Ġ t", "t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    state = {name: value.numpy() for name, value in network.state_dict().items()}
    writer.add_tensor("token_embd.weight", state["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", state["model.norm.weight"])
    for layer in range(LAYERS):
        for ours, theirs in NAMES.items():
            weight = state[f"model.layers.{layer}.{ours}.weight"]
            turned = interleaved(weight) if theirs in ("attn_q", "attn_k") else weight
            writer.add_tensor(f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(turned))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture
def network() -> Any:
    torch.manual_seed(2)
    network = AutoModelForCausalLM.from_config(CONFIG).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(5.0)
    return network


@pytest.fixture
def file(tmp_path: Path, network: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALPROBE_CACHE", str(tmp_path / "cache"))
    return write_gguf(tmp_path / "tiny.gguf", network)


def test_a_gguf_file_is_the_model_that_it_was_made_from(file: Path, network: Any) -> None:
    model = load_model(str(file))
    tokens = torch.tensor([[1, 50, 51, 52, 260, 7]])
    with torch.no_grad():
        assert torch.allclose(model.network(tokens).logits, network(tokens).logits, atol=TINY_SCORE, rtol=0)
    assert (model.kind, model.architecture, model.dtype) == ("causal", "LlamaForCausalLM", "float32")
    assert (model.source, model.revision) == (str(file), hashlib.sha256(file.read_bytes()).hexdigest())
    assert model.note == "weights rounded to F32 (GGUF)"
    assert model.max_positions == 128
    saved = load_file(next(cache_root().rglob("model.safetensors")))
    assert saved.keys() == network.state_dict().keys() - {"lm_head.weight"}  # tied: saved as the embedding, once


def test_its_tokens_are_those_of_the_file(file: Path) -> None:
    model = load_model(str(file))
    rows = tokenise([fill("[X] t [Y].", "A", "the")], model)
    assert model.tokenizer.convert_ids_to_tokens(rows.token_ids.tolist()) == ["A", "Ġt", "Ġt", "h", "e", "."]
    assert model.start_token == "<s>"


def cut_words(tokenizer: Any) -> str:
    return "200 of 200 words come out in pieces"


def test_a_tokenizer_that_cuts_words_up_is_refused_and_not_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "words_in_pieces", cut_words)
    with pytest.raises(CalprobeError, match=r"tiny\.gguf: transformers .* wrong tokenizer .*\nuse .*5\.23"):
        load_model(str(file))
    assert list((cache_root() / "gguf").iterdir()) == []


def test_another_transformers_makes_its_own(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_model(str(file))
    monkeypatch.setattr("transformers.__version__", "4.0.0")
    load_model(str(file))
    kept = sorted(folder.name.partition("-")[2] for folder in (cache_root() / "gguf").iterdir())
    assert len(kept) == 2
    assert kept[0] == "transformers-4.0.0"


def test_a_kept_one_that_is_misread_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_model(str(file))
    folder = next((cache_root() / "gguf").iterdir())
    monkeypatch.setattr(gguf, "words_in_pieces", cut_words)
    with pytest.raises(CalprobeError, match=rf"wrong tokenizer .*\ndelete {folder} and try again"):
        load_model(str(file))


def test_the_second_load_comes_from_the_cache(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_model(str(file))

    def fail(*_: Any) -> None:
        raise AssertionError("converted twice")

    monkeypatch.setattr(gguf, "_write_twin", fail)
    again = load_model(str(file))
    assert again.weights_fingerprint == first.weights_fingerprint
    assert again.tokenizer_fingerprint == first.tokenizer_fingerprint
    copy = file.with_name("renamed.gguf")
    copy.write_bytes(file.read_bytes())
    assert load_model(str(copy)).revision == first.revision


def test_nothing_is_left_of_a_conversion_that_stopped(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: Path, folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(gguf, "_write_twin", stop)
    with pytest.raises(KeyboardInterrupt):
        load_model(str(file))
    assert list((cache_root() / "gguf").iterdir()) == []


def test_a_full_disk_is_not_called_damage(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("huggingface_hub.save_torch_state_dict", full)
    with pytest.raises(
        CalprobeError, match="cache: no space left for calprobe's cache\nfree space there, or set CALPR"
    ):
        load_model(str(file))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and its message are Linux's")
def test_a_cache_that_cannot_be_written_is_named_with_its_variable(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "passwd").touch()
    for place, why in ((tmp_path / "passwd", "Not a directory"), (Path("/proc/nope"), "No such file or directory")):
        monkeypatch.setenv("CALPROBE_CACHE", str(place))
        with pytest.raises(CalprobeError) as caught:
            load_model(str(file))
        assert str(caught.value).splitlines() == [
            f"{place}: calprobe's cache cannot be written: {why}",
            "set CALPROBE_CACHE to a folder that can be written to",
        ]


def test_another_process_may_be_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_twin = gguf._write_twin

    def overtaken(source: Path, folder: Path) -> None:
        write_twin(source, folder)
        first = folder.parent / gguf.kept_as(hashlib.sha256(file.read_bytes()).hexdigest())
        first.mkdir()
        write_twin(source, first)

    monkeypatch.setattr(gguf, "_write_twin", overtaken)
    assert load_model(str(file)).kind == "causal"
    assert len(list((cache_root() / "gguf").iterdir())) == 1


def test_not_a_gguf_file(file: Path) -> None:
    file.write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(CalprobeError, match=r"tiny\.gguf: not a GGUF file"):
        load_model(str(file))


@pytest.mark.parametrize("share", [0.001, 0.2, 0.9])
def test_a_cut_file(file: Path, share: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CalprobeError, match=r"tiny\.gguf: cannot be read as GGUF .*\nit is damaged"):
        load_model(str(file))
    assert list((cache_root() / "gguf").iterdir()) == []


def test_a_damaged_cache_names_the_file_to_delete(file: Path) -> None:
    load_model(str(file))
    twin = next(cache_root().rglob("model.safetensors"))
    twin.write_bytes(b"\xff" * 100)
    with pytest.raises(CalprobeError, match=rf"{twin} is damaged .*\n.*cache can simply be deleted"):
        load_model(str(file))


def test_the_cache_is_in_the_users_folder_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALPROBE_CACHE", raising=False)
    assert cache_root().name == "calprobe"
    monkeypatch.setenv("CALPROBE_CACHE", "~/elsewhere")
    assert cache_root() == Path.home() / "elsewhere"
