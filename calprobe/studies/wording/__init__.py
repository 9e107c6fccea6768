"""The study of wordings and samples: how confidence changes with both, and plans of one budget."""
