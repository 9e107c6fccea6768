"""Several samples of each prompt: calprobe, `generate(num_return_sequences=n)` and llama.cpp's server."""

from __future__ import annotations

import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from harness.job import Answer

from askers.contestants import Transformers
from askers.job import SampleJob

SERVER_SLOTS = 8  # requests in progress at the server


class Drawn(NamedTuple):
    """The samples of one prompt."""

    tokens: list[list[int]]  # of each sample, without an end token
    ended: list[bool]  # whether an end token came
    logprobs: list[list[float]]  # of the tokens, as the contestant gives them; empty: it gives none
    texts: list[str]


class Sampler:
    """A loaded contestant."""

    def answer(self, items: Sequence[str], size: int | None, seed: int) -> Answer:
        """See `Loaded`; `size` is prompts at once. Counts new tokens, and tokens of prompts that were forwarded."""
        before = self.prefill()
        drawn = self.draw(items, size, self.job.samples, seed)
        new = sum(len(tokens) for own in drawn for tokens in own.tokens)
        counts = {"new_tokens": new, "prefill": self.prefill() - before}
        return Answer(facts={"drawn": [own._asdict() for own in drawn]}, counts=counts)

    job: SampleJob

    def draw(self, prompts: Sequence[str], at_once: int | None, samples: int, seed: int) -> list[Drawn]:
        """Samples of all prompts; greedy where `samples` is 0: one each."""
        raise NotImplementedError

    def prefill(self) -> int:
        """Tokens of prompts forwarded so far, padding among them."""
        raise NotImplementedError


def greedy_texts(sampler: Sampler, job: SampleJob) -> dict[str, Any]:
    """One greedy reply to each prompt, to be compared with those of `generate` one prompt at a time."""
    at_once = min(job.batch_sizes, default=None)
    return {"texts": [own.texts[0] for own in sampler.draw(job.prompts, at_once, 0, seed=0)]}


@dataclass
class CalprobeSampler(Sampler):
    """The backend `transformers`, at its defaults."""

    job: SampleJob

    def __post_init__(self) -> None:
        from calprobe.backends.local import open_backend
        from calprobe.models import LoadOptions

        backend = open_backend(self.job.folder, LoadOptions(dtype="float32", device="cpu", quiet=True))
        self._open(backend)
        self._forwarded = self._of_replies = 0
        engine: Any = self._backend._runner._engine
        forward = engine._forward

        def counted(cache: Any, first_row: int, kept: Sequence[int], new: Sequence[Sequence[int]], *others: Any) -> Any:
            self._forwarded += sum(map(len, new))
            return forward(cache, first_row, kept, new, *others)

        engine._forward = counted

    def _open(self, backend: Any) -> None:
        self._backend: Any = backend

    def draw(self, prompts: Sequence[str], at_once: int | None, samples: int, seed: int) -> list[Drawn]:
        """See `Sampler`."""
        from calprobe.backends import Decoding, Dialogue, Message, Pending

        decoding = Decoding(self.job.max_new_tokens, self.job.temperature if samples else 0.0, 1.0, seed)
        dialogues = [
            Dialogue("bench", str(n), "v", (Message("user", text),), decoding, samples=tuple(range(samples or 1)))
            for n, text in enumerate(prompts)
        ]
        found: dict[int, dict[int, Any]] = {n: {} for n in range(len(prompts))}
        for reply in self._backend.replies(map(Pending, dialogues)):
            found[int(reply.question)][reply.sample] = reply
        self._of_replies += sum(_forwarded_of(reply) for own in found.values() for reply in own.values())
        return [_drawn([own[sample] for sample in sorted(own)]) for own in found.values()]

    def prefill(self) -> int:
        """See `Sampler`: all that was forwarded minus the replies' own tokens."""
        return self._forwarded - self._of_replies


class ServerSampler(CalprobeSampler):
    """llama.cpp's server, asked by the backend `openai`; it computes with the file's own 4-bit weights."""

    def __post_init__(self) -> None:
        import xllamacpp  # type: ignore[import-untyped]

        from calprobe.backends import BackendOptions
        from calprobe.backends.openai import open_openai

        parameters: Any = xllamacpp.CommonParams()
        parameters.model.path = self.job.weights
        parameters.n_ctx, parameters.n_parallel = 1024 * SERVER_SLOTS, SERVER_SLOTS
        parameters.endpoint_metrics = True
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self.job.threads
        self._server: Any = xllamacpp.Server(parameters)
        address = self._server.listening_address
        self._open(open_openai("bench", BackendOptions("openai", base_url=f"{address}/v1", concurrency=SERVER_SLOTS)))
        self._of_replies = 0
        self._metrics = f"{address}/metrics"

    def prefill(self) -> int:
        """See `Sampler`: as the server counts what it has processed of prompts."""
        with urllib.request.urlopen(self._metrics, timeout=10) as answer:
            lines: list[str] = answer.read().decode().splitlines()
        return int(float(next(line for line in lines if line.startswith("llamacpp:prompt_tokens_total")).split()[1]))


def _forwarded_of(reply: Any) -> int:
    """Tokens of a reply that were forwarded: the one that used up the budget is chosen alone."""
    length: int = len(reply.token_ids)
    return length - int(reply.finish == "length")


def _drawn(replies: Sequence[Any]) -> Drawn:
    if faults := [reply.error for reply in replies if reply.finish == "error"]:
        raise RuntimeError(faults[0])
    return Drawn(
        [list(reply.token_ids) for reply in replies],
        [reply.finish == "stop" for reply in replies],
        [list(reply.logprobs or ()) for reply in replies],
        [reply.text for reply in replies],
    )


class GenerateSampler(Sampler, Transformers):
    """`generate(do_sample=True, num_return_sequences=n)` on batches of prompts, longest first, padded on the left."""

    def __init__(self, job: SampleJob) -> None:
        Transformers.__init__(self, job)
        self.job: SampleJob = job
        self._prefill = 0
        self.tokenizer.padding_side = "left"
        self.network.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _: Any, given: Any, named: dict[str, Any]) -> None:
        ids: torch.Tensor = named["input_ids"] if "input_ids" in named else given[0]
        if ids.shape[1] > 1:
            self._prefill += ids.numel()

    def draw(self, prompts: Sequence[str], at_once: int | None, samples: int, seed: int) -> list[Drawn]:
        """See `Sampler`."""
        torch.manual_seed(seed)
        order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
        size = at_once or 1
        found: dict[int, Drawn] = {}
        for start in range(0, len(order), size):
            places = order[start : start + size]
            found |= zip(places, self._batch([prompts[place] for place in places], samples), strict=True)
        return [found[place] for place in range(len(prompts))]

    @torch.inference_mode()
    def _batch(self, prompts: Sequence[str], samples: int) -> list[Drawn]:
        from transformers import GenerationConfig

        rendered = [self.rendered(prompt) for prompt in prompts]
        inputs = self.tokenizer(rendered, add_special_tokens=False, padding=True, return_tensors="pt")
        chance = {"do_sample": True, "temperature": self.job.temperature, "top_k": 0, "top_p": 1.0}
        config = GenerationConfig(
            max_new_tokens=self.job.max_new_tokens,
            num_return_sequences=samples or 1,
            eos_token_id=self.tokenizer.eos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
            **(chance if samples else {"do_sample": False}),
        )
        output = self.network.generate(**inputs, generation_config=config)
        said = output[:, inputs["input_ids"].shape[1] :].reshape(len(prompts), samples or 1, -1).tolist()
        return [self._drawn(rows) for rows in said]

    def _drawn(self, rows: list[list[int]]) -> Drawn:
        end = self.tokenizer.eos_token_id
        tokens = [row[: row.index(end)] if end in row else row for row in rows]
        return Drawn(tokens, [end in row for row in rows], [], self.tokenizer.batch_decode(tokens))

    def prefill(self) -> int:
        """See `Sampler`."""
        return self._prefill
