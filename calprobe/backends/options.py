"""How a backend is reached and run. What it answers does not depend on these, except where the comment says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, without_secrets

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"  # in the environment
BackendName = Literal["transformers", "vllm", "openai"]
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a server takes for tokens, in dollars per million."""

    prompts: float
    replies: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """What so many tokens of prompts and of replies cost.

        >>> Prices(2.5, 10.0).of(1_000_000, 50_000)
        3.0
        """
        return (tokens_in * self.prompts + tokens_out * self.replies) / 1e6


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """Which engine answers, and with what care. Raises UsageError for a number out of range and an unknown word."""

    backend: BackendName = "transformers"
    base_url: str | None = None  # openai: the server's address, up to /v1; None: OPENAI_BASE_URL, else OpenAI's own
    concurrency: int = 8  # openai: dialogues in progress at once
    max_requests: int | None = None  # openai: requests of this session at most, repeated ones too; None: no limit
    price_in: float | None = None  # openai: dollars per million tokens of prompts; None: costs are not counted
    price_out: float | None = None  # openai: dollars per million tokens of replies, thoughts among them
    max_cost: float | None = None  # openai: dollars that this session may cost; needs both prices. None: no limit
    timeout_s: float = 120.0  # openai: of one request, from its start to its last byte
    attempts: int = 6  # openai: of one request, the first included
    requests_per_minute: int | None = None  # openai: at most; None: as the server allows
    top_logprobs: int | None = None  # openai, vllm: the window of label probabilities; None: as large as it can be
    parameters: int | None = (
        None  # openai, vllm: of the model, for the manifest; None: as the server says, else unknown
    )
    continues: bool | None = None  # openai: whether the server continues an assistant's turn; None: as it is known
    tensor_parallel: int = 1  # vllm: cards that share each layer
    pipeline_parallel: int = 1  # vllm: groups of cards that share the layers
    executor: Literal["auto", "mp", "ray"] = "auto"  # vllm: its processes on one machine, or Ray's on several
    max_model_len: int | None = None  # vllm: tokens of prompt and reply at most; None: the model's
    gpu_memory: float | None = None  # vllm: share of the cards' memory; None: vLLM's default
    eager: bool = False  # vllm: without compiled graphs

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            near = did_you_mean(str(self.backend), BACKENDS)
            raise UsageError(f"--backend {self.backend}: known are {', '.join(BACKENDS)}{near}")
        for name in ("concurrency", "attempts", "tensor_parallel", "pipeline_parallel"):
            self._check_count(name, getattr(self, name))
        for name in ("max_requests", "requests_per_minute", "max_model_len", "top_logprobs", "parameters"):
            if (value := getattr(self, name)) is not None:
                self._check_count(name, value)
        self._check_prices()
        if not self.timeout_s > 0:
            raise UsageError(f"--timeout must be above 0 seconds, got {self.timeout_s!r}")
        if self.base_url is not None and self.backend != "openai":
            raise UsageError(f"--base-url names a server, and --backend {self.backend} has none; give --backend openai")
        if self.base_url is not None:
            check_address(self.base_url)
            if not self.base_url.startswith(("http://", "https://")):
                raise UsageError(f"--base-url must begin with http:// or https://, got {self.base_url!r:.80}")

    @property
    def prices(self) -> Prices | None:
        """The two prices; None where none are given."""
        return None if self.price_in is None or self.price_out is None else Prices(self.price_in, self.price_out)

    def _check_prices(self) -> None:
        for name in ("price_in", "price_out", "max_cost"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise UsageError(f"--{name.replace('_', '-')} must be 0 or more dollars, got {value!r}")
        if (self.price_in is None) != (self.price_out is None):
            raise UsageError("--price-in and --price-out: give both, in dollars per million tokens")
        if self.max_cost is not None and self.prices is None:
            raise UsageError("--max-cost: give --price-in and --price-out, too, in dollars per million tokens")

    def _check_count(self, name: str, value: object) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be a whole number of at least 1, got {value!r}")


def check_address(address: str) -> None:
    """Raise UsageError for an address with credentials in it, which it does not repeat."""
    url = address if "://" in address else f"://{address}"
    if without_secrets(url) != url:
        masked = without_secrets(url).removeprefix("" if url == address else "://")
        raise UsageError(f"--base-url {masked}: credentials do not belong there; set {KEY}")
