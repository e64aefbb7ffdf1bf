#!/usr/bin/env python3
"""Draws the figures of docs/how-it-works.md, and has what docs/results.py draws with.

    docs/figures.py            write docs/figures/*.svg
    docs/figures.py --check    fail if one of them is not what this script draws

Colours are variables: those below where a figure stands alone, those of docs/assets/site.css where it is part of a page of the site.
"""
import html
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent / "figures"
LIGHT = dict(ink="#1f2d3d", soft="#5d6b7b", line="#8795a5", card="#f4f7fa", blue="#2b6cb0", orange="#c05621", green="#2f7d4f")
LIGHT |= {"blue-card": "#e3eefa", "orange-card": "#fdeee2", "green-card": "#e4f4ea"}
DARK = dict(ink="#e3e9f0", soft="#a3b0bf", line="#7d8b9b", card="#24303d", blue="#74b3f0", orange="#ff9d5c", green="#6cc592")
DARK |= {"blue-card": "#1d3a58", "orange-card": "#4a2e1a", "green-card": "#1c402c"}


def variables(colours):
    return "svg{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"


class Drawing:
    """Boxes, lines and words, in the order in which they were drawn."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def box(self, x, y, w, h, lines=(), kind="line", fill=None, dashed=False, size=14):
        """A box with centred lines, the first of them bold."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        fill = fill or ("card" if kind == "line" else f"{kind}-card")
        inside = "none" if fill == "none" else f"var(--{fill})"
        self.parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="7"{dash} '
                          f'style="fill:{inside};stroke:var(--{kind});stroke-width:1.4"/>')
        top = y + h / 2 - (len(lines) - 1) * (size + 3) / 2 + size * 0.36
        for number, line in enumerate(lines):
            colour = "ink" if number == 0 else "soft"
            self.text(x + w / 2, top + number * (size + 3), line, colour, size if number == 0 else size - 2.5, bold=number == 0)

    def text(self, x, y, words, colour="ink", size=13, anchor="middle", bold=False):
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight} '
                          f'style="fill:var(--{colour})">{html.escape(words)}</text>')

    def path(self, places, colour="line", arrow=True, dashed=False, width=1.6):
        """A line through places, with an arrow at its end."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        along = "M" + " L".join(f"{x:.4g} {y:.4g}" for x, y in places)
        self.parts.append(f'<path d="{along}"{dash} style="fill:none;stroke:var(--{colour});stroke-width:{width}"/>')
        if arrow:
            (a, b), (x, y) = places[-2:]
            length = max(abs(x - a), abs(y - b), 1)
            dx, dy = (x - a) / length * 8, (y - b) / length * 8
            corners = f"{x:g},{y:g} {x - dx - dy / 2:g},{y - dy + dx / 2:g} {x - dx + dy / 2:g},{y - dy - dx / 2:g}"
            self.parts.append(f'<polygon points="{corners}" style="fill:var(--{colour})"/>')

    def cells(self, x, y, colours, size=15, gap=3, columns=6):
        """Small squares, a row of a table each."""
        for number, colour in enumerate(colours):
            left, top = x + number % columns * (size + gap), y + number // columns * (size + gap)
            fill = f"fill:var(--{colour})" if colour else "fill:none;stroke:var(--line)"
            self.parts.append(f'<rect x="{left}" y="{top}" width="{size}" height="{size}" rx="3" style="{fill}"/>')

    def bar(self, x, y, w, h, colour):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:g}" width="{w:.1f}" height="{h}" rx="2" style="fill:var(--{colour})"/>')

    def svg(self):
        style = f"<style>{variables(LIGHT)}@media(prefers-color-scheme:dark){{{variables(DARK)}}}</style>"
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">')
        return "\n".join([head, style, *self.parts, "</svg>\n"])


def flow():
    """From files to a model."""
    d = Drawing(920, 420)
    d.box(150, 20, 620, 130, kind="line", fill="none", dashed=True)
    d.text(166, 42, "towline pack, once", "soft", 13, "start", True)
    d.box(10, 58, 118, 74, ["Files, stdin", "libsvm, CSV, JSON", "Parquet, Arrow"], "blue")
    for number, lines in enumerate((["Parse", "on all cores"], ["Count features", "number by frequency"], ["Shuffle rows", "on disk if need be"],
                                    ["Encode", "on all cores"])):
        x = 166 + number * 150
        d.path([(128 if number == 0 else x - 14, 95), (x, 95)])
        d.box(x, 62, 136, 66, lines)
    d.path([(752, 95), (794, 95)])
    d.box(794, 48, 116, 94, ["Store", "blocks, schema,", "checksums"], "blue")
    d.path([(852, 142), (852, 236)])
    d.box(150, 196, 620, 160, kind="line", fill="none", dashed=True)
    d.text(166, 218, "towline train, inside the budget", "soft", 13, "start", True)
    d.box(794, 236, 116, 74, ["Read ahead", "on its own thread"])
    d.path([(794, 273), (752, 273)])
    d.box(596, 240, 156, 66, ["Rows in memory", "newest and cached"], "orange")
    d.path([(596, 273), (546, 273)])
    d.box(390, 240, 156, 66, ["Solver", "weights, dual variables"], "orange")
    d.path([(390, 273), (340, 273)])
    d.box(184, 240, 156, 66, ["Certificate", "how far from optimal"], "green")
    d.path([(262, 306), (262, 332), (852, 332), (852, 310)], dashed=True)
    d.text(545, 348, "gap above the tolerance: read on", "soft", 12.5)
    d.path([(184, 273), (128, 273)])
    d.box(10, 236, 118, 74, ["Model", "with its gap"], "green")
    d.path([(69, 310), (69, 374)])
    d.text(10, 398, "predict, eval, export to SQL, ONNX, C; Python", "ink", 13, "start")
    return d


def blocks():
    """Blocks that pass through memory, and rows that stay."""
    d = Drawing(920, 372)
    d.box(10, 40, 128, 300, kind="blue", fill="none")
    d.text(74, 28, "Store on disk", "ink", 14, bold=True)
    colours = ["blue", "green", "orange"]
    for number in range(6):
        y = 52 + number * 47
        d.box(22, y, 104, 38, [f"block {number + 1}"] if number < 6 else [], kind=colours[number // 2], size=13)
    titles = ("Blocks 1 and 2 come", "Blocks 3 and 4 come", "Blocks 5 and 6 come")
    fresh = [["blue"] * 12, ["green"] * 12, ["orange"] * 12]
    kept = [[None] * 12, ["blue"] * 12, ["blue"] * 5 + ["green"] * 7]
    for step in range(3):
        x = 190 + step * 246
        d.path([(x - (52 if step == 0 else 22), 165), (x, 165)])
        d.box(x, 40, 224, 250, kind="line", fill="none")
        d.text(x + 112, 28, titles[step], "ink", 14, bold=True)
        d.text(x + 16, 64, "new rows", "soft", 12.5, "start")
        d.cells(x + 16, 74, fresh[step], size=27, gap=6)
        d.text(x + 16, 166, "cache: rows that matter", "soft", 12.5, "start")
        d.cells(x + 16, 176, kept[step], size=27, gap=6)
        d.text(x + 16, 264, "weights w, dual variables", "soft", 12.5, "start")
        d.box(x + 16, 270, 192, 10, kind="soft", fill="soft")
    d.text(190, 322, "Each step solves new and cached rows together. Then the rows with the largest gradient stay,", "ink", 13.5, "start")
    d.text(190, 342, "whatever block they came from, and the next blocks take the place of the others.", "ink", 13.5, "start")
    return d


def certificate():
    """Two bounds that meet."""
    d = Drawing(920, 330)
    left, right, bottom, middle = 90, 640, 280, 168
    d.path([(left, bottom), (left, 24)])
    d.path([(left, bottom), (right + 30, bottom)])
    d.text(right + 24, bottom + 22, "passes over the data", "soft", 13, "end")
    d.text(left + 10, 30, "objective", "soft", 13, "start")
    at = lambda t: left + (right - left) * t
    above = [(at(t / 40), middle - 128 * 2.718 ** (-3.4 * t / 40)) for t in range(1, 41)]
    below = [(at(t / 40), middle + 98 * 2.718 ** (-3.0 * t / 40)) for t in range(1, 41)]
    d.parts.append('<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in above + below[::-1]) +
                   '" style="fill:var(--green-card)"/>')
    d.path(above, "blue", arrow=False, width=2.6)
    d.path(below, "orange", arrow=False, width=2.6)
    d.path([(left, middle), (right, middle)], "green", arrow=False, dashed=True)
    x = at(0.3)
    d.path([(x, middle), (x, middle - 44)], "ink")
    d.path([(x, middle), (x, middle + 38)], "ink")
    d.text(x + 12, middle - 10, "the gap", "ink", 14, "start", True)
    d.text(right + 14, middle - 28, "F(w): the objective of the weights", "blue", 13.5, "start", True)
    d.text(right + 14, middle + 4, "the optimum, which nobody knows", "green", 13.5, "start", True)
    d.text(right + 14, middle + 36, "D(β): a lower bound, by duality", "orange", 13.5, "start", True)
    d.text(left, bottom + 42, "The optimum lies between the curves, so F(w) is above it by the gap at most. One scan of the rows gives both ends.", "ink",
           13.5, "start")
    return d


def choice():
    """How `auto` chooses."""
    d = Drawing(920, 470)
    d.box(330, 10, 260, 56, ["Does a matrix fit the budget,", "features × features or rows × rows?"], "blue")
    d.path([(330, 38), (190, 38), (190, 100)])
    d.text(262, 30, "yes", "green", 13.5, bold=True)
    d.path([(590, 38), (720, 38), (720, 100)])
    d.text(655, 30, "no", "orange", 13.5, bold=True)
    d.box(20, 100, 340, 46, ["Which loss?"], "blue")
    for number, (loss, lines) in enumerate((("squared", ["gram", "normal", "equations"]), ("smooth", ["newton", "exact Hessian"]),
                                            ("non-smooth", ["multipliers", "then interior", "points"]))):
        x = 20 + number * 116
        d.path([(x + 54, 146), (x + 54, 196)])
        d.text(x + 60, 176, loss, "soft", 12.5, "start")
        d.box(x, 196, 108, 74, lines, "orange", size=13.5)
    d.path([(190, 270), (190, 318)])
    d.box(20, 318, 340, 56, ["Cheaper than about 40 epochs", "of coordinate descent on rows?"], "blue")
    d.path([(100, 374), (100, 418)])
    d.text(108, 400, "yes: it runs", "green", 13, "start", True)
    d.box(20, 418, 190, 42, ["second-order solver"], "green", size=13.5)
    d.path([(360, 346), (436, 346)])
    d.text(398, 338, "no", "orange", 13.5, bold=True)
    d.box(540, 100, 360, 56, ["l1, elastic net or group, and features ≥ rows", "or a non-smooth loss, and rows fit twice?"], "blue", size=13)
    d.path([(800, 156), (800, 212)])
    d.text(808, 188, "yes", "green", 13.5, "start", True)
    d.box(720, 212, 180, 58, ["columns", "working sets of features"], "orange", size=13.5)
    d.path([(560, 156), (560, 318)])
    d.text(568, 188, "no", "orange", 13.5, "start", True)
    d.box(436, 318, 250, 56, ["dual", "coordinate descent on blocks of rows"], "orange", size=13.5)
    d.path([(560, 374), (560, 418)])
    d.text(568, 400, "the gap falls too slowly, and another solver can", "soft", 12.5, "start")
    d.box(436, 418, 464, 42, ["second-order solver; conjugate gradients if no matrix fits"], "green", size=13)
    return d


def main():
    drawings = {"flow": flow(), "blocks": blocks(), "certificate": certificate(), "choice": choice()}
    for name, drawing in drawings.items():
        path = FOLDER / f"{name}.svg"
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != drawing.svg():
                sys.exit(f"docs/figures/{name}.svg is not what docs/figures.py draws; run it")
        else:
            path.write_text(drawing.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
