"""Which beginnings are forwarded once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calprobe.backends.local.limits import batches
from calprobe.backends.local.sharing import plan_sharing

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9).map(tuple), max_size=12, unique=True)


def test_a_beginning_within_a_beginning() -> None:
    prompts = [(1, 1, 2, 2, 5), (1, 1, 2, 2, 6), (1, 1, 3, 7), (4, 4)]
    plan = plan_sharing(prompts, least=2)
    assert [(head.ids, head.parent, head.level) for head in plan.heads] == [((1, 1), -1, 0), ((1, 1, 2, 2), 0, 1)]
    assert plan.head_of == (1, 1, 0, -1)
    assert [plan.shared(place) for place in range(4)] == [4, 4, 2, 0]


def test_a_prompt_that_another_goes_on_from_keeps_its_last_token() -> None:
    plan = plan_sharing([(1, 2, 3), (1, 2, 3, 4)], least=1)
    assert plan.heads[0].ids == (1, 2)
    assert plan.head_of == (0, 0)


def test_short_beginnings_are_not_worth_a_pass() -> None:
    assert plan_sharing([(1, 2, 3), (1, 2, 4)], least=3).heads == ()
    assert plan_sharing([(1, 2)]).head_of == (-1,)
    assert plan_sharing([]).head_of == ()


@given(prompts=PROMPTS, least=st.integers(1, 4))
def test_heads_begin_their_prompts_and_are_shared(prompts: list[tuple[int, ...]], least: int) -> None:
    plan = plan_sharing(prompts, least)
    uses = [0] * len(plan.heads)
    for place, prompt in enumerate(prompts):
        head = plan.head_of[place]
        if head >= 0:
            uses[head] += 1
            assert prompt[: plan.shared(place)] == plan.heads[head].ids
            assert plan.shared(place) < len(prompt)
    for place in reversed(range(len(plan.heads))):
        head = plan.heads[place]
        assert uses[place] >= 2
        assert len(head.ids) - plan.length(head.parent) >= least
        assert head.level == (plan.heads[head.parent].level + 1 if head.parent >= 0 else 0)
        assert head.parent < place
        if head.parent >= 0:
            uses[head.parent] += 1


@given(widths=st.lists(st.integers(1, 9), max_size=12), most=st.integers(1, 30))
def test_batches_hold_what_they_may(widths: list[int], most: int) -> None:
    cuts = batches(widths, most)
    assert [row for cut in cuts for row in range(len(widths))[cut]] == list(range(len(widths)))
    for cut in cuts:
        own = widths[cut]
        assert len(own) == 1 or len(own) * max(own) <= most
