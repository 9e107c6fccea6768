"""Loading: what comes back from a folder, and everything that is refused."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from accelerate import cpu_offload
from sample_tokenizers import byte_level, deaf, word_piece
from tiny_models import save_tiny_model
from tokenizers import Tokenizer, models, processors
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    Gemma2Config,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    OPTConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
    T5Config,
    T5ForConditionalGeneration,
)

from calprobe.errors import CalprobeError, DataMissingError, UsageError
from calprobe.models import LoadOptions, load, load_model, network, tokenise
from calprobe.statements import fill

VOCAB = 400
BERT = BertConfig(
    vocab_size=VOCAB,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=24,
    max_position_embeddings=40,
)
GPT2 = GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=1, n_head=2, n_positions=32)


def save(model: Any, folder: Path, tokenizer: Any = None) -> str:
    model.save_pretrained(folder)
    (tokenizer or byte_level()).save_pretrained(folder)
    return str(folder)


def edit_json(file: Path, **changes: Any) -> None:
    """Set keys of a JSON file; None removes one."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "llama")


@pytest.fixture
def gpt2(tmp_path: Path) -> str:
    return save(AutoModelForCausalLM.from_config(GPT2), tmp_path / "some-gpt2")


def test_a_causal_folder(llama: Path) -> None:
    model = load_model(str(llama))
    assert (model.name, model.kind, model.architecture) == (str(llama), "causal", "LlamaForCausalLM")
    assert (model.start_token, model.start_token_id, model.max_positions) == ("<s>", 1, 256)
    assert (model.dtype, model.device, model.revision, model.adapter_merged) == (
        "float32",
        torch.device("cpu"),
        None,
        None,
    )
    assert model.attention == "sdpa"
    assert not model.network.training
    assert not any(parameter.requires_grad for parameter in model.network.parameters())
    assert load_model(str(llama)).weights_fingerprint == model.weights_fingerprint
    assert tokenise([fill("[X] is [Y].", "A", "b")], model).lengths.tolist() == [7]


def test_the_kind_comes_from_the_config_and_not_from_the_name(tmp_path: Path) -> None:
    folder = save(AutoModelForCausalLM.from_config(GPT2), tmp_path / "bert-masked")
    assert load_model(folder).kind == "causal"


def test_kernels_that_cannot_be_chosen_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    for chosen, words in (("triton", "=triton needs Triton: pip install triton"), ("Triton", " must be triton or")):
        monkeypatch.setenv("CALPROBE_KERNELS", chosen)
        with pytest.raises(UsageError, match=f"^CALPROBE_KERNELS{words}"):
            load_model("tiny-clm")


def test_a_masked_folder(tmp_path: Path) -> None:
    model = load_model(save(AutoModelForMaskedLM.from_config(BERT), tmp_path / "m", word_piece()))
    assert (model.kind, model.start_token, model.max_positions) == ("masked", "[CLS]", 40)


def test_roberta_keeps_two_positions_for_padding(tmp_path: Path) -> None:
    config = RobertaConfig(**(BERT.to_diff_dict() | {"pad_token_id": 1}))
    tokenizer = byte_level()
    tokenizer.cls_token = "<s>"
    model = load_model(save(AutoModelForMaskedLM.from_config(config), tmp_path / "r", tokenizer))
    assert model.max_positions == 38


def test_opt_positions_are_those_of_its_config(tmp_path: Path) -> None:
    config = OPTConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        word_embed_proj_dim=16,
        ffn_dim=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=30,
    )
    assert load_model(save(AutoModelForCausalLM.from_config(config), tmp_path / "o")).max_positions == 30


def test_the_checkpoints_dtype_is_not_taken_on_a_cpu(tmp_path: Path) -> None:
    folder = save(AutoModelForCausalLM.from_config(GPT2).to(torch.bfloat16), tmp_path / "half")
    assert load_model(folder).dtype == "float32"
    assert load_model(folder, LoadOptions(dtype="bfloat16")).dtype == "bfloat16"


def test_soft_capped_attention_runs_eager(tmp_path: Path) -> None:
    config = Gemma2Config(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
    )
    assert load_model(save(AutoModelForCausalLM.from_config(config), tmp_path / "g")).attention == "eager"


def test_attention_can_be_chosen(gpt2: str) -> None:
    assert load_model(gpt2, LoadOptions(attention="eager")).attention == "eager"


def test_device_map(gpt2: str) -> None:
    model = load_model(gpt2, LoadOptions(device_map="auto"))
    assert model.device == next(model.network.parameters()).device


def test_a_bare_encoder_has_no_head_to_score_with(tmp_path: Path) -> None:
    folder = save(BertModel(BERT), tmp_path / "m", word_piece())
    with pytest.raises(CalprobeError, match="BertModel has no language-model head"):
        load_model(folder)
    with pytest.raises(CalprobeError, match=r"lacks .*cls\.predictions.*random numbers"):
        load_model(folder, LoadOptions(kind="masked"))


def test_an_untied_head_that_is_not_in_the_checkpoint(tmp_path: Path) -> None:
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        tie_word_embeddings=False,
    )
    llama = AutoModelForCausalLM.from_config(config)
    state = {key: value for key, value in llama.state_dict().items() if key != "lm_head.weight"}
    byte_level().save_pretrained(tmp_path)
    llama.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(CalprobeError, match=r"lacks its head \(lm_head\.weight\), which would be random numbers"):
        load_model(str(tmp_path))


def test_a_tied_head_need_not_be_in_the_checkpoint(tmp_path: Path) -> None:
    """GPT2Model saves no head, and GPT-2's head is its embedding."""
    folder = save(GPT2Model(GPT2), tmp_path / "m")
    edit_json(tmp_path / "m" / "config.json", architectures=["GPT2LMHeadModel"])
    assert load_model(folder).architecture == "GPT2LMHeadModel"


def test_parameters_without_storage_are_refused(gpt2: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """transformers 4.57 leaves an embedding on "meta" if only its tied head was saved, and lists nothing as missing."""

    class HalfLoaded:
        @staticmethod
        def from_config(config: Any) -> Any:
            return AutoModelForCausalLM.from_config(config)

        @staticmethod
        def from_pretrained(*_: Any, **__: Any) -> tuple[Any, dict[str, set[str]]]:
            complete = AutoModelForCausalLM.from_config(GPT2)
            complete.transformer.wte.to("meta")
            complete.tie_weights()
            return complete, {"missing_keys": set()}

    monkeypatch.setattr(network, "auto_class", lambda kind: HalfLoaded)
    with pytest.raises(CalprobeError, match=r"lacks its head \(lm_head\.weight, transformer\.wte\.weight\)"):
        load_model(gpt2)


def test_a_missing_layer_is_refused(tmp_path: Path) -> None:
    folder = save(AutoModelForCausalLM.from_config(GPT2), tmp_path / "m")
    edit_json(tmp_path / "m" / "config.json", n_layer=2)
    with pytest.raises(CalprobeError, match=r"lacks parameters \(transformer\.h\.1\..* and 9 more\)"):
        load_model(folder)


def test_a_classifier_and_an_encoder_decoder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CalprobeError, match="BertForSequenceClassification has no language-model head"):
        load_model(save(BertForSequenceClassification(BERT), tmp_path / "c", word_piece()))
    t5 = T5Config(vocab_size=VOCAB, d_model=16, d_ff=16, d_kv=8, num_layers=1, num_heads=2)
    with pytest.raises(CalprobeError, match="is an encoder-decoder"):
        load_model(save(T5ForConditionalGeneration(t5), tmp_path / "t5"))


def test_no_config_json(tmp_path: Path) -> None:
    with pytest.raises(CalprobeError, match="is not a model folder"):
        load_model(str(tmp_path))
    (tmp_path / "w.gguf").touch()
    with pytest.raises(CalprobeError, match=r"give the file: .*w\.gguf"):
        load_model(str(tmp_path))


def test_pickle_only_with_leave(gpt2: str) -> None:
    folder = Path(gpt2)
    state = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(UsageError, match="--allow-pickle"):
        load_model(gpt2)
    assert load_model(gpt2, LoadOptions(allow_pickle=True)).kind == "causal"


def test_no_weights_at_all_is_not_a_matter_of_pickle(gpt2: str) -> None:
    (Path(gpt2) / "model.safetensors").unlink()
    with pytest.raises(CalprobeError, match="has no weights"):
        load_model(gpt2)


def test_remote_code_only_with_leave(gpt2: str) -> None:
    folder = Path(gpt2)
    code = (
        "from transformers import GPT2Config, GPT2LMHeadModel\n"
        "class MineConfig(GPT2Config):\n    model_type = 'mine'\n"
        "class MineForCausalLM(GPT2LMHeadModel):\n    config_class = MineConfig\n"
    )
    (folder / "mine.py").write_text(code)
    auto_map = {"AutoConfig": "mine.MineConfig", "AutoModelForCausalLM": "mine.MineForCausalLM"}
    edit_json(folder / "config.json", model_type="mine", architectures=["MineForCausalLM"], auto_map=auto_map)
    with pytest.raises(UsageError, match="--trust-remote-code"):
        load_model(gpt2)
    assert load_model(gpt2, LoadOptions(trust_remote_code=True)).architecture == "MineForCausalLM"


@pytest.mark.parametrize("damage", ["header", "cut"])
def test_a_damaged_file_is_named(gpt2: str, damage: str) -> None:
    file = Path(gpt2) / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(b"\xff" * 64 if damage == "header" else content[: len(content) // 2])
    with pytest.raises(CalprobeError, match=r"model\.safetensors is damaged"):
        load_model(gpt2)


def test_a_config_that_is_not_json(gpt2: str) -> None:
    (Path(gpt2) / "config.json").write_text("{")
    with pytest.raises(CalprobeError, match=r"config\.json"):
        load_model(gpt2)


def test_weights_of_another_shape(gpt2: str) -> None:
    edit_json(Path(gpt2) / "config.json", n_embd=24)
    with pytest.raises(CalprobeError, match="do not fit its config"):
        load_model(gpt2)


def test_start_token_without_bos(gpt2: str) -> None:
    """As Qwen 2: no BOS, so EOS stands in front."""
    edit_json(Path(gpt2) / "tokenizer_config.json", bos_token=None)
    model = load_model(gpt2)
    assert (model.start_token, model.start_token_id) == ("</s>", 2)


def test_end_of_text_is_the_last_resort(tmp_path: Path) -> None:
    vocabulary = Tokenizer(models.BPE(vocab={"a": 0, "<|endoftext|>": 1}, merges=[]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=vocabulary)
    assert load_model(save(AutoModelForCausalLM.from_config(GPT2), tmp_path, tokenizer)).start_token == "<|endoftext|>"


def test_no_start_token(tmp_path: Path) -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE(vocab={"a": 0}, merges=[])))
    folder = save(AutoModelForCausalLM.from_config(GPT2), tmp_path, tokenizer)
    with pytest.raises(UsageError, match="no BOS, EOS or"):
        load_model(folder)


def test_a_masked_model_needs_a_mask_token(tmp_path: Path) -> None:
    folder = save(AutoModelForMaskedLM.from_config(BERT), tmp_path, deaf())
    with pytest.raises(UsageError, match="no mask token"):
        load_model(folder)


def test_a_tokenizer_of_another_checkpoint(tmp_path: Path) -> None:
    small = GPT2Config(**(GPT2.to_diff_dict() | {"vocab_size": 100}))
    folder = save(AutoModelForCausalLM.from_config(small), tmp_path)
    with pytest.raises(CalprobeError, match="its embedding only 100 rows"):
        load_model(folder)


def vocabulary_of(folder: Path, rows: int, tokenizer: PreTrainedTokenizerFast) -> str:
    config = GPT2Config(**(GPT2.to_diff_dict() | {"vocab_size": rows}))
    return save(AutoModelForCausalLM.from_config(config), folder, tokenizer)


def test_added_tokens_may_lie_past_the_embedding(tmp_path: Path) -> None:
    """As Gemma 3's <image_soft_token> and CodeLlama's infilling marks: no plain text has them."""
    tokenizer = byte_level()
    rows = len(tokenizer)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    tokenizer.add_tokens(["fill-in"])
    model = load_model(vocabulary_of(tmp_path, rows, tokenizer))
    assert model.embedding_rows == rows
    assert len(tokenise([fill("[X] is <image> [Y].", "A", "b")], model).token_ids) > 7
    with pytest.raises(CalprobeError, match=rf"statement 1 \('A fill-in b\.'\): .*'fill-in'.*{rows} rows"):
        tokenise([fill("[X] is [Y].", "A", "b"), fill("[X] fill-in [Y].", "A", "b")], model)


def test_a_start_token_past_the_embedding_is_refused(tmp_path: Path) -> None:
    tokenizer = byte_level()
    rows = len(tokenizer)
    tokenizer.add_special_tokens({"bos_token": "<start>"})
    with pytest.raises(CalprobeError, match=f"its embedding only {rows} rows"):
        load_model(vocabulary_of(tmp_path, rows, tokenizer))


def test_a_mask_token_past_the_embedding_is_refused(tmp_path: Path) -> None:
    tokenizer = word_piece()
    rows = len(tokenizer)
    tokenizer.add_special_tokens({"mask_token": "<hidden>"})
    config = BertConfig(**(BERT.to_diff_dict() | {"vocab_size": rows}))
    with pytest.raises(CalprobeError, match=f"its embedding only {rows} rows"):
        load_model(save(AutoModelForMaskedLM.from_config(config), tmp_path, tokenizer))


def test_a_token_put_behind_every_statement_past_the_embedding_is_refused(tmp_path: Path) -> None:
    tokenizer = word_piece()
    rows = len(tokenizer)
    tokenizer.add_tokens(["<end>"], special_tokens=True)  # by no name that transformers knows
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A <end>", special_tokens=[("[CLS]", 2), ("<end>", rows)]
    )
    config = BertConfig(**(BERT.to_diff_dict() | {"vocab_size": rows}))
    with pytest.raises(CalprobeError, match=f"gives ids up to {rows}, its embedding only {rows} rows"):
        load_model(save(AutoModelForMaskedLM.from_config(config), tmp_path, tokenizer))


def test_two_offloaded_fine_tunes_of_one_size_have_two_fingerprints(
    gpt2: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offloaded(*arguments: Any) -> Any:
        return cpu_offload(load_network(*arguments))

    load_network = network.load_network
    monkeypatch.setattr(load, "load_network", offloaded)
    tuned = save(AutoModelForCausalLM.from_config(GPT2), tmp_path / "tuned")
    first = load_model(gpt2)
    assert next(first.network.parameters()).is_meta
    assert load_model(gpt2).weights_fingerprint == first.weights_fingerprint
    assert load_model(tuned).weights_fingerprint != first.weights_fingerprint


def test_no_tokenizer(gpt2: str) -> None:
    for file in Path(gpt2).glob("*token*"):
        file.unlink()
    with pytest.raises(CalprobeError, match="tokenizer"):
        load_model(gpt2)


def test_too_little_memory_is_said_before_anything_is_read(gpt2: str, monkeypatch: pytest.MonkeyPatch) -> None:
    available = psutil.virtual_memory()._replace(available=1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: available)
    (Path(gpt2) / "model.safetensors").write_bytes(b"never opened")
    with pytest.raises(CalprobeError, match=r"needs .* GiB .* in float32, and cpu has .* free\ntry --dtype bfloat16"):
        load_model(gpt2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there(gpt2: str) -> None:
    with pytest.raises(UsageError, match="torch sees 0 GPU"):
        load_model(gpt2, LoadOptions(device="cuda:1"))


@pytest.mark.parametrize("device", ["gpu", "mps", "cuda:x"])
def test_a_device_that_does_not_exist(gpt2: str, device: str) -> None:
    with pytest.raises(UsageError, match="is not one of auto, cpu, cuda, cuda:N"):
        load_model(gpt2, LoadOptions(device=device))


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "both"},
        {"dtype": "int8"},
        {"attention": "flash"},
        {"device_map": "everywhere"},
        {"device": "cpu", "device_map": "auto"},
    ],
)
def test_options_that_make_no_sense(options: Any) -> None:
    with pytest.raises(UsageError):
        LoadOptions(**options)


def test_a_revision_of_what_is_not_on_the_hub(gpt2: str) -> None:
    with pytest.raises(UsageError, match=r"--revision v1: .*some-gpt2 is a folder on this machine, not on the hub"):
        load_model(gpt2, LoadOptions(revision="v1"))


def test_a_hub_model_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        DataMissingError, match=r"google/gemma-7b is not on this machine.*\n.*hf download google/gemma-7b"
    ):
        load_model("gemma-7b")


def test_loading_is_quiet_and_leaves_the_libraries_as_they_were(gpt2: str, capfd: pytest.CaptureFixture[str]) -> None:
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity(logging.INFO)
    try:
        load_model(gpt2)
        assert transformers_logging.get_verbosity() == logging.INFO
    finally:
        transformers_logging.set_verbosity_warning()
    assert transformers_logging.is_progress_bar_enabled()
    assert capfd.readouterr() == ("", "")


def test_a_vocabulary_out_of_thin_air_is_refused(tmp_path: Path) -> None:
    """transformers gives BERT without tokenizer files a vocabulary of five special tokens: every word is [UNK]."""
    folder = save(AutoModelForMaskedLM.from_config(BERT), tmp_path, word_piece())
    for file in tmp_path.glob("*token*"):
        file.unlink()
    with pytest.raises(CalprobeError, match="tokenizer"):
        load_model(folder)


@pytest.mark.parametrize("overflows", [False, True])
def test_where_float16_is_too_small_for_a_model_it_is_loaded_in_float32(
    overflows: bool, llama: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On a card that has no units for bfloat16, as Gemma 3 is."""
    if overflows:
        network = AutoModelForCausalLM.from_pretrained(llama)
        network.get_parameter("model.layers.0.mlp.down_proj.weight").data.mul_(1e6)
        network.save_pretrained(llama)
    takes = {"auto": torch.float16, "float32": torch.float32}
    monkeypatch.setattr("calprobe.models.placement.dtype_on", lambda device, options, *_: takes[options.dtype])
    loaded = load_model(str(llama), LoadOptions(device="cpu"))
    assert loaded.dtype == ("float32" if overflows else "float16")
    assert ("too large for float16; float32 instead" in caplog.text) == overflows
