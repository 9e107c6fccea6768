"""What a plan needs of a backend, checked before the first request."""

from __future__ import annotations

from calprobe.asking.plan import Plan
from calprobe.backends.protocol import Described
from calprobe.errors import UsageError
from calprobe.questions import QuestionSet


def refuse_incapable(plan: Plan, backend: Described) -> None:
    """Raise UsageError for the first thing that the plan asks and the backend cannot do, with what to do instead."""
    _refuse_temperatures(plan, backend)
    able, name = backend.capabilities, f"{backend.model.name} on {backend.name}"
    collects = plan.options.collect or ()
    if "labels" in collects and (lack := lack_of_labels(plan, backend)):
        raise UsageError(f"--collect labels: {name} {lack}; leave labels out, or use --backend transformers")
    if "p_true" in collects and not able.complete_softmax and able.top_logprobs < 2:
        raise UsageError(
            f"--collect p_true: {name} does not show the log-probabilities of two tokens; leave p_true out, or use "
            "--backend transformers"
        )
    if "alternatives" in collects and not (able.complete_softmax or able.top_logprobs):
        raise UsageError(
            f"--collect alternatives: {name} gives no log-probabilities of tokens{_refusal(backend)}; leave "
            "alternatives out, or use --backend transformers"
        )
    if "closed" in collects and not able.complete_softmax:
        raise UsageError(
            f"--collect closed: {name} gives no probabilities of all tokens; leave closed out, or use "
            "--backend transformers"
        )
    if plan.options.think_tokens is not None and not able.ends_thoughts:
        raise UsageError(f"--think-tokens: {name} cannot end a thought; leave it out, or use --backend transformers")
    if not able.raw and any(plan_is_raw(plan)):
        raise UsageError(
            f"{name} takes chat messages only, and the prompts are raw text; use --backend transformers or vllm"
        )


def lack_of_labels(plan: Plan, backend: Described) -> str:
    """Why the backend has no probabilities for the labels that the plan's questions have; empty if it has them."""
    able, choices = backend.capabilities, [question_set for question_set in plan.sets if _has_choices(question_set)]
    if not choices or able.complete_softmax:
        return ""
    if not able.top_logprobs:
        return f"gives no log-probabilities of tokens{_refusal(backend)}"
    most = max(len(question.options) for question_set in choices for question in question_set.questions)
    if able.top_logprobs < most:
        return f"shows the {able.top_logprobs} most probable tokens, fewer than the {most} labels of a question"
    return ""


def _refusal(backend: Described) -> str:
    """What the server said of log-probabilities, where it refuses them."""
    refusal = backend.capabilities.refused.get("logprobs")
    return f" ({refusal})" if refusal else ""


def _refuse_temperatures(plan: Plan, backend: Described) -> None:
    """Raise UsageError for a temperature other than 0 (the model's own is then taken) and 1 that the server refuses."""
    refusal, options = backend.capabilities.refused.get("temperature"), plan.options
    if refusal is None:
        return
    of_variants = [variant.temperature for variant in plan.prompts.variants]
    values = [value for value in (options.temperature, *of_variants) if value not in (None, 0, 1)]
    if values:
        raise UsageError(
            f"temperature {values[0]:g}: {backend.model.name} on {backend.name} takes none but its own ({refusal}); "
            "leave --temperature out, or give 1"
        )
    if options.top_p not in (None, 1):
        raise UsageError(
            f"--top-p {options.top_p:g}: {backend.model.name} takes no temperature, so no top-p; leave it out"
        )


def plan_is_raw(plan: Plan) -> list[bool]:
    """For each set and variant, whether its first question is asked as raw text."""
    return [
        variant.of(question_set.questions[0]).raw
        for question_set in plan.sets
        if question_set.questions
        for variant in plan.prompts.variants
    ]


def _has_choices(questions: QuestionSet) -> bool:
    return any(question.kind == "choice" for question in questions.questions)
