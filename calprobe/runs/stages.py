"""The stages of replies: what each request of a dialogue asks.

| stage | the reply to |
|---|---|
| `answer`, `label` | the question; `label` where only the probabilities of labels are asked for |
| `final` | the reply, continued by the final cue, or the conclusion that is asked for behind it |
| `p_true` | whether the answer is true |
| `greedy` | the question, answered once more without chance, beside samples |
| `greedy_final` | the conclusion that is asked for behind the greedy reply |
| `stated:PROMPT` | the prompt PROMPT about the confidence in the model's own reply |
| `stated:PROMPT@CONDITION` | the same prompt, with another answer in the place of the reply |

CONDITION is `target` (the right answer), `counterfactual` (another one), or `abstain1`, `abstain2`, .. (no answer).
"""

from __future__ import annotations

import re
from typing import NamedTuple

LABEL, ANSWER, FINAL, GREEDY, P_TRUE = "label", "answer", "final", "greedy", "p_true"
GREEDY_FINAL = "greedy_final"
UNSTATED = (ANSWER, LABEL, FINAL, P_TRUE, GREEDY, GREEDY_FINAL)  # all but those of stated confidences
ONCE = frozenset((GREEDY, GREEDY_FINAL))  # stages that a question has once, however many samples there are
STATED = "stated:"  # goes on with the name of a prompt
REPLACED = "@"  # stands in no name of a prompt
TARGET, COUNTERFACTUAL, ABSTAIN = "target", "counterfactual", "abstain"

_CONDITION = re.compile(rf"{TARGET}|{COUNTERFACTUAL}|{ABSTAIN}[1-9][0-9]*")


class StatedStage(NamedTuple):
    """The stage of a stated confidence, taken apart."""

    prompt: str
    condition: str = ""  # what stands in the place of the reply; empty: nothing, it is the model's own

    @property
    def stage(self) -> str:
        """Its name.

        >>> StatedStage("probability_1", "target").stage
        'stated:probability_1@target'
        """
        return f"{STATED}{self.prompt}" + (f"{REPLACED}{self.condition}" if self.condition else "")


def stated_stage(stage: str) -> StatedStage | None:
    """The prompt and the condition of a stage; None for the stage of something else.

    >>> stated_stage("stated:probability_1"), stated_stage("answer")
    (StatedStage(prompt='probability_1', condition=''), None)
    """
    if not stage.startswith(STATED):
        return None
    name = stage.removeprefix(STATED)
    prompt, _, condition = name.rpartition(REPLACED)
    return StatedStage(prompt, condition) if prompt and is_condition(condition) else StatedStage(name)


def is_condition(name: str) -> bool:
    """Whether that is the name of a condition.

    >>> is_condition("abstain3"), is_condition("abstain")
    (True, False)
    """
    return _CONDITION.fullmatch(name) is not None


def abstention(number: int) -> str:
    """The condition of that abstention, counted from 1."""
    return f"{ABSTAIN}{number}"
