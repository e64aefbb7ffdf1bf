#!/usr/bin/env python3
"""Makes the pages of results from the records in benchmarks/records.

    docs/results.py            write docs/results.md, docs/results.svg and the table in README.md
    docs/results.py --check    fail if one of them is not what the records say

No number on these pages is typed by hand: a row is named by its record and by how it begins.
"""
import html
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDS = ROOT / "benchmarks/records"
PAGE, PICTURE, README = ROOT / "docs/results.md", ROOT / "docs/results.svg", ROOT / "README.md"
BEGIN, END = "<!-- results: docs/results.py writes this table -->", "<!-- results: end -->"
# Rows of a record that the page shows; the record has all of them.
MOST_ROWS = 12

# The most telling results, the bad ones included: caption, record, how the row begins.
TELLING = [
    ("2.6 GB of text (kernel source as 4-grams) to a store, against LIBLINEAR's reader", "store", "LIBLINEAR reads"),
    ("hinge loss, C = 1, solving in memory, against LIBLINEAR", "train-solvers", "kernel, C = 1 "),
    ("the same, C = 100", "train-solvers", "kernel, C = 100"),
    ("text to model in a control group of 400 MB, against LIBLINEAR without a limit", "train-whole", "text to model"),
    ("one pass over the text, against Vowpal Wabbit", "many-stream-kernel", "kernel, one pass"),
    ("l1 squared hinge loss, against LIBLINEAR -s 5", "penalties-memory-kernel", "L1 squared-hinge"),
    ("l1 out of core, a tenth of the rows in memory, against ADMM", "penalties-core", "kq, 90 MiB, 1e-3: DA-BCD against admm"),
    ("ridge on covtype, raw, against scikit-learn's Cholesky solver", "solvers-ridge", "ridge, covtype "),
    ("Lasso path, 100 lambdas x 10 folds, a tenth of the rows in memory, against LassoCV", "solvers-lasso",
     "Lasso path"),
    ("census income, a raw CSV to a model with no option, against a pipeline of scikit-learn", "tables", "census: seconds"),
    ("text to Vowpal Wabbit's accuracy after its one pass, with a certificate", "train-online", "text to a model"),
    ("the worst of 276 cells: raw digits, 10 classes, squared hinge loss, C = 1000, to where LIBLINEAR stops",
     "solvers-peers", "digits raw"),
]


def cells(line):
    """The cells of a line of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text):
    """All tables of a record but that of versions, each a list of rows, its head first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.M)
    found = [[cells(line) for line in block.splitlines()] for block in blocks]
    return [[table[0], *table[2:]] for table in found if table[0][0] != "program"]


class Record:
    def __init__(self, path):
        self.path, text = path, path.read_text()
        self.date, self.name = path.stem[:10], path.stem[11:]
        self.title = text.splitlines()[0].lstrip("# ").rsplit(",", 1)[0]
        self.tables = tables(text)

    def row(self, begin):
        """The row that begins so."""
        rows = [row for table in self.tables for row in table[1:]]
        found = [row for row in rows if (row[0] + " ").startswith(begin)]
        if not found:
            sys.exit(f"{self.path.name}: no row begins with '{begin}'")
        # Records of several data sets have the main one first.
        return found[0]


def latest():
    """The last record of each name."""
    records = sorted((Record(path) for path in RECORDS.glob("*.md")), key=lambda record: record.date)
    return {record.name: record for record in records}


def shown(row):
    return "| " + " | ".join(row) + " |\n"


def page(records):
    text = "# Results\n\nMade by `docs/results.py` from [benchmarks/records](../benchmarks/records); "
    text += "[benchmarks/README.md](../benchmarks/README.md) says how to repeat them.\n"
    text += "Shared machines of two cores: look at the ratios. Records have the versions, the commit and all rows.\n"
    for name, record in sorted(records.items()):
        link = f"../benchmarks/records/{record.path.name}"
        text += f"\n## {name}\n{record.title}, {record.date} ([record]({link})).\n"
        for table in record.tables:
            rows, more = table[1:MOST_ROWS + 1], len(table) - 1 - MOST_ROWS
            text += "\n" + shown(table[0]) + shown(["---"] * len(table[0])) + "".join(map(shown, rows))
            if more > 0:
                text += f"\n{more} more rows are in the record.\n"
    return text


def telling(records):
    """Caption, both sides, the ratio as a number and as text, and the record of each telling result."""
    for caption, name, begin in TELLING:
        record = records[name]
        row = record.row(begin)
        # Tables of cells have set, loss and C first.
        ours, peer, ratio = {4: (row[1], "", row[2]), 5: row[1:4], 7: row[3:6]}[len(row)]
        if name == "store":
            # That record has what a peer took beside what it was compared with.
            ours, peer = record.row("pack, text to store")[1], row[1]
        number = float(re.search(r"[0-9.]+", ratio)[0])
        yield caption, ours.split(";")[0], peer, number, ratio.split(" x")[0], record


def front(records):
    text = "| what | Towline | peer | times as fast | record |\n| --- | --- | --- | --- | --- |\n"
    for caption, ours, peer, _, ratio, record in telling(records):
        text += shown([caption, ours, peer, ratio, f"[{record.name}](benchmarks/records/{record.path.name})"])
    return text


def picture(records):
    """Bars on a logarithmic scale, from a sixteenth to 64 times."""
    rows = list(telling(records))
    width, label, height, top = 1100, 650, 26, 34
    place = lambda ratio: label + (width - label - 60) * (math.log2(ratio) + 4) / 10
    tall = top + height * len(rows) + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}" font-family="sans-serif" '
           'font-size="13">', f'<rect width="{width}" height="{tall}" fill="white"/>',
           f'<text x="12" y="18" font-weight="bold">How many times as fast as its peer Towline is</text>']
    for ratio, name in ((1 / 16, "1/16"), (1 / 4, "1/4"), (1, "1"), (4, "4"), (16, "16"), (64, "64")):
        x = place(ratio)
        out.append(f'<line x1="{x:.1f}" y1="{top - 8}" x2="{x:.1f}" y2="{tall - 8}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{top - 12}" text-anchor="middle" fill="#666">{name}</text>')
    for number, (caption, _, _, ratio, text, _) in enumerate(rows):
        y, (low, high) = top + height * number, sorted((place(1), place(ratio)))
        colour = "#2b6cb0" if ratio >= 1 else "#c05621"
        out.append(f'<text x="{label - 14}" y="{y + 17}" text-anchor="end">{html.escape(caption)}</text>')
        out.append(f'<rect x="{low:.1f}" y="{y + 4}" width="{high - low:.1f}" height="{height - 8}" fill="{colour}"/>')
        out.append(f'<text x="{high + 6:.1f}" y="{y + 17}">{html.escape(text)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    records = latest()
    readme = README.read_text()
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    pages = {PAGE: page(records), PICTURE: picture(records),
             README: f"{before}{BEGIN}\n{front(records)}{END}{after}"}
    if "--check" in sys.argv[1:]:
        old = [path.relative_to(ROOT) for path, text in pages.items() if not path.exists() or path.read_text() != text]
        if old:
            sys.exit("not what the records say: " + ", ".join(map(str, old)) + "; run docs/results.py")
        return print(f"{len(records)} records, {len(TELLING)} of their rows on the front page")
    for path, text in pages.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
