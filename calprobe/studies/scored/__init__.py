"""Reports of scored runs: accuracy, calibration and intervals of each estimator, slices, answers one by one."""
