"""Curves of one run or several: results, and how each kind is computed."""
