"""What a run asks, of its options: sets of questions with their examples and wordings, and prompts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calprobe.asking.ask_options import DEFAULTS, PARAPHRASED, STUDIES, AskOptions
from calprobe.asking.paraphrase_wordings import with_paraphrases, without_copies
from calprobe.asking.plan import Plan
from calprobe.errors import UsageError
from calprobe.messages import counted
from calprobe.prompts import (
    Overrides,
    PromptSet,
    draw_shots,
    judged,
    labelled,
    load_prompts,
    overridden,
    with_turns,
)
from calprobe.questions import Question, QuestionOptions, QuestionSet, load_questions
from calprobe.questions.paraphrase_file import read_paraphrases
from calprobe.questions.summary import DRAW_THE_ORDER, one_place
from calprobe.runs.asked_records import ParaphraseRecord

log = logging.getLogger(__name__)

Questions = str | Path | QuestionSet


def plan_of(
    questions: Questions | Sequence[Questions], options: AskOptions, question_options: QuestionOptions | None = None
) -> Plan:
    """What `ask` would ask with the same arguments, whatever the model.

    Raises:
        CalprobeError: what cannot be asked, as `ask` raises it before a model is loaded.
    """
    filled = options.filled()
    prompts = _prompts(filled)
    if prompts.fields and "labels" in (filled.collect or ()):
        if options.collect is not None:
            raise UsageError(
                f"--collect labels: prompt set {prompts.name!r} asks for JSON, which begins with no label; "
                "leave labels out"
            )
        filled = replace(filled, collect=tuple(name for name in filled.collect or () if name != "labels"))
    sources = [questions] if isinstance(questions, str | Path | QuestionSet) else list(questions)
    chosen = question_options or QuestionOptions(seed=filled.seed or 0)
    sets = tuple(_asked_set(source, prompts, filled, chosen) for source in sources)
    _refuse_bad_sets(sets)
    sets, worded = _worded(sets, filled)
    prompts = _permuted(prompts, sets, filled)
    plan = Plan(sets, prompts, filled, paraphrases=worded)
    plan.check()
    return plan


def _prompts(options: AskOptions) -> PromptSet:
    source = options.prompts or DEFAULTS["prompts"]
    prompts = source if isinstance(source, PromptSet) else load_prompts(source)
    asks = "p_true" in (options.collect or ())
    overrides = Overrides(
        variants=options.variants,
        max_new_tokens=options.max_new_tokens,
        stated_tokens=options.stated_tokens,
        shots=options.shots,
        raw=options.raw_prompt,
        system=options.system,
        p_true=asks,
    )
    chosen = overridden(prompts, overrides)
    if options.shots and not any(wording.shots for v in chosen.variants for wording in (v, *v.wordings.values())):
        few = ", such as --variants fewshot_3" if options.prompts == DEFAULTS["prompts"] else ""
        raise UsageError(
            f"--shots {options.shots}: no variant shows examples; leave it out, or choose one that does{few}"
        )
    return chosen


def _worded(
    sets: tuple[QuestionSet, ...], options: AskOptions
) -> tuple[tuple[QuestionSet, ...], ParaphraseRecord | None]:
    """The questions with the wordings of a file, where one is given."""
    if options.paraphrases == "hand":
        return without_copies(sets), None
    if options.paraphrases is None or str(options.paraphrases) in PARAPHRASED:
        return sets, None
    worded, record = with_paraphrases(sets, read_paraphrases(options.paraphrases), options.wordings)
    log.info("paraphrases: %s", record.describe())
    return worded, record


def _permuted(prompts: PromptSet, sets: Sequence[QuestionSet], options: AskOptions) -> PromptSet:
    """The prompts with the options of questions in each order that is wanted."""
    if options.permute != "cyclic":
        return prompts
    if prompts.claim:
        raise UsageError("--permute cyclic: the prompts ask about one option at a time, in no order; leave it out")
    count = max((len(question.options) for question_set in sets for question in question_set.questions), default=0)
    if not count:
        raise UsageError("--permute cyclic: the questions have no options to permute; leave it out")
    return with_turns(prompts, count)


def _asked_set(source: Questions, prompts: PromptSet, options: AskOptions, chosen: QuestionOptions) -> QuestionSet:
    """One set with the labels that the prompts give its options, and with its examples in their order.

    A study's draw is taken unless the options choose a number of questions.
    """
    n_shots = max((wording.shots for v in prompts.variants for wording in (v, *v.wordings.values())), default=0)
    examples = prompts.examples if n_shots and chosen.shots_from is None else ()
    if isinstance(source, QuestionSet):
        questions = source
    else:
        study = STUDIES.get(options.study or "")
        rule = chosen.draw_rule or (None if study is None else study.draw_rule)
        chosen = replace(chosen, shots=0 if examples else n_shots, draw_rule=rule)
        (questions,) = load_questions([source], chosen)
        is_chosen = chosen.draw is not None or chosen.limit is not None
        if study is not None and study.draw is not None and not is_chosen and len(questions.questions) > study.draw:
            (questions,) = load_questions([source], replace(chosen, draw=study.draw))
        for note in questions.notes:
            log.info("%s: %s", questions.name, note)
        if n_shots and not examples and not questions.source.shots_split:
            text = counted(len(questions.questions), "question")
            log.info(
                "%s: %d questions serve as examples in prompts, %s left to ask",
                questions.name,
                len(questions.shots),
                text,
            )
    if not questions.questions:
        raise UsageError(f"{questions.name}: has no questions; choose another file, --split or --limit")
    if options.permute != "cyclic" and not prompts.claim and (where := one_place(questions.questions)):
        log.warning(
            "%s: the right option is in %s, and the model may prefer that place: %s",
            questions.name,
            where,
            DRAW_THE_ORDER,
        )
    questions = labelled(questions, prompts.labels)
    if prompts.claim:
        questions = judged(questions, prompts.claim, prompts.layout)
    if examples:
        return replace(
            questions, shots=labelled(replace(questions, shots=_enough(examples, n_shots)), prompts.labels).shots
        )
    return (
        replace(questions, shots=draw_shots(questions, n_shots, options.seed or 0, chosen.shots_by))
        if n_shots
        else replace(questions, shots=())
    )


def _enough(examples: tuple[Question, ...], count: int) -> tuple[Question, ...]:
    if count > len(examples):
        raise UsageError(
            f"--shots {count}: the prompts have {counted(len(examples), 'example')}; "
            "give fewer, or others by --shots-from"
        )
    return examples


def _refuse_bad_sets(sets: Sequence[QuestionSet]) -> None:
    if not sets:
        raise UsageError("no questions; give --questions NAME or FILE.jsonl")
    files = [
        (question_set.source.path, question_set.source.fingerprint)
        for question_set in sets
        if question_set.source.path is not None
    ]
    if twice := next((path for place, (path, _) in enumerate(files) if files[place] in files[:place]), None):
        raise UsageError(f"--questions: {twice} is there twice; name it once")
    names = [question_set.name for question_set in sets]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two question sets are called {twice!r}; rename one of the files")
