#!/usr/bin/env python3
"""How long Towline takes to build from nothing, how large it is, and how long after a change.

    benchmarks/build.py --target FOLDER         a folder that is not there yet, or is empty

Seconds are those of the clock and, where others use the machine as well, those of the processor, of all processes that
cargo starts. With two cores that nobody else uses, a build cannot take less than half of the latter.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import time

import common
from record import Record

# A method that changes: one whose code depends on losses and links.
CHANGED = "crates/towline/src/methods/dual_cd/learner/steps.rs"
# Seconds, seconds, bytes: the goals.
GOALS = {"clean": 180, "change": 20, "binary": 25 * 10**6, "demo": 240}


def measured(command, environment):
    """Seconds of the clock and of the processor."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(command, env=environment, cwd=common.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
    if ended.returncode:
        raise common.Failed(f"{' '.join(command)}: {ended.stdout.decode(errors='replace')[-2000:]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True, help="an empty folder for what cargo builds")
    parser.add_argument("--records", default=str(common.HERE / "records"), help="folder for the record")
    arguments = parser.parse_args()
    target = pathlib.Path(arguments.target).resolve()
    if target.exists() and any(target.iterdir()):
        parser.error(f"{target} is not empty: a build from nothing needs an empty folder")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    build = ["cargo", "build", "--release", "--locked", "--package", "towline-cli"]
    record = Record("Building", "`benchmarks/build.py` says what exactly is measured.",
                    heads=("what", "seconds", "processor seconds", "goal"))

    def row(what, command, goal):
        seconds, processor = measured(command, environment)
        record.row(what, f"{seconds:.0f}", f"{processor:.0f}", f"{GOALS[goal]} s")
        record.facts.append({"what": what, "seconds": seconds, "processor_seconds": processor})

    with record.part("from nothing"):
        row("`cargo build --release`, from nothing", build, "clean")
        size = (target / "release/towline").stat().st_size
        record.row("the program", f"{size / 1e6:.1f} MB", "", f"{GOALS['binary'] / 1e6:.0f} MB")
        record.facts.append({"what": "bytes of the program", "bytes": size})
    with record.part("a change"):
        os.utime(common.ROOT / CHANGED)
        row(f"the same after a change in `{CHANGED}`", build, "change")
    with record.part("demo"):
        row("`./demo`, with what was built", ["./demo"], "demo")
    load = os.getloadavg()[1]
    record.notes.append(f"{load:.1f} processes wanted one of {os.cpu_count()} cores, on average of the last five minutes.")
    version = lambda command: subprocess.run(command, capture_output=True, text=True, cwd=common.ROOT).stdout.strip()
    versions = {"commit": version(["git", "rev-parse", "--short", "HEAD"]), "rustc": version(["rustc", "--version"]),
                "cargo": version(["cargo", "--version"])}
    record.write(arguments.records, "build", versions)


if __name__ == "__main__":
    main()
