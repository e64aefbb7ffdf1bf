"""The data sets of indexed.py: text to pack, text to test with, and which class is told from the rest."""
import csv
import gzip
import pathlib
import zlib

TEST_ROWS = 60_000


def split(lines, train, test):
    """A third of the lines, by a hash of each one's number, is for testing."""
    with open(train, "w") as to_train, open(test, "w") as to_test:
        for number, line in enumerate(lines):
            (to_test if zlib.crc32(str(number).encode()) % 3 == 0 else to_train).write(line)


def kdd_lines(path, limit):
    """Categories become features of value 1, numbers become features scaled to [0, 1]; the label is 1 for normal."""
    opener = gzip.open if open(path, "rb").read(2) == b"\x1f\x8b" else open
    with opener(path, "rt") as file:
        rows = [row for _, row in zip(range(limit or 1 << 60), csv.reader(file))]
    categorical = {1, 2, 3}
    largest = [0.0] * 41
    for row in rows:
        for k in range(41):
            if k not in categorical:
                largest[k] = max(largest[k], float(row[k]))
    numbers = {k: 1 + n for n, k in enumerate(k for k in range(41) if k not in categorical)}
    categories = {}
    for row in rows:
        entries = []
        for k in range(41):
            if k in categorical:
                entries.append((categories.setdefault((k, row[k]), 39 + len(categories)), 1))
            elif float(row[k]) > 0:
                entries.append((numbers[k], round(float(row[k]) / largest[k], 6)))
        text = "".join(f" {i}:{v:g}" for i, v in sorted(entries) if v)
        yield f"{1 if row[41].startswith('normal') else -1}{text}\n"


def head(path, limit):
    with open(path) as file:
        for number, line in enumerate(file):
            if limit and number >= limit:
                return
            yield line


class Set:
    """A store to train on, one to test on, and which class is told from the rest."""

    def __init__(self, name, work, positive=None):
        self.name, self.store, self.test = name, work / f"{name}.tow", work / f"{name}.test.tow"
        self.train_text, self.test_text = work / f"{name}.train", work / f"{name}.test"
        self.positive = positive

    def one_class(self):
        return ["--positive", self.positive] if self.positive else []


def prepare(options, work):
    """Writes the text of each set, unless its store is there."""
    sets = []
    for name, source, lines in (("covtype", options.covtype, head), ("kddcup99", options.kdd, kdd_lines)):
        if source:
            sets.append(Set(name, work))
            if not sets[-1].train_text.exists():
                split(lines(source, options.rows), sets[-1].train_text, sets[-1].test_text)
    for name, prefix in (("MNIST", options.digits), ("deformed MNIST", options.deformed)):
        if prefix:
            digits = Set(name.replace(" ", "-"), work, "1")
            digits.train_text, digits.test_text = pathlib.Path(f"{prefix}.train"), pathlib.Path(f"{prefix}.test")
            sets.append(digits)
    for data in sets:
        if not data.test.exists():
            thin(data.test_text, work / "thin")
            data.test_text = work / f"{data.name}.thin"
            (work / "thin").rename(data.test_text)
        else:
            data.test_text = work / f"{data.name}.thin"
    return sets


def thin(path, to):
    """Every k-th line, so that scores need little memory."""
    with open(path) as file:
        every = max(1, -(-sum(1 for _ in file) // TEST_ROWS))
    with open(path) as file, open(to, "w") as out:
        out.writelines(line for number, line in enumerate(file) if number % every == 0)
