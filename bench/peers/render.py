"""A result file as Markdown: all of its tables, or the summary that bench/README.md shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.markdown import table

_WORTH_SAYING = 0.1  # cores


def render(records: Iterable[dict[str, Any]]) -> str:
    """All tables of a file's records, one a model."""
    return "\n".join(map(_rendered, records))


def summary(records: Iterable[dict[str, Any]]) -> str:
    """One table a record: a row for each slice, a column for each scorer."""
    return "\n".join(f"{_heading(record)}\n\n{_speeds(record['rows'])}\n" for record in records)


def _speeds(rows: Sequence[dict[str, Any]]) -> str:
    slices, scorers = (list(dict.fromkeys(row[name] for row in rows)) for name in ("slice", "scorer"))
    cells = {(row["slice"], row["scorer"]): _speed(row) for row in rows}
    return table(
        ("slice", *scorers), ([piece, *(cells.get((piece, name), "") for name in scorers)] for piece in slices)
    )


def _speed(row: dict[str, Any]) -> str:
    """Statements a second, peak MiB, and how calprobe compares, or why there is no ratio."""
    figures = [f"{row['p50']:.1f}/s", f"{row['peak_mib']:.0f} MiB"] if "p50" in row else []
    times = f"{row['calprobe_is_times_as_fast']:.2f} times" if "calprobe_is_times_as_fast" in row else row["note"]
    return ", ".join([*figures, *([times] if times else [])])


def _rendered(record: dict[str, Any]) -> str:
    parts = [_heading(record), _scorers(record["rows"])]
    if record["achieved"]:
        parts += [_roof(record["achieved"]), _time(record["achieved"])]
    if record["scaling"]:
        parts.append(_scaling(record["scaling"]))
    return "\n\n".join(parts) + "\n"


def _heading(record: dict[str, Any]) -> str:
    machine, settings = record["machine"], record["settings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    where = machine["card"] or f"{machine['processor']} ({machine['isa']}), {settings['threads']} threads"
    text = f"{settings['model']}, {settings['dtype']}, {where}; {versions}; {machine['date']}."
    if machine["others_used_cores"] >= _WORTH_SAYING:
        text += f" Other processes kept {machine['others_used_cores']} cores busy meanwhile."
    return f"{text} {record['note']}".strip()


def _scorers(rows: Sequence[dict[str, Any]]) -> str:
    head = ("slice", "scorer", "batch", "statements/s (p20, p80)", "scored tokens/s", "peak MiB", "load s")
    return table((*head, "largest, mean difference", "calprobe is"), (_scorer_cells(row) for row in rows))


def _scorer_cells(row: dict[str, Any]) -> list[str]:
    if "p50" not in row:
        return [row["slice"], row["scorer"], "", "", "", "", "", "", row["note"]]
    speed = f"{row['p50']:.1f} ({row['p20']:.1f}, {row['p80']:.1f})"
    tokens = "" if row["scored_tokens_per_s"] is None else f"{row['scored_tokens_per_s']:.0f}"
    memory = f"{row['peak_mib']:.0f}" + (f", card {row['gpu_peak_mib']:.0f}" if row["gpu_peak_mib"] else "")
    apart, verdict = "", row["note"] or ""
    if "mean_error" in row:
        apart = f"{row['largest_error']:.1e}, {row['mean_error']:.1e} from float32"
    elif "largest_difference" in row:
        apart = f"{row['largest_difference']:.1e}, {row['mean_difference']:.1e}"
    if "calprobe_is_times_as_fast" in row:
        verdict = f"{row['calprobe_is_times_as_fast']:.2f} times as fast"
    batch = "its own" if row["batch_size"] is None else str(row["batch_size"])
    return [row["slice"], row["scorer"], batch, speed, tokens, memory, f"{row['load_s']:.1f}", apart, verdict]


def _roof(rows: Sequence[dict[str, Any]]) -> str:
    counts = ("scored tokens", "forwarded tokens", "head evaluations")
    shares = ("GFLOP/s", "of torch.mm's peak", "of the fastest product's peak", "peak memory above weights, MiB")
    return table(("slice", "path", *counts, *shares), (_roof_cells(row) for row in rows))


def _roof_cells(row: dict[str, Any]) -> list[str]:
    peak, fastest = row["roof"]["peak_gflop_per_s"], row["roof"]["fastest_gflop_per_s"]
    roofs = [f"{row['share_of_peak']:.0%} of {peak:.0f}", f"{row['share_of_fastest']:.0%} of {fastest:.0f}"]
    counts = [row["slice"], row["path"], *(str(row[name]) for name in ("tokens", "forwarded", "heads"))]
    return [*counts, f"{row['gflop_per_s']:.0f}", *roofs, f"{row['above_weights_mib']:.0f}"]


# Kinds of work and the operators that do it; the rest is element-wise, or hidden behind the twelve largest.
_WORK = {
    "products": ("mm", "addmm", "bmm", "_linear_pointwise"),
    "attention": ("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_efficient_attention"),
    "copies": ("copy_", "cat", "fill_", "clone"),
    "sums of exponentials": ("amax", "_softmax", "log_", "logsumexp"),
}


def _time(rows: Sequence[dict[str, Any]]) -> str:
    head = ("slice", *_WORK, "the rest", "arithmetic of the products that is the head's")
    return table(head, (_time_cells(row) for row in rows))


def _time_cells(row: dict[str, Any]) -> list[str]:
    took = {name.partition("::")[2]: share for name, share in row["profile"]["operators"].items()}
    shares = [sum(took.get(name, 0.0) for name in names) for names in _WORK.values()]
    words, width = max(tuple(map(int, shape.split("x"))) for shape in row["roof"]["shapes"])
    of_head = 2 * row["heads"] * words * width / row["flop"]
    return [row["slice"], *(f"{share:.0%}" for share in (*shares, 1 - sum(shares), of_head))]


def _scaling(rows: Sequence[dict[str, Any]]) -> str:
    head = ("axis", "value", "statements", "scored tokens", "forwarded tokens", "seconds", "statements/s")
    names = ("axis", "value", "statements", "tokens", "forwarded", "seconds", "statements_per_s")
    return table(head, ([str(row[name]) for name in names] for row in rows))
