"""Dialogues through vLLM, which always has more requests than it writes at once: no reply waits for a longer one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from calprobe.backends.options import BackendOptions
from calprobe.backends.protocol import Capabilities, Pending
from calprobe.backends.request import Request, why_nan
from calprobe.backends.vllm.vllm_opening import Opened, opened
from calprobe.errors import CalprobeError
from calprobe.models.libraries import first_line
from calprobe.runs.alternatives import Alternatives
from calprobe.runs.manifest_records import ModelRecord
from calprobe.runs.replies import LABEL_RULE_OF_WINDOW, TOO_LONG, Finish, Reply
from calprobe.runs.window import Step, WindowToken, window_alternatives, window_label_scores

if TYPE_CHECKING:
    from calprobe.backends.local.chat import Prompt, PromptWriter
    from calprobe.models import LoadedModel, LoadOptions

# vLLM has twice as many requests as it writes at once: so the next ones wait there already, even if all end in one
# step. A kill loses them.
_TIMES_WRITTEN = 2

Ids = tuple[int, ...]


def open_vllm(model: str, options: BackendOptions, load_options: LoadOptions | None = None) -> VllmBackend:
    """Load the model that `model` stands for into vLLM.

    Raises ModuleNotFoundError without the package, CalprobeError for what vLLM cannot load.
    """
    return VllmBackend(opened(model, options, load_options), options)


@dataclass(frozen=True, slots=True)
class _Tokenizer:
    """What prompts need of a model."""

    name: str
    tokenizer: Any
    start_token_id: int


class VllmBackend:
    """A model in vLLM. See `calprobe.backends.protocol.Backend`."""

    name = "vllm"

    def __init__(self, found: Opened, options: BackendOptions) -> None:
        from calprobe.backends.local.chat import PromptWriter
        from calprobe.models.tokenizers import start_token_of

        self._found, self._options = found, options
        start_token_id, _ = start_token_of(found.tokenizer, "causal", found.model.name)
        tokenizer = _Tokenizer(found.model.name, found.tokenizer, start_token_id)
        self.writer: PromptWriter = PromptWriter(cast("LoadedModel", tokenizer))
        self._ends = _end_tokens(found.tokenizer, self.writer)
        scheduler = found.engine.llm_engine.vllm_config.scheduler_config
        self._at_once: int = _TIMES_WRITTEN * scheduler.max_num_seqs
        self._names = count()
        self._in_progress = dict[str, _Sent]()  # of the replies that are read, by the requests' names
        self.model: ModelRecord = found.model
        self.versions: Mapping[str, str] = found.versions
        self.capabilities = Capabilities(
            complete_softmax=False,
            top_logprobs=found.window,
            token_ids=True,
            continues=True,
            raw=True,
            samples_are_reproducible="each request has a seed; batches change the last bits of logits",
            stops_at_once=True,
            room=found.max_tokens,
        )

    def settings(self) -> Mapping[str, object]:
        """What decides replies beside model, versions and dialogues."""
        from calprobe.backends.local.chat import template_hash, thinking_mode

        writer, options = self.writer, self._options
        return {
            "dtype": self._found.dtype,
            "top_logprobs": self._found.window,
            "label_forms": LABEL_RULE_OF_WINDOW,
            "tensor_parallel": options.tensor_parallel,
            "pipeline_parallel": options.pipeline_parallel,
            "chat_template": template_hash(writer.template),
            "thinking": thinking_mode(writer.variables, writer.markers),
            "end_tokens": sorted(self._ends),
        }

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        """Each reply in the step that finishes it; its follow-ups are sent at once, then further dialogues.

        Raises CalprobeError for an engine that is dead.
        """
        from vllm.v1.engine.exceptions import EngineDeadError

        left, in_progress = self._in_progress, dict[str, _Sent]()
        self._in_progress = in_progress
        try:
            self._give_up(left)  # of replies that nobody read to their end
            yield from self._answered(iter(pending), in_progress)
        except EngineDeadError as error:
            raise CalprobeError(f"{self.model.name}: vLLM's engine is dead, it says above why") from error
        finally:
            with suppress(EngineDeadError):  # as behind Ctrl-C, which its process gets, too
                self._give_up(in_progress)

    def close(self) -> None:
        """Let go of the engine, its processes and its memory."""
        engine = getattr(self._found.engine, "llm_engine", None)
        for owner in (getattr(engine, "engine_core", None), engine):
            end = getattr(owner, "shutdown", None)
            if callable(end):
                end()
                return

    def _answered(self, unread: Iterator[Pending], in_progress: dict[str, _Sent]) -> Iterator[Reply]:
        while True:
            while len(in_progress) < self._at_once and (entry := next(unread, None)) is not None:
                yield from self._send(self._lacking(entry), in_progress)
            if not in_progress:
                return
            for output in self._found.engine.llm_engine.step():  # those that it has finished
                sent = in_progress.pop(output.request_id)
                reply, ids = self._reply(sent, output.outputs[0])
                yield reply
                if sent.opens is not None:
                    follow_ups = self._follow_ups(sent.opens, sent.request.sample, reply, ids)
                    yield from self._send(follow_ups, in_progress)

    def _give_up(self, in_progress: dict[str, _Sent]) -> None:
        self._found.engine.llm_engine.abort_request(list(in_progress))
        in_progress.clear()

    def _lacking(self, pending: Pending) -> Iterator[_Sent]:
        """The first replies that are not known, and the follow-ups of those that are."""
        dialogue = pending.dialogue
        opening = _Opening(pending, self.writer.opening(dialogue))
        for sample in dialogue.samples:
            known = pending.known.get((dialogue.stage, sample))
            if known is None:
                yield _Sent(Request.first(dialogue, sample), opening.prompt.text, opening.prompt.ids, opening)
            else:
                yield from self._follow_ups(opening, sample, known, (*opening.prompt.ids, *(known.token_ids or ())))

    def _follow_ups(self, opening: _Opening, sample: int, reply: Reply, ids: Ids) -> Iterator[_Sent]:
        """What is asked behind a reply; its tokens are the conversation so far, never its text tokenised again."""
        dialogue, prompt = opening.pending.dialogue, opening.prompt
        if reply.finish == "error" or not dialogue.follow_ups:
            return
        conversation = self.writer.tokens.decoded(ids, with_special=True)
        for follow_up in dialogue.follow_ups:
            if (follow_up.stage, sample) not in opening.pending.known:
                behind = self.writer.follow_up(dialogue, follow_up)
                so_far, text = ids, conversation
                if follow_up.instead is not None:
                    instead = self.writer.replaced(dialogue, follow_up.instead)
                    so_far, text = (*prompt.ids, *instead.ids), prompt.text + instead.text
                request = Request.behind(dialogue, sample, follow_up)
                yield _Sent(request, text + behind.text, (*so_far, *behind.ids))

    def _send(self, requests: Iterable[_Sent], in_progress: dict[str, _Sent]) -> Iterator[Reply]:
        """Hand requests to vLLM, by names of their own; the replies are those of requests that it does not take."""
        from vllm import SamplingParams

        add, refusals = self._found.engine.llm_engine.add_request, _refusals()
        for sent in requests:
            if refusal := self._why_not(sent):
                yield sent.failed(refusal)
                continue
            # As vLLM's renderer gives them: raw prompts are deprecated.
            tokens = {"type": "token", "prompt_token_ids": list(sent.ids)}
            name = str(next(self._names))
            in_progress[name] = sent  # before a signal can come between
            try:
                add(name, tokens, SamplingParams(**self._sampling(sent)))
            except refusals as error:
                del in_progress[name]
                yield sent.failed(f"vLLM: {first_line(error)}")

    def _sampling(self, sent: _Sent) -> dict[str, Any]:
        from vllm.sampling_params import RequestOutputKind

        decoding = sent.request.decoding
        budget = min(decoding.max_new_tokens, self._found.max_tokens - len(sent.ids))
        sampling: dict[str, Any] = {"max_tokens": budget, "temperature": decoding.temperature}
        if decoding.temperature:
            sampling |= {"top_p": decoding.top_p, "seed": sent.request.seed}
        # 0: the chosen token's alone.
        window = self._found.window if sent.request.labels or sent.request.alternatives else 0
        ends, kind = sorted(self._ends), RequestOutputKind.FINAL_ONLY
        return sampling | {"logprobs": window, "stop_token_ids": ends, "detokenize": True, "output_kind": kind}

    def _why_not(self, sent: _Sent) -> str:
        room = self._found.max_tokens - len(sent.ids)
        takes = f"{self.model.name} takes {self._found.max_tokens:,} with the reply"
        return "" if room > 0 else f"{TOO_LONG}: it has {len(sent.ids):,} tokens, and {takes}"

    def _reply(self, sent: _Sent, output: Any) -> tuple[Reply, Ids]:
        from calprobe.runs.thoughts import split_thought

        if output.finish_reason not in ("stop", "length"):
            return sent.failed(f"vLLM ended it: {output.finish_reason}"), sent.ids
        all_ids: Ids = tuple(output.token_ids)
        steps = _steps(all_ids, output.logprobs or ())
        if any(math.isnan(step.chosen.logprob) for step in steps):
            return sent.failed(why_nan(self._found.dtype)), sent.ids
        ids = all_ids[:-1] if all_ids and all_ids[-1] in self._ends else all_ids
        finish: Finish = "length" if output.finish_reason == "length" else "stop"
        tokens, markers = self.writer.tokens, self.writer.markers
        text, reasoning, is_open, thought = tokens.decoded(ids), None, False, 0
        if markers is not None:
            split = split_thought(tokens.decoded(ids, with_special=True), markers, self.writer.opens_thought(sent.text))
            if split.reasoning is not None:
                text, reasoning, is_open = tokens.unmarked(split.text), split.reasoning, split.is_open
                thought = tokens.thought(ids, markers.end, is_open)
        scores = window_label_scores(sent.request.labels, steps, text) if sent.request.labels and steps else None
        reply = Reply(
            **sent.request.identity(),
            text=text,
            finish=finish,
            prompt=sent.text,
            prompt_ids=sent.ids,
            token_ids=ids,
            logprobs=tuple(step.chosen.logprob for step in steps[: len(ids)]) or None,
            reasoning=reasoning,
            reasoning_is_open=is_open,
            label_scores=scores,
            tokens_in=len(sent.ids),
            tokens_out=len(all_ids),
            thought_tokens=thought,
            alternatives=self._alternatives(steps[thought : len(ids)], sent.request.alternatives) if steps else None,
        )
        return reply, (*sent.ids, *ids)

    def _alternatives(self, steps: Sequence[Step], count: int) -> Alternatives | None:
        """With texts as transformers has them: vLLM spells special tokens out, and drops parts of characters."""
        if not count:
            return None
        alternatives = window_alternatives(steps, count)
        return alternatives.with_texts(map(self.writer.tokens.alone, alternatives.ids))


@dataclass(frozen=True, slots=True)
class _Opening:
    """A dialogue with the prompt of its first replies."""

    pending: Pending
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as the tokens in front of its reply."""

    request: Request
    text: str
    ids: Ids
    opens: _Opening | None = None  # of a first reply, the dialogue whose follow-ups come behind it

    def failed(self, reason: str) -> Reply:
        """A request that cannot be answered."""
        return self.request.failed(reason, prompt=self.text, prompt_ids=self.ids, tokens_in=len(self.ids))


def _steps(ids: Ids, logprobs: Sequence[Mapping[int, Any]]) -> list[Step]:
    """Each position's chosen token and window. vLLM adds the chosen token to a window that lacks it."""
    steps = []
    for chosen, entries in zip(ids, logprobs, strict=False):
        window = [_token(number, entry) for number, entry in entries.items()]
        steps.append(Step(_token(chosen, entries[chosen]), window))
    return steps


def _token(number: int, entry: Any) -> WindowToken:
    return WindowToken(entry.decoded_token or "", min(float(entry.logprob), 0.0), number)


def _end_tokens(tokenizer: Any, writer: PromptWriter) -> frozenset[int]:
    """Tokens that end a reply: the tokenizer's, and the one that ends the template's turns."""
    return frozenset(number for number in (tokenizer.eos_token_id, writer.turn_end()) if number is not None)


def _refusals() -> tuple[type[Exception], ...]:
    """What vLLM raises of a request that it does not take."""
    try:
        from vllm.exceptions import VLLMClientError
    except ImportError:  # it is an error of its own since 2026
        return (ValueError,)
    return ValueError, VLLMClientError
