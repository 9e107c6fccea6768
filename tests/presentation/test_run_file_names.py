"""What figures call runs in the names of their files."""

from __future__ import annotations

from calprobe.presentation.run_file_names import file_names


def test_names_of_files_are_safe_and_stay_apart() -> None:
    labels = ["/data/runs/gpt2:bear/", "runs/Füße run", "A/b", "a-b", "a b", "..", "runs", "x" * 300]
    names = list(file_names(labels).values())
    assert names[:7] == ["data-runs-gpt2-bear", "runs-F-e-run", "A-b", "a-b-2", "a-b-3", "run", "runs-2"]
    assert len({name.lower() for name in names}) == len(labels)
    assert len(names[7]) == 100
