#!/usr/bin/env python3
"""Parts of the rows on several cores: visits, processor and wall seconds, against LIBLINEAR and Snap ML.

    benchmarks/cores.py --kernel kernel.train [--store kernel.tow] [--set a9a=a9a.zst ...] [--only parts,threads,peers]

`parts` counts visits of rows until the gap is 1e-3, for 1 to 32 parts; threads have no part in that, and nothing else that
runs on the machine has. `threads` trains two parts with 1 and with 2 threads, in memory, and compares all digits of the weights; seconds of the
processor are those of the whole process. `peers` trains LIBLINEAR and Snap ML on the same rows, each in an environment of its own,
until each one's own default end, and Towline until its objective is no worse; only solving counts. Ratios are the peer's seconds per
second of Towline. The worst ratio is printed last.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import common
from record import Record

PARTS = [1, 2, 4, 8, 16, 32]
# Visits against one part that docs/decisions/034-parts-of-rows.md asks for.
GOALS = {4: 1.5, 8: 1.8, 16: 2.0, 32: 2.5}
TOLERANCE = 1e-3


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, pathlib.Path(work)
        self.towline = pathlib.Path(options.towline or common.ROOT / "target/release/towline")
        self.record = Record("Cores", "`benchmarks/cores.py` says what exactly is measured; a ratio above 1 is in favour of Towline.",
                             heads=("what", "found", "against", "ratio", "goal"))
        self.worst = None

    def store(self, name, source):
        if source.endswith(".tow"):
            return source
        store = self.work / f"{name}.tow"
        common.timed([self.towline, "pack", source, "-o", store])
        return store

    def train(self, store, c, *more):
        """The summary of a run, its visits, its processor seconds and its weights as text."""
        model, trace = self.work / "model.towm", self.work / "trace.jsonl"
        for path in (model, trace):
            common.remove(path)
        before = processor()
        _, out, _ = common.timed([self.towline, "train", store, "-C", c, "--tolerance", TOLERANCE, "--memory", self.options.memory,
                                  "--restart", "--json", "--trace", trace, "-o", model, *more])
        found = json.loads(out)
        steps = [json.loads(line) for line in open(trace)]
        found["visits"] = max(step["visits"] for step in steps if "visits" in step)
        found["processor"] = processor() - before
        weights = self.work / "weights.txt"
        common.timed([self.towline, "export", model, "--to", "text", "-o", weights])
        return found, weights.read_bytes()

    def note_ratio(self, what, ratio):
        if self.worst is None or ratio < self.worst[1]:
            self.worst = (what, ratio)

    def parts(self, name, store, c):
        one = None
        for count in PARTS:
            found, _ = self.train(store, c, "--parts", count)
            one = one or found
            ratio, goal = found["visits"] / one["visits"], GOALS.get(count)
            self.record.facts.append({"part": "parts", "set": name, "C": c, "parts": count} | kept(found))
            self.record.row(f"{name}, C = {c}: visits in {count} parts", f"{found['visits']:,}", f"{one['visits']:,} in one",
                            f"{ratio:.2f}", f"at most {goal}" if goal else "")
            if goal:
                self.note_ratio(f"{name}, C = {c}, {count} parts", goal / ratio)

    def threads(self, name, store, c):
        runs = {threads: self.train(store, c, "--threads", threads, "--parts", 2) for threads in (1, 2)}
        plain, _ = self.train(store, c, "--threads", 1, "--parts", 1)
        if runs[1][1] != runs[2][1]:
            self.record.notes.append(f"{name}, C = {c}: models of 1 and 2 threads differ")
        for threads, (found, _) in runs.items():
            seconds = found["seconds"]
            self.record.facts.append({"part": "threads", "set": name, "C": c, "threads": threads} | kept(found))
            self.record.row(f"{name}, C = {c}: {threads} threads",
                            f"solving {seconds['solve']:.2f} s, certifying {seconds['certify']:.2f} s, processor {found['processor']:.2f} s",
                            f"one part: {plain['seconds']['solve']:.2f}, {plain['seconds']['certify']:.2f}, {plain['processor']:.2f} s",
                            f"{plain['seconds']['solve'] / max(seconds['solve'], 1e-3):.2f}", "solving 1.7" if threads == 2 else "at least 0.9")

    def peers(self, name, source, store, c):
        found, _ = self.train(store, c, "--threads", 2, "--parts", 2)
        for peer, python in environments(self.options).items():
            command = [python, common.HERE / "cores_peers.py", peer, source, c]
            _, out, _ = common.timed(command)
            run = json.loads(next(line for line in out.splitlines() if line.startswith("RESULT "))[7:])
            ours = found["seconds"]["solve"] + found["seconds"]["certify"]
            ratio = run["seconds"] / max(ours, 1e-3)
            self.record.facts.append({"part": "peers", "set": name, "C": c, "peer": peer} | run)
            better = "" if found["objective"] <= run["objective"] * (1 + TOLERANCE) else ", to a worse objective"
            self.record.row(f"{name}, C = {c}: {peer}", f"{ours:.2f} s{better}", f"{run['seconds']:.2f} s", f"{ratio:.2f}")
            self.note_ratio(f"{name}, C = {c}, {peer}", ratio)


def kept(found):
    return {key: found[key] for key in ("visits", "processor", "objective", "dual_objective", "relative_gap", "seconds", "sweeps")}


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environments(options):
    """The Python of each peer, which is made on the first run."""
    if options.no_peers:
        return {}
    found = {}
    for peer, package in {"LIBLINEAR": "liblinear-official==2.50.0", "Snap ML": "snapml==1.17.2"}.items():
        folder = pathlib.Path(options.peers or common.HERE) / f".venv-{package.split('==')[0]}"
        python = folder / "bin/python"
        if not python.exists():
            print(f"creating {folder} with {package}", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", package, "scipy"], check=True)
        found[peer] = python
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_common(parser)
    parser.add_argument("--kernel", help="the kernel data as text, or a store of it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=FILE", help="further data of two classes")
    parser.add_argument("--only", default="parts,threads,peers", help="parts of the benchmark")
    parser.add_argument("--memory", default="4G", help="the budget of runs in memory")
    parser.add_argument("-C", type=float, action="append", dest="cs", help="inverse regularization strengths [1, 100]")
    options = parser.parse_args()
    sets = dict(entry.split("=", 1) for entry in options.set)
    if options.kernel:
        sets["kernel"] = options.kernel
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options, work)
        for name, source in sets.items():
            store = bench.store(name, source)
            for c in options.cs or [1.0, 100.0]:
                for part in options.only.split(","):
                    with bench.record.part(f"{name}, C = {c}: {part}"):
                        arguments = (source, store, c) if part == "peers" else (store, c)
                        getattr(bench, part)(name, *arguments)
        bench.record.write(options.records, "cores", common.versions(bench.towline, None))
        if bench.worst:
            print(f"worst: {bench.worst[0]}, {bench.worst[1]:.2f}")


if __name__ == "__main__":
    main()
