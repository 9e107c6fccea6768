"""A seeded permutation that gives each question the answer of another one."""

from __future__ import annotations

import random
from collections.abc import Callable


def derangement(n: int, may: Callable[[int, int], bool], seed: str) -> list[int | None]:
    """For each of n places another place that it may have, each place used once where that is possible.

    A random cycle through all places; where it gives a place what it may not have, two places exchange theirs. A place
    for which there is no exchange gets any that it may have, which then is used twice, and None if there is none.

    Args:
        n: places.
        may: whether the first place may have the second one; never asked of a place and itself.
        seed: of the cycle.

    >>> derangement(4, lambda place, other: True, "seed")
    [1, 3, 0, 2]
    """
    source = random.Random(seed)
    order = list(range(n))
    source.shuffle(order)
    image = {place: order[(index + 1) % n] for index, place in enumerate(order)}

    def fits(place: int, other: int) -> bool:
        return place != other and may(place, other)

    for place in order:
        if fits(place, image[place]):
            continue
        for other in order:
            if fits(place, image[other]) and fits(other, image[place]):
                image[place], image[other] = image[other], image[place]
                break
    places: list[int | None] = []
    for place in range(n):
        if fits(place, image[place]):
            places.append(image[place])
        else:
            possible = [other for other in order if fits(place, other)]
            places.append(source.choice(possible) if possible else None)
    return places
