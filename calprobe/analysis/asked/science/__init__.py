"""The studies of answers to science questions: label probabilities under several designs, and what ECE hides."""
