"""The study of answers to science questions: what one error of all hides of sets and groups."""
