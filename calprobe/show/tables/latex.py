"""Tables in LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from calprobe.show.tables.best import best_cells
from calprobe.show.tables.cell_text import cell_interval, cell_text, one_line
from calprobe.show.tables.latex_text import latex_text
from calprobe.show.tables.latex_widths import Setting, name_lines, setting_of, title_lines
from calprobe.show.tables.types import Cell, Column, Row, Table, headings

# What a page of one column holds in \footnotesize, with caption and notes; larger tables are in \scriptsize.
LONG = 40  # lines
WIDE = 8  # columns
_RANGE = re.compile(r"([+-]?[\d.]+)(-| to )([+-]?[\d.]+)")
NEEDED = r"% In the preamble: \usepackage{booktabs}"


def latex(tables: Sequence[Table]) -> str:
    r"""Each table as a float with caption, label and notes; best cells are bold.

    All text is escaped and compiles with pdflatex; characters that it does not have are shown by their numbers.
    Comments in front say what was scored and how.
    """
    return "\n\n".join("\n".join(_lines(table)) for table in tables)


def _lines(table: Table) -> Iterator[str]:
    columns = [column for _, column in table.printed_columns]
    yield from (f"% {one_line(line)}" for line in table.heading)
    yield NEEDED
    wide = len(columns) > WIDE
    printed = sum(1 + _has_second_line(table, row) for row in table.rows)
    setting = setting_of(table, small=printed > LONG or wide, gap=2 if wide else 3)
    float_ = "table*" if setting.both_columns else "table"
    yield rf"\begin{{{float_}}}[tbp]"
    yield r"  \centering"
    yield rf"  \caption{{{latex_text(table.caption)}}}"
    yield rf"  \label{{tab:{table.label}}}"
    yield r"  \smallskip"
    yield r"  \scriptsize" if setting.small else r"  \footnotesize"
    yield rf"  \setlength{{\tabcolsep}}{{{setting.gap}pt}}"
    yield rf"  \begin{{tabular}}{{l{'r' * len(columns)}}}"
    yield r"    \toprule"
    yield from (f"    {line}" for line in (*_heads(table, columns, setting), r"\midrule", *_rows(table, setting)))
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if notes := table.printed_notes:
        yield r"  \par\medskip"
        yield rf"  \begin{{minipage}}{{\linewidth}}\scriptsize {' '.join(map(latex_text, notes))}\end{{minipage}}"
    yield rf"\end{{{float_}}}"


def _heads(table: Table, columns: Sequence[Column], setting: Setting) -> Iterator[str]:
    """The line of titles; above it one of headings where columns have any."""
    if spans := headings(columns):
        cells, rules, place = [""], [], 2
        for heading, width in spans:
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_text(heading)}}}")
            if heading:
                rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
            place += width
        yield _row(cells)
        yield "".join(rules)
    yield _row([latex_text(table.stub), *(_stacked(title_lines(c.title, setting.heads), "r") for c in columns)])


def _stacked(lines: Sequence[str], side: str) -> str:
    r"""Lines one above the other: `\shortstack` where there are several."""
    texts = [latex_text(line) for line in lines]
    return texts[0] if len(texts) == 1 else rf"\shortstack[{side}]{{" + r"\\".join(texts) + "}"


def _rows(table: Table, setting: Setting) -> Iterator[str]:
    best, places = best_cells(table), [place for place, _ in table.printed_columns]
    for number, (group, members) in enumerate(table.groups()):
        if group:
            if number:
                yield r"\addlinespace"
            yield _row([rf"\multicolumn{{{len(places) + 1}}}{{l}}{{\textit{{{latex_text(group)}}}}}"])
        for row_place, row in members:
            texts = {place: _cell(row.cells[place]) for place in places}
            marked = [rf"\textbf{{{t}}}" if (row_place, p) in best else t for p, t in texts.items()]
            indent = r"\enspace " if group else ""
            yield _row(
                [f"{indent}{_stacked(name_lines(row.label, setting.names), 'l')}", *marked],
                r"\\[-2pt]" if _has_second_line(table, row) else "",
            )
            if _has_second_line(table, row):
                intervals = (_range(cell_interval(row.cells[place], table)) for place in places)
                yield _row([rf"{indent}{_small(latex_text(row.note))}", *map(_small, intervals)])


def _has_second_line(table: Table, row: Row) -> bool:
    return bool(row.note) or any(cell_interval(cell, table) for cell in row.cells)


def _row(cells: Sequence[str], end: str = "") -> str:
    return f"{' & '.join(cells)} {end or chr(92) * 2}"


def _small(text: str) -> str:
    return rf"{{\scriptsize {text}}}" if text else ""


def _cell(cell: Cell) -> str:
    if cell is None:
        return "--"
    return latex_text(cell) if isinstance(cell, str) else _minus(cell_text(cell))


def _range(text: str) -> str:
    """.123--.456 for .123-.456; the ends may be negative."""
    ends = _RANGE.fullmatch(text)
    return f"{_minus(ends[1])}{'--' if ends[2] == '-' else ', '}{_minus(ends[3])}" if ends else ""


def _minus(number: str) -> str:
    return f"${number[0]}${number[1:]}" if number.startswith(("-", "<")) else number
