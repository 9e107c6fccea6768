"""Measures over repeated samples: arrays and texts of one question in, one number out; shares over questions."""

from calprobe.answers.token_claims import ccp_pairs
from calprobe.confidence.samples.answer_beside import cocoa, semantic_density, sentence_sar
from calprobe.confidence.samples.ccp import ClaimProbability, ccp, ccp_token, combined_relation
from calprobe.confidence.samples.clusters import (
    Strings,
    apart,
    both_entail,
    classes_of_keys,
    close,
    cosines,
    different_strings,
    greedy_classes,
    no_contradiction,
)
from calprobe.confidence.samples.entropy import (
    answer_entropy,
    class_counts,
    likelihood_entropy,
    miller_madow_entropy,
    monte_carlo_entropy,
)
from calprobe.confidence.samples.frequency import frequencies, most_frequent
from calprobe.confidence.samples.similarity import affinity, lexsim, rouge_matrix, semantic_kernel
from calprobe.confidence.samples.spectral import (
    degree,
    eccentricity,
    eigv,
    kernel_entropy,
    laplacian,
    spectral_embedding,
)
from calprobe.confidence.samples.tokens import perplexity, sequence_probability, token_entropy
from calprobe.confidence.samples.variance import VarianceSplit, one_hot, split_variance
from calprobe.confidence.samples.wording import WordingShare, exact_wording_share, wording_p_value, wording_share

__all__ = [
    "ClaimProbability",
    "Strings",
    "VarianceSplit",
    "WordingShare",
    "affinity",
    "answer_entropy",
    "apart",
    "both_entail",
    "ccp",
    "ccp_pairs",
    "ccp_token",
    "class_counts",
    "classes_of_keys",
    "close",
    "cocoa",
    "combined_relation",
    "cosines",
    "degree",
    "different_strings",
    "eccentricity",
    "eigv",
    "exact_wording_share",
    "frequencies",
    "greedy_classes",
    "kernel_entropy",
    "laplacian",
    "lexsim",
    "likelihood_entropy",
    "miller_madow_entropy",
    "monte_carlo_entropy",
    "most_frequent",
    "no_contradiction",
    "one_hot",
    "perplexity",
    "rouge_matrix",
    "semantic_density",
    "semantic_kernel",
    "sentence_sar",
    "sequence_probability",
    "spectral_embedding",
    "split_variance",
    "token_entropy",
    "wording_p_value",
    "wording_share",
]
