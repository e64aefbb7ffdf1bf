#!/usr/bin/env python3
"""Runs the terminal sessions of README.md and compares what they print.

    docs/test_readme.py [PROGRAM]

A session is a block of code marked `console`; lines after `$ towline` are a command, other lines its output. Times, speeds
and peak memory may differ.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/towline")
VARIES = re.compile(r"[\d.]+ s \(\d+ MB/s\), peak memory [\d.]+ \w+")


def sessions(text):
    """Pairs of command and expected output of all sessions."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = step.partition("\n")
            yield shlex.split(command), output


def main():
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "data", os.path.join(folder, "data"))
        for command, expected in sessions((ROOT / "README.md").read_text()):
            if command[0] != "towline":
                sys.exit(f"README.md: only towline may be run, not '{command[0]}'")
            result = subprocess.run(
                [PROGRAM, *command[1:]], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            expected, printed = (VARIES.sub("...", text) for text in (expected, result.stdout))
            if result.returncode != 0 or printed != expected:
                sys.exit(f"README.md: {' '.join(command)} (exit code {result.returncode}) prints\n{result.stdout}")
            count += 1
    print(f"{count} commands of README.md print what it says")


if __name__ == "__main__":
    main()
