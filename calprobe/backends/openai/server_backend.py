"""The backend for servers: dialogues run side by side in an event loop of their own thread."""

from __future__ import annotations

import asyncio
import logging
import os
import queue
import re
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from calprobe.backends.openai.client import Client, NothingThereError, RequestFailedError
from calprobe.backends.openai.server import EXTRAS, OUT_OF_TOKENS, TEMPERATURE, Server, look_at, usual_budget
from calprobe.backends.openai.server_answers import Answer
from calprobe.backends.options import ADDRESS, KEY, BackendOptions, check_address
from calprobe.backends.protocol import Capabilities, Dialogue, FollowUp, Pending
from calprobe.backends.request import Request
from calprobe.errors import CalprobeError, UsageError
from calprobe.messages import without_secrets
from calprobe.runs.alternatives import Alternatives
from calprobe.runs.manifest_records import ModelRecord, ModelSize
from calprobe.runs.replies import LABEL_RULE_OF_WINDOW, Finish, LabelScores, Reply
from calprobe.runs.reply_json import whole_texts
from calprobe.runs.window import tokens_in_front, window_alternatives, window_label_scores

log = logging.getLogger(__name__)

_OPENAI = "https://api.openai.com/v1"
_VERSION = re.compile(r"/v\d\w*/?$")  # ends addresses of chat interfaces
_NO_SCHEMA = re.compile(r"response_format|json_schema|schema", re.I)
_NO_KEY = "none"  # what servers without keys get
_LOGPROBS = "of the tokens of the text, without the end of the turn"
_DONE = None

Turns = tuple[Mapping[str, str], ...]
T = TypeVar("T")


def open_openai(model: str, options: BackendOptions) -> OpenAIBackend:
    """The server at `options.base_url`, after it has answered a request for one token.

    The key is taken from OPENAI_API_KEY, or from the variable that the options name. Raises UsageError for a missing
    key or address, CalprobeError for a server that does not answer.
    """
    address = options.base_url or os.environ.get(ADDRESS) or _OPENAI
    key = options.key()
    if not key and address == _OPENAI and "authorization" not in map(str.lower, options.headers):
        raise UsageError(f"{_OPENAI} needs a key: set {KEY}, or give another server with --base-url")
    check_address(address)  # that of the environment, too
    log.info("waiting for %s", without_secrets(address))
    loop = _LoopThread()
    try:
        client, server = loop.call(_opened(address, key or _NO_KEY, model, options))
    except BaseException:
        loop.close()
        raise
    return OpenAIBackend(model, client, server, loop)


async def _opened(address: str, key: str, model: str, options: BackendOptions) -> tuple[Client, Server]:
    """The server at the address, or else at the same with /v1 behind it."""
    client = Client(address, key, options)
    try:
        return client, await look_at(client, model)
    except NothingThereError:
        if _VERSION.search(address):
            raise
    longer = f"{address.rstrip('/')}/v1"
    client = Client(longer, key, options)
    server = await look_at(client, model)
    log.info("%s has no chat interface; asked at %s", address, longer)
    return client, server


class OpenAIBackend:
    """A server with OpenAI's chat interface."""

    name = "openai"

    def __init__(self, model: str, client: Client, server: Server, loop: _LoopThread) -> None:
        self._client, self._server, self._loop = client, server, loop
        self.versions: Mapping[str, str] = server.versions
        revision = server.says if server.says and server.says != model else None
        self.model = ModelRecord(name=model, revision=revision, size=_size(client.options.parameters, server))
        self.capabilities = Capabilities(
            complete_softmax=False,
            top_logprobs=server.top_logprobs,
            token_ids=server.token_ids,
            continues=server.continuing is not None,
            raw=False,
            refused=server.parameters.refused,
            schemas=client.options.schema,
            samples_are_reproducible="each request has a seed; what it promises is up to the server",
        )

    def settings(self) -> Mapping[str, object]:
        """What decides replies: the server's software, its window, and what calprobe switches off."""
        server = self._server
        settings = {"address": self._client.address, "server": server.flavour, "top_logprobs": server.top_logprobs}
        settings["label_forms"] = LABEL_RULE_OF_WINDOW
        if server.top_logprobs:  # so that replies of earlier versions, whose end of turn counts, are not gone on with
            settings["logprobs"] = _LOGPROBS
        if server.parameters.budget != usual_budget(server.flavour):
            settings["budget"] = server.parameters.budget
        if TEMPERATURE in server.parameters.refused:
            settings["not_sent"] = TEMPERATURE
        options = self._client.options
        if options.reasoning_effort is not None:
            settings["reasoning_effort"] = options.reasoning_effort
        if options.extra_body:
            settings["extra_body"] = dict(options.extra_body)
        extras = {name: server.fields[name] for name in EXTRAS[server.flavour] if name != "return_token_ids"}
        return settings | extras | ({"weights": dict(server.details)} if server.details else {})

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        """The replies as they arrive. The iterable is read in the caller's thread, as dialogues end."""
        arrived: queue.SimpleQueue[Reply | BaseException | None] = queue.SimpleQueue()
        todo, running, fatal = iter(pending), 0, None
        try:
            while True:
                while fatal is None and running < self._client.options.concurrency:
                    entry = next(todo, None)
                    if entry is None:
                        break
                    self._loop.start(self._dialogue(entry, arrived), arrived)
                    running += 1
                if not running:
                    break
                event = arrived.get()
                if isinstance(event, Reply):
                    yield event
                    continue
                running -= 1
                if event is not _DONE and fatal is None:
                    fatal = event
                    self._client.stop(_stopping(event))
        finally:
            self._loop.cancel()
        if fatal is not None:
            raise fatal

    def close(self) -> None:
        """Close the connections and end the thread."""
        self._loop.call(self._client.close())
        self._loop.close()

    async def _dialogue(self, pending: Pending, arrived: queue.SimpleQueue[Any]) -> None:
        await _all(self._sample(pending, sample, arrived) for sample in pending.dialogue.samples)

    async def _sample(self, pending: Pending, sample: int, arrived: queue.SimpleQueue[Any]) -> None:
        dialogue = pending.dialogue
        turns = _turns(dialogue)
        first = pending.known.get((dialogue.stage, sample))
        if first is None:
            sent = _Sent(Request.first(dialogue, sample), turns)
            first = await self._reply(sent, opened=turns[-1]["role"] == "assistant")
            arrived.put(first)
        if first.finish == "error":
            return
        lacking = [follow_up for follow_up in dialogue.follow_ups if (follow_up.stage, sample) not in pending.known]
        await _all(self._follow_up(dialogue, follow_up, first, arrived) for follow_up in lacking)

    async def _follow_up(
        self, dialogue: Dialogue, follow_up: FollowUp, first: Reply, arrived: queue.SimpleQueue[Any]
    ) -> None:
        turns = _turns_behind(dialogue, follow_up, first.text)
        sent = _Sent(Request.behind(dialogue, first.sample, follow_up), turns)
        arrived.put(await self._reply(sent, opened=follow_up.continues))

    async def _reply(self, sent: _Sent, opened: bool) -> Reply:
        body = sent.body(self.model.name, self._server)
        if opened:
            body |= self._server.continuing or {}
        try:
            answer = await self._client.complete(body)
        except RequestFailedError as error:
            return self._failed(sent, str(error))
        if answer.model != self._server.says:
            raise CalprobeError(
                f"the server now answers with model {answer.model!r}, and began with {self._server.says!r}; replies of "
                "two models do not belong in one run"
            )
        if answer.finish == "content_filter":
            return sent.request.failed("the server's content filter took the reply")
        wants_window = sent.request.labels or (sent.request.alternatives and answer.text)
        if wants_window and not answer.steps and not answer.is_all_thought:
            return sent.request.failed("the server gave no log-probabilities with this reply")
        return whole_texts(sent.answered(answer, self._client.scrubbed))

    def _failed(self, sent: _Sent, reason: str) -> Reply:
        """The reply to a request that failed for good; CalprobeError for a failure that all others would share."""
        if OUT_OF_TOKENS.search(reason):  # the budget went into a thought
            return sent.cut()
        if sent.request.schema is not None and _NO_SCHEMA.search(reason):
            raise CalprobeError(
                f"{self._client.address}: the server takes no JSON schema: {reason}\n"
                "give --backend-option no-schema: the prompt then asks for JSON in words alone"
            )
        return sent.request.failed(reason)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as turns of a chat."""

    request: Request
    turns: Turns

    def body(self, model: str, server: Server) -> dict[str, Any]:
        """The JSON of the request."""
        decoding, wants_window = self.request.decoding, bool(self.request.labels or self.request.alternatives)
        body: dict[str, Any] = {
            "model": model,
            "messages": list(self.turns),
            server.parameters.budget: decoding.max_new_tokens,
            **server.fields,
        }
        if (schema := self.request.schema) is not None:
            form = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        has_own = TEMPERATURE in server.parameters.refused  # the model's own temperature and top-p hold
        if not has_own:
            body["temperature"] = decoding.temperature
        if decoding.temperature:
            body |= {"seed": self.request.seed} | ({} if has_own else {"top_p": decoding.top_p})
        if server.top_logprobs:
            body |= {"logprobs": True} | ({"top_logprobs": server.top_logprobs} if wants_window else {})
        return body

    def cut(self) -> Reply:
        """The reply of a thought that took all tokens."""
        return Reply(
            **self.request.identity(),
            text="",
            finish="length",
            prompt=self._prompt,
            reasoning_is_open=True,
            tokens_out=self.request.decoding.max_new_tokens,
            reasoning_tokens=self.request.decoding.max_new_tokens,
        )

    @property
    def _prompt(self) -> str:
        return "\n".join(f"{turn['role']}: {turn['content']}" for turn in self.turns)

    def answered(self, answer: Answer, scrubbed: Any) -> Reply:
        """The reply of a checked answer; `scrubbed` takes the key out of texts."""
        finish: Finish = "length" if answer.finish == "length" else "stop"
        steps = answer.text_steps
        thought = _thought_tokens(answer)
        return Reply(
            **self.request.identity(),
            text=scrubbed(answer.text),
            finish=finish,
            prompt=self._prompt,
            prompt_ids=answer.prompt_ids,
            token_ids=answer.text_ids,
            logprobs=None if steps is None else tuple(step.chosen.logprob for step in steps),
            reasoning=None if answer.reasoning is None else scrubbed(answer.reasoning),
            reasoning_is_open=answer.reasoning_is_open or answer.is_all_thought,
            label_scores=self._label_scores(answer),
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            thought_tokens=thought or 0,
            alternatives=self._alternatives(answer, thought),
            reasoning_tokens=answer.reasoning_tokens,
        )

    def _alternatives(self, answer: Answer, thought: int | None) -> Alternatives | None:
        steps = answer.text_steps
        if not self.request.alternatives or steps is None or thought is None:
            return None
        return window_alternatives(steps[thought:], self.request.alternatives)

    def _label_scores(self, answer: Answer) -> LabelScores | None:
        labels = self.request.labels
        return window_label_scores(labels, answer.steps, answer.text) if labels and answer.steps else None


def _thought_tokens(answer: Answer) -> int | None:
    """The tokens in front of the reply's text, where the server shows those of the thought; None: not known."""
    if answer.reasoning is None:
        return 0
    if answer.text_steps is None:
        return None
    tokens = [step.chosen.text for step in answer.text_steps]
    return len(tokens) if answer.reasoning_is_open else tokens_in_front(tokens, answer.text)


def _size(parameters: int | None, server: Server) -> ModelSize | None:
    """As it was typed, else as llama.cpp lists it among what it says of the model."""
    if parameters is not None:
        return ModelSize(parameters, "given")
    count = server.details.get("n_params")
    return ModelSize(count, "server") if isinstance(count, int) and count > 0 else None


async def _all(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all to their ends, and then raise the first error: a reply that is paid for is waited for."""
    ends = await asyncio.gather(*coroutines, return_exceptions=True)
    if errors := [end for end in ends if end is not None]:
        raise errors[0]


def _turns(dialogue: Dialogue) -> Turns:
    return tuple({"role": message.role, "content": message.text} for message in dialogue.messages)


def _turns_behind(dialogue: Dialogue, follow_up: FollowUp, reply: str) -> Turns:
    """The conversation with the reply, or with what stands in its place, and what follows it."""
    turns = _turns(dialogue)
    if turns[-1]["role"] == "assistant":  # the reply continued it
        opening = turns[-1]["content"]
        answer = reply if follow_up.instead is None else f" {follow_up.instead}"
        turns, reply = turns[:-1], opening + answer
    elif follow_up.instead is not None:
        reply = follow_up.instead
    if follow_up.continues:
        return (*turns, {"role": "assistant", "content": reply + follow_up.text})
    return (*turns, {"role": "assistant", "content": reply}, {"role": "user", "content": follow_up.text})


def _stopping(error: BaseException) -> CalprobeError:
    return error if isinstance(error, CalprobeError) else CalprobeError("stopped")


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calprobe-requests", daemon=True)
        self._thread.start()
        self._running: set[Future[None]] = set()

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def start(self, coroutine: Coroutine[Any, Any, None], ended: queue.SimpleQueue[Any]) -> None:
        """Run the coroutine; at its end, None or its error is put into the queue."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._running.add(future)

        def end(done: Future[None]) -> None:
            self._running.discard(done)
            ended.put(None if done.cancelled() else done.exception())

        future.add_done_callback(end)

    def cancel(self) -> None:
        """End what is still running."""
        for future in list(self._running):
            future.cancel()

    def close(self) -> None:
        """End the loop and its thread."""
        self.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self._loop.close()
