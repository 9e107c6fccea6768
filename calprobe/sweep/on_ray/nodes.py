"""The machines of a Ray cluster: which there are, and how the run that one of them has made is brought from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calprobe.sweep.on_ray import sent_folders, task
from calprobe.sweep.on_ray.needs import Node

_PIECES_AT_ONCE = 4


def nodes_of(ray: Any, *, with_cards: bool = False) -> list[Node]:
    """The machines of the cluster that live.

    Args:
        ray: the module, connected.
        with_cards: whether to ask the machines how large their cards are.
    """
    machines = []
    for node in ray.nodes():
        if not node["Alive"]:
            continue
        resources = node["Resources"]
        gpus, card = int(resources.get("GPU", 0)), None
        if gpus and with_cards:
            card = ray.get(ray.remote(task.card_bytes).options(num_cpus=0, **on_node(node["NodeID"])).remote())
        machines.append(
            Node(node["NodeManagerHostname"], int(resources.get("CPU", 0)), gpus, int(resources.get("memory", 0)), card)
        )
    return machines


def on_node(node_id: str) -> dict[str, Any]:
    """Options of a task or an actor that belongs on one machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id, soft=False)}


def bring(outcome: task.Outcome, order: task.Order) -> None:
    """Fetch a run from the node that made it, in pieces, and put it in its place at once."""
    import ray

    placement = {"num_cpus": 0, "max_retries": 0, **on_node(outcome.node_id)}
    read = ray.remote(task.read).options(**placement)
    Path(order.log).parent.mkdir(parents=True, exist_ok=True)
    Path(order.log).write_bytes(ray.get(ray.remote(task.said).options(**placement).remote(outcome)))
    if outcome.files:
        with sent_folders.arriving(Path(order.out)) as new:
            for piece, contents in _in_order(read, outcome):
                sent_folders.write_piece(new, piece, contents)
    ray.remote(task.remove).options(**placement).remote(outcome)


def _in_order(read: Any, outcome: task.Outcome) -> Iterator[tuple[list[sent_folders.Part], list[bytes]]]:
    """Pieces with their bytes, a few of them on the way at once."""
    import ray

    on_the_way: list[tuple[list[sent_folders.Part], Any]] = []
    pieces = sent_folders.pieces_of(outcome.files)
    while True:
        while len(on_the_way) < _PIECES_AT_ONCE and (piece := next(pieces, None)) is not None:
            on_the_way.append((piece, read.remote(outcome, piece)))
        if not on_the_way:
            return
        piece, reference = on_the_way.pop(0)
        yield piece, ray.get(reference)
