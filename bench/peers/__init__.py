"""The contestants of bench/side_by_side.py, each behind the same few lines, and what measures and compares them."""
