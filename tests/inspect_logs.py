"""Evaluations of inspect_ai with a model that is made up, and their logs; needs the package.

`python tests/inspect_logs.py FOLDER` writes the logs that tests/data/inspect/ has, as JSON: small enough to be read.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.model._model_output import Logprob, Logprobs, TopLogprob
from inspect_ai.scorer import choice, match
from inspect_ai.solver import Generate, TaskState, generate, multiple_choice, solver, system_message

from calprobe.integrations.inspect_ai import with_confidence

CITIES = ("Lima", "Oslo", "Bern", "Rome")
# Question, right letter, what the model says, and the probability of the letter that it says.
CAPITALS = (
    ("Which city is the capital of Peru?", "A", "ANSWER: A", 0.9),
    ("Which city is the capital of Norway?", "B", "ANSWER: B", 0.6),
    ("Which city is the capital of Switzerland?", "C", "ANSWER: D", 0.5),
    ("Which city is the capital of Italy?", "D", "It was built on seven hills.\n\nANSWER: D", 0.8),
    ("Which of these lies in the south of Europe?", "D", "I would rather not choose.", 0.4),
)
# Question, right answer, what the model says in each of two epochs.
SUMS = (
    ("How many legs have two cats?", "8", ("8\nConfidence: 90%", "8\nConfidence: 80%")),
    ("How many corners have three squares?", "12", ("12\nConfidence: 0.7", "9\nConfidence: 55%")),
    ("How many days are in two weeks?", "14", ("15\nConfidence: 60%", "14\nI am sure.")),
)


def capitals_log(folder: Path, format: str = "eval") -> EvalLog:
    """Multiple choice, with log-probabilities; the last of six samples fails."""
    samples = [Sample(question, list(CITIES), target, f"c{n}") for n, (question, target, *_) in enumerate(CAPITALS)]
    samples.append(Sample("Which city is the capital of nowhere?", list(CITIES), "A", "c5"))
    said = {question: output(text, share) for question, _, text, share in CAPITALS}
    task = Task(
        MemoryDataset(samples, name="cities"), solver=[fails(), multiple_choice()], scorer=choice(), name="capitals"
    )
    return _evaluated(task, said, folder, format, fail_on_error=False)


def sums_log(folder: Path, format: str = "eval") -> EvalLog:
    """Open questions in two epochs, with stated confidence; one reply states none."""
    samples = [Sample(question, None, target, n) for n, (question, target, _) in enumerate(SUMS, start=1)]
    said = {question: [ModelOutput.from_content("m", text) for text in texts] for question, _, texts in SUMS}
    task = Task(
        MemoryDataset(samples, name="sums"),
        solver=[system_message("Answer with a number, then say how sure you are."), generate()],
        scorer=with_confidence(match(location="begin", numeric=True)),
        name="sums",
    )
    return _evaluated(task, said, folder, format, epochs=2)


@solver
def fails() -> Any:
    """A solver that breaks down at the question about nowhere."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if "nowhere" in state.input_text:
            raise RuntimeError("no such place")
        return state

    return solve


def output(text: str, share: float) -> ModelOutput:
    """A reply with log-probabilities: its last letter has the share, the other letters the rest in equal parts."""
    found = ModelOutput.from_content("m", text)
    tokens = [word + end for word, end in zip(text.split(" "), [" "] * text.count(" ") + [""], strict=True)]
    found.choices[0].logprobs = Logprobs(content=[_logprob(token, share) for token in tokens])
    return found


def _logprob(token: str, share: float) -> Logprob:
    letters = "ABCD" if token in tuple("ABCD") else (token, "Lima", "so", "the")
    shares = {own: share if own == token else (1 - share) / 3 for own in letters}
    top = [TopLogprob(token=own, logprob=math.log(p)) for own, p in sorted(shares.items(), key=lambda s: -s[1])]
    return Logprob(token=token, logprob=math.log(share), top_logprobs=top)


def _evaluated(task: Task, said: dict[str, Any], folder: Path, format: str, **options: Any) -> EvalLog:
    used: dict[str, int] = {}

    def reply(messages: Sequence[Any], *_: Any) -> ModelOutput:
        text = messages[-1].text
        question = next(own for own in said if own in text)
        used[question] = used.get(question, -1) + 1
        found = said[question]
        own: ModelOutput = (found[used[question]] if isinstance(found, list) else found).model_copy(deep=True)
        own.usage = ModelUsage()  # or a tokenizer is fetched to count
        return own

    model = get_model("mockllm/model", memoize=False, custom_outputs=reply)
    (log,) = eval(task, model=model, log_dir=str(folder), log_format=format, display="none", max_samples=1, **options)
    return log


def small(log: EvalLog) -> EvalLog:
    """The log without what is of this machine or large: its place, times, events, traces of errors."""
    log.eval.revision = log.eval.task_file = None
    for sample in log.samples or []:
        sample.events, sample.attachments = [], {}
        sample.started_at = sample.completed_at = sample.total_time = sample.working_time = None
        if sample.error is not None:
            sample.error.traceback = sample.error.traceback_ansi = ""
    return log


if __name__ == "__main__":
    place = Path(sys.argv[1])
    for make in (capitals_log, sums_log):
        own = make(place / "made")
        write_eval_log(small(own), place / f"{own.eval.task}.json")
