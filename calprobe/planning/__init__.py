"""What has to be run, with nothing run twice. NumPy only: no model, no torch."""

from calprobe.planning.padded import PaddedPlan, plan_padded

__all__ = ["PaddedPlan", "plan_padded"]
