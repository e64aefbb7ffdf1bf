#!/usr/bin/env python3
"""Holds `--memory` against what the whole process takes, for every verb and many methods, and writes a dated record.

    benchmarks/budget.py a9a=a9a.zst covtype=covtype.csv.zst:'--label Cover_Type' news20=news20.bz2

A set is NAME=FILE, or NAME=FILE:OPTIONS with more options of towline pack. Each is packed, and then each line of the matrix
is run
  - with 1M, which must be refused with exit code 3; its message names the least budget,
  - with that budget, with 1.5 and with 4 times as much: the run must end, and must never have more in memory,
  - with 0.8 of it, which must be refused before anything is read.
With --limited every run is in a control group of the size of its budget (benchmarks/limited: root, cgroup v1), which the
kernel holds against program, stacks and page cache together: a run that the kernel ends is a failure. Without it, the peak is
that of the process (VmHWM), looked at every millisecond. A run that takes longer than --seconds is ended, which is told; its
peak counts.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

from common import HERE, add_common, remove, versions
from record import Record

MIB = 1 << 20
# Lines of the matrix: a name, and what is run. Words in capitals stand for what a set has.
TWO = "--positive=LABEL"
MATRIX = [
    ("pack", "pack FILE PACK -o OUT.tow --force -q --threads 2"),
    ("pack --scale", "pack FILE PACK -o OUT.tow --force -q --threads 2 --scale standard"),
    ("train", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO}"),
    ("train dual", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO} --solver dual"),
    ("train bmd", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO} --method bmd --solver dual"),
    ("train logistic", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO} --loss logistic"),
    ("train newton", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO} --loss squared-hinge --solver newton"),
    ("train l1", f"train STORE -o OUT.towm --restart -q --max-passes 5 {TWO} --penalty l1 --loss logistic"),
    ("train sgd", f"train STORE -o OUT.towm -q --max-passes 2 {TWO} --method sgd"),
    ("train admm", f"train STORE -o OUT.towm -q --max-passes 5 {TWO} --method admm --penalty l1 --loss logistic"),
    ("train classes", "train STORE -o OUT.towm --restart -q --max-passes 3"),
    ("train classes, newton", "train STORE -o OUT.towm --restart -q --max-passes 3 --loss squared-hinge --solver newton"),
    ("train softmax", "train STORE -o OUT.towm --restart -q --max-passes 3 --multiclass softmax"),
    ("train crammer-singer", "train STORE -o OUT.towm --restart -q --max-passes 3 --multiclass crammer-singer"),
    ("stream", f"train FILE --stream -o OUT.towm -q --threads 2 {TWO} PACK"),
    ("cv", f"cv STORE -C 1 --folds 3 --max-passes 3 -q {TWO}"),
    ("path", f"path STORE --penalty l1 --loss logistic --points 3 --max-passes 3 -q --restart -o OUT.path {TWO}"),
    ("index", "index STORE -q"),
    ("train truncated", f"train STORE -o OUT.towm --restart -q --max-passes 3 --truncate 1 {TWO}"),
    ("verify", "verify STORE -q"),
    ("cat", "cat STORE"),
    ("predict", "predict MODEL STORE"),
    ("eval", "eval MODEL STORE"),
]

# What a stream takes follows from features that are yet to come, so that less than its advice may do.
GUESSED = {"stream"}
# How a run ends that has taken too long.
TOO_LONG = 137


def arguments():
    parser = argparse.ArgumentParser(description="Holds --memory against what the process takes; writes a dated record.")
    parser.add_argument("sets", nargs="+", metavar="NAME=FILE[:OPTIONS]")
    parser.add_argument("--limited", action="store_true", help="run in control groups of the size of the budget")
    parser.add_argument("--only", help="a regular expression for lines of the matrix")
    parser.add_argument("--seconds", type=float, default=300, help="the longest that a run may take")
    add_common(parser)
    return parser.parse_args()


def peak_of(pid):
    """The most that a process has had in memory, in bytes; none after its end."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return None
    return int(found[1]) << 10 if found else None


def run(command, seconds):
    """Exit code, peak in bytes, and standard error of a command."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = []
    reader = threading.Thread(target=lambda: said.append(process.stderr.read().decode(errors="replace")))
    reader.start()
    peak, end = 0, time.monotonic() + seconds
    is_late = False
    while process.poll() is None:
        peak = max(peak, peak_of(process.pid) or 0)
        if time.monotonic() > end and not is_late:
            is_late = True
            process.kill()
        time.sleep(0.001)
    reader.join()
    return TOO_LONG if is_late else process.returncode, peak, said[0]


class Runs:
    def __init__(self, towline, options):
        self.towline, self.options = towline, options

    def within(self, line, memory_bytes):
        """Exit code, peak in bytes and standard error of a run within a budget."""
        command = [str(self.towline), *line, "--memory", str(memory_bytes)]
        if not self.options.limited:
            return run(command, self.options.seconds)
        seconds = self.options.seconds
        # Within the group, so that nothing of it is left.
        command = ["timeout", "-s", "KILL", f"{seconds:g}", *command]
        code, _, said = run([str(HERE / "limited"), str(memory_bytes), "--", *command], seconds + 60)
        found = re.search(r"peak_bytes=(\d+) oom_kills=(\d+)", said)
        if not found:
            return 125, 0, said
        return -9 if int(found[2]) else code, int(found[1]), said


def check(runs, what, line):
    """The cells of a line, what is wrong with it, and its facts; none where the method is not for this set."""
    code, _, said = run([str(runs.towline), *line, "--memory", "1M"], runs.options.seconds)
    if code != 3:
        return None if code in (1, 2) else (["", "", "", ""], [f"exit code {code} with 1M"], {})
    found = re.search(r"--memory (\d+)M", said)
    if not found:
        return ["", "", "", ""], ["names no budget"], {}
    least = int(found[1]) * MIB
    cells, wrong, facts = [f"{least // MIB}"], [], {"least_bytes": least}
    for times in (1, 1.5, 4):
        budget = int(times * least)
        code, peak, said = runs.within(line, budget)
        ended = {0: "", 5: "", TOO_LONG: " (ended)"}.get(code, f" (exit code {code})")
        cells.append(f"{peak / MIB:.1f}{ended}")
        facts[f"peak_bytes_{times}"] = peak
        if code == TOO_LONG:
            facts["too_long"] = facts.get("too_long", 0) + 1
        if code not in (0, 5, TOO_LONG):
            wrong.append(f"{times} x least ends with {code}: {said.strip().splitlines()[-1] if said.strip() else ''}")
        elif peak > budget:
            wrong.append(f"{times} x least: {peak / MIB:.1f} of {budget / MIB:.1f} MiB")
    code, _, said = run([str(runs.towline), *line, "--memory", str(int(0.8 * least))], runs.options.seconds)
    if code != 3 and what not in GUESSED:
        wrong.append(f"0.8 x least ends with {code}")
    return cells, wrong, facts


def main():
    options = arguments()
    target = pathlib.Path(options.target or HERE.parent / "target")
    towline = pathlib.Path(options.towline or target / "release/towline").resolve()
    if not towline.exists():
        sys.exit(f"{towline} is missing; build it, or name another with --towline")
    how = "in a control group of the size of the budget" if options.limited else "the peak of the process"
    says = f"`--memory` and what the whole process takes, in MiB: {how}. `benchmarks/budget.py` says what is run."
    record = Record("Budgets", says, ("set", "run", "least", "peak", "of 1.5 x", "of 4 x", "wrong"))
    runs, lines, bad = Runs(towline, options), 0, 0
    records, here = pathlib.Path(options.records).resolve(), pathlib.Path.cwd()
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        os.chdir(folder)
        for given in options.sets:
            name, _, rest = given.partition("=")
            file, _, more = rest.partition(":")
            file, store, more = str(here / file), f"{name}.tow", shlex.split(more)
            subprocess.run([towline, "pack", file, "-o", store, "-q", *more], check=True)
            labels = subprocess.run([towline, "info", store], check=True, capture_output=True, text=True).stdout
            label = re.search(r"^labels\s+(\S+) x", labels, re.M)[1]
            model = [towline, "train", store, "-o", "model.towm", "-q", "--max-passes", "2", f"--positive={label}"]
            subprocess.run(model, check=False)
            places = {"STORE": [store], "FILE": [file], "PACK": more, "MODEL": ["model.towm"]}
            for what, text in MATRIX:
                if options.only and not re.search(options.only, what):
                    continue
                parts = [places.get(part, [part.replace("OUT", "out").replace("LABEL", label)]) for part in text.split()]
                found = check(runs, what, [part for some in parts for part in some])
                if found is None:
                    continue
                cells, wrong, facts = found
                lines, bad = lines + 1, bad + bool(wrong)
                record.row(name, what, *cells, "; ".join(wrong))
                record.facts.append({"set": name, "run": what, "wrong": wrong, **facts})
            remove(store)
        os.chdir(here)
    record.notes.append(f"{lines - bad} of {lines} lines keep to their budgets")
    late = sum(fact.get("too_long", 0) for fact in record.facts)
    record.notes.append(f"{late} of {3 * lines} runs, marked as ended, were ended after {options.seconds:g} s; until then they kept to their budgets")
    record.write(records, "budget", versions(towline, None))


main()
