#!/usr/bin/env python3
"""Runs the terminal sessions of README.md and of all pages in docs/ and compares what they print.

    docs/test_readme.py [PROGRAM]                       compare
    docs/test_readme.py PROGRAM --update                write what is printed now into the pages
    docs/test_readme.py PROGRAM [--update] docs/many.md only these pages

A session is a block of code marked `console`; lines after `$ towline` are a command, other lines its output. `$ towline ... # exit code 5`
is a command that ends so. A block with a title, such as ```csv title="reviews.csv", is a file that the commands after it find, beside
a copy of data/. Times, speeds, memory and the last digits of a gap may differ: programs differ in size, and dense algebra uses the
registers that the processor has.

Blocks marked `rust` have to be part of the documentation of the library, which is compiled and run there.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/towline")
VARIES = re.compile(
    r"[\d.]+ s( \(\d+ MB/s\))?, peak memory [\d.]+ \w+|peak memory [\d.]+ \w+, [\d.]+ s$|peak memory [\d.]+ \w+(?=, models)"
    r"|^(peak memory|seconds|budget|  the program|  left over|least budget) .*|at most [\d.]+e-\d+ of it above"
    r"|beside [\d.]+ MiB for the program itself; use --memory \d+M", re.M
)
BLOCK = re.compile(r'^```(console|\w+ title="[^"\n]+")\n(.*?)^```', re.S | re.M)
RUST = re.compile(r"^```rust\n(.*?)^```", re.S | re.M)
EXIT = re.compile(r"\s+# exit code (\d+)$")


def steps(session):
    """Pairs of command line and expected output."""
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        line, _, output = step.partition("\n")
        yield line, output


def run(page, line, folder):
    ends = EXIT.search(line)
    command = shlex.split(EXIT.sub("", line))
    if command[0] != "towline":
        sys.exit(f"{page}: only towline may be run, not '{command[0]}'")
    result = subprocess.run(
        [PROGRAM, *command[1:]], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if result.returncode != int(ends[1] if ends else 0):
        sys.exit(f"{page}: {line} (exit code {result.returncode}) prints\n{result.stdout}")
    return result.stdout


def check(page, update):
    text = (ROOT / page).read_text(encoding="utf-8")
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        # A copy: files are packed beside themselves.
        shutil.copytree(ROOT / "data", os.path.join(folder, "data"), ignore=shutil.ignore_patterns("*.tow"))

        def block(match):
            nonlocal count
            kind, session = match.groups()
            if kind != "console":
                pathlib.Path(folder, kind.split('"')[1]).write_text(session, encoding="utf-8")
                return match[0]
            lines = []
            for line, expected in steps(session):
                printed = run(page, line, folder)
                same = VARIES.sub("...", expected) == VARIES.sub("...", printed)
                if not same and not update:
                    sys.exit(f"{page}: {line} prints\n{printed}")
                lines.append(f"$ {line}\n{expected if same else printed}")
                count += 1
            return "```console\n" + "".join(lines) + "```"

        updated = BLOCK.sub(block, text)
    if update:
        (ROOT / page).write_text(updated, encoding="utf-8")
    if count:
        print(f"{count} commands of {page} print what it says")
    check_rust(page, text)


def check_rust(page, text):
    """Whether the library runs the same lines in its own documentation."""
    squeezed = lambda lines: re.sub(r"\s+", "", lines)
    tested = squeezed(re.sub(r"(?m)^//! ?", "", (ROOT / "crates/towline/src/lib.rs").read_text(encoding="utf-8")))
    for code in RUST.findall(text):
        if squeezed(code) not in tested:
            sys.exit(f"{page}: this is not in the documentation of crates/towline/src/lib.rs, so nothing tests it:\n{code}")


def main():
    update, named = "--update" in sys.argv[2:], [name for name in sys.argv[2:] if name != "--update"]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in named or [str(path.relative_to(ROOT)) for path in pages]:
        check(page, update)


main()
