"""The study of stated confidence: consistency over prompts, fidelity under replaced answers, reliability."""
