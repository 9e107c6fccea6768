"""From the questions that can be asked to those that are: groups, a draw or a limit, and examples for prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calprobe.errors import UsageError
from calprobe.questions.drawing import fingerprint_of_places, rule_of, taken_places
from calprobe.questions.examples import check_examples, last_examples, text_of
from calprobe.questions.options import QuestionOptions
from calprobe.questions.pools import Pool, grouped
from calprobe.questions.question_records import fingerprint_of_questions
from calprobe.questions.types import Question, QuestionSet, SetSource


@dataclass(frozen=True, slots=True)
class FoundSet:
    """A set before a draw: where its questions and its examples come from."""

    name: str
    pool: Pool
    source: SetSource  # with what is known before a draw, no fingerprint; of a written set, with its draw
    shots: Pool | None = None  # None: from the questions that are not asked


def taken(found: FoundSet, options: QuestionOptions) -> QuestionSet:
    """The questions that the options choose of a set, with examples that are not among them.

    Examples come from the other split or file. Where there is none they are the last ones of the drawn order, so that
    larger draws keep them; and where all questions are asked, as many are held back for examples, which a note says.
    Questions of several kinds get as many examples of each.

    Raises:
        UsageError: the set has not so many questions, none of the groups, or not so many examples.
    """
    places = grouped(found.pool, options.groups, found.name)
    chosen = _chosen(found, places, options)
    shot_pool = found.shots if options.shots else None
    shots: tuple[Question, ...] = ()
    notes = found.pool.notes
    asked_questions = _questions(found.pool, chosen) if options.shots else ()
    kinds = dict.fromkeys(question.kind for question in asked_questions)
    if options.shots and shot_pool is not None:
        shots = last_examples(shot_pool, range(shot_pool.size), (), asked_questions, asked_questions, options)
    elif options.shots:
        shots = last_examples(found.pool, places, chosen, asked_questions, asked_questions, options)
        if len(shots) < options.shots * len(kinds) and options.draw is None:
            shots = last_examples(found.pool, places, (), (), asked_questions, options)
            held_back = {text_of(shot) for shot in shots}
            chosen = [place for place in chosen if text_of(found.pool.question(place)) not in held_back]
            names = ", ".join(shot.id for shot in shots)
            mend = "to ask them too, give --shots-from, or --variants without examples"
            notes = (*notes, f"Held back as examples for prompts, so not asked: {names}; {mend}.")
    questions = _questions(found.pool, chosen)
    check_examples(shots, questions, kinds, options)
    source = replace(
        found.source,
        fingerprint=fingerprint_of_questions(questions),
        files={**found.pool.files, **({} if shot_pool is None else shot_pool.files)},
        left_out=found.source.left_out or found.pool.left_out,
    )
    if not found.source.available or options.groups or rule_of(options) != "all":
        source = replace(
            source,
            available=len(places),
            groups=options.groups,
            in_split=found.pool.size if options.groups else None,
            rule=rule_of(options),
            seed=options.seed,
            places=None if options.draw is None else fingerprint_of_places(chosen),
        )
    return QuestionSet(found.name, questions, source, shots, notes)


def _chosen(found_set: FoundSet, places: Sequence[int], options: QuestionOptions) -> list[int]:
    """Those of the places that are asked."""
    if options.draw is None or options.draw_rule != "relation":
        return [places[place] for place in taken_places(len(places), options, found_set.name)]
    if found_set.pool.of_each is None:
        raise UsageError(f"--draw-rule relation: {found_set.name} has no facts of relations; leave --draw-rule out")
    sampled = set(found_set.pool.of_each(options.draw, options.seed))
    return [place for place in places if place in sampled]


def _questions(pool: Pool, places: Sequence[int]) -> tuple[Question, ...]:
    return tuple(pool.question(place) for place in places)
