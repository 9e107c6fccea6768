"""The backend `transformers`: a causal model in this process. torch loads with it."""

from calprobe.backends.local.local_backend import TransformersBackend, open_backend

__all__ = ["TransformersBackend", "open_backend"]
