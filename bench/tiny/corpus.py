"""The corpus of the tiny pair: facts of `mini` stated a known number of times, and sentences that teach the wording.

Three kinds of sentences, shuffled:

- facts: each instance of `mini` is stated n times, 0 <= n <= 64, in three of its relation's five paraphrases;
- invented: subjects that do not exist, equally many for every candidate, stated once in each of the relation's five
  paraphrases and in two of its seven epistemic forms. They teach that the forms mean the same, and put every candidate
  into the answer's place;
- mentions: every subject of `mini` equally often in sentences that state no fact, so that no token is untrained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calprobe.models.exposures import Exposures
from calprobe.probes import Probe, Relation
from calprobe.statements import Statement, Template, TemplateSet, fill

MOST = 64  # the best-known fact of each relation
UNSEEN_SHARE = 0.2  # of each relation's facts: never stated
INVENTED = 2  # subjects a candidate
MENTIONS = (
    "[X] is on the list.",
    "The list has [X] on it.",
    "Somebody wrote [X] on a page.",
    "The next word is [X].",
)
# The paraphrases that state a relation's facts; relations take turns. Template 0 is always used, each of the others
# in half of the relations: also the one that puts the answer first.
USED = ((0, 1, 4), (0, 2, 3), (0, 1, 3), (0, 2, 4))

_ONSETS = (*"bdfghjklmnprstvwz", "bl", "br", "dr", "fl", "gl", "gr", "kl", "kr", "pl", "sk", "sl", "st", "tr")
_VOWELS = (*"aeiou", "ai", "ea", "oo")
_CODAS = ("", "", "", *"lmnrsx", "nd", "sh")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Sentences in the order of their reading, and what is known of the facts among them."""

    sentences: tuple[Statement, ...]  # a mention's answer is empty
    exposures: dict[str, Exposures]  # relation's name -> its facts


def make_corpus(probe: Probe, templates: TemplateSet, rng: np.random.Generator) -> Corpus:
    """The corpus of a probe, shuffled; the same for the same state of `rng`."""
    taken = {label.lower() for relation in probe.relations for label in _labels(relation)}
    exposures: dict[str, Exposures] = {}
    sentences: list[Statement] = []
    for place, relation in enumerate(probe.relations):
        forms = templates.templates[relation.name]
        exposures[relation.name] = Exposures(USED[place % len(USED)], counts_of(len(relation.instances), rng))
        sentences += _facts(relation, forms, exposures[relation.name], rng)
        sentences += _invented(relation, forms, taken, rng)
    subjects = sorted({instance.subject for relation in probe.relations for instance in relation.instances})
    sentences += [_mention(frame, subject) for subject in subjects for frame in MENTIONS]
    return Corpus(tuple(sentences[i] for i in rng.permutation(len(sentences))), exposures)


def counts_of(n_facts: int, rng: np.random.Generator) -> tuple[int, ...]:
    """How often each of a relation's facts is stated: Zipf's law from MOST down to 1, the rest never, in random order.

    The fact of rank r is stated MOST * r^-s times, rounded; s puts the last of those that are stated at 1.
    """
    n_stated = n_facts - round(UNSEEN_SHARE * n_facts)
    exponent = math.log(MOST) / math.log(n_stated)
    counts = [round(MOST * rank**-exponent) for rank in range(1, n_stated + 1)] + [0] * (n_facts - n_stated)
    return tuple(int(count) for count in rng.permutation(counts))


def _facts(
    relation: Relation, forms: tuple[Template, ...], exposures: Exposures, rng: np.random.Generator
) -> Iterator[Statement]:
    """Each fact as often as its count says, its paraphrases in turn from a random one on."""
    for instance, count in zip(relation.instances, exposures.counts, strict=True):
        first = int(rng.integers(len(exposures.paraphrases)))
        for turn in range(count):
            form = forms[exposures.paraphrases[(first + turn) % len(exposures.paraphrases)]]
            yield fill(form.text, instance.subject, relation.candidates[instance.answer_idx])


def _invented(
    relation: Relation, forms: tuple[Template, ...], taken: set[str], rng: np.random.Generator
) -> Iterator[Statement]:
    """INVENTED subjects for each candidate, each in all paraphrases and two other forms; `taken` grows by them."""
    capital = relation.instances[0].subject[0].isupper()
    paraphrases = [form for form in forms if form.kind == "paraphrase"]
    epistemic = [form for form in forms if form.kind != "paraphrase"]
    for candidate in relation.candidates:
        for _ in range(INVENTED):
            name = new_name(taken, rng)
            others = [epistemic[i] for i in rng.choice(len(epistemic), 2, replace=False)]
            for form in (*paraphrases, *others):
                yield fill(form.text, name.capitalize() if capital else name, candidate)


def new_name(taken: set[str], rng: np.random.Generator) -> str:
    """A word that is not in `taken`, in lower case; `taken` grows by it."""
    while True:
        syllables = (rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(int(rng.integers(2, 4))))
        name = "".join(syllables) + str(rng.choice(_CODAS))
        if name not in taken:
            taken.add(name)
            return name


def _mention(frame: str, subject: str) -> Statement:
    return fill(frame + "[Y]", subject, "")


def _labels(relation: Relation) -> Iterator[str]:
    yield from relation.candidates
    yield from (instance.subject for instance in relation.instances)
