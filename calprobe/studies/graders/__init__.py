"""The study of graders: the same answers under every grader that a run has."""
