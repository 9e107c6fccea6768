"""From the questions that can be asked to those that are: groups, a draw or a limit, and examples for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.questions.drawing import drawn_places, fingerprint_of_places, rule_of, taken_places
from calprobe.questions.options import QuestionOptions
from calprobe.questions.pools import Pool, grouped, own_pool
from calprobe.questions.records import fingerprint_of_questions
from calprobe.questions.types import Question, QuestionSet, SetSource


@dataclass(frozen=True, slots=True)
class FoundSet:
    """A set before a draw: where its questions and its examples come from."""

    name: str
    pool: Pool
    source: SetSource  # with what is known before a draw; no fingerprint
    shots: Pool | None = None  # None: from the questions that are not asked


def taken(found: FoundSet, options: QuestionOptions) -> QuestionSet:
    """The questions that the options choose of a set, with examples that are not among them.

    Examples come from the other split or file. Where there is none they are the last ones of the drawn order, so that
    larger draws keep them; and where all questions are asked, as many are held back for examples, which a note says.

    Raises:
        UsageError: the set has not so many questions, none of the groups, or not so many examples.
        ProbeFormatError: the file of examples is not a question file.
    """
    places = grouped(found.pool, options.groups, found.name)
    chosen = [places[place] for place in taken_places(len(places), options, found.name)]
    others = _shots_pool(found, options)
    shots: tuple[Question, ...] = ()
    notes = found.pool.notes
    if options.shots and others is not None:
        shots = _examples(others, range(others.size), (), _questions(found.pool, chosen), options)
    elif options.shots:
        shots = _examples(found.pool, places, chosen, _questions(found.pool, chosen), options)
        if len(shots) < options.shots and options.draw is None:
            shots = _examples(found.pool, places, (), (), options)
            held_back = {_asked(shot) for shot in shots}
            chosen = [place for place in chosen if _asked(found.pool.question(place)) not in held_back]
            names = ", ".join(shot.id for shot in shots)
            notes = (*notes, f"Held back as examples for prompts, so not asked: {names}.")
    _check_examples(shots, chosen, options)
    questions = _questions(found.pool, chosen)
    source = replace(
        found.source,
        fingerprint=fingerprint_of_questions(questions),
        files={**found.pool.files, **({} if others is None else others.files)},
        available=len(places),
        rule=rule_of(options),
        seed=options.seed,
        places=None if options.draw is None else fingerprint_of_places(chosen),
    )
    return QuestionSet(found.name, questions, source, shots, notes)


def _questions(pool: Pool, places: Sequence[int]) -> tuple[Question, ...]:
    return tuple(pool.question(place) for place in places)


def _asked(question: Question) -> tuple[str, str]:
    """What a model reads of a question, options apart."""
    return question.context, question.text


def _shots_pool(found: FoundSet, options: QuestionOptions) -> Pool | None:
    if not options.shots:
        return None
    if options.shots_from is None:
        return found.shots
    path = Path(options.shots_from).expanduser()
    if not path.is_file():
        raise UsageError(f"--shots-from {options.shots_from}: there is no such file; give a question file")
    return own_pool(path)


def _examples(
    pool: Pool, places: Sequence[int], chosen: Sequence[int], asked: Sequence[Question], options: QuestionOptions
) -> tuple[Question, ...]:
    """The last of these places in the drawn order that are not chosen, each with a text that is not asked."""
    taken_out, seen = set(chosen), {_asked(question) for question in asked}
    shots: list[Question] = []
    for place in reversed(drawn_places(len(places), len(places), options.seed)):
        if len(shots) == options.shots:
            break
        if places[place] not in taken_out and _asked(shot := pool.question(places[place])) not in seen:
            seen.add(_asked(shot))
            shots.append(shot)
    return tuple(shots)


def _check_examples(shots: Sequence[Question], chosen: Sequence[int], options: QuestionOptions) -> None:
    if len(shots) < options.shots:
        what = (
            f"--shots {options.shots}: only {counted(len(shots), 'question')} can be examples, for the others are asked"
        )
        raise UsageError(f"{what}; ask fewer with --draw, or choose --variants without examples")
    if shots and not chosen:
        raise UsageError(f"--shots {options.shots}: no question is left to be asked; give more questions")
