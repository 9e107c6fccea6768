"""Kinds of figures that are marks alone: numbers in, panels of marks out."""
