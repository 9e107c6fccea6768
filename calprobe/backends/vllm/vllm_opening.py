"""Opens a model in vLLM: alias, hub id, folder or GGUF file, as `calprobe.load_model` takes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from calprobe.backends.options import BackendOptions
from calprobe.errors import CalprobeError
from calprobe.messages import shown
from calprobe.runs.manifest_records import ModelRecord, ModelSize

if TYPE_CHECKING:
    from calprobe.models import LoadOptions

WINDOW = 200  # most probable tokens that are shown; arXiv 2605.02038 has as many


@dataclass(frozen=True, slots=True)
class Opened:
    """vLLM with a model, and what is known of the model."""

    engine: Any  # vllm.LLM
    tokenizer: Any
    model: ModelRecord
    dtype: str
    window: int
    max_tokens: int  # of prompt and reply
    versions: dict[str, str]


def opened(name: str, options: BackendOptions, load_options: LoadOptions | None) -> Opened:
    """vLLM with the model that `name` stands for. Raises CalprobeError for what vLLM cannot load."""
    import torch
    import vllm

    from calprobe.models.fingerprint import tokenizer_fingerprint
    from calprobe.models.gguf import dequantised
    from calprobe.models.source import resolve

    source = resolve(name)
    location, revision, note = source.location, None, source.note
    if source.form == "gguf":
        twin = dequantised(Path(location))
        location, revision = str(twin.folder), twin.sha256
        note = note or f"weights rounded to {twin.file_type} (GGUF)"
    window = options.top_logprobs or WINDOW
    try:
        engine = vllm.LLM(**_arguments(location, window, options, load_options))
    except (ValueError, RuntimeError, OSError) as error:
        message = str(error).strip() or type(error).__name__  # some say nothing
        raise CalprobeError(f"{name}: vLLM cannot load it: {message.splitlines()[0][:300]}") from error
    _wake_when_dead(engine.llm_engine.engine_core)
    config = engine.llm_engine.model_config
    hf_config, tokenizer = config.hf_config, engine.get_tokenizer()
    record = ModelRecord(
        name=shown(name),
        id=shown(source.location),
        revision=revision or getattr(hf_config, "_commit_hash", None),
        kind="causal",
        architecture=(getattr(hf_config, "architectures", None) or [None])[0],
        weights_fingerprint=_fingerprint(Path(location)) if source.form == "folder" else None,
        tokenizer_fingerprint=tokenizer_fingerprint(tokenizer),
        note=note,
        size=None if options.parameters is None else ModelSize(options.parameters, "given"),
    )
    dtype = str(config.dtype).removeprefix("torch.")
    # Not those of the installed packages: vLLM for a CPU is a package of another name.
    versions = {"vllm": vllm.__version__, "torch": torch.__version__}
    return Opened(engine, tokenizer, record, dtype, window, int(config.max_model_len), versions)


def _arguments(location: str, window: int, options: BackendOptions, load_options: LoadOptions | None) -> dict[str, Any]:
    """What vLLM is told. Its own choice stands where an option is not given."""
    arguments: dict[str, Any] = {
        "model": location,
        "tensor_parallel_size": options.tensor_parallel,
        "pipeline_parallel_size": options.pipeline_parallel,
        "distributed_executor_backend": None if options.executor == "auto" else options.executor,
        "enable_prefix_caching": True,  # follow-ups share the conversation, and examples are shared by all
        "max_logprobs": window,
        "enforce_eager": options.eager,
        "generation_config": "vllm",  # not the repository's sampling settings
        "seed": 0,
        "max_model_len": options.max_model_len,
        "gpu_memory_utilization": options.gpu_memory,
    }
    if load_options is not None:
        arguments |= {
            "dtype": load_options.dtype,
            "revision": load_options.revision,
            "trust_remote_code": load_options.trust_remote_code,
        }
    return {name: value for name, value in arguments.items() if value is not None}


def _wake_when_dead(core: Any) -> None:
    """Let whoever waits for an output get an error when the engine's process is gone, killed for memory perhaps.

    vLLM's thread that fills the queue of outputs then ends, and would leave them waiting for ever.
    """
    from vllm.v1.engine.exceptions import EngineDeadError

    thread, outputs = getattr(core, "output_queue_thread", None), getattr(core, "outputs_queue", None)
    if thread is None or outputs is None:  # the engine is in this process
        return

    def wake() -> None:
        thread.join()
        outputs.put(EngineDeadError())

    Thread(target=wake, daemon=True).start()


def _fingerprint(folder: Path) -> str | None:
    """SHA-256 (hex) of the weight files in a folder; None where there are none that calprobe knows.

    Of pickles only where there are no safetensors, which vLLM prefers.
    """
    import hashlib

    from calprobe.models.libraries import PICKLES

    files = sorted(folder.glob("*.safetensors"))
    files = files or sorted(file for file in folder.iterdir() if file.suffix in PICKLES)
    hasher = hashlib.sha256()
    for path in files:
        hasher.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            hasher.update(hashlib.file_digest(file, "sha256").digest())
    return hasher.hexdigest() if files else None
