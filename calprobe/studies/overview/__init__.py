"""Many runs of all kinds: lists of what a folder holds, and runs of one task side by side."""
