"""A prompt set as the options of a command want it: some of its variants, other budgets, plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from calprobe.errors import UsageError
from calprobe.messages import did_you_mean
from calprobe.prompts.prompt_sets import check_turn, fingerprint_of, names_of, p_true_text
from calprobe.prompts.types import PromptSet, Variant


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is to be different; None: as the set has it."""

    variants: Sequence[str] | None = None  # names, also of perturbations, in the order of asking
    max_new_tokens: int | None = None  # of replies, not of what is asked after them
    stated_tokens: int | None = None  # of stated confidences
    shots: int | None = None  # examples, in variants that have some
    raw: bool | None = None  # plain text, without a chat template
    system: str | None = None  # the system turn
    p_true: bool = False  # whether an answer is true is asked, in calprobe's words where the set has none


def overridden(prompts: PromptSet, overrides: Overrides) -> PromptSet:
    """The set with the overrides, under a fingerprint of its own if they change it.

    Raises:
        UsageError: the set has no variant of a name, the system turn an unknown placeholder, or raw text earlier turns.

    >>> from calprobe.prompts import load_prompts
    >>> chosen = overridden(load_prompts("audit"), Overrides(variants=["implicit_framing"], max_new_tokens=8))
    >>> [(variant.name, variant.max_new_tokens) for variant in chosen.variants]
    [('implicit_framing', 8)]
    """
    if overrides.system is not None:
        check_turn("--system", overrides.system)
    if overrides.raw and (spoken := next((variant for variant in prompts.variants if variant.earlier), None)):
        raise UsageError(
            f"--raw-prompt: variant {spoken.name!r} has earlier turns, and raw text has none; leave it out"
        )
    variants = tuple(_everywhere(variant, lambda each: _changed(each, overrides)) for variant in prompts.variants)
    if overrides.variants is not None:
        names = [each for name in overrides.variants for each in prompts.perturbations.get(name, (name,))]
        variants = tuple(_named(prompts, variants, name) for name in dict.fromkeys(names))
    stated = tuple(
        replace(prompt, max_new_tokens=overrides.stated_tokens or prompt.max_new_tokens) for prompt in prompts.stated
    )
    p_true = prompts.p_true or (p_true_text() if overrides.p_true else "")
    changed = replace(prompts, variants=variants, stated=stated, p_true=p_true)
    return replace(changed, fingerprint=fingerprint_of(changed))


def with_turns(prompts: PromptSet, count: int) -> PromptSet:
    """The set with each variant `count` times: as it is, then with all options moved up by 1, 2, .. places.

    The variant NAME with options moved by 2 is called NAME+2.

    >>> from calprobe.prompts import load_prompts
    >>> chosen = overridden(load_prompts("audit"), Overrides(variants=["implicit_framing"]))
    >>> [variant.name for variant in with_turns(chosen, 3).variants]
    ['implicit_framing', 'implicit_framing+1', 'implicit_framing+2']
    """
    turned_variants = tuple(_turned(variant, places) for variant in prompts.variants for places in range(count))
    changes = tuple(turn_name(name, places) for name in prompts.format_changes for places in range(count))
    changed = replace(prompts, variants=turned_variants, format_changes=changes)
    return replace(changed, fingerprint=fingerprint_of(changed))


def turn_name(name: str, places: int) -> str:
    """What a variant is called whose options are moved up by that many places."""
    return f"{name}+{places}" if places else name


def _turned(variant: Variant, places: int) -> Variant:
    name = turn_name(variant.name, places)
    wordings = {form: replace(wording, name=name) for form, wording in variant.wordings.items()}
    return replace(variant, name=name, turned=places, wordings=wordings)


def _named(prompts: PromptSet, variants: Sequence[Variant], name: str) -> Variant:
    names = names_of(prompts.variants)
    if name not in names:
        problem = f"prompt set {prompts.name!r} has no variant {name!r}; it has {', '.join(names)}"
        raise UsageError(f"{problem}{did_you_mean(name, names)}")
    return variants[names.index(name)]


def _changed(variant: Variant, overrides: Overrides) -> Variant:
    shots = variant.shots if overrides.shots is None or not variant.shots else overrides.shots
    return replace(
        variant,
        max_new_tokens=overrides.max_new_tokens or variant.max_new_tokens,
        shots=shots,
        raw=variant.raw if overrides.raw is None else overrides.raw,
        system=variant.system if overrides.system is None else overrides.system,
    )


def _everywhere(variant: Variant, change: Callable[[Variant], Variant]) -> Variant:
    """The variant and its wordings, each changed."""
    wordings = {form: _everywhere(wording, change) for form, wording in variant.wordings.items()}
    return replace(change(variant), wordings=wordings)
