"""The study of label probabilities under several designs: masses, permutations, selection bias."""
