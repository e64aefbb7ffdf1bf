#!/usr/bin/env python3
"""Measures many classes, cross-validation and streams against their peers, in one run, and writes a dated record.

    benchmarks/many.py --set 20news=20news.train,20news.test --set mnist=digits.train,digits.test --kernel kernel

`--set NAME=TRAIN,TEST` names libsvm files with more than two classes, `--kernel PREFIX` the kernel data with two (benchmarks/README.md
says how to make them). Needs the peers of common.py and, for runs under a memory limit, root or a delegated control group.

What is measured:
  ovr      bytes read for all classes together, and the largest number for one of them alone, each with memory for its models and a tenth of
           the rows. With the memory of all models the rows of many sets would fit beside one of them.
  joint    LIBLINEAR -s 4 less reading, and Towline's seconds of solving until its dual objective is the one that LIBLINEAR ends with.
  cv       bytes read for 5 folds x 6 values of C and for the largest C alone, a tenth of the rows in memory; seconds against
           GridSearchCV(LinearSVC) of scikit-learn with all the memory it wants, reading included on both sides.
  stream   one pass over text: seconds and test accuracy against one pass of Vowpal Wabbit, of perceptron, MIRA (C = 1, and C as ours) and CW, and against
           the converged model; the part of the time in which the learner waits for text. Loss and C for the kernel data are chosen
           on held-out training rows.
"""
import argparse
import json
import os
import pathlib
import random
import sys
import tempfile

import common
from common import HERE
from record import Record

GRID = [0.01, 0.1, 1, 10, 100, 1000]


def arguments():
    parser = argparse.ArgumentParser(description="Measures many models per scan against peers and writes a dated record.")
    parser.add_argument("--kernel", metavar="PREFIX", help="PREFIX.train and PREFIX.test of the kernel data")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=TRAIN,TEST[,C]", help="a set with many classes, and its C where 1 is too large")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="only these parts")
    parser.add_argument("--memory", default="512M", help="memory of the machine for streams [default: %(default)s]")
    parser.add_argument("--alone", default="", metavar="COMMAND", help="put before commands whose time is a goal, such as one that waits for a quiet machine")
    parser.add_argument("--shared", default="", metavar="COMMAND", help="put before all others")
    parser.add_argument("--name", help="name of the record [default: many, and the parts]")
    common.add_common(parser)
    return parser.parse_args()


# Runs commands one after the other, and prints the seconds and the output of each.
TIMER = """
import json, subprocess, sys, time
found = []
for command in json.loads(sys.argv[1]):
    begin = time.perf_counter()
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found.append((time.perf_counter() - begin, out))
print(json.dumps(found))
"""


class Data:
    def __init__(self, work, name, train, test, c=1, loss="hinge"):
        self.name, self.train, self.test, self.c, self.loss = name, pathlib.Path(train), pathlib.Path(test), float(c), loss
        self.store = work / f"{name}.tow"


def shuffled(data):
    """The same rows in another order: many sets are sorted by class, which is unfair to methods that see each row once."""
    lines = open(data.train).readlines()
    random.Random(0).shuffle(lines)
    data.train = data.store.with_suffix(".train")
    data.train.write_text("".join(lines))
    return data


class Bench(Record):
    def __init__(self, options, towline, python, work):
        self.options, self.towline, self.python, self.work = options, towline, python, work
        super().__init__("Many models", "`benchmarks/many.py` says what exactly is measured.")

    def pack(self, data):
        if not data.store.exists():
            # Small blocks, so that a tenth of a small set has some.
            common.timed([*self.options.shared.split(), self.towline, "pack", data.train, "-o", data.store, "--quiet", "--block-size", "256K"])

    def run(self, *command, expect=(0, 5)):
        seconds, out, _ = common.timed([*self.options.shared.split(), self.towline, *command], expect=expect)
        found = json.loads(out)
        found["wall"] = seconds
        return found

    def together(self, commands, alone):
        """Seconds and standard output of commands that are compared; waiting for their turn does not count."""
        words = json.dumps([[str(part) for part in command] for command in commands])
        prefix = self.options.alone if alone else self.options.shared
        return json.loads(common.timed([*prefix.split(), sys.executable, "-c", TIMER, words])[1])

    def tenth(self, data, models):
        """A budget with room for a tenth of the rows beside what so many models need."""
        plan = self.run("plan", data.store, "--solver", "dual", "--memory", "64G", "--models", models, "--json")
        fixed = plan["weight_bytes"] + plan["dual_bytes"] + plan["read_ahead_bytes"]
        one = self.run("plan", data.store, "--solver", "dual", "--memory", "64G", "--json")
        rows = one["resident_bytes"]
        per_model = plan["resident_bytes"] - rows
        return max(fixed + rows // 10 + per_model // 10, plan["least_bytes"])

    def train(self, data, *more):
        model = self.work / "model.towm"
        return self.run("train", data.store, "-o", model, "--restart", "--json", *more)


def labels(data):
    return sorted({line.split(None, 1)[0] for line in open(data.train)}, key=float)


def ovr(bench, sets, _kernel):
    for data in sets:
        bench.pack(data)
        classes = labels(data)
        memory, alone_memory = bench.tenth(data, len(classes)), bench.tenth(data, 1)
        together = bench.train(data, "-C", data.c, "--memory", memory, "--test", data.test)
        most = 0
        for label in classes:
            alone = bench.train(data, "-C", data.c, "--memory", alone_memory, "--positive", label)
            most = max(most, alone["bytes_read"])
        ratio = together["bytes_read"] / most
        accuracy = 100 * together["test"]["accuracy"]
        bench.row(f"{data.name}, C = {data.c:g}, ovr over {len(classes)} classes in {memory / 2**20:.0f} MiB: bytes read, against the most for one class",
                  f"{together['bytes_read'] / 1e6:.1f} MB, {together['passes']} passes, {accuracy:.2f} %", f"{most / 1e6:.1f} MB in {alone_memory / 2**20:.0f} MiB", f"{ratio:.2f}", "at most 1.3")


LIBLINEAR = """
import sys, time, json
from liblinear.liblinearutil import svm_read_problem, parameter, problem, train
y, x = svm_read_problem(sys.argv[1], return_scipy=True)
given = problem(y, x)
begin = time.perf_counter()
train(given, parameter(f"-s 4 -c {sys.argv[2]}"))
print(json.dumps({"seconds": time.perf_counter() - begin}))
"""


def joint(bench, sets, _kernel):
    if not bench.python:
        return bench.notes.append("LIBLINEAR was left out.")
    for data in sets:
        bench.pack(data)
        for c in (data.c, 10 * data.c):
            said = common.timed([bench.python, "-u", "-c", LIBLINEAR, data.train, str(c)])[1]
            # The dual problem is what it minimises, so that its own objective is that of the dual, with the sign turned.
            dual = -float(said.split("Objective value = ")[1].split()[0])
            peer = json.loads(said.splitlines()[-1])
            trace = bench.work / "trace.jsonl"
            ours = bench.train(data, "--multiclass", "crammer-singer", "-C", c, "--tolerance", "1e-5", "--memory", "8G", "--trace", trace)
            steps = [json.loads(line) for line in open(trace)]
            reached = next((step for step in steps if step["dual_objective"] >= dual), None)
            if not reached:
                bench.notes.append(f"{data.name}, C = {c:g}: LIBLINEAR's objective was not reached.")
                continue
            seconds = reached["solve_seconds"]
            bench.row(f"{data.name}, Crammer–Singer in memory, C = {c:g}, seconds of solving to LIBLINEAR's objective {dual:.2f}",
                      f"{seconds:.2f} s, {reached['sweeps']} sweeps; a gap of {ours['relative_gap']:.0e} after {ours['seconds']['training']:.2f} s", f"{peer['seconds']:.2f} s", f"{peer['seconds'] / seconds:.1f}", "at least 3")


SEARCH = """
import sys, time, json
import numpy as np
begin = time.perf_counter()
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
x, y = load_svmlight_file(sys.argv[1])
x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
grid = GridSearchCV(LinearSVC(loss="hinge", fit_intercept=False), {"C": json.loads(sys.argv[2])}, cv=5, n_jobs=2, refit=False)
grid.fit(x, y)
best = int(np.argmax(grid.cv_results_["mean_test_score"]))
print(json.dumps({"seconds": time.perf_counter() - begin, "best": grid.cv_results_["params"][best]["C"], "score": grid.cv_results_["mean_test_score"][best]}))
"""


def cv(bench, sets, _kernel):
    grid = ",".join(map(str, GRID))
    for data in sets:
        bench.pack(data)
        classes = labels(data)
        models = 5 * len(GRID) * (len(classes) if len(classes) > 2 else 1)
        memory = bench.tenth(data, models)
        ours = bench.run("cv", data.store, "-C", grid, "--memory", memory, "--json", "--restart")
        alone = bench.run("cv", data.store, "-C", str(GRID[-1]), "--memory", bench.tenth(data, models // len(GRID)), "--json", "--restart")
        ratio = ours["cost"]["bytes_read"] / alone["cost"]["bytes_read"]
        bench.row(f"{data.name}, cv of 5 folds x 6 C ({models} models): bytes read, against the largest C alone",
                  f"{ours['cost']['bytes_read'] / 1e6:.1f} MB", f"{alone['cost']['bytes_read'] / 1e6:.1f} MB", f"{ratio:.2f}", "at most 2")
        if not bench.python:
            continue
        text = bench.work / f"{data.name}.svm"
        if not text.exists():
            os.symlink(data.train.resolve(), text)
        common.remove(bench.work / f"{data.name}.svm.tow")
        whole = bench.run("cv", text, "-C", grid, "--json", "--restart")
        peer = json.loads(common.timed([bench.python, "-W", "ignore", "-c", SEARCH, data.train, json.dumps(GRID)])[1])
        best = whole["points"][whole["best"]]
        bench.row(f"{data.name}, the same with all memory, text to table, against GridSearchCV(LinearSVC)",
                  f"{whole['wall']:.1f} s, {100 * best['mean']:.2f} % at C = {best['c']}",
                  f"{peer['seconds']:.1f} s, {100 * peer['score']:.2f} % at C = {peer['best']}", f"{peer['seconds'] / whole['wall']:.1f}", "above 1")


class Vowpal:
    """One pass of Vowpal Wabbit over text."""

    def __init__(self, bench, data, many):
        self.many, self.vw = many, [bench.python, "-m", "vowpalwabbit", "--quiet"]
        self.train, self.test, self.model, self.scores = (bench.work / f"vw.{what}" for what in ("train", "test", "model", "scores"))
        known = labels(data) if many else []
        number = {label: str(i + 1) for i, label in enumerate(known)}
        for plain, to in ((data.train, self.train), (data.test, self.test)):
            with open(plain) as rows, open(to, "w", buffering=1 << 22) as out:
                for line in rows:
                    label, _, rest = line.partition(" ")
                    out.write(f"{number.get(label, label)} | {rest}")
        kind = ["--oaa", str(len(known))] if many else ["--binary"]
        self.command = [*self.vw, "--loss_function", "hinge", *kind, "-b", "24", "-d", self.train, "-f", self.model]
        common.read_through(self.train)

    def accuracy(self):
        """Of its model on the test rows; the files are no more needed then."""
        common.timed([*self.vw, "-t", "-i", self.model, "-d", self.test, "-p", self.scores])
        truth = [float(line.split(None, 1)[0]) for line in open(self.test)]
        found = [float(line.split()[0]) for line in open(self.scores)]
        right = sum((y == z) if self.many else ((y > 0) == (z > 0)) for y, z in zip(truth, found))
        for path in (self.train, self.test, self.model, self.scores):
            common.remove(path)
        return right / len(truth)


def choose_on_held_out_rows(bench, data, budget):
    """Loss and C that are right most often on the last fifth of the training rows, after a stream of the others."""
    others, held_out = bench.work / "others.train", bench.work / "held-out.train"
    rows = sum(1 for _ in open(data.train, "rb"))
    with open(data.train, "rb") as lines, open(others, "wb") as first, open(held_out, "wb") as last:
        for number, line in enumerate(lines):
            (first if 5 * number < 4 * rows else last).write(line)
    right = {}
    for loss in ("hinge", "squared-hinge"):
        for c in (1, 10, 100):
            found = bench.run("train", others, "--stream", "-o", bench.work / "stream.towm", "--json", "--test", held_out, "--loss", loss, "-C", c, *budget)
            right[loss, c] = found["test"]["accuracy"]
    common.remove(others)
    common.remove(held_out)
    data.loss, data.c = max(right, key=right.get)
    words = ", ".join(f"{loss} C = {c} {100 * part:.2f} %" for (loss, c), part in right.items())
    bench.notes.append(f"Accuracy on held-out training rows of {data.name}, by which loss and C were chosen: {words}.")


def stream(bench, sets, kernel):
    for data in [*([kernel] if kernel else []), *sets]:
        many = data is not kernel
        model = bench.work / "stream.towm"
        common.read_through(data.train)
        memory = bench.options.memory
        # A sixteenth for what is not the budget's: code, stacks, pages of the text.
        budget = ["--memory", f"{int(memory[:-1]) * 15 // 16}{memory[-1]}"]
        base = ["train", data.train, "--stream", "-o", model, "--json"]
        if not many:
            choose_on_held_out_rows(bench, data, budget)
        base += ["--test", data.test]
        c, problem = data.c, ["--loss", data.loss, "-C", data.c]
        limited = [HERE / "limited", memory, "--"]
        vowpal = Vowpal(bench, data, many) if bench.python else None
        commands = [[*limited, bench.towline, *base, *budget, *problem]]
        # Only on the kernel data the time is a goal.
        (_, said), *peer = bench.together(commands + ([vowpal.command] if vowpal else []), alone=not many)
        ours = json.loads(said)
        bench.pack(data)
        kind = ["--multiclass", "crammer-singer"] if many else []
        converged = bench.train(data, *problem, *kind, "--test", data.test, "--memory", "8G", "--tolerance", "1e-3")
        accuracy, best = ours["test"]["accuracy"], converged["test"]["accuracy"]
        time, solve = ours["seconds"]["stream"], ours["seconds"]["solve"]
        bench.row(f"{data.name}, part of the time in which the learner waits for text", f"{time:.2f} s, {solve:.2f} s of it solving", "", f"{100 * (1 - solve / time):.0f} %", "under 60 %")
        if vowpal:
            vw_seconds, vw_accuracy = peer[0][0], vowpal.accuracy()
            goal = "its accuracy" if many else "at least 2, and its accuracy"
            bench.row(f"{data.name}, one pass over text in {memory}, {data.loss} C = {c:g}, against Vowpal Wabbit", f"{time:.2f} s, {100 * accuracy:.2f} %",
                      f"{vw_seconds:.2f} s, {100 * vw_accuracy:.2f} %", f"{vw_seconds / time:.2f}", goal)
        rules = {}
        for name, *rule in (("perceptron",), ("mira",), ("mira", "-C", c), ("cw",)):
            # Averages and variances need more room than blocks.
            run = bench.run(*base, "--memory", "4G", "--method", name, *rule)
            rules[name] = max(run["test"]["accuracy"], rules.get(name, 0))
        words = ", ".join(f"{rule} {100 * found:.2f} %" for rule, found in rules.items())
        bench.row(f"{data.name}, test accuracy after one pass", f"{100 * accuracy:.2f} %", words, f"{100 * (accuracy - max(rules.values())):.2f} points", "at least 0")
        bench.row(f"{data.name}, against the converged model", f"{100 * accuracy:.2f} %", f"{100 * best:.2f} %", f"{100 * (best - accuracy):.2f} points below", "at most 0.5")
        bench.facts.append({"data": data.name, "stream": ours, "rules": rules})


PARTS = {"ovr": ovr, "joint": joint, "cv": cv, "stream": stream}


def main():
    options = arguments()
    towline, _ = common.build(options)
    python = common.peers(options)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        work = pathlib.Path(folder)
        sets = [shuffled(Data(work, item.split("=")[0], *item.split("=")[1].split(","))) for item in options.set]
        kernel = options.kernel and Data(work, "kernel", options.kernel + ".train", options.kernel + ".test")
        bench = Bench(options, towline, python, work)
        for name, part in PARTS.items():
            if options.only and name not in options.only:
                continue
            with bench.part(name):
                part(bench, sets, kernel)
    bench.write(options.records, options.name or "-".join(["many", *(options.only or [])]), common.versions(towline, python))


if __name__ == "__main__":
    try:
        main()
    except common.Failed as error:
        sys.exit(f"many.py: {error}")
