"""What has to be run, with nothing run twice. NumPy only: no model, no torch."""

from calprobe.planning.masked_plan import MaskedBatch, MaskedPlan, plan_masked
from calprobe.planning.padded_plan import PaddedPlan, plan_padded
from calprobe.planning.prefix_tree import PrefixTree, build_prefix_tree
from calprobe.planning.token_rows import Contexts, SpecialTokens, TokenRows
from calprobe.planning.tree_plan import TreeBatch, TreePlan, block_ancestors, plan_tree

__all__ = [
    "Contexts",
    "MaskedBatch",
    "MaskedPlan",
    "PaddedPlan",
    "PrefixTree",
    "SpecialTokens",
    "TokenRows",
    "TreeBatch",
    "TreePlan",
    "block_ancestors",
    "build_prefix_tree",
    "plan_masked",
    "plan_padded",
    "plan_tree",
]
