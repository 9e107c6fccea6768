"""Stakes: what answers are worth where a wrong one costs, given by confidence or as a prompt asks for it."""
