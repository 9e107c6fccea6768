"""Groups and shards: complete, deterministic, near the best; what a piece costs; and that looking up stays cheap."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.errors import UsageError
from calprobe.models import LoadedModel, load_model
from calprobe.probes import Instance, Probe, Relation, load_probe
from calprobe.runs import Manifest, RunFolder
from calprobe.runs.records import Piece
from calprobe.scoring.fit import Way
from calprobe.scoring.growth import lacking
from calprobe.scoring.options import ScoreOptions, Shard, parse_shard
from calprobe.scoring.probe_selection import select
from calprobe.scoring.record import manifest_of
from calprobe.scoring.scheduling import (
    Group,
    Schedule,
    deal,
    groups_of,
    incomplete,
    least_statements,
    longest_first,
    piece_cost,
)
from calprobe.scoring.score import _manifest, _requested, _work

costs = st.lists(st.integers(0, 50).map(float), max_size=7)


@given(costs, st.integers(1, 9))
def test_every_part_is_in_one_share(parts: list[float], n_shares: int) -> None:
    shares = deal(parts, n_shares)
    assert len(shares) == n_shares
    assert sorted(place for share in shares for place in share) == list(range(len(parts)))
    assert all(list(share) == sorted(share) for share in shares)


@given(costs, st.integers(1, 3))
def test_the_largest_share_is_near_the_best_possible(parts: list[float], n_shares: int) -> None:
    def largest(assigned: tuple[int, ...]) -> float:
        return max(sum(c for c, to in zip(parts, assigned, strict=True) if to == share) for share in range(n_shares))

    best = min(largest(assigned) for assigned in product(range(n_shares), repeat=len(parts)))
    found = max(sum(parts[place] for place in share) for share in deal(parts, n_shares))
    assert found <= (4 / 3 - 1 / (3 * n_shares)) * best + 1e-9


def test_scheduled_by_hand() -> None:
    assert deal([7.0, 6.0, 5.0, 4.0, 3.0], 2) == ((0, 3, 4), (1, 2))  # 7 | 6, 6+5 | 7+4, 7+4+3: ties to the first
    assert longest_first([2.0, 2.0, 5.0]) == [2, 0, 1]


def test_more_shares_than_parts_leave_some_empty() -> None:
    assert deal([1.0], 3) == ((0,), (), ())
    assert deal([], 2) == ((), ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0/4", "--shard 0/4: in I/N, I goes from 1 to 4"),
        ("5/4", "I goes from 1 to 4"),
        ("1/0", "N must be at least 1"),
        ("2", "give I/N, such as 1/4"),
        ("-1/4", "give I/N"),
        ("01/4", "give I/N"),
        ("1/4/2", "give I/N"),
    ],
)
def test_what_is_no_shard(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_shard(text)


def test_a_shard_reads_as_it_was_typed() -> None:
    assert parse_shard("4/4") == Shard(4, 4)
    assert str(Shard(4, 4)) == "4/4"


ANSWERS = ("Asia", "Africa")
RELATION = Relation("P30", ANSWERS, (Instance(0, "Ghana", 1), Instance(1, "Iran", 0)))


def test_an_answer_in_front_shares_its_beginning_among_subjects() -> None:
    # "Asia has " and "Africa has " once each, then "Ghana." and "Iran." after either: 9 + 11 + 2 * (6 + 5)
    assert piece_cost(RELATION, "[Y] has [X].", "tree") == 42.0


@pytest.mark.parametrize("template", ["[X] is in [Y].", "In [Y] lies [X], they say.", "[Y][X]"])
@pytest.mark.parametrize("path", ["tree", "padded", "masked", "plain"])
def test_answer_spaces_of_the_instances_own_cost_the_same(template: str, path: str) -> None:
    own = Relation(
        "P30", (), tuple(Instance(i.index, i.subject, i.answer_idx, None, ANSWERS) for i in RELATION.instances)
    )
    expected = piece_cost(RELATION, template, path)
    if path == "tree" and template.startswith(("[Y]", "In")):
        assert piece_cost(own, template, path) >= expected  # its candidates are not known to be the same
    else:
        assert piece_cost(own, template, path) == expected


def test_a_relation_without_instances_costs_nothing() -> None:
    assert piece_cost(Relation("P1", ANSWERS, ()), "[X] [Y]", "tree") == 0.0


def test_the_estimate_follows_the_planned_nodes() -> None:
    from calprobe.probes import load_probe
    from calprobe.statements import statements_of

    estimates, nodes = [], []
    for relation in load_probe("mini").relations:
        for template in ("[X] is known for [Y].", "[Y] is what [X] is known for."):
            estimates.append(piece_cost(relation, template, "tree"))
            texts = [statement.text for statement in statements_of(relation, template)]
            nodes.append(len({text[:end] for text in texts for end in range(1, len(text) + 1)}))
    assert np.corrcoef(estimates, nodes)[0, 1] > 0.99


counts = st.lists(st.integers(0, 50)).map(lambda sizes: {(f"P{place}", 0): size for place, size in enumerate(sizes)})


@given(counts, st.integers(1, 80))
def test_every_piece_is_in_one_group_and_only_the_last_is_small(sizes: dict[tuple[str, int], int], least: int) -> None:
    groups = list(groups_of(sizes, least))
    assert list(chain(*groups)) == list(sizes)
    assert all(groups)
    for group in groups[:-1]:
        assert sum(sizes[piece] for piece in group) >= least
        assert sum(sizes[piece] for piece in group[:-1]) < least


def test_a_group_is_run_again_completely_for_one_missing_piece() -> None:
    groups = [(("a", 0), ("b", 0)), (("c", 0),), (("d", 0),)]
    assert incomplete(groups, [("b", 0), ("d", 0)]) == [(("a", 0), ("b", 0)), (("d", 0),)]


def test_a_group_is_a_few_batches_on_every_path() -> None:
    assert least_statements("tree", 1024) == 1024
    assert least_statements("masked", 4096) == 256
    assert least_statements("padded", 8) == 1


def test_a_run_keeps_the_groups_that_it_began_with_and_shards_have_those_of_the_run(tmp_path: Path) -> None:
    model = load_model("tiny-clm")
    options = ScoreOptions(templates="0,1", batch_tokens=4096, quiet=True)
    selection = select(load_probe("mini"), options)
    way = Way("tree", 4096, "typed")
    new = manifest_of(model, selection, way, options)
    assert new.settings.least_statements == 1365
    assert manifest_of(model, selection, way, replace(options, shard="1/2")).settings.least_statements == 1365
    former = replace(new, settings=replace(new.settings, least_statements=None))
    groups = [_groups(tmp_path / str(n), begun, model, way, options) for n, begun in enumerate((new, former))]
    for found, least in zip(groups, (1365, 4096), strict=True):
        assert found == Schedule(selection, selection.pieces, "tree", 4096, least=least).groups
    assert len(groups[0]) > len(groups[1])
    shards = [Schedule(selection, selection.pieces, "tree", 4096, f"{n}/2").groups for n in (1, 2)]
    assert sorted(group for shard in shards for group in shard) == sorted(groups[0])


def _groups(out: Path, begun: Manifest, model: LoadedModel, way: Way, options: ScoreOptions) -> tuple[Group, ...]:
    """The groups of a run that began with that manifest and is resumed."""
    RunFolder.open(out, begun)
    request = _requested(model, "mini", out, options)
    folder = RunFolder.open(out, _manifest(request, model, way))
    return _work(request, folder, model, way, lacking(folder, request.asked)).engine.schedule.groups


class CountedName(str):
    """A relation's name that counts how often it is compared."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedName.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def comparisons_of_a_schedule(n_relations: int) -> int:
    """How often names are compared to cut that many relations under two templates into groups and deal these."""
    templates = ("[X] lies in [Y].", "[Y] is where [X] lies.")
    relations = tuple(
        Relation(CountedName(f"P{number}"), ANSWERS, (Instance(0, "Ghana", 1),), templates)
        for number in range(n_relations)
    )
    selection = select(Probe("many", relations, "f" * 64), ScoreOptions(templates="0,1"))
    order = tuple(Piece(CountedName(str(name)), number) for name, number in selection.pieces)  # equal, not the same
    CountedName.comparisons = 0
    schedule = Schedule(selection, order, "tree", 64, "1/2")
    schedule.n_statements(schedule.longest_first(schedule.groups))
    return CountedName.comparisons


def test_ten_times_the_pieces_take_ten_times_the_look_ups() -> None:
    few, many = (comparisons_of_a_schedule(n_relations) / n_relations for n_relations in (120, 1200))
    assert many <= 2 * few
