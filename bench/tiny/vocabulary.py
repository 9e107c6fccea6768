"""The vocabulary that both models share: byte-level BPE, so that any text has tokens."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from calprobe.probes import Probe
from calprobe.statements import TemplateSet

VOCAB_SIZE = 1536
PAD, START, END, MASK = SPECIAL = ("<pad>", "<s>", "</s>", "<mask>")  # ids 0 to 3
WORDING_WEIGHT = 20  # words of templates count that often, so that most are one token


def make_tokenizer(probe: Probe, templates: TemplateSet) -> Tokenizer:
    """A tokenizer trained on the probe's distinct labels and the templates' wording; it puts START and END around.

    On these and not on the corpus: else a fact that occurs more often would have fewer tokens. Each text begins
    with a space, so that a label is the same tokens at the start of a sentence and inside it.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(probe, templates), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", special_tokens=[(START, SPECIAL.index(START)), (END, SPECIAL.index(END))]
    )
    return tokenizer


def _texts(probe: Probe, templates: TemplateSet) -> list[str]:
    labels = {label for relation in probe.relations for label in relation.candidates}
    labels |= {instance.subject for relation in probe.relations for instance in relation.instances}
    wordings = {
        form.text.replace("[X]", "").replace("[Y]", "")
        for relation in probe.relations
        for form in templates.templates[relation.name]
    }
    return sorted(labels) + sorted(label[0].upper() + label[1:] for label in labels) + sorted(wordings) * WORDING_WEIGHT
