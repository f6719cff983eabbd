"""The chart of docs/PERFORMANCE.md, as a Graphviz graph of tables: the bars are cells."""

from __future__ import annotations

from typing import Any

import report

Summary = dict[str, dict[str, dict[str, Any]]]

PANEL, BORDER, TEXT = "#f4f6fa", "#5b6b8c", "#1d2433"
RAW, OURS, FASTER, PEER = "#5b6b8c", "#d98032", "#3f8f5f", "#a9b4c8"
# The points of a bar for a ratio of one, and of the longest bar.
POINTS, LONGEST = 110, 330
NAME, LABEL = 110, 60
SHADES = ["#5b6b8c", "#d98032", "#3f8f5f", "#a9b4c8", "#b5546b", "#7a5fa8", "#c2a83e", "#4c93a6", "#8c6f5b", "#7d8471"]
HEAD = """// The chart of PERFORMANCE.md. Written by bench/document.py and drawn as ../performance.svg.
digraph performance {
  graph [rankdir=TB, pad=0.2, nodesep=0.2, ranksep=0.2, bgcolor="transparent"]
  node [shape=plain, fontname="Helvetica", fontsize=11, fontcolor="%s"]
  edge [style=invis]
"""


def cell(text: str) -> str:
    return fixed(NAME, text=text)


def fixed(width: float, colour: str = "", text: str = "") -> str:
    fill = f' BGCOLOR="{colour}"' if colour else ""
    height = 18 if text else 12
    return f'<TD WIDTH="{round(width)}" HEIGHT="{height}" FIXEDSIZE="TRUE" ALIGN="LEFT" BORDER="0"{fill}>{text}</TD>'


def bar(parts: list[tuple[float, str]], text: str) -> str:
    """Returns a cell with adjacent bars, each of a width in points and a colour, and a text after them.

    All such cells are equally wide: Graphviz would divide additional space among the bars.
    """
    shown = [(max(1, round(width)), colour) for width, colour in parts if width >= 0.5]
    remaining = POINTS + LONGEST - sum(width for width, _ in shown)
    cells = (
        "".join(fixed(width, colour) for width, colour in shown)
        + fixed(LABEL, text=f"&nbsp;{text}")
        + fixed(remaining + 1)
    )
    inner = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'
    return f'<TD ALIGN="LEFT" BORDER="0">{inner}</TD>'


def panel(name: str, title: str, rows: list[str]) -> str:
    lines = "".join(f"<TR>{row}</TR>" for row in rows)
    heading = f'<TR><TD COLSPAN="2" ALIGN="LEFT" BORDER="0"><B>{title}</B></TD></TR>'
    table = f'<TABLE BORDER="1" COLOR="{BORDER}" BGCOLOR="{PANEL}" STYLE="ROUNDED" CELLBORDER="0" CELLSPACING="2" '
    return f'  {name} [label=<{table}CELLPADDING="1">{heading}{lines}</TABLE>>]\n'


def ratio_parts(ratio: float) -> list[tuple[float, str]]:
    """Returns the bar of a ratio: the time of plain C, and what the library needs beyond it or does not need."""
    if ratio < 1:
        return [(ratio * POINTS, FASTER)]
    return [(POINTS, RAW), (min((ratio - 1) * POINTS, LONGEST), OURS)]


def ratios(summary: Summary) -> str:
    rows = []
    for name in report.ORDER:
        entry = summary.get(name, {}).get("corestone")
        if entry and entry["ratio"] is not None:
            is_cut = (entry["ratio"] - 1) * POINTS > LONGEST
            text = f"{'… ' if is_cut else ''}{report.number(entry['ratio'])}"
            rows.append(cell(name) + bar(ratio_parts(entry["ratio"]), text))
    return panel("ratios", "From C: time as a multiple of plain C on SQLite, which is the grey part", rows)


def peers(summary: Summary) -> str:
    entries = summary.get("W3", {})
    rows = []
    labels = {"python": "corestone", "sqlite3": "sqlite3 (tuples)"}
    measured = {labels.get(peer, peer): entry["ratio"] for peer, entry in entries.items() if peer in report.PEERS[2:]}
    most = max([ratio for ratio in measured.values() if ratio], default=1.0)
    for peer, ratio in sorted(measured.items(), key=lambda each: each[1] or 0):
        if ratio:
            colour = OURS if peer == "corestone" else PEER
            rows.append(cell(peer) + bar([(ratio / most * LONGEST, colour)], report.number(ratio)))
    return panel("peers", "From Python: W3, all employees with six attributes, as a multiple of plain C", rows)


def stacked(names: list[str], owners: dict[str, dict[str, float]]) -> str:
    used = [name for name in names if any(figures.get(name, 0) >= 4 for figures in owners.values())]
    colours = dict(zip(used, SHADES))
    most = max((figures["total"] for figures in owners.values()), default=1.0)
    rows = []
    for title, figures in owners.items():
        parts = [(figures.get(name, 0) / most * LONGEST, colours[name]) for name in used]
        rows.append(cell(title) + bar(parts, f"{figures['total']:.0f}"))
    for half in (used[: (len(used) + 1) // 2], used[(len(used) + 1) // 2 :]):
        legend = "".join(
            f'<TD WIDTH="10" HEIGHT="10" FIXEDSIZE="TRUE" BGCOLOR="{colours[name]}"></TD><TD>&nbsp;{name}&nbsp; </TD>'
            for name in half
        )
        inner = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1"><TR>{legend}</TR></TABLE>'
        if half:
            rows.append(cell("") + f'<TD ALIGN="LEFT" BORDER="0">{inner}</TD>')
    return panel("bytes", "Bytes of an object, by owner", rows)


def dot(summary: Summary, names: list[str], owners: dict[str, dict[str, float]]) -> str:
    """Returns the chart of a summary of run.py, and of the bytes of owners.py with the names of its owners."""
    parts = [HEAD % TEXT, ratios(summary), peers(summary)]
    order = ["ratios", "peers"]
    if owners:
        parts.append(stacked(names, owners))
        order.append("bytes")
    return "".join([*parts, f"  {' -> '.join(order)}\n", "}\n"])
