"""Examples for few-shot prompts: which questions can be examples, and which of them a prompt shows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions.drawing import drawn_places
from calprobe.questions.options import QuestionOptions
from calprobe.questions.pools import Pool, own_pool
from calprobe.questions.types import Question, QuestionSet

SHOT_SEED = 42


def pool_of_examples(others: Pool | None, options: QuestionOptions) -> Pool | None:
    """The questions that examples are taken from: a file that the options name, else the set's other split.

    None: there is no other split, or no examples are wanted. Raises UsageError for a file that is not there.
    """
    if not options.shots:
        return None
    if options.shots_from is None:
        return others
    path = Path(options.shots_from).expanduser()
    if not path.is_file():
        raise UsageError(f"--shots-from {options.shots_from}: there is no such file; give a question file")
    return own_pool(path)


def last_examples(
    pool: Pool, places: Sequence[int], chosen: Sequence[int], asked: Sequence[Question], options: QuestionOptions
) -> tuple[Question, ...]:
    """The last of these places in the drawn order that are not chosen, each with a text that is not asked."""
    taken_out, seen = set(chosen), {text_of(question) for question in asked}
    shots: list[Question] = []
    for place in reversed(drawn_places(len(places), len(places), options.seed)):
        if len(shots) == options.shots:
            break
        if places[place] not in taken_out and text_of(shot := pool.question(places[place])) not in seen:
            seen.add(text_of(shot))
            shots.append(shot)
    return tuple(shots)


def check_examples(shots: Sequence[Question], chosen: Sequence[int], options: QuestionOptions) -> None:
    """Raise UsageError for fewer examples than the options want, and where no question is left beside them."""
    if len(shots) < options.shots:
        what = (
            f"--shots {options.shots}: only {counted(len(shots), 'question')} can be examples, for the others are asked"
        )
        raise UsageError(f"{what}; ask fewer with --draw, or choose --variants without examples")
    if shots and not chosen:
        raise UsageError(f"--shots {options.shots}: no question is left to be asked; give more questions, or --shots 0")


def text_of(question: Question) -> tuple[str, str]:
    """What a model reads of a question, options apart."""
    return question.context, question.text


def draw_shots(questions: QuestionSet, count: int, seed: int = SHOT_SEED) -> tuple[Question, ...]:
    """Examples for prompts, drawn from the questions of another split; the same for every question of the set.

    The order is drawn, too, and with it that of the right answers. A smaller draw is the beginning of a larger one with
    the same seed.

    Raises:
        UsageError: the set has fewer examples.

    >>> from calprobe.questions import QuestionSet, SetSource
    >>> shots = tuple(Question(str(i), f"{i} + {i}?", "number", number=2 * i) for i in range(5))
    >>> [shot.id for shot in draw_shots(QuestionSet("sums", (), SetSource(""), shots), 3)]
    ['3', '1', '2']
    """
    if len(questions.shots) < count:
        raise UsageError(
            f"question set {questions.name!r} has {counted(len(questions.shots), 'example')} apart from its questions, "
            f"and prompts need {count}; choose --variants without examples, or --shots {len(questions.shots)}"
        )
    order = list(questions.shots)
    random.Random(seed).shuffle(order)
    return tuple(order[:count])
