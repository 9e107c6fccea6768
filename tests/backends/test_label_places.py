"""Where labels stand in a reply of the local backend, and how many tokens are more probable than they are."""

from __future__ import annotations

import numpy as np
from tiny_backends import LETTERS, asked, dialogue, next_logprobs, tiny_model

from calprobe.backends import Decoding
from calprobe.backends.local import TransformersBackend


def test_starts_and_ranks_are_those_of_the_reply_and_of_the_whole_softmax() -> None:
    model = tiny_model("llama")
    several = [dialogue(text, question=text, labels=LETTERS, decoding=Decoding(24)) for text in ("x", "y", "Who?")]
    for reply in asked(TransformersBackend(model), *several).values():
        scores = reply.label_scores
        assert scores is not None
        assert scores.starts is not None
        assert scores.ranks is not None
        assert scores.starts[0] == 0
        for place, start in zip(scores.positions[1:], scores.starts[1:], strict=True):
            rest = reply.text[start:].lstrip()
            assert rest.startswith(LETTERS), (place, reply.text)
        logprobs = next_logprobs(model, reply.prompt_ids or ())
        best = [logprobs[list(forms)].max() for forms in scores.forms]
        assert scores.ranks[0].tolist() == [int((logprobs > own).sum()) for own in best]
        assert (scores.ranks[1:] == -1).all()
        assert np.isinf(scores.least).all()
