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

    Raises:
        UsageError: the set has not so many questions, none of the groups, or not so many examples.
        ProbeFormatError: the file of examples is not a question file.
    """
    places = grouped(found.pool, options.groups, found.name)
    chosen = [places[place] for place in taken_places(len(places), options, found.name)]
    questions = tuple(found.pool.question(place) for place in chosen)
    others = _shots_pool(found, options)
    source = replace(
        found.source,
        fingerprint=fingerprint_of_questions(questions),
        files={**found.pool.files, **({} if others is None else others.files)},
        available=len(places),
        rule=rule_of(options),
        seed=options.seed,
        places=None if options.draw is None else fingerprint_of_places(chosen),
    )
    if others is not None:
        shots = _shots(others, range(others.size), questions, options)
    else:
        asked = set(chosen)
        shots = _shots(found.pool, [place for place in places if place not in asked], questions, options)
    return QuestionSet(found.name, questions, source, shots, found.pool.notes)


def _shots_pool(found: FoundSet, options: QuestionOptions) -> Pool | None:
    if not options.shots:
        return None
    if options.shots_from is None:
        return found.shots
    path = Path(options.shots_from).expanduser()
    if not path.is_file():
        raise UsageError(f"--shots-from {options.shots_from}: there is no such file; give a question file")
    return own_pool(path)


def _shots(
    pool: Pool, places: Sequence[int], questions: Sequence[Question], options: QuestionOptions
) -> tuple[Question, ...]:
    """Drawn examples from these places of a pool, none with the text of a question that is asked."""
    if not options.shots:
        return ()
    asked = {(question.context, question.text) for question in questions}
    shots: list[Question] = []
    for place in drawn_places(len(places), len(places), options.seed):
        shot = pool.question(places[place])
        if (shot.context, shot.text) not in asked:
            shots.append(shot)
        if len(shots) == options.shots:
            return tuple(shots)
    what = f"--shots {options.shots}: only {counted(len(shots), 'question')} can be examples, for the others are asked"
    raise UsageError(f"{what}; ask fewer with --draw, or give examples with --shots-from FILE.jsonl")
