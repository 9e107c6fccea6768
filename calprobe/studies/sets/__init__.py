"""Answer sets: candidates among which the right one is as often as promised, and answers withheld to that end."""
