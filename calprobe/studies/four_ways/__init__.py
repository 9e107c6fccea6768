"""The same facts scored and asked: what a model ranks, labels, states and says, fact by fact."""
