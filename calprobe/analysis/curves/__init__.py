"""Curves of one run or several: frozen results in `results`, and a module a kind that computes them."""
