"""Device and dtype, and whether a model fits."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file
from tiny_models import save_tiny_model
from transformers import AutoModelForCausalLM, GPT2Config

from calprobe.errors import CalprobeError, UsageError
from calprobe.kernels.arguments import compiles_for
from calprobe.models import LoadOptions, load_model, placement, sizes
from calprobe.models.placement import Placement, check_memory, float32_products, place
from calprobe.models.source import Source
from calprobe.models.text_models import load_text_model
from calprobe.models.unseen_card import without_code
from calprobe.words import Precision

# 96 GiB of parameters in float32, counted without making one.
LARGE = GPT2Config(vocab_size=50257, n_embd=8192, n_layer=32, n_head=32, n_positions=1024)
CPU = torch.device("cpu")
LARGE_SOURCE = Source("large", "large", "hub")


def test_auto_on_a_cpu_is_float32() -> None:
    assert place(LoadOptions(device="cpu")) == Placement(CPU, None, torch.float32)
    assert place(LoadOptions(device="cpu", dtype="float16")).dtype == torch.float16


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    """One card, as far as its placement asks, also where torch's build asks for the driver."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))


@pytest.mark.usefixtures("card")
def test_auto_on_a_gpu_is_the_checkpoints_own() -> None:
    assert place(LoadOptions()) == Placement(torch.device("cuda", 0), None, None)


def test_parameters_are_counted_without_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = 50257 * 8192 + 1024 * 8192 + 32 * (12 * 8192**2 + 13 * 8192) + 2 * 8192  # the head is tied
    monkeypatch.setattr(placement, "free_bytes", lambda device: 4 * parameters)
    check_memory(LARGE, AutoModelForCausalLM, Placement(CPU, None, torch.float32), LARGE_SOURCE)
    monkeypatch.setattr(placement, "free_bytes", lambda device: 4 * parameters - 1)
    with pytest.raises(CalprobeError, match=r"large needs 97\.6 GiB for its parameters in float32, and cpu has 97\.6"):
        check_memory(LARGE, AutoModelForCausalLM, Placement(CPU, None, torch.float32), LARGE_SOURCE)
    check_memory(LARGE, AutoModelForCausalLM, Placement(CPU, None, torch.bfloat16), LARGE_SOURCE)


def test_of_a_quantised_checkpoint_the_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(300))
    (tmp_path / "tokenizer.json").write_bytes(bytes(5000))
    quantised = GPT2Config(
        **LARGE.to_dict(), quantization_config={"quant_method": "bitsandbytes", "load_in_4bit": True}
    )
    folder = Source("four-bit", str(tmp_path), "folder")
    monkeypatch.setattr(placement, "free_bytes", lambda device: 300)
    check_memory(quantised, AutoModelForCausalLM, Placement(CPU, None, None), folder)
    monkeypatch.setattr(placement, "free_bytes", lambda device: 299)
    with pytest.raises(CalprobeError, match=r"four-bit needs 0\.0 GiB for its parameters, and cpu has"):
        check_memory(quantised, AutoModelForCausalLM, Placement(CPU, None, None), folder)
    check_memory(quantised, AutoModelForCausalLM, Placement(CPU, None, None), LARGE_SOURCE)  # not on this machine


def test_files_that_are_not_loaded_are_not_counted(tmp_path: Path) -> None:
    folder = Source("four-bit", str(tmp_path), "folder")
    (tmp_path / "weights.pt").write_bytes(bytes(7))
    assert placement._file_bytes(folder) == 7
    pickles = {"a": "pytorch_model-1.bin", "b": "pytorch_model-2.bin", "c": "pytorch_model-1.bin"}
    (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": pickles}))
    for number in (1, 2):
        (tmp_path / f"pytorch_model-{number}.bin").write_bytes(bytes(100 * number))
    assert placement._file_bytes(folder) == 300
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-1.safetensors"}}))
    (tmp_path / "model-1.safetensors").write_bytes(bytes(50))
    (tmp_path / "consolidated.safetensors").write_bytes(bytes(50))
    assert placement._file_bytes(folder) == 50
    (tmp_path / "model.safetensors.index.json").write_text("[")
    assert placement._file_bytes(folder) == 300
    (tmp_path / "model.safetensors").write_bytes(bytes(60))
    assert placement._file_bytes(folder) == 60


def test_parameters_in_files_that_are_not_loaded_are_not_counted(tmp_path: Path) -> None:
    for name in ("model-1.safetensors", "model-2.safetensors", "consolidated.safetensors"):
        save_file({name: torch.zeros(3, 5)}, tmp_path / name)
    assert sizes._counted(tmp_path) == 45
    shards = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert sizes._counted(tmp_path) == 30


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize(("capability", "dtype"), [((7, 5), torch.float16), ((8, 0), None), ((12, 0), None)])
def test_a_card_that_only_emulates_bfloat16_takes_float16(
    capability: tuple[int, int],
    dtype: torch.dtype | None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert place(LoadOptions(), torch.bfloat16).dtype == dtype
    assert ("float16 instead" in caplog.text) == (dtype is not None)
    assert place(LoadOptions(), torch.float32).dtype is None
    if dtype is not None:
        with pytest.raises(UsageError, match="cannot compute in it; use --dtype float16 or float32"):
            place(LoadOptions(dtype="bfloat16"), torch.float32)


@pytest.fixture
def old_card(card: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that only emulates bfloat16."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))


@pytest.fixture
def no_dtype(tmp_path: Path) -> Path:
    """A model of bfloat16 with a config that does not say so."""
    folder = save_tiny_model(tmp_path / "model")
    AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({key: config[key] for key in config if key != "dtype"}))
    return folder


@pytest.mark.usefixtures("old_card")
@pytest.mark.parametrize(
    ("dtypes", "dtype"),
    [
        ((torch.bfloat16, torch.float32), torch.float16),
        ((torch.int64, torch.bfloat16), torch.float16),
        ((torch.float32, torch.bfloat16), None),  # transformers makes all of it float32
        ((torch.float16,), None),
    ],
)
def test_where_the_config_has_no_dtype_that_of_the_first_weights_counts(
    dtypes: tuple[torch.dtype, ...], dtype: torch.dtype | None, tmp_path: Path
) -> None:
    names = reversed(list(enumerate(dtypes)))  # of the file; transformers goes by name
    save_file({f"weight {number}": torch.zeros(2, dtype=own) for number, own in names}, tmp_path / "model.safetensors")
    assert place(LoadOptions(), None, Source("own", str(tmp_path), "folder")).dtype == dtype


@pytest.mark.usefixtures("old_card")
@pytest.mark.parametrize("content", [None, b"", b"\x02\0\0\0\0\0\0\0[]"])
def test_weights_that_cannot_be_read_are_left_to_the_loading(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    assert place(LoadOptions(), None, Source("own", str(tmp_path), "folder")).dtype is None


@pytest.mark.usefixtures("old_card")
def test_of_weights_on_the_hub_the_header_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def metadata(name: str, revision: str | None = None) -> SimpleNamespace:
        asked.append((name, revision))
        files = {
            f"model-{number}.safetensors": SimpleNamespace(tensors={"weight": SimpleNamespace(dtype=own)})
            for number, own in ((2, "F32"), (1, "BF16"))
        }
        return SimpleNamespace(files_metadata=files)

    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_, **given: None)
    monkeypatch.setattr("huggingface_hub.get_safetensors_metadata", metadata)
    assert place(LoadOptions(revision="v2"), None, LARGE_SOURCE).dtype == torch.float16
    assert asked == [("large", "v2")]
    assert place(LoadOptions(dtype="float32"), None, LARGE_SOURCE).dtype == torch.float32
    monkeypatch.setattr("huggingface_hub.get_safetensors_metadata", lambda *_, **given: 1 / 0)
    assert place(LoadOptions(), None, LARGE_SOURCE).dtype is None
    assert len(asked) == 1, "asked only where it decides"


@pytest.mark.usefixtures("old_card")
def test_both_ways_of_loading_look_into_the_weights(no_dtype: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = []

    def stop(*arguments: object) -> None:
        placed.extend(argument for argument in arguments if isinstance(argument, Placement))
        raise CalprobeError("enough")

    monkeypatch.setattr("calprobe.models.load.load_network", stop)
    monkeypatch.setattr("calprobe.models.text_models.check_memory", stop)
    with pytest.raises(CalprobeError, match="enough"):
        load_model(str(no_dtype))
    with pytest.raises(CalprobeError, match="enough"):
        load_text_model(str(no_dtype), LoadOptions(), "AutoModel")
    assert [placement.dtype for placement in placed] == [torch.float16] * 2


@pytest.mark.usefixtures("card")
def test_of_two_unlike_cards_the_one_that_is_asked_for_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation=True: True)  # of the current one
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5) if device.index else (8, 0))
    assert place(LoadOptions(device="cuda:0"), torch.bfloat16).dtype is None
    assert place(LoadOptions(device="cuda:1"), torch.bfloat16).dtype == torch.float16


def test_a_device_map_is_not_checked() -> None:
    check_memory(LARGE, AutoModelForCausalLM, Placement(CPU, "auto", torch.float32), LARGE_SOURCE)


@pytest.mark.parametrize(("n_cards", "free_gib", "is_said"), [(4, 123, True), (4, 121, False), (1, 123, False)])
def test_a_device_map_over_cards_of_which_one_would_do_is_said_to_be_slower(
    n_cards: int, free_gib: int, is_said: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_cards)
    monkeypatch.setattr(placement, "free_bytes", lambda device: free_gib * 1024**3)
    caplog.set_level("INFO")
    spread = Placement(torch.device("cuda", 0), "auto", torch.float32)  # 97.6 GiB
    check_memory(LARGE, AutoModelForCausalLM, spread, LARGE_SOURCE)
    assert ("a process for each card is 4 times as fast (torchrun --standalone" in caplog.text) == is_said
    assert "--nproc-per-node 4 -m calprobe score" in caplog.text or not is_said


@pytest.mark.parametrize(
    ("precision", "dtype", "device", "major", "products"),
    [
        ("auto", "float32", "cuda:1", 8, "tf32x3"),
        ("auto", "float32", "cuda", 7, "ieee"),
        ("ieee", "float32", "cuda", 9, "ieee"),
        ("auto", "bfloat16", "cuda", 9, "ieee"),
        ("auto", "float32", "cpu", 9, "ieee"),
    ],
)
def test_float32_takes_tensor_cores_where_there_are_some(
    precision: Precision, dtype: str, device: str, major: int, products: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (major, 0))
    assert float32_products(precision, dtype, torch.device(device)) == products


@pytest.mark.parametrize(
    ("override", "precision", "products", "said"),
    [("0", "auto", "ieee", True), ("0", "ieee", "ieee", False), (None, "auto", "tf32x3", False)],
)
def test_where_tf32_is_forbidden_a_product_is_one_and_not_three(
    override: str | None,
    precision: Precision,
    products: str,
    said: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    if override is not None:
        monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", override)
    assert float32_products(precision, "float32", torch.device("cuda", 0)) == products
    assert ("NVIDIA_TF32_OVERRIDE=0" in caplog.text) == said


@pytest.mark.parametrize("precision", ["auto", "ieee"])
def test_tf32_that_nothing_can_set_back_is_refused(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    with pytest.raises(UsageError, match="NVIDIA_TF32_OVERRIDE=1 cuts all float32 products on cuda:0 to TF32"):
        float32_products(precision, "float32", torch.device("cuda", 0))
    assert float32_products(precision, "bfloat16", torch.device("cuda", 0)) == "ieee"
    assert float32_products(precision, "float32", CPU) == "ieee"


WHEEL = "sm_75 sm_80 sm_90a sm_120 compute_120"


@pytest.mark.parametrize(
    ("capability", "built_for", "runs"),
    [
        ((7, 5), WHEEL, True),
        ((8, 9), WHEEL, True),  # by the code for 8.0
        ((9, 0), WHEEL, True),
        ((12, 1), WHEEL, True),
        ((13, 0), WHEEL, True),  # the driver compiles compute_120
        ((7, 0), WHEEL, False),
        ((12, 0), "sm_80 sm_90", False),
        ((10, 0), "sm_80 sm_120 compute_120", False),
        ((10, 0), "sm_90 compute_90", True),
        ((10, 0), "sm_90a compute_90a", False),
        ((10, 3), "sm_100f", True),
        ((10, 3), "sm_100a", False),
        ((8, 0), "sm_86", False),
        ((12, 0), "", True),  # it does not say
        ((12, 0), "gfx90a", True),
    ],
)
def test_a_card_without_code_in_this_torch(
    capability: tuple[int, int], built_for: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    monkeypatch.setattr(torch.cuda, "get_arch_list", built_for.split)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert (without_code(torch.device("cuda", 0)) is None) == runs


@pytest.mark.usefixtures("card")
@pytest.mark.parametrize(
    ("capability", "name", "cuda", "built_for", "codes", "fix"),
    [
        ((7, 0), "Tesla V100", "13.0", WHEEL, "7.5, 8.0, 9.0, 12.0", "an older CUDA ({}/cu126), or use --device cpu"),
        ((12, 0), "RTX 5090", "12.4", "sm_50 sm_90", "5.0, 9.0", "a newer CUDA ({}/cu128), or use --device cpu"),
        ((11, 0), "Thor", "12.8", "sm_90 sm_120", "9.0, 12.0", "a newer CUDA ({}/cu130), or use --device cpu"),
    ],
)
def test_a_card_that_torch_is_not_built_for_is_refused_with_what_to_install(
    capability: tuple[int, int],
    name: str,
    cuda: str,
    built_for: str,
    codes: str,
    fix: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "get_arch_list", built_for.split)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    with pytest.raises(UsageError) as error:
        place(LoadOptions(), torch.float16)
    shown = ".".join(map(str, capability))
    command = "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl"
    assert str(error.value).splitlines() == [
        f"cuda:0 is a {name} (compute capability {shown}), and this torch (CUDA {cuda}) has code for {codes} only",
        f"install torch's build for {fix.format(command)}",
    ]


@pytest.mark.parametrize(("name", "kernels"), [("gfx942:sramecc+", True), ("gfx90a", True), ("gfx1100", False)])
def test_on_amd_float32_is_multiplied_as_it_is_and_rdna_is_said_to_have_no_kernels(
    name: str, kernels: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 4))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(gcnArchName=name))
    device = place(LoadOptions(), torch.float32).device
    assert float32_products("auto", "float32", device) == "ieee"
    assert compiles_for(device) == kernels
    said = "(gfx1100) is no AMD Instinct MI200 or MI300: torch computes without calprobe's kernels"
    assert [said in caplog.text, bool(caplog.records)] == [not kernels] * 2
