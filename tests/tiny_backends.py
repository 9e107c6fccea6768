"""Tiny random models that answer, dialogues for them, and what their own forward passes say."""

from __future__ import annotations

import copy
from typing import Any

import torch
from tiny_models import CAUSAL_CONFIGS, loaded, tiny_tokenizer
from transformers import AutoModelForCausalLM

from calprobe.backends import Decoding, Dialogue, Message, Pending
from calprobe.backends.local import TransformersBackend
from calprobe.models import LoadedModel
from calprobe.runs.replies import Reply

VOCABULARY = 260  # of `tiny_tokenizer`
POSITIONS = 512
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content | trim }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
LETTERS = ("A", "B", "C", "D")


def tiny_model(architecture: str = "llama", template: str | None = None, **changes: Any) -> LoadedModel:
    """A random model with a byte-level tokenizer; with a template it is a chat model."""
    torch.manual_seed(0)
    config = copy.deepcopy(CAUSAL_CONFIGS[architecture])
    config.vocab_size = VOCABULARY
    config.eos_token_id = 2
    for name in ("max_position_embeddings", "max_seq_len"):
        if hasattr(config, name):
            setattr(config, name, POSITIONS)
    network = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3.0 if architecture in ("mamba", "falcon-h1") else 8.0)
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = template
    known = {"tokenizer": tokenizer, "max_positions": POSITIONS, "embedding_rows": VOCABULARY}
    return loaded(network, **(known | changes))


def tiny_backend(architecture: str = "llama", template: str | None = None, **changes: Any) -> TransformersBackend:
    """Such a model, ready to answer."""
    return TransformersBackend(tiny_model(architecture, template, **changes))


def dialogue(text: str, question: str = "q", **changes: Any) -> Dialogue:
    """One user turn with a greedy reply of eight tokens."""
    known: dict[str, Any] = {
        "set": "tiny",
        "question": question,
        "variant": "plain",
        "messages": (Message("user", text),),
        "decoding": Decoding(8),
    }
    return Dialogue(**(known | changes))


def asked(backend: TransformersBackend, *dialogues: Dialogue) -> dict[tuple[str, str, int], Reply]:
    """All replies, by question, stage and sample."""
    replies = list(backend.replies(Pending(each) for each in dialogues))
    found = {(reply.question, reply.stage, reply.sample): reply for reply in replies}
    assert len(found) == len(replies)
    return found


@torch.inference_mode()
def next_logprobs(model: LoadedModel, ids: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities [vocab] of the next token by the model's own forward pass."""
    logits = model.network(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
    return logits.float().log_softmax(0)


@torch.inference_mode()
def own_logprobs(model: LoadedModel, reply: Reply) -> torch.Tensor:
    """Log-probabilities [tokens + 1, vocab] at each position of a reply, by the model's own forward pass."""
    prompt, said = reply.prompt_ids or (), reply.token_ids or ()
    logits = model.network(input_ids=torch.tensor([[*prompt, *said]]), use_cache=False).logits[0, len(prompt) - 1 :]
    return logits.float().log_softmax(1)


def generated(model: LoadedModel, ids: tuple[int, ...], max_new_tokens: int) -> tuple[int, ...]:
    """What transformers' own `generate` says greedily, without end tokens."""
    network: Any = model.network
    inputs = torch.tensor([ids])
    output = network.generate(
        inputs,
        attention_mask=torch.ones_like(inputs),
        do_sample=False,
        max_new_tokens=max_new_tokens,
        eos_token_id=2,
        pad_token_id=0,
    )
    return tuple(token for token in output[0, len(ids) :].tolist() if token != 2)
