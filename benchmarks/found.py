"""Which part of the rows that matter the index has found, against rows looked at: table and drawing for the record of indexed.py."""
import json

import common

SHARES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]
COLOURS = ["#1b6ca8", "#d1495b", "#3d8361", "#8d6a9f"]


def measure(bench, data):
    """Asks the index with weights from along a run, and adds a table and a drawing to the record."""
    out = common.timed([bench.examples / "found_fraction", data.store, *([data.positive] if data.positive else [])])[1]
    curves = [json.loads(line) for line in out.splitlines()]
    bench.now["facts"] = {"found": curves}
    head = ["weights", "rows that matter", *(f"{share:.0%} looked at" for share in SHARES)]
    lines = [[f"after {curve['rounds']} rounds", f"{curve['matching']:,} of {curve['rows']:,}", *(f"{at(curve, share):.0%}" for share in SHARES)]
             for curve in curves]
    name = f"indexed-found-{data.name}.svg"
    bench.now["drawings"][name] = drawing(f"{data.name}: rows found against rows looked at", curves)
    bench.now["sections"].append(f"## {data.name}: part of the rows that satisfy (10) found, against rows looked at\nAt random it is the same part as that looked at.\n\n"
                                 + common.table(head, lines) + f"\n![{data.name}](DATE-{name})\n")


def at(curve, share):
    """The part found when this part of all rows has been looked at, between the points that were measured."""
    last = (0.0, 0.0)
    for looked, found in curve["points"]:
        if looked >= share:
            step = (share - last[0]) / max(looked - last[0], 1e-12)
            return last[1] + step * (found - last[1])
        last = (looked, found)
    return last[1]


def drawing(title, curves):
    """An SVG: one line for each model, and the diagonal of random sampling."""
    left, top, size = 60, 40, 360

    def place(x, y):
        return f"{left + size * x:.1f},{top + size * (1 - y):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + size + 190}" height="{top + size + 50}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>', f'<text x="{left}" y="22" font-size="14">{title}</text>',
             f'<rect x="{left}" y="{top}" width="{size}" height="{size}" fill="none" stroke="#888"/>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = place(tick, tick).split(",")
        parts.append(f'<text x="{x}" y="{top + size + 16}" text-anchor="middle">{tick:.0%}</text>')
        parts.append(f'<text x="{left - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{tick:.0%}</text>')
    parts.append(f'<text x="{left + size / 2}" y="{top + size + 36}" text-anchor="middle">rows looked at</text>')
    lines = [("random sampling", "#888", [(0, 0), (1, 1)])]
    lines += [(f"after {curve['rounds']} rounds", colour, [(0, 0), *curve["points"]]) for curve, colour in zip(curves, COLOURS)]
    for number, (name, colour, points) in enumerate(lines):
        y = top + 14 + 18 * number
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(place(*point) for point in points)}"/>')
        parts.append(f'<line x1="{left + size + 12}" y1="{y - 4}" x2="{left + size + 36}" y2="{y - 4}" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + size + 42}" y="{y}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])
