"""Any server with OpenAI's chat interface: OpenAI's own, vLLM's, llama.cpp's, SGLang's, a gateway.

The `openai` package, which `pip install 'calprobe[openai]'` brings, is imported when a server is opened.
"""

from calprobe.backends.openai.server_backend import OpenAIBackend, open_openai

__all__ = ["OpenAIBackend", "open_openai"]
