"""Runs of all kinds grouped by what was asked, so that those of one group can stand side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from calprobe.cells.run_facts import model_name
from calprobe.measures.run_names import own_parts
from calprobe.prompts import fingerprint_of
from calprobe.runs import AskedRun, AskManifest, Manifest, Run
from calprobe.studies.overview.overviews import Task

Asked = tuple[str, ...]  # what was asked: equal for runs that can be compared


def tasks_of(runs: Mapping[str, Run | AskedRun], typed: Collection[str] = ()) -> tuple[Task, ...]:
    """The tasks that runs were given, in the order of the first run of each.

    Runs of scores go together that have one probe and the same part of it; runs of replies that have the same questions
    under the same prompts. Within a task a run is called as its model is, where all of these differ, else by what tells
    the labels of its runs apart.

    Args:
        runs: by label.
        typed: labels that stay as they are.
    """
    groups: dict[Asked, dict[str, Run | AskedRun]] = {}
    for label, run in runs.items():
        groups.setdefault(_asked(run.manifest), {})[label] = run
    names: dict[str, int] = {}
    tasks = []
    for members in groups.values():
        manifest = next(iter(members.values())).manifest
        name = _name(manifest)
        names[name] = names.get(name, 0) + 1
        title = name if names[name] == 1 else f"{name} ({names[name]})"
        paths = {called: str(members[label].path) for label, called in _called(members, typed).items()}
        tasks.append(Task(title, paths))
    return tuple(tasks)


def _asked(manifest: Manifest | AskManifest) -> Asked:
    if isinstance(manifest, AskManifest):
        sets = sorted(f"{record.name} {record.fingerprint}" for record in manifest.sets)
        # Of what was asked, not of its file: runs that were made in one go or in parts have the same.
        return ("ask", *sets, fingerprint_of(manifest.prompts), manifest.study or "")
    relations = sorted(f"{relation.name} {relation.n_instances}" for relation in manifest.relations)
    return ("score", manifest.probe.name, manifest.probe.fingerprint or "", str(manifest.sample_seed), *relations)


def _name(manifest: Manifest | AskManifest) -> str:
    if isinstance(manifest, AskManifest):
        sets = ", ".join(record.part() for record in manifest.sets)
        return f"{sets}: {manifest.study or manifest.prompts.name}"
    return f"{manifest.probe.name}{f', {limited}' if (limited := manifest.limits()) else ''}"


def _called(runs: Mapping[str, Run | AskedRun], typed: Collection[str]) -> dict[str, str]:
    """What each run is called, by its label; no two alike."""
    models = {label: model_name(run.manifest.model) for label, run in runs.items() if label not in typed}
    names = models if len(set(models.values())) == len(models) else own_parts(list(models))
    called = {label: names.get(label, label) for label in runs}
    return called if len(set(called.values())) == len(called) else {label: label for label in runs}
