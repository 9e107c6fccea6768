"""Folders of asked runs, opened as reports read them. What is taken from a folder is taken here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from calprobe.cells.asked import Asked, AskedAs
from calprobe.cells.asked_extent import extent_of
from calprobe.cells.run_facts import model_name
from calprobe.confidence.asked.reply_table import ANSWER, FINAL, GREEDY, GREEDY_FINAL
from calprobe.messages import counted
from calprobe.questions.types import QuestionSet
from calprobe.runs import AskedRun, AskManifest, Reply, StoredGrade, StoredGrades
from calprobe.runs.asked_records import UNKNOWN_TOOL
from calprobe.runs.manifest_records import ModelSize
from calprobe.runs.meanings import StoredMeanings, read_meanings

_GRADED_STAGES = {False: (ANSWER, GREEDY), True: (FINAL, GREEDY_FINAL)}  # whether conclusions stand behind answers


def asked_of(label: str, run: AskedRun) -> Asked:
    """The run as analysis reads it. Raises CalprobeError if its questions are missing or damaged."""
    manifest, grades = run.manifest, run.grades
    replies = tuple(reply for piece in run.by_piece.values() for reply in piece.replies)
    sets = tuple(run.questions.values())  # with the labels that were asked for
    graded = {} if grades is None else grades.of(replies)
    meanings = read_meanings(run.path)
    return Asked(
        label=label,
        model=model_name(manifest.model),
        sets=sets,
        replies=replies,
        prompts=None if manifest.is_import else manifest.prompts,
        extent=extent_of(run),
        size=manifest.model.size,
        about=_about(manifest)
        | (_thoughts(replies) if manifest.is_import or manifest.backend.name == "openai" else {})
        | ({} if grades is None else _grading(grades, graded, sets, replies))
        | _meant(meanings)
        | _alternatives(replies),
        grades=graded,
        judge_mass=None if grades is None else grades.judge_mass,
        meanings=meanings,
        asked_as=_asked_as(manifest),
        plain=frozenset() if manifest.is_import else manifest.asked_plainly,
    )


def _about(manifest: AskManifest) -> dict[str, str]:
    """What the manifest says that a reader of the numbers has to know."""
    facts = {"asked by": _tool(manifest) if manifest.is_import else manifest.describe()}
    if rule := manifest.backend.settings.get("label_forms"):
        facts["label tokens"] = rule
    if not manifest.is_import:
        facts["asked as"] = _SAID[_asked_as(manifest)]
    if manifest.model.note:
        facts["model"] = manifest.model.note
    size = manifest.model.size
    unknown = "number of parameters not known" + ("" if manifest.is_import else " (calprobe ask --parameters N)")
    facts |= {} if manifest.is_import else manifest.origin()
    return facts | {"size": unknown if size is None else _size(size)}


def _tool(manifest: AskManifest) -> str:
    """The tool that replies were imported from, if the import knows it."""
    backend = manifest.backend
    return "another tool" if backend.name == UNKNOWN_TOOL else " ".join([backend.name, *backend.versions.values()])


def _thoughts(replies: Sequence[Reply]) -> dict[str, str]:
    """How many replies another program gave with a thought, and how many of these have no end and so no answer."""
    thoughts = [reply for reply in replies if reply.reasoning is not None or reply.reasoning_tokens]
    if not thoughts:
        return {}
    without_end = sum(reply.reasoning_is_open for reply in thoughts)
    text = f"kept apart in {len(thoughts):,} of {len(replies):,} replies, {without_end:,} of them without an end"
    tokens = sum(reply.reasoning_tokens for reply in thoughts)
    return {"thoughts": text + (f"; {tokens:,} tokens by the server's count" if tokens else "")}


_SAID = {"base": "plain text, as a base model", "instruct": "chat", "reasoning": "chat, with thoughts kept apart"}


def _asked_as(manifest: AskManifest) -> AskedAs:
    """How prompts reach the model: as plain text, as a chat, or as one with a thought in front of the reply."""
    if manifest.is_import:
        return "unknown"
    if all(variant.name in manifest.asked_plainly for variant in manifest.prompts.variants):
        return "base"
    return "reasoning" if manifest.backend.settings.get("thinking") == "kept apart" else "instruct"


def _size(size: ModelSize) -> str:
    """The number of parameters, and who counted them."""
    text = f"{size.parameters:,} parameters"
    if size.others is not None:
        return f"{text}, {size.others:,} without token embeddings and head, counted in the weights"
    return f"{text}, as {'the server says' if size.source == 'server' else 'given'}"


def _grading(
    grades: StoredGrades, graded: Mapping[str, StoredGrade], sets: Iterable[QuestionSet], replies: Iterable[Reply]
) -> dict[str, str]:
    """How the run was graded, and whether answers have come since."""
    is_open = {
        (question_set.name, question.id)
        for question_set in sets
        for question in question_set.questions
        if question.kind == "open"
    }
    concluded = {(reply.set, reply.variant) for reply in replies if reply.stage == FINAL}
    answers = [
        reply
        for reply in replies
        if reply.finish != "error" and reply.stage in _GRADED_STAGES[(reply.set, reply.variant) in concluded]
    ]
    later = sum((reply.set, reply.question) in is_open and reply.key not in graded for reply in answers)
    text = f"{counted(later, 'answer')} without a stored grade, graded by exact matching; run `calprobe grade` again"
    return {"grading": grades.describe()} | ({"not graded": text} if later else {})


def _alternatives(replies: Iterable[Reply]) -> dict[str, str]:
    """How much of the probability the alternatives of tokens have, and what is missing."""
    answers = [reply for reply in replies if reply.stage == ANSWER and reply.finish != "error"]
    alternatives = [reply.alternatives for reply in answers if reply.alternatives is not None]
    if not alternatives:
        return {}
    masses = np.concatenate([table.mass for table in alternatives])
    sizes = [table.places.shape[1] for table in alternatives if len(table)]
    short = sum(int((table.places < 0).any(axis=1).sum()) for table in alternatives)
    exact = (
        "entropies of the complete softmax"
        if all(table.complete for table in alternatives)
        else "least entropies of a window"
    )
    text = f"up to {max(sizes, default=0)} tokens at each of {len(masses):,} positions"
    if len(masses):
        text += (
            f", with {float(masses.mean()):.3f} of the probability on average and {float(masses.min()):.3f} at least"
        )
    text += f"; {exact}"
    text += f"; {counted(short, 'position')} with fewer" if short else ""
    lacking = len(answers) - len(alternatives)
    return {"alternatives of tokens": text + (f"; {counted(lacking, 'answer')} without any" if lacking else "")}


def _meant(meanings: StoredMeanings | None) -> dict[str, str]:
    """Which models say what answers mean."""
    if meanings is None:
        return {}
    titles = {
        "nli": "entailment",
        "embed": "sentence embeddings",
        "ccp_sentence": "alternatives in their sentence",
        "ccp_token": "alternatives alone",
    }
    return {titles[source.kind]: source.describe() for source in meanings.sources}
