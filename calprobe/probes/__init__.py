"""Probes: facts to ask a model for, read from BEAR, BEAR-big, the bundled `mini`, or a folder in BEAR's format."""

from __future__ import annotations

from calprobe.probes.loading import PROBES, load_probe
from calprobe.probes.types import Instance, Probe, Relation

__all__ = ["PROBES", "Instance", "Probe", "Relation", "load_probe"]
