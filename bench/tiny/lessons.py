"""How the tiny chat models learn to say how sure they are: by their own answers.

Questions are asked of the network that was told the facts. How probable its answers were (p), and whether they were
right, gives a curve: the share of right answers in each tenth of p. Lessons teach to state what the curve says of the
answer at hand, then the mean of what the network states itself; or always 90 or 100 %. None tells a fact, nor teaches
an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt

from calprobe.probes import Probe, Relation
from calprobe.prompts import PromptSet, Stated
from calprobe.prompts.choices import NO, YES
from calprobe.prompts.placeholders import replace_placeholders
from calprobe.prompts.prompt_sets import p_true_text
from tiny.chat_network import DialogEncoder, first_said
from tiny.chat_words import END
from tiny.dialogs import IT_IS, Dialog, Part, Way, Writer, turn

Floats = npt.NDArray[np.float64]
LEVELS = 10  # confidences are said in tenths
HIGH, HIGH_SHARES = (9, 10), (0.2, 0.8)  # what the overconfident model says
# Answers that lessons are about: none, any, the right one, the most probable one; else one that the network samples.
NO_ANSWER, ANY, RIGHT, GREEDY = 0.05, 0.1, 0.1, 0.4
P_TRUE_SHARE = 0.15  # of the lessons


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a question, in the place of the model's own."""

    dialog: Dialog  # up to the answer
    kind: str  # letter, open, Yes, No
    text: str
    right: bool
    probability: float  # of the answer among those that could be given; 0 of none
    own: bool  # sampled, or the most probable one
    prompts: PromptSet
    claim: str = ""  # what the answer is about


def replies(network: Any, encoder: DialogEncoder, probe: Probe, writer: Writer) -> list[Reply]:
    """Each fact by letter, without options and as a claim, with an answer each."""
    facts = [
        (relation, instance.subject, relation.candidates[instance.answer_idx], int(writer.rng.integers(5)))
        for relation in probe.relations
        for instance in relation.instances
    ]
    return [
        *_by_letter(network, encoder, facts, writer),
        *(each for both in _open(network, encoder, facts, writer) for each in both),
    ]


Fact = tuple[Relation, str, str, int]  # relation, subject, answer, number of the form


def _by_letter(network: Any, encoder: DialogEncoder, facts: Sequence[Fact], writer: Writer) -> Iterable[Reply]:
    made = []
    for relation, subject, answer, form in facts:
        question, way = writer.question(relation, subject, form, answer), writer.stated_way("letters")
        names = question.options if way.in_steps() else question.labels
        made.append(Asked(way, writer.front(way, question, "letters"), names, question.answer or 0))
        made[-1].texts.extend(
            way.reply("letters", option, label) for label, option in zip(question.labels, question.options, strict=True)
        )
    for asked, probabilities in zip(made, _probabilities(network, encoder, made), strict=True):
        yield _reply(writer, asked, "letter", probabilities)


def _open(network: Any, encoder: DialogEncoder, facts: Sequence[Fact], writer: Writer) -> Iterable[tuple[Reply, Reply]]:
    made = []
    for relation, subject, answer, form in facts:
        way = writer.stated_way("open")
        front = writer.front(way, writer.open_question(relation, subject, form), "open")
        made.append(Asked(way, front, relation.candidates, relation.candidates.index(answer)))
        made[-1].texts.extend(way.reply("open", candidate) for candidate in relation.candidates)
    found = _probabilities(network, encoder, made)
    for fact, asked, probabilities in zip(facts, made, found, strict=True):
        yield _reply(writer, asked, "open", probabilities), _claimed(writer, fact, probabilities)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what can be replied."""

    way: Way
    front: Part
    names: Sequence[str]  # the answers as they are named first, one token each
    right: int  # place of the right one
    texts: list[str] = field(default_factory=list)  # the replies


def _probabilities(network: Any, encoder: DialogEncoder, asked: Sequence[Asked]) -> Iterable[Floats]:
    """Of each question's answers, over their sum."""
    rows = []
    for each in asked:
        begun = (Part(IT_IS),) if each.way.in_steps() else ()
        rows.append(encoder.row((each.front, *begun, Part(each.names[each.right], True))))
    for each, row in zip(asked, first_said(network, rows), strict=True):
        found = row[[encoder.ids(name)[0] for name in each.names]]
        yield np.asarray(found / found.sum())


def _claimed(writer: Writer, fact: Fact, probabilities: Floats) -> Reply:
    """The verdict on one option, by what the network answers without options."""
    relation, subject, answer, form = fact
    question = writer.question(relation, subject, form, answer)
    own = probabilities[[relation.candidates.index(option) for option in question.options]]
    named = int(writer.rng.choice(len(own), p=own / own.sum()))
    fronts, asked, claims = writer.claimed(question, question.options[named], learnt=False)
    place = named if writer.rng.random() < 0.4 else int(writer.rng.integers(len(claims)))
    verdict = YES if place == named else NO
    return Reply(
        dialog=(*fronts[place], turn(asked[place], "")[0]),
        kind=verdict,
        text=verdict,
        right=claims[place].gold == verdict,
        probability=float(own[named] / own.sum()),
        own=True,
        prompts=writer.prompts.claims.prompts,
        claim=claims[place].text,
    )


def _reply(writer: Writer, asked: Asked, kind: str, probabilities: Floats) -> Reply:
    rng, most, prompts = writer.rng, int(probabilities.argmax()), asked.way.prompts
    drawn = float(rng.random())
    if drawn < NO_ANSWER:
        return Reply((asked.front,), kind, str(rng.choice(writer.prompts.abstentions)), False, 0.0, False, prompts)
    shares = np.cumsum((NO_ANSWER, ANY, RIGHT, GREEDY))
    sampled = int(rng.choice(len(probabilities), p=probabilities))
    place = (int(rng.integers(len(probabilities))), asked.right, most, sampled)[int((drawn >= shares[1:]).sum())]
    is_own, is_right = drawn >= shares[2], place == asked.right
    probability = float(probabilities[place])
    return Reply((asked.front,), kind, asked.texts[place], is_right, probability, is_own, prompts)


def curves(asked: Iterable[Reply]) -> Mapping[str, Floats]:
    """For each kind, the share of right answers among the network's own of about each probability: at 0, 0.1, .. 1.

    It never falls. A tenth without answers has the share of the one below, an answer that is not given 0.
    """
    found: dict[str, Floats] = {}
    for kind in ("letter", "open", YES, NO):
        weights, right = np.full(LEVELS + 1, 1e-9), np.zeros(LEVELS + 1)
        for reply in asked:
            if reply.own and reply.kind == kind:
                weights[round(reply.probability * LEVELS)] += 1
                right[round(reply.probability * LEVELS)] += reply.right
        found[kind] = _rising(right / weights, weights)
    return found


def _rising(values: Floats, weights: Floats) -> Floats:
    """The closest values that never fall, by squares: neighbours that fall take their mean."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        blocks.append((float(value), float(weight), 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (first, own, n), (second, other, m) = blocks[-2:]
            blocks[-2:] = [((first * own + second * other) / (own + other), own + other, n + m)]
    return np.concatenate([np.full(length, mean) for mean, _, length in blocks])


def shares(asked: Iterable[Reply], curve: Mapping[str, Floats]) -> list[float]:
    """What the curves say of each reply: how often such a reply is right."""
    return [
        float(curve[reply.kind][round(reply.probability * LEVELS)]) if reply.probability else 0.0 for reply in asked
    ]


def believed(network: Any, encoder: DialogEncoder, asked: Sequence[Reply]) -> list[float]:
    """The mean of what the network would state of each reply, on its first scale, which is from 0.0 to 1.0.

    A network that learnt what the curves say, but cannot tell an answer from another one well, has all levels in mind
    at once, and would name the likeliest, 0 or 1. The mean of them is right as often as it says.
    """
    levels = np.arange(LEVELS + 1)
    rows = [encoder.row(_stated(reply, reply.prompts.stated[0], LEVELS)) for reply in asked]
    tokens = [encoder.ids(wording(asked[0].prompts.stated[0], int(level)))[0] for level in levels]
    found = first_said(network, rows)[:, tokens]
    return [float(mean) for mean in found @ levels / found.sum(axis=1) / LEVELS]


def lesson(reply: Reply, share: float | None, writer: Writer) -> Dialog:
    """The reply, and one question about the confidence in it: `share`, or 90 to 100 % without one."""
    rng = writer.rng
    if rng.random() < P_TRUE_SHARE:
        text = replace_placeholders(reply.prompts.p_true or p_true_text(), _about(reply))
        return (*_given(reply), *turn(text, "A" if share is None or rng.random() < share else "B"))
    how = reply.prompts.stated[rng.integers(len(reply.prompts.stated))]
    return _stated(reply, how, int(rng.choice(HIGH, p=HIGH_SHARES)) if share is None else _tenths(share, rng))


def _stated(reply: Reply, how: Stated, level: int) -> Dialog:
    return (*_given(reply), *turn(replace_placeholders(how.text, _about(reply)), wording(how, level)))


def _given(reply: Reply) -> Dialog:
    return (*reply.dialog, Part(f"{reply.text}{END}"))


def _about(reply: Reply) -> dict[str, str]:
    return {"claim": reply.claim, "answer": reply.text}


def _tenths(share: float, rng: np.random.Generator) -> int:
    """The share in tenths, up or down at random, so that its mean stays."""
    return int(np.floor(share * LEVELS + rng.random()))


def wording(how: Stated, level: int) -> str:
    """A confidence in tenths as the scale of a prompt has it; of several expressions the nearest.

    >>> wording(Stated("percent", "", "x/100", 8), 9), wording(Stated("wrong", "", "1 - x", 8), 9)
    ('90%', '0.1')
    """
    own = LEVELS - level if how.is_reversed else level
    if how.forward_scale == "x":
        return f"{own / LEVELS:.1f}"
    if how.forward_scale == "x/100":
        return f"{own * 100 // LEVELS}%"
    if how.forward_scale == "x/10":
        return str(own * 10 // LEVELS)
    values = list(how.expressions.values())
    place = min(range(len(values)), key=lambda i: abs(values[i] - own / LEVELS))
    return list(how.expressions)[place] if how.forward_scale == "expressions" else ascii_lowercase[place]
