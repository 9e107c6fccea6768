"""The backend `transformers`: a model in this process, exact label probabilities, replies by its own seeds."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from itertools import islice
from typing import Any

from calprobe.backends.local.chat import PromptWriter, template_hash, thinking_mode
from calprobe.backends.local.check import RightEngine, ragged_engine
from calprobe.backends.local.conversation import Behind, Conversation
from calprobe.backends.local.label_tokens import LOCAL_LABEL_RULE, LabelVocabulary
from calprobe.backends.local.limits import Limits
from calprobe.backends.local.plain import PlainRunner
from calprobe.backends.local.ragged import RaggedRunner
from calprobe.backends.local.turns import Turns
from calprobe.backends.local.writing_time import Writer, faster_in_vllm
from calprobe.backends.protocol import Capabilities, Dialogue, FollowUp, Pending
from calprobe.errors import CalprobeError, UsageError
from calprobe.models import LoadedModel, LoadOptions, load_model
from calprobe.models.torch_settings import tensors_on_host
from calprobe.runs.manifest_records import ModelRecord
from calprobe.runs.replies import Reply
from calprobe.scoring.budget import vocabulary_size
from calprobe.scoring.path_choice import what_failed
from calprobe.scoring.record import head_by, model_record
from calprobe.words import ModelKind

log = logging.getLogger(__name__)

_SAMPLES = (
    "a sample's tokens depend on seed, set, question, variant, paraphrase, stage and sample number; batches, order and"
    " other questions change its logits in the last bits only"
)
_PLAIN_WINDOW = 64  # dialogues read ahead where they are asked one by one


def open_backend(name: str, options: LoadOptions | None = None) -> TransformersBackend:
    """Load the model that `name` stands for and make it ready to answer; names and errors as `load_model`."""
    log.info("loading %s", name)
    return TransformersBackend(load_model(name, options or LoadOptions(), lambda kind: _refuse_masked(name, kind)))


def _refuse_masked(name: str, kind: ModelKind) -> None:
    if kind != "causal":
        raise UsageError(f"{name} is a masked model, which cannot answer; give a causal one")


class TransformersBackend:
    """A causal model of transformers, ready to answer. See `calprobe.backends.protocol.Backend`."""

    name = "transformers"
    capabilities = Capabilities(
        complete_softmax=True,
        top_logprobs=0,
        token_ids=True,
        continues=True,
        raw=True,
        samples_are_reproducible=_SAMPLES,
        stops_at_once=True,
        ends_thoughts=True,
    )

    @tensors_on_host()
    def __init__(self, model: LoadedModel) -> None:
        """Raises UsageError for a masked model, CalprobeError for one whose end token is not known."""
        _refuse_masked(model.name, model.kind)
        self.model: ModelRecord = model_record(model)
        self.versions: Mapping[str, str] = {name: metadata.version(name) for name in ("transformers", "torch")}
        self._loaded = model
        self.writer = PromptWriter(model)
        ends = end_tokens(model, self.writer)
        ragged = ragged_engine(model)
        self._vocabulary = LabelVocabulary(self.writer.tokens, model.tokenizer, vocabulary_size(model), ends)
        self._turns = Turns(model, self.writer, self._vocabulary, ends)
        self._runner: RaggedRunner | PlainRunner
        if isinstance(ragged, str):
            note = "asked through transformers' generate, one question at a time, which takes many times as long"
            log.warning("%s: %s (%s)", model.name, note, ragged)
            self._runner = PlainRunner(model, self._turns)
        else:
            self._runner = RaggedRunner(ragged, self._turns, Limits.of(model, ragged.bytes_of_token), self._plainer)

    def _plainer(self, failed: RightEngine) -> RightEngine | None:
        """An engine with torch in the place of a kernel that failed in the middle of a run; None if none is right."""
        try:
            found = ragged_engine(self._loaded, failed.by_torch)
        except (CalprobeError, RuntimeError, MemoryError) as second:  # the first error says more
            log.debug("no other engine: %s", what_failed(second))
            return None
        return None if isinstance(found, str) else found

    @property
    def _computing(self) -> LoadedModel:
        """The model with the parts that kernels compute now."""
        if not isinstance(self._runner, RaggedRunner):
            return self._loaded
        engine = self._runner.engine
        return engine.model if engine.head is not None else engine.model.by_torch(["head"])

    def settings(self) -> Mapping[str, object]:
        """What decides replies beside model, versions and dialogues; and how a card computes, else None."""
        writer, model = self.writer, self._computing
        is_shared = isinstance(self._runner, RaggedRunner)
        return {
            "path": "shared" if is_shared else "generate",
            # Nothing is cut to TF32 here, whatever --precision says.
            "precision": "ieee" if model.device.type == "cuda" and model.dtype == "float32" else None,
            "layers": "fused" if is_shared and model.fused else None,
            "head": head_by(model, "padded" if is_shared else "plain"),
            "dtype": self._loaded.dtype,
            "device": self._loaded.device.type,
            "attention": self._loaded.attention,
            "chat_template": template_hash(writer.template),
            "chat_header": writer.header(),
            "chat_variables": dict(writer.variables),
            "chat_keeps_prompts": None if writer.template is None else writer.keeps_prompts(),
            "thinking": thinking_mode(writer.variables, writer.markers),
            "start_token": self._loaded.start_token,
            "end_tokens": sorted(self._turns.ends),
            "label_forms": LOCAL_LABEL_RULE,
        }

    def replies(self, pending: Iterable[Pending]) -> Iterator[Reply]:
        """See the protocol. Dialogues are read a window at a time, and a reply is given as soon as it is finished."""
        unread = iter(pending)
        while True:
            window = self._runner.limits.window if isinstance(self._runner, RaggedRunner) else _PLAIN_WINDOW
            conversations: list[Conversation] = []
            n_read = 0
            while len(conversations) < window:
                batch = list(islice(unread, window - len(conversations)))
                n_read += len(batch)
                for entry in batch:
                    conversations += self._conversations(entry)
                if not batch:
                    break
            if not n_read:
                return
            yield from self._answered(conversations)

    def faster_elsewhere(self, n_tokens: int) -> str | None:
        """Of a run that writes so many tokens, what to say if another engine takes clearly less time; None if not."""
        writer = Writer.of(self._loaded, None if isinstance(self._runner, PlainRunner) else self._runner.limits)
        return None if writer is None else faster_in_vllm(writer, n_tokens)

    def close(self) -> None:
        """Let go of keys and values; the model goes with its last reference."""
        self._runner.close()

    def _answered(self, conversations: Iterable[Conversation]) -> Iterator[Reply]:
        possible = []
        for conversation in conversations:
            refusal = None if conversation.is_answered else self._turns.refusal(conversation)
            if refusal is None:
                possible.append(conversation)
            else:
                yield refusal
        if possible:
            yield from self._runner.answer(possible)

    def _conversations(self, pending: Pending) -> Iterator[Conversation]:
        """One for each sample of which replies are to be given."""
        dialogue, replies = pending.dialogue, pending.known
        stages = [dialogue.stage, *(follow_up.stage for follow_up in dialogue.follow_ups)]
        missing = [sample for sample in dialogue.samples if any((stage, sample) not in replies for stage in stages)]
        if not missing:
            return
        prompt = self.writer.opening(dialogue)
        behind = tuple(self._behind(dialogue, follow_up) for follow_up in dialogue.follow_ups)
        for sample in missing:
            of_sample = {stage: reply for (stage, number), reply in replies.items() if number == sample}
            first = of_sample.get(dialogue.stage)
            if first is not None and first.token_ids is None:
                raise CalprobeError(
                    f"question {dialogue.question}: the tokens of its {dialogue.stage} are not known, so nothing can be"
                    " asked behind it; ask for it again"
                )
            thought = self._turns.n_thought(dialogue.decoding, dialogue.raw)
            yield Conversation(dialogue, sample, prompt, behind, of_sample, n_thought=thought)

    def _behind(self, dialogue: Dialogue, follow_up: FollowUp) -> Behind:
        writer = self.writer
        instead = None if follow_up.instead is None else writer.replaced(dialogue, follow_up.instead)
        tree = None
        if follow_up.closed:
            tree = self._vocabulary.tree(
                follow_up.closed, writer.in_front_of_reply(dialogue, follow_up), follow_up.begins
            )
        return Behind(writer.follow_up(dialogue, follow_up), instead, tree)


def end_tokens(model: LoadedModel, writer: PromptWriter) -> frozenset[int]:
    """Tokens that end a reply: those of generation_config, the tokenizer's, and the one that ends the template's turns.

    Raises CalprobeError if there are none.
    """
    network: Any = model.network
    configured = getattr(getattr(network, "generation_config", None), "eos_token_id", None)
    ids = set(configured if isinstance(configured, list) else [configured])
    ids |= {model.tokenizer.eos_token_id, writer.turn_end()}
    ids.discard(None)
    if not ids:
        raise CalprobeError(
            f"{model.name}: no token that ends a reply is known\n"
            "set eos_token_id in its generation_config.json or eos_token in its tokenizer_config.json"
        )
    return frozenset(ids)
