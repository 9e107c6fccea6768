"""How large a network is: its parameters, and those of its token embeddings among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ParameterCounts:
    """Parameters of a network. Those that several layers share count once."""

    total: int  # embeddings and head included
    embeddings: int  # of these, in the input and the output embedding


def parameter_counts(network: Any) -> ParameterCounts:
    """Count the parameters of a model of transformers, wherever they are; an adapter's own count too.

    A head that is tied to the input embedding adds nothing: it is the same parameter.
    """
    ends = (network.get_input_embeddings(), network.get_output_embeddings())
    embeddings = {id(own): own.numel() for end in ends if end is not None for own in end.parameters()}
    return ParameterCounts(sum(own.numel() for own in network.parameters()), sum(embeddings.values()))
