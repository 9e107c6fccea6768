"""Numbers of cells: estimates with intervals, contrasts of two confidences, slices, and the options of them all."""
