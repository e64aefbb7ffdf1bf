#!/usr/bin/env python3
"""Runs the terminal sessions of README.md and of pages in docs/ and compares what they print.

    docs/test_readme.py [PROGRAM]             compare
    docs/test_readme.py PROGRAM --update      write what is printed now into the pages

A session is a block of code marked `console`; lines after `$ towline` are a command, other lines its output. Times, speeds,
memory and the last digits of a gap may differ: programs differ in size, and dense algebra uses the registers that the processor has.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/commands.md", "docs/training.md", "docs/many.md", "docs/judging.md", "docs/penalties.md", "docs/indexed.md"]
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/towline")
VARIES = re.compile(
    r"[\d.]+ s( \(\d+ MB/s\))?, peak memory [\d.]+ \w+|peak memory [\d.]+ \w+, [\d.]+ s$|peak memory [\d.]+ \w+(?=, models)|^(peak memory|seconds|budget|  the program|  left over|least budget) .*|at most [\d.]+e-\d+ of it above", re.M
)
SESSION = re.compile(r"^```console\n(.*?)^```", re.S | re.M)


def steps(session):
    """Pairs of command line and expected output."""
    for step in re.split(r"^\$ ", session, flags=re.M)[1:]:
        line, _, output = step.partition("\n")
        yield line, output


def run(page, line, folder):
    command = shlex.split(line)
    if command[0] != "towline":
        sys.exit(f"{page}: only towline may be run, not '{command[0]}'")
    result = subprocess.run(
        [PROGRAM, *command[1:]], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if result.returncode != 0:
        sys.exit(f"{page}: {line} (exit code {result.returncode}) prints\n{result.stdout}")
    return result.stdout


def check(page, update):
    text = (ROOT / page).read_text()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "data", os.path.join(folder, "data"))

        def session(match):
            nonlocal count
            lines = []
            for line, expected in steps(match[1]):
                printed = run(page, line, folder)
                same = VARIES.sub("...", expected) == VARIES.sub("...", printed)
                if not same and not update:
                    sys.exit(f"{page}: {line} prints\n{printed}")
                lines.append(f"$ {line}\n{expected if same else printed}")
                count += 1
            return "```console\n" + "".join(lines) + "```"

        updated = SESSION.sub(session, text)
    if update:
        (ROOT / page).write_text(updated)
    print(f"{count} commands of {page} print what it says")


for name in PAGES:
    check(name, sys.argv[2:] == ["--update"])
