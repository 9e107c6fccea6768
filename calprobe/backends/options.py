"""How a backend is reached and run. What it answers does not depend on these, except where the comment says so."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean, without_secrets
from calprobe.words import BackendName

KEY, ADDRESS = "OPENAI_API_KEY", "OPENAI_BASE_URL"  # in the environment
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)
# Fields of a request that calprobe's own options and stages set, or that change what a reply is.
_OWN_FIELDS = frozenset(
    {
        *("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "logprobs"),
        *("top_logprobs", "response_format", "reasoning_effort", "n", "stream"),
    }
)
_SECRET = re.compile(r"(?i)(api|access|secret|private)[-_]?key|authorization|password|secret|token$|^key$")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)\}|(?P<name>[A-Za-z_]\w*))")


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
    api_key_env: str | None = None  # openai: the environment variable that has the key; None: OPENAI_API_KEY
    # openai: further headers of each request; $NAME in a value is an environment variable. Values are kept nowhere.
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict)  # openai: further fields of each request; recorded
    reasoning_effort: str | None = None  # openai: how long a model thinks: low, medium, high, ..; None: the model's own
    schema: bool = True  # openai: replies that are to be JSON are held to its schema; False: asked for in words alone
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
        self._check_server()
        if self.base_url is not None and self.backend != "openai":
            raise UsageError(f"--base-url names a server, and --backend {self.backend} has none; give --backend openai")
        if self.base_url is not None:
            check_address(self.base_url)
            if not self.base_url.startswith(("http://", "https://")):
                raise UsageError(f"--base-url must begin with http:// or https://, got {self.base_url!r:.80}")

    def _check_server(self) -> None:
        """Raise UsageError for what no request can have; it repeats no value that may be a secret."""
        for name in self.headers:
            if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
                raise UsageError("--header: give NAME: VALUE, with a name of letters, digits and dashes")
        if self.api_key_env is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            raise UsageError("--api-key-env takes the name of an environment variable, not the key itself")
        for name in self.extra_body:
            if name in _OWN_FIELDS:
                raise UsageError(f"--extra-body {name}: calprobe sets it; see `calprobe ask --help` for its option")
        if secret := next((name for name in _keys(self.extra_body) if _SECRET.search(name)), None):
            raise UsageError(f"--extra-body {secret}: it is kept in the manifest; give secrets by --header")
        if self.reasoning_effort is not None and not re.fullmatch(r"[a-z]{1,20}", self.reasoning_effort):
            raise UsageError(f"--reasoning-effort must be a word, such as low; got {self.reasoning_effort!r:.80}")

    def key(self) -> str:
        """The key of the environment, empty if there is none; UsageError if `api_key_env` names no variable."""
        if self.api_key_env is None:
            return os.environ.get(KEY, "")
        if not (key := os.environ.get(self.api_key_env, "")):
            # A name in capitals is none of a key that was typed in its place.
            name = self.api_key_env if self.api_key_env.isupper() else "NAME"
            raise UsageError(f"--api-key-env {name}: there is no such environment variable; set it")
        return key

    def sent_headers(self) -> dict[str, str]:
        """The headers with the values of environment variables; UsageError for a variable that is not set."""
        return {name: _VARIABLE.sub(partial(_value_of, name), text) for name, text in self.headers.items()}

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


def _value_of(header: str, match: re.Match[str]) -> str:
    name = match["braced"] or match["name"]
    if name not in os.environ:
        raise UsageError(f"--header {header}: there is no environment variable ${name}; set it")
    return os.environ[name]


def _keys(value: Any) -> Iterator[str]:
    """The names of all fields, those within fields too."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _keys(inner)
