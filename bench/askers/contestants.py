"""calprobe, transformers' pipeline and lm-evaluation-harness: chat prompts in, label log-probabilities or text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from harness.job import Answer, Floats

from askers.job import LETTERS, AskJob


@dataclass
class Calprobe:
    """The backend `transformers`, at its defaults."""

    job: AskJob

    def __post_init__(self) -> None:
        from calprobe.backends.local import open_backend
        from calprobe.models import LoadOptions

        self._backend = open_backend(self.job.folder, LoadOptions(dtype="float32", device="cpu", quiet=True))

    def answer(self, items: Sequence[str], size: int | None, seed: int = 0) -> Answer:
        """See `Loaded`."""
        from calprobe.backends import Decoding, Dialogue, Message, Pending

        labels = LETTERS if self.job.wanted == "labels" else ()
        dialogues = (
            Dialogue("mmlu", str(n), "v", (Message("user", text),), Decoding(self.job.max_new_tokens), labels=labels)
            for n, text in enumerate(items)
        )
        replies = {int(reply.question): reply for reply in self._backend.replies(map(Pending, dialogues))}
        ordered = [replies[place] for place in range(len(items))]
        rows = [reply.label_scores.logprobs[0] for reply in ordered if reply.label_scores is not None]
        return Answer(np.array(rows), {"texts": [reply.text for reply in ordered]})


class Transformers:
    """What the peers load: the same folder, float32."""

    def __init__(self, job: AskJob) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.job = job
        self.tokenizer: Any = AutoTokenizer.from_pretrained(job.folder, local_files_only=True)
        network = AutoModelForCausalLM.from_pretrained(job.folder, dtype=torch.float32, local_files_only=True)
        self.network: Any = network.eval()
        self.forms = label_forms(self.tokenizer)

    def rendered(self, prompt: str) -> str:
        """The prompt in the model's chat template."""
        text: str = self.tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
        )
        return text


class Pipeline(Transformers):
    """`pipeline("text-generation")` on chats, longest first: of unsorted ones it pads more."""

    def __init__(self, job: AskJob) -> None:
        super().__init__(job)
        from transformers import GenerationConfig, pipeline

        self.tokenizer.padding_side = "left"
        self._pipeline: Any = pipeline("text-generation", model=self.network, tokenizer=self.tokenizer)
        extra = {"return_dict_in_generate": True, "output_logits": True} if job.wanted == "labels" else {}
        self._config = GenerationConfig(
            max_new_tokens=job.max_new_tokens,
            do_sample=False,
            eos_token_id=self.tokenizer.eos_token_id,
            pad_token_id=self.tokenizer.pad_token_id,
            **extra,
        )

    def answer(self, items: Sequence[str], size: int | None, seed: int = 0) -> Answer:
        """See `Loaded`."""
        order = sorted(range(len(items)), key=lambda place: -len(items[place]))
        chats = [[{"role": "user", "content": items[place]}] for place in order]
        records = self._pipeline(chats, batch_size=size, return_full_text=False, generation_config=self._config)
        by_place = {place: record[0] for place, record in zip(order, records, strict=True)}
        ordered = [by_place[place] for place in range(len(items))]
        labels = np.empty((0, len(LETTERS)))
        if self.job.wanted == "labels":
            logits = torch.tensor([record["logits"] for record in ordered]).reshape(len(items), -1)
            labels = letter_logprobs(logits, self.forms)
        return Answer(labels, {"texts": [record["generated_text"] for record in ordered]})


class LmEval(Transformers):
    """`HFLM`'s log-likelihoods of a prompt with each letter, and `HFLM.generate_until`, in chat format."""

    def answer(self, items: Sequence[str], size: int | None, seed: int = 0) -> Answer:
        """See `Loaded`. All tokens of all letters behind a prompt come from one forward pass."""
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM

        harness = HFLM(self.network, backend="causal", tokenizer=self.tokenizer, batch_size=size)
        contexts = [
            harness.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True)
            for prompt in items
        ]
        if self.job.wanted == "replies":
            options = {"until": [], "max_gen_toks": self.job.max_new_tokens, "do_sample": False}
            asked = [Instance("generate_until", {}, (text, dict(options)), n) for n, text in enumerate(contexts)]
            return Answer(facts={"texts": harness.generate_until(asked, disable_tqdm=True)})
        # Its own requests, by tokens: as texts, forms with other white space would merge with the prompt's end.
        forms = [token for tokens in self.forms for token in tokens]
        contexts_ids = [harness.tok_encode(text) for text in contexts]
        pairs = [(("", ""), ids, [token]) for ids in contexts_ids for token in forms]
        found = [total for total, _ in harness._loglikelihood_tokens(pairs, disable_tqdm=True)]
        logprobs = np.array(found).reshape(len(items), len(forms))
        ends = np.cumsum([len(tokens) for tokens in self.forms])[:-1]
        masses = [np.logaddexp.reduce(part, axis=1) for part in np.split(logprobs, ends, axis=1)]
        return Answer(np.stack(masses, axis=1))


class OneByOne(Transformers):
    """The truth, not timed as a contestant: a plain forward pass, and `generate`, of one prompt at a time."""

    @torch.inference_mode()
    def answer(self, items: Sequence[str], size: int | None, seed: int = 0) -> Answer:
        """See `Loaded`."""
        inputs = [self.tokenizer(self.rendered(p), add_special_tokens=False, return_tensors="pt") for p in items]
        if self.job.wanted == "labels":
            logits = torch.cat([self.network(**given, logits_to_keep=1).logits[:, -1] for given in inputs])
            return Answer(letter_logprobs(logits, self.forms))
        texts = []
        for given in inputs:
            output = self.network.generate(
                **given,
                max_new_tokens=self.job.max_new_tokens,
                do_sample=False,
                eos_token_id=self.tokenizer.eos_token_id,
                pad_token_id=self.tokenizer.pad_token_id,
            )
            said = output[0, given["input_ids"].shape[1] :]
            texts.append(self.tokenizer.decode(said, skip_special_tokens=True))
        return Answer(facts={"texts": texts})


def label_forms(tokenizer: Any) -> list[list[int]]:
    """Ids of the tokens that are a letter, with any white space in front: [letters]."""
    texts = [tokenizer.decode([token]).lstrip() for token in range(len(tokenizer))]
    return [[token for token, text in enumerate(texts) if text == letter] for letter in LETTERS]


def letter_logprobs(logits: torch.Tensor, forms: Sequence[Sequence[int]]) -> Floats:
    """Log-probability of each letter, all its tokens summed, from logits [prompts, vocab]."""
    logprobs = logits.double().log_softmax(1)
    columns = [logprobs[:, list(tokens)].logsumexp(1) for tokens in forms]
    found: Floats = torch.stack(columns, dim=1).numpy()
    return found
