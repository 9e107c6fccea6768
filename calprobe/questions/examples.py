"""Examples for few-shot prompts: which questions can be examples, and which of them a prompt shows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions.drawing import drawn_places
from calprobe.questions.options import QuestionOptions, ShotsBy
from calprobe.questions.pools import Pool
from calprobe.questions.types import Question, QuestionKind, QuestionSet

SHOT_SEED = 42


def last_examples(
    pool: Pool,
    places: Sequence[int],
    chosen: Sequence[int],
    asked: Sequence[Question],
    wanted: Collection[Question],
    options: QuestionOptions,
) -> tuple[Question, ...]:
    """As many of each kind as are wanted, the last of these places in the drawn order that are not chosen.

    Each has a text that is not asked. By group, as many of each kind and group of the wanted questions come beside
    them, as far as there are any.
    """
    taken_out, seen = set(chosen), {text_of(question) for question in asked}
    shots: list[Question] = []
    lacking = Counter({(question.kind, ""): options.shots for question in wanted})
    if options.shots_by == "group":
        lacking |= Counter({(question.kind, question.group): options.shots for question in wanted})
    for place in reversed(drawn_places(len(places), len(places), options.seed)):
        if not +lacking:
            break
        if places[place] in taken_out:
            continue
        shot = pool.question(places[place])
        keys = [key for key in {(shot.kind, ""), (shot.kind, shot.group)} if lacking[key] > 0]
        if keys and text_of(shot) not in seen:
            seen.add(text_of(shot))
            lacking.subtract(keys)
            shots.append(shot)
    return tuple(shots)


def check_examples(
    shots: Sequence[Question], asked: Sequence[Question], kinds: Collection[QuestionKind], options: QuestionOptions
) -> None:
    """Raise UsageError for fewer of a kind than the options want, and where none is left beside them."""
    n_shots, n_asked = (Counter(question.kind for question in questions) for questions in (shots, asked))
    for kind in kinds if options.shots else ():
        of_kind = f" of the kind {kind}" if len(kinds) > 1 else ""
        if n_shots[kind] < options.shots:
            raise UsageError(
                f"--shots {options.shots}: only {counted(n_shots[kind], 'question')}{of_kind} can be examples; give "
                "more with --shots-from, ask fewer with --draw, or choose --variants without examples"
            )
        if not n_asked[kind]:
            raise UsageError(
                f"--shots {options.shots}: no question{of_kind} is left to be asked; give more questions, --variants "
                "without examples, examples of a file with --shots-from, or --shots 0"
            )


def of_each_kind(shots: Sequence[Question], count: int) -> tuple[Question, ...]:
    """The first so many of each kind, in their order."""
    return _first_of(shots, count, lambda shot: shot.kind)


def shown_to(question: Question, shots: Sequence[Question], count: int) -> list[Question]:
    """The examples that a question's prompt shows: the first of its kind, of its own group where there are so many."""
    of_kind = [shot for shot in shots if shot.kind == question.kind]
    of_group = [shot for shot in of_kind if shot.group and shot.group == question.group]
    return (of_group if len(of_group) >= count else of_kind)[:count]


def _first_of(shots: Sequence[Question], count: int, key: Callable[[Question], Hashable]) -> tuple[Question, ...]:
    seen: Counter[Hashable] = Counter()
    first = []
    for shot in shots:
        seen[key(shot)] += 1
        if seen[key(shot)] <= count:
            first.append(shot)
    return tuple(first)


def text_of(question: Question) -> tuple[str, str]:
    """What a model reads of a question, options apart."""
    return question.context, question.text


def draw_shots(questions: QuestionSet, count: int, seed: int = SHOT_SEED, by: ShotsBy = "any") -> tuple[Question, ...]:
    """Examples for prompts, drawn from the questions of another split: so many for each kind of question in the set.

    By group, so many of each kind and group, too, as far as there are any.

    The order is drawn, too, and with it that of the right answers. A smaller draw is the beginning of a larger one with
    the same seed.

    Raises:
        UsageError: the set has fewer examples for a kind of its questions.

    >>> from calprobe.questions import QuestionSet, SetSource
    >>> shots = tuple(Question(str(i), f"{i} + {i}?", "number", number=2 * i) for i in range(5))
    >>> [shot.id for shot in draw_shots(QuestionSet("sums", (), SetSource(""), shots), 3)]
    ['3', '1', '2']
    """
    counts = Counter(shot.kind for shot in questions.shots)
    kinds = dict.fromkeys(question.kind for question in questions.questions or questions.shots)
    least = min((counts[kind] for kind in kinds), default=0)
    if least < count:
        of_kind = f" of the kind {next(kind for kind in kinds if counts[kind] == least)}" if len(kinds) > 1 else ""
        raise UsageError(
            f"question set {questions.name!r} has {counted(least, 'example')}{of_kind} apart from its questions, and "
            f"prompts need {count}; choose --variants without examples, or --shots {least}"
        )
    order = list(questions.shots)
    random.Random(seed).shuffle(order)
    chosen = set(map(id, of_each_kind(order, count)))
    if by == "group":
        chosen |= set(map(id, _first_of(order, count, lambda shot: (shot.kind, shot.group))))
    return tuple(shot for shot in order if id(shot) in chosen and shot.kind in kinds)
