#!/usr/bin/env python3
"""Makes the pages of results from the records in benchmarks/records.

    docs/results.py            write docs/results.md, docs/results.svg and the table in README.md
    docs/results.py --check    fail if one of them is not what the records say

No number on these pages is typed by hand: a row is named by its record and by how it begins.
"""
import math
import pathlib
import re
import sys

from figures import Drawing

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
    text += "\n## The most telling ones\nThe worst included.\n\n![How many times as fast as its peers Towline is](results.svg)\n\n"
    text += front(records, "../")
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


def front(records, root=""):
    text = "| what | Towline | peer | times as fast | record |\n| --- | --- | --- | --- | --- |\n"
    for caption, ours, peer, _, ratio, record in telling(records):
        text += shown([caption, ours, peer, ratio, f"[{record.name}]({root}benchmarks/records/{record.path.name})"])
    return text


def picture(records):
    """Bars on a logarithmic scale, from a sixteenth to 64 times, each under its caption."""
    rows = list(telling(records))
    drawing = Drawing(820, 44 + 42 * len(rows))
    place = lambda ratio: 20 + 720 * (math.log2(ratio) + 4) / 10
    for ratio, name in ((1 / 16, "1/16"), (1 / 4, "1/4"), (1, "as fast"), (4, "4 times"), (16, "16"), (64, "64")):
        for number in range(len(rows)):
            y = 36 + 42 * number
            drawing.path([(place(ratio), y + 15), (place(ratio), y + 33)], "line", arrow=False, width=1.6 if ratio == 1 else 0.5)
        drawing.text(place(ratio), 18, name, "soft", 12.5)
    for number, (caption, _, _, ratio, text, _) in enumerate(rows):
        y, (low, high) = 36 + 42 * number, sorted((place(1), place(ratio)))
        colour = "blue" if ratio >= 1 else "orange"
        drawing.text(20, y + 11, caption, "ink", 12.5, "start")
        drawing.bar(low, y + 17, high - low, 14, colour)
        drawing.text(high + 6, y + 28.5, text, colour, 12.5, "start", bold=True)
    return drawing.svg()


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
