"""Kinds of figures that are marks alone: numbers in, panels of marks out.

A new kind is a module here, and a line in the `figures.py` of its study.
"""
