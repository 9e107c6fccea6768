"""Tables of scores and correctness from anywhere, ranked as confidences."""
