"""What bench/simulate.py simulates: nothing here was measured on a GPU, and every assumption is printed."""
