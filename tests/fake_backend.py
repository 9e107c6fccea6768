"""A backend without a model: its replies are made from a hash of the request, so they are known beforehand."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from calprobe.backends.protocol import Capabilities, Decoding, Dialogue, Pending
from calprobe.runs import LabelScores, ModelRecord, Reply

ABLE = Capabilities(
    complete_softmax=True,
    top_logprobs=0,
    token_ids=True,
    continues=True,
    raw=True,
    samples_are_reproducible="replies are made from the seed",
)


@dataclass
class FakeBackend:
    """Answers everything at once, in the order of asking or by groups backwards.

    `failing` are stages that fail, each for a list of questions; a failure is given once for each entry.
    """

    name: str = "fake"
    versions: Mapping[str, str] = field(default_factory=lambda: {"fake": "1"})
    model: ModelRecord = field(default_factory=lambda: ModelRecord("toy", id="owner/toy", weights_fingerprint="w" * 64))
    capabilities: Capabilities = ABLE
    dtype: str = "float32"
    backwards: int = 1  # dialogues that are taken together, and answered from the last to the first
    pause_s: float = 0.0  # before each reply
    failing: Mapping[str, list[str]] = field(default_factory=dict)
    log: Path | None = None  # a line for each request that was answered
    asked: Counter[str] = field(default_factory=Counter)  # by key
    most: int | None = None  # replies until the backend breaks down
    closed: bool = False

    def settings(self) -> Mapping[str, object]:
        return {"dtype": self.dtype, "address": "nowhere", "forms": {"A": [1, 2]}}

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        for group in grouped(pending, self.backwards):
            for each in reversed(group):
                for reply in self._dialogue(each):
                    time.sleep(self.pause_s)
                    self.asked[reply.key] += 1
                    if self.most is not None and self.asked.total() > self.most:
                        from calprobe.errors import CalprobeError

                        raise CalprobeError("the fake server is gone")
                    if self.log is not None:
                        with self.log.open("a") as file:
                            file.write(f"{reply.key} {reply.finish}\n")
                    yield reply

    def _dialogue(self, pending: Pending) -> Iterator[Reply]:
        dialogue = pending.dialogue
        prompt = "\n".join(f"{message.role}: {message.text}" for message in dialogue.messages)
        for sample in dialogue.samples:
            known = pending.known.get((dialogue.stage, sample))
            first = known or self._reply(dialogue, dialogue.stage, sample, prompt, dialogue.labels, dialogue.decoding)
            if known is None:
                yield first
            if first.finish == "error":
                continue
            for follow in dialogue.follow_ups:
                if (follow.stage, sample) not in pending.known:
                    said = f"{prompt}\nassistant: {follow.instead or first.text}\n{follow.text}"
                    labels = follow.labels or tuple(forms[0] for forms in follow.closed)
                    made = self._reply(dialogue, follow.stage, sample, said, labels, follow.decoding)
                    yield replace(made, given=follow.instead)

    def _reply(
        self, dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
    ) -> Reply:
        made = reply_to(dialogue, stage, sample, prompt, labels, decoding)
        failures = self.failing.get(stage, [])
        if dialogue.question in failures:
            failures.remove(dialogue.question)
            return replace(
                made, text="", finish="error", error="the fake server said 500", label_scores=None, tokens_out=0
            )
        return made

    def close(self) -> None:
        self.closed = True


def reply_to(
    dialogue: Dialogue, stage: str, sample: int, prompt: str, labels: tuple[str, ...], decoding: Decoding
) -> Reply:
    """The one reply that this request has: its text is read off a hash of the prompt."""
    number = int(hashlib.sha256(f"{prompt} {stage} {sample} {decoding.seed}".encode()).hexdigest()[:8], 16)
    text = f"0.{number % 10}" if stage.startswith("stated") else (labels[number % len(labels)] if labels else "so")
    return Reply(
        key=dialogue.keys[stage, sample],
        set=dialogue.set,
        question=dialogue.question,
        variant=dialogue.variant,
        stage=stage,
        text=text,
        finish="stop",
        paraphrase=dialogue.paraphrase,
        sample=sample,
        prompt=prompt,
        prompt_ids=tuple(prompt.encode()[:20]),
        token_ids=(number % 1000,),
        logprobs=(-0.5,),
        label_scores=_scores(labels, number) if labels else None,
        tokens_in=len(prompt),
        tokens_out=1,
    )


def _scores(labels: tuple[str, ...], number: int) -> LabelScores:
    logprobs = np.full((1, len(labels)), -4.0)
    logprobs[0, number % len(labels)] = -0.2
    forms = tuple((i,) for i in range(len(labels)))
    return LabelScores(labels, forms, np.array([0]), logprobs, np.array([-np.inf]), np.array([0]))


def grouped(pending: Iterable[Pending], size: int) -> Iterator[list[Pending]]:
    group: list[Pending] = []
    for each in pending:
        group.append(each)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group
