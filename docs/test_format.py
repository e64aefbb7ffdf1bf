#!/usr/bin/env python3
"""Holds docs/format.md against the program.

    docs/test_format.py [PROGRAM]

Packs small tables that need every encoding, reads the stores with read_store.py, which knows the document only, and
compares with `towline cat`. Then it checks that the example of the document is what the program writes, and that
read_store.py notices damage.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "target/release/towline")
sys.path.insert(0, str(HERE))
import read_store  # noqa: E402


def table(rows, columns, value, label="{sign}"):
    """Text of `rows` rows; value(i, j) of row i and column j, None where it is absent."""
    text = []
    for i in range(rows):
        cells = ((j, value(i, j)) for j in range(1, columns + 1))
        entries = [f"{j}:{v}" for j, v in cells if v is not None]
        text.append(" ".join([label.format(i=i, sign=1 if i % 3 else -1)] + entries))
    return "\n".join(text) + "\n"


def present(i, j):
    return (i * 7 + j * j) % 5 < 2


def noise(i, j):
    return 1 + (i * 7919 + j * 104729) % 1000003 / 1000003


# name: inputs (the second one is appended), arguments of pack, encoding that `towline info` must name
CASES = {
    "ones": ([table(300, 60, lambda i, j: 1 if present(i, j) else None)], [], "all ones"),
    "one value per row": ([table(300, 60, lambda i, j: 1 / (i + 2) if present(i, j) else None)], [], "one per row"),
    "block dictionary": ([table(300, 60, lambda i, j: (i + j) % 50 + 1 if present(i, j) else None)], [], "block dictionary"),
    "row dictionary": (
        [table(300, 60, lambda i, j: (j % 3 + 1) * noise(i, 1) if present(i, j) else None)],
        ["--no-renumber"],
        "row dictionary",
    ),
    "32-bit floats": ([table(300, 60, lambda i, j: noise(i, j) if present(i, j) else None)], [], "32-bit floats"),
    "64-bit floats": (
        [table(300, 60, lambda i, j: noise(i, j) if present(i, j) else None)],
        ["--precision", "f64", "--seed", "3"],
        "64-bit floats",
    ),
    "dense": ([table(300, 60, noise)], ["--keep-order"], "32-bit floats"),
    "scaled": ([table(300, 60, noise)], ["--scale", "minmax"], "block dictionary"),
    "many labels": ([table(700, 9, lambda i, j: j, label="{i}.3")], [], "block dictionary"),
    "large labels": ([table(700, 9, lambda i, j: j, label="{i}")], ["--keep-order"], "block dictionary"),
    "several targets": (
        [
            table(700, 9, lambda i, j: j, label="{i}.3,{sign},7,0.{i}1"),
            table(50, 9, lambda i, j: j + 1, label="{i},{i}5e3,{sign},2"),
        ],
        [],
        "block dictionary",
    ),
    "groups and an empty row": (["1 qid:7 1:1 4294967296:2\n-1 qid:99999999999 3:.5\n2\n"], ["--keep-order"], "32-bit floats"),
    "numbers far apart": (["1 1:2 18446744073709551615:1\n-1 7:2 9223372036854775808:1\n" * 9], ["--no-renumber"], "dictionary"),
    "many features": (
        ["".join(f"1 {i * 7919 % 70001}:1 {100000 + i * 31}:1\n" for i in range(40000))],
        ["--block-size", "256K"],
        "all ones",
    ),
    "two generations": (
        [table(300, 60, lambda i, j: 1 if present(i, j) else None), table(50, 90, lambda i, j: j % 5 + 0.5)],
        [],
        "all ones",
    ),
    "several blocks": (
        [table(3000, 60, lambda i, j: (i + j) % 50 + 1 if present(i, j) else None)],
        ["--block-size", "64K"],
        "block dictionary",
    ),
}


def run(*arguments):
    result = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"towline {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def pack(folder, texts, arguments, ending="svm"):
    store = str(folder / "store.tow")
    for number, text in enumerate(texts):
        source = folder / f"input{number}.{ending}"
        source.write_text(text)
        run("pack", str(source), "-o", store, "--quiet", "--append" if number else "--force", *arguments)
    return store


def compare(name, store):
    ours, theirs = list(read_store.lines(store)), run("cat", store).splitlines()
    if ours != theirs:
        at = next((i for i, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
        sys.exit(f"{name}: row {at} differs (of {len(ours)} and {len(theirs)})\n{ours[at:at + 1]}\n{theirs[at:at + 1]}")
    return len(ours)


def dump(data):
    """16 bytes a line, with their offset."""
    return [f"{at:04x}  {data[at:at + 16].hex(' ')}" for at in range(0, len(data), 16)]


def check_example(folder):
    """The document shows a two-row input and the block that it becomes."""
    blocks = re.findall(r"```\w*\n(.*?)```", (HERE / "format.md").read_text(), re.S)
    source = next(text for text in blocks if text.startswith("+1 "))
    shown = next(text for text in blocks if text.startswith("0000  "))
    store = pathlib.Path(pack(folder, [source], ["--keep-order"]))
    written = dump((store / "blocks/00000.blk").read_bytes())
    lines = [line[:53].rstrip() for line in shown.splitlines()]
    if lines != written:
        sys.exit("format.md: the example is not what the program writes:\n" + "\n".join(written))


def check_damage(store):
    """A flipped bit anywhere must be noticed."""
    tried = 0
    for path in sorted(pathlib.Path(store).rglob("*.*")):
        whole = path.read_bytes() if path.is_file() else b""
        for at in range(0, len(whole), max(1, len(whole) // 40)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
            tried += 1
            try:
                list(read_store.lines(store))
            except (SystemExit, Exception):
                continue
            finally:
                path.write_bytes(whole)
            sys.exit(f"{path.name}: a flipped bit at byte {at} went unnoticed")
    return tried


def main():
    cases = dict(CASES)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "--label" in run("pack", "--help"):  # tables have named features
            csv = "y,size,colour\n" + "".join(f"{'ab'[i % 2]},{i % 9},{'rgb'[i % 3]}\n" for i in range(200))
            store = pack(folder, [csv], ["--label", "y"], "csv")
            print(f"named features: {compare('named features', store)} rows agree")
        for case, (texts, arguments, encoding) in cases.items():
            store = pack(folder, texts, arguments)
            if encoding not in run("info", store):
                sys.exit(f"{case}: the block is not encoded as '{encoding}'")
            print(f"{case}: {compare(case, store)} rows agree")
        check_example(folder)
        print("the example is what the program writes")
        store = pack(folder, CASES["two generations"][0], [])
        print(f"{check_damage(store)} flipped bits were all noticed")


if __name__ == "__main__":
    main()
