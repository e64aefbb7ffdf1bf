#!/usr/bin/env python3
"""Measures training against its peers, in one run, and writes a dated record.

    benchmarks/train.py --kernel kernel --set a9a=a9a,a9a.t --set w8a=w8a

`--kernel PREFIX` names PREFIX.train and PREFIX.test (benchmarks/README.md says how to make them), `--set NAME=TRAIN[,TEST]` more
libsvm files with two classes. Needs Debian's liblinear-tools; vowpalwabbit in --peers; root or a delegated control group for the
runs under a memory limit. What is missing is left out and the record says so.

What is timed:
  solve     LIBLINEAR: a run of liblinear-train -s 3 less a run of it that only reads (-e 0). Towline: seconds in sweeps and
            certificates, everything in memory, one thread, until the dual objective is the one that LIBLINEAR ends with.
  whole     text to model, from the start to the end of all processes.
  bytes     bytes read from the store until the dual objective is within a part of the optimum, certificates included.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile

import common
from common import HERE
from record import Record


def arguments():
    parser = argparse.ArgumentParser(description="Measures training against its peers and writes a dated record.")
    parser.add_argument("--kernel", metavar="PREFIX", help="PREFIX.train and PREFIX.test of the kernel data")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=TRAIN[,TEST]", help="another data set")
    parser.add_argument("-C", type=float, action="append", help="values of C for the solvers [default: 1, 100, 1000]")
    parser.add_argument("--order", action="append", help="orders for the solvers [default: auto]")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="only these parts")
    common.add_common(parser)
    return parser.parse_args()


class Data:
    """A data set, and what LIBLINEAR makes of it."""

    def __init__(self, name, train, test, work):
        self.name, self.train, self.test = name, pathlib.Path(train), test and pathlib.Path(test)
        self.store = work / f"{name}.tow"
        self.read_seconds, self.liblinear = None, {}


class Bench(Record):
    def __init__(self, options, towline, python, work):
        self.options, self.towline, self.python, self.work = options, towline, python, work
        super().__init__("Training", "`benchmarks/train.py` says what exactly is timed; a ratio above 1 is in favour of Towline.")

    def pack(self, data):
        if not data.store.exists():
            common.timed([self.towline, "pack", data.train, "-o", data.store, "--quiet"])

    def train(self, data, *more, prefix=(), expect=(0, 5), source=None):
        """A run of towline train: its summary, and its trace."""
        model, trace = self.work / "model.towm", self.work / "trace.jsonl"
        for path in (model, trace, self.work / "model.towm.duals"):
            common.remove(path)
        command = [*prefix, self.towline, "train", source or data.store, "-o", model, "--json", "--trace", trace, *more]
        seconds, out, error = common.timed(command, expect=expect)
        steps = [json.loads(line) for line in open(trace)]
        summary = json.loads(out)
        summary["wall"] = seconds
        found = re.search(r"peak_bytes=(\d+) oom_kills=(\d+)", error)
        summary["group_peak"] = int(found[1]) if found else None
        return summary, steps

    def liblinear(self, data, c):
        """Seconds of solving, seconds in all, and the dual objective that LIBLINEAR ends with."""
        if c not in data.liblinear:
            common.read_through(data.train)
            if data.read_seconds is None:
                data.read_seconds = min(common.timed(["liblinear-train", "-e", "0", data.train, os.devnull], expect=1)[0] for _ in range(2))
            model = self.work / "liblinear.model"
            seconds, out, _ = common.timed(["liblinear-train", "-s", "3", "-c", c, data.train, model])
            dual = -float(re.search(r"Objective value = (\S+)", out)[1])
            gave_up = "reaching max number of iterations" in out
            data.liblinear[c] = {"solve": max(seconds - data.read_seconds, 1e-3), "whole": seconds, "dual": dual, "gave_up": gave_up}
        return data.liblinear[c]


def until(steps, dual, key=lambda step: step["solve_seconds"] + step["certify_seconds"]):
    """What the first step had cost that reached this dual objective."""
    return next((key(step) for step in steps if step["dual_objective"] >= dual), None)


def solvers(bench, sets, _kernel):
    """In memory, to LIBLINEAR's own dual objective."""
    for c in bench.options.C or [1, 100, 1000]:
        ratios = []
        for data in sets:
            bench.pack(data)
            peer = bench.liblinear(data, c)
            runs = {}
            for order in bench.options.order or ["auto"]:
                # Long enough to reach what LIBLINEAR reached, or to be clearly slower.
                time = max(5, 1.2 * peer["solve"])
                _, steps = bench.train(data, "-C", c, "--order", order, "--tolerance", "1e-7", "--max-time", time, "--memory", "8G")
                runs[order] = until(steps, peer["dual"])
            bench.facts.append({"set": data.name, "C": c, "liblinear": peer, "towline": runs})
            first, *others = ((order, f"{seconds:.3f} s" if seconds is not None else "not reached") for order, seconds in runs.items())
            shown = first[1] + "".join(f", {order} {seconds}" for order, seconds in others)
            reached = next(iter(runs.values()))
            ratio = peer["solve"] / max(reached, 1e-3) if reached is not None else None
            goal = {1: "at least 4 on the kernel data, 0.83 elsewhere", 100: "at least 20 on the kernel data"}.get(c, "")
            limit = ", at its iteration limit" if peer["gave_up"] else ""
            bench.row(f"{data.name}, C = {c:g}", shown, f"{peer['solve']:.3f} s{limit}", f"{ratio:.1f}" if ratio else "-", goal)
            ratios.append(ratio)
        if ratios and all(ratios):
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            bench.row(f"geometric mean, C = {c:g}", "", "", f"{mean:.1f}", "at least 10" if c >= 100 else "")


def whole(bench, _sets, kernel):
    """Text to model in little memory, against LIBLINEAR with all it wants."""
    peer = bench.liblinear(kernel, 1)
    common.drop_from_cache(kernel.train)
    text = bench.work / "kernel.svm"
    os.symlink(kernel.train.resolve(), text)
    store = bench.work / "kernel.svm.tow"
    try:
        summary, steps = bench.train(kernel, "-C", 1, "--memory", "300M", "--tolerance", "1e-3", prefix=[HERE / "limited", "400M", "--"], source=text)
    finally:
        common.remove(text)
        common.remove(store)
    reached = until(steps, peer["dual"], lambda step: step["seconds"])
    seconds = summary["seconds"]["pack"] + reached if reached else None
    bench.facts.append({"whole": summary, "reached": seconds, "liblinear": peer})
    if seconds is None:
        return bench.row("text to model, 400M", "not reached", f"{peer['whole']:.1f} s", "-", "at least 3")
    bench.row("text to model in a group of 400M, to LIBLINEAR's dual objective", f"{seconds:.1f} s, of which packing {summary['seconds']['pack']:.1f} s; "
              f"all of the run to a gap of 1e-3 {summary['wall']:.1f} s, peak {summary['peak_memory_bytes'] / 1e6:.0f} MB",
              f"{peer['whole']:.1f} s, unlimited", f"{peer['whole'] / seconds:.2f}", "at least 3")


def cache(bench, _sets, kernel):
    """Bytes read with and without a cache, a tenth of the data in memory, a slow disk."""
    bench.pack(kernel)
    best, _ = bench.train(kernel, "-C", 1, "--tolerance", "1e-6", "--memory", "8G")
    optimum = best["dual_objective"]
    info = json.loads(common.timed([bench.towline, "plan", kernel.store, "--solver", "dual", "--memory", "8G", "--json"])[1])
    fixed = info["weight_bytes"] + info["dual_bytes"] + info["read_ahead_bytes"]
    memory = int(fixed + info["resident_bytes"] / 10)
    runs = {}
    for name, more in (("no cache", ["--method", "bmd"]), ("half", []), ("0.8", ["--cache-share", "0.8"]),
                       ("half, random", ["--selection", "random"]), ("half, gap", ["--selection", "gap"])):
        for path in kernel.store.rglob("*"):
            if path.is_file():
                common.drop_from_cache(path)
        summary, steps = bench.train(kernel, "-C", 1, "--tolerance", "1e-4", "--memory", memory, "--max-passes", 20, *more,
                                     prefix=[HERE / "limited", str(int(memory * 1.25)), "125M", "--"])
        runs[name] = [until(steps, optimum * (1 - part), lambda step: step["bytes_read"]) for part in (1e-3, 1e-4)]
        wait = summary["seconds"]["read"] / summary["wall"]
        bench.facts.append({"cache": name, "bytes": runs[name], "summary": summary, "wait": wait})
        shown = [f"{b / 1e6:.0f} MB ({b / info['pass_bytes']:.2f} passes)" if b else "not reached" for b in runs[name]]
        ratio = [f"{a / b:.2f}" if a and b else "-" for a, b in zip(runs["no cache"], runs[name])]
        bench.row(f"cache: {name}", f"{shown[0]} to 1e-3, {shown[1]} to 1e-4; waiting for the disk {100 * wait:.0f} % of {summary['wall']:.1f} s",
                  "", " and ".join(ratio), "" if name == "no cache" else "at least 3 and 8")


def online(bench, _sets, kernel):
    """Against one pass of Vowpal Wabbit, which has no penalty: time to the same test accuracy at C = 10."""
    if not bench.python or not kernel.test:
        return bench.notes.append("Vowpal Wabbit was left out.")
    marked = [bench.work / "train.vw", bench.work / "test.vw"]
    for plain, to in zip((kernel.train, kernel.test), marked):
        with open(plain, "rb") as rows, open(to, "wb", buffering=1 << 22) as out:
            out.writelines(line.replace(b" ", b" | ", 1) for line in rows)
    model, scores = bench.work / "vw.model", bench.work / "vw.scores"
    common.read_through(marked[0])
    vw = [bench.python, "-m", "vowpalwabbit", "--quiet"]
    seconds, _, _ = common.timed([*vw, "--loss_function", "hinge", "--binary", "-b", "24", "-d", marked[0], "-f", model])
    common.timed([*vw, "-t", "-i", model, "-d", marked[1], "-p", scores])
    truth = [line.split(None, 1)[0] for line in open(kernel.test)]
    found = [float(line.split()[0]) for line in open(scores)]
    accuracy = sum((float(y) > 0) == (z > 0) for y, z in zip(truth, found)) / len(truth)
    for path in (*marked, model, scores):
        common.remove(path)
    text = bench.work / "kernel.svm"
    store = bench.work / "kernel.svm.tow"
    results = []
    try:
        for passes in (1, 2):
            common.remove(store)
            if not text.exists():
                os.symlink(kernel.train.resolve(), text)
            common.read_through(kernel.train)
            summary, _ = bench.train(kernel, "-C", 10, "--memory", "400M", "--max-passes", passes, "--test", kernel.test,
                                     prefix=[HERE / "limited", "512M", "--"], source=text)
            results.append((passes, summary))
            if summary["test"]["accuracy"] >= accuracy:
                break
    finally:
        common.remove(text)
        common.remove(store)
    passes, summary = results[-1]
    ours, certify = summary["seconds"]["pack"] + summary["seconds"]["training"], summary["seconds"]["certify"]
    bench.facts.append({"vw_seconds": seconds, "vw_accuracy": accuracy, "runs": [r[1] for r in results]})
    bench.row(f"text to a model with Vowpal Wabbit's test accuracy, 512M, {passes} pass{'es' if passes > 1 else ''}",
              f"{ours:.1f} s with its certificate ({certify:.1f} s), {100 * summary['test']['accuracy']:.2f} %", f"{seconds:.1f} s, {100 * accuracy:.2f} %",
              f"{seconds / ours:.2f}", "at least 1")
    bench.pack(kernel)
    converged, _ = bench.train(kernel, "-C", 10, "--tolerance", "1e-4", "--memory", "8G", "--test", kernel.test)
    first = results[0][1]["test"]["accuracy"]
    bench.row("test accuracy after one pass against the converged model", f"{100 * first:.2f} % and {100 * converged['test']['accuracy']:.2f} %", "",
              f"{100 * (converged['test']['accuracy'] - first):.2f} points", "at most 0.3 points")


PARTS = {"solvers": solvers, "whole": whole, "cache": cache, "online": online}


def main():
    options = arguments()
    towline, _ = common.build(options)
    python = common.peers(options)
    if not shutil.which("liblinear-train"):
        sys.exit("train.py: liblinear-train is missing; on Debian: apt-get install liblinear-tools")
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        work = pathlib.Path(work)
        sets = []
        for text in options.set:
            name, files = text.split("=", 1)
            train, _, test = files.partition(",")
            sets.append(Data(name, train, test, work))
        kernel = None
        if options.kernel:
            kernel = Data("kernel", options.kernel + ".train", options.kernel + ".test", work)
            sets.append(kernel)
        bench = Bench(options, towline, python, work)
        for name, part in PARTS.items():
            if options.only and name not in options.only:
                continue
            if part is not solvers and not kernel:
                bench.notes.append(f"The part {name} needs --kernel and was left out.")
                continue
            with bench.part(name):
                part(bench, sets, kernel)
    bench.write(options.records, "-".join(["train", *(options.only or [])]), common.versions(towline, python))


if __name__ == "__main__":
    try:
        main()
    except common.Failed as error:
        sys.exit(f"train.py: {error}")
