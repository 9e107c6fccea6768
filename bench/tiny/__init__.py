"""How the tiny pair is made: its corpus, its vocabulary, its two networks and their training (bench/train_tiny.py)."""
