"""A judge: a model that is asked whether an answer means the same as an accepted one.

What it is asked is a run of its own within the folder of the run that is graded, RUN/judges/NAME-HASH: a question for
each answer that differs from the others, in journal and shards as every run of replies has them, so that nothing is
asked twice, in whatever variant or sample the answer comes again. The probabilities of Yes and No decide, unless both
are next to nothing, of which a ratio is no verdict; then, and of a server that does not show them, its words do.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calprobe.answers import Grade
from calprobe.answers.graders import JUDGE, UNDECIDED
from calprobe.answers.reply_tails import where_a_new_question_begins
from calprobe.answers.yes_no import read_yes_no
from calprobe.asking import AskOptions, ask
from calprobe.asking.run_manifest import backend_record
from calprobe.backends.protocol import Backend
from calprobe.errors import UsageError
from calprobe.grading.answers_of import GradedAnswer
from calprobe.grading.grade_options import GradeOptions
from calprobe.messages import counted
from calprobe.prompts import PromptSet, load_prompts
from calprobe.questions import Question, QuestionSet, SetSource
from calprobe.runs import Reply, open_asked
from calprobe.runs.file_names import file_name
from calprobe.runs.grades import LEAST_MASS, LITTLE_MASS, mass_said
from calprobe.runs.task import sha256_of

log = logging.getLogger(__name__)

FOLDER = "judges"
SET = "judged"  # the name of the judge's questions
YES_NO = ("Yes", "No")
_ACCEPTED = 20  # accepted texts that the judge sees; exact matching has seen all
_CHARACTERS = 1_000  # of an answer that the judge sees


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge has said."""

    grades: Mapping[str, Grade]  # by the key of the reply
    how: Mapping[str, str]  # for the disclosure


def judged(run: Path, answers: Sequence[GradedAnswer], judge: Backend, options: GradeOptions) -> Judged:
    """Ask the judge about the answers, those that it has judged before left out.

    Args:
        run: the folder of the run that is graded.
        answers: to open questions.
        judge: an engine that is ready; the caller closes it.
        options: the target, and the judge's prompts.
    Raises:
        UsageError: a question has no text in the run folder. CalprobeError and Interrupted as `calprobe.ask`.
    """
    prompts = _prompts(options)
    questions = {answer.reply.key: _question(answer, options) for answer in answers}
    different = {question.id: question for question in questions.values()}
    folder = run / FOLDER / _folder_name(judge, prompts)
    by_labels = judge.capabilities.complete_softmax or judge.capabilities.top_logprobs >= len(YES_NO)
    log.info(
        "%s that exact matching does not accept (%s) for the judge %s",
        *(counted(len(answers), "answer"), f"{len(different):,} different", judge.model.name),
    )
    replies: dict[str, Reply] = {}
    if different:
        settings = AskOptions(prompts=prompts, collect=("labels",) if by_labels else ("answer",), quiet=options.quiet)
        ask(judge, _as_set(different.values()), folder, settings)
        replies = _replies(folder)
    mass = _mean_mass(replies[name] for name in different if name in replies)
    _warn_of_little(mass)
    grades = {key: _grade(replies.get(question.id)) for key, question in questions.items()}
    how = {
        "judge": judge.model.name,
        "judge_backend": judge.name,
        "judge_prompts": f"{prompts.name} ({prompts.fingerprint[:12]})",
        "judge_evidence": "label probabilities of Yes and No" if by_labels else "the word yes or no in its reply",
        "judge_replies": f"{FOLDER}/{folder.name}",
    } | ({} if mass is None else mass_said(mass))
    return Judged(grades, how)


def _prompts(options: GradeOptions) -> PromptSet:
    """The judge's prompt: the first variant of the set, and nothing after the reply."""
    chosen = options.judge_prompts
    prompts = chosen if isinstance(chosen, PromptSet) else load_prompts(chosen)
    return replace(prompts, variants=prompts.variants[:1], stated=(), final_cue="")


def _question(answer: GradedAnswer, options: GradeOptions) -> Question:
    """What the judge is asked, under an id that is made of it."""
    wordings, paraphrase = answer.question.wordings, answer.reply.paraphrase
    # An import may have replies to paraphrases that the questions have no text of.
    wording = wordings[paraphrase if paraphrase < len(wordings) else 0]
    if not wording:
        raise UsageError(
            f"{answer.reply.set}: question {answer.question.id} has no text in the run folder, as the set must not be "
            "quoted, and a judge needs it; use --grader exact, contains or rouge"
        )
    accepted = options.rules.accepted(answer.question)[:_ACCEPTED]
    sections = (
        ("Context", answer.question.context),
        ("Question", wording),
        ("Accepted answers" if len(accepted) > 1 else "Accepted answer", "; ".join(accepted)),
        ("Answer to grade", _shown(answer.reply.text)),
    )
    text = "\n".join(f"{title}: {content}" for title, content in sections if content)
    return Question(
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24], text, "choice", YES_NO, YES_NO, answer=0
    )


def _shown(text: str) -> str:
    """A reply on one line, up to where the model asks itself a new question."""
    end = next(where_a_new_question_begins(text, len(text)), len(text))
    return re.sub(r"\s+", " ", text[:end]).strip()[:_CHARACTERS]


def _as_set(questions: Iterable[Question]) -> QuestionSet:
    ordered = tuple(sorted(questions, key=lambda question: question.id))
    ids = "\n".join(question.id for question in ordered)
    return QuestionSet(SET, ordered, SetSource(hashlib.sha256(ids.encode()).hexdigest()))


def _folder_name(judge: Backend, prompts: PromptSet) -> str:
    """One folder for each judge and prompt, so that neither meets the replies of another."""
    model, record = judge.model, backend_record(judge)
    decides = {
        "model": model.weights_fingerprint or model.id or model.name,
        "revision": model.revision,
        "tokenizer": model.tokenizer_fingerprint,
        "adapter": model.adapter,
        "backend": record.name,
        "settings": dict(record.settings),
        "prompts": prompts.fingerprint,
    }
    return file_name(f"{Path(model.name).name or 'judge'}-{sha256_of(decides)[:12]}")


def _replies(folder: Path) -> dict[str, Reply]:
    """All replies of the judge by question, also those of a run that is not complete."""
    records = open_asked(folder).by_piece.values()
    return {reply.question: reply for record in records for reply in record.replies if reply.finish != "error"}


def _grade(reply: Reply | None) -> Grade:
    if reply is None:
        return Grade(correct=False, rule=UNDECIDED)
    mass = _mass(reply)
    if reply.label_scores is not None and mass is not None and mass >= LEAST_MASS:
        yes, no = reply.label_scores.logprobs[0].tolist()
        score = float(np.exp(yes - np.logaddexp(yes, no)))
        return Grade(score > 0.5, JUDGE, score=score)
    verdict = read_yes_no(reply.text).value
    return Grade(correct=False, rule=UNDECIDED) if verdict is None else Grade(verdict == "yes", JUDGE)


def _mass(reply: Reply) -> float | None:
    """The probability of Yes and No together at the first position; None where it is not known."""
    scores = reply.label_scores
    if scores is None or not len(scores.positions) or scores.positions[0] != 0:
        return None
    return min(float(np.exp(scores.logprobs[0]).sum()), 1.0)


def _mean_mass(replies: Iterable[Reply]) -> float | None:
    masses = [mass for reply in replies if (mass := _mass(reply)) is not None]
    return float(np.mean(masses)) if masses else None


def _warn_of_little(mass: float | None) -> None:
    """Say so where a judge puts most of its probability on other words than Yes and No."""
    if mass is not None and mass < LITTLE_MASS:
        log.warning(
            "the judge gives Yes and No %.2f of its probability on average, other words the rest; a larger judge, or "
            "another --judge-prompts, may answer what it is asked",
            mass,
        )
