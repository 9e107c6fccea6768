"""The contestants of bench/asking.py: who answers the same questions with the same weights."""
