"""The backend `vllm`: vLLM in this process, on one card, several, or several machines through Ray.

The `vllm` package, which `pip install 'calprobe[vllm]'` brings, is imported when a model is opened.
"""

from calprobe.backends.vllm.vllm_backend import VllmBackend, open_vllm

__all__ = ["VllmBackend", "open_vllm"]
