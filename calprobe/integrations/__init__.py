"""calprobe's numbers inside other tools: metrics of lm-evaluation-harness (`lm_eval`) and of inspect_ai (`inspect_ai`).

Each module imports its tool; calprobe itself imports none of them.
"""
