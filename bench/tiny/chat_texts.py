"""The phrases of which the tiny chat models have tokens: labels, expressions, the fixed stretches of all prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from calprobe.probes import Probe
from calprobe.prompts import PromptSet
from calprobe.prompts.prompt_sets import p_true_text
from calprobe.questions.forms import forms_for
from calprobe.statements import TemplateSet
from tiny.dialogs import COPY, IT_IS, Prompts

_CUTS = re.compile(r"\n+|\{[a-z_]+\}|\[[XY]\]")  # between stretches of a template: line breaks and places
_ANSWER = "Answer: "  # behind steps, as the audit's prompts ask for it
_WORDS = ("Yes", "No")


def phrases(probe: Probe, templates: TemplateSet, prompts: Prompts, made_up: Iterable[str]) -> set[str]:
    """Each to become one token; none has a line break.

    Args:
        probe: its labels.
        templates: of statements about its facts.
        prompts: all that a study asks by.
        made_up: subjects that do not exist.
    """
    labels = {label for relation in probe.relations for label in relation.candidates}
    labels |= {instance.subject for relation in probe.relations for instance in relation.instances}
    labels |= {label[0].upper() + label[1:] for label in labels} | set(made_up)
    wordings = [form for forms in forms_for(probe).values() for form in forms]
    wordings += [form.text for relation in probe.relations for form in templates.templates[relation.name]]
    wordings += [text for each in prompts.sets for text in _texts(each)] + [p_true_text()]
    stretches = {stretch for text in wordings for stretch in _CUTS.split(text)}
    # A template that begins with a subject is cut in front of a blank or a comma; a sentence begins with a capital.
    stretches |= {COPY, IT_IS, _ANSWER, _ANSWER.rstrip(), *_WORDS}
    return labels | {stretch for stretch in stretches if len(stretch) > 1}


def _texts(prompts: PromptSet) -> Iterator[str]:
    """All that a prompt set says."""
    for variant in prompts.variants:
        for wording in (variant, *variant.wordings.values()):
            yield from (wording.system, wording.user, wording.shot, wording.conclusion)
    yield from (prompts.claim, prompts.p_true, prompts.final_cue)
    for stated in prompts.stated:
        yield stated.text
        yield from stated.expressions
    yield from prompts.abstentions
    for example in prompts.examples:
        yield from (example.text, *example.options)
