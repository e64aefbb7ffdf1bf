#!/usr/bin/env python3
"""Penalties against their peers and against the methods that papers compare with; writes a dated record.

    benchmarks/penalties.py memory --kernel kernel.train --numbers debian-size.train.zst --numbers mice_bmi.svm.bz2
    benchmarks/penalties.py core path --kernel kernel.train --numbers debian-size.train.zst --limited

`--kernel` is a set of two classes, `--numbers` are sets of numbers to predict, all as libsvm text (benchmarks/README.md says how to make them); `--dense` one of
which random Fourier features are made (`--rff`, `--gamma`). What is measured, one part per name:

  memory   everything in memory, one thread. L1 squared hinge and logistic on the kernel data: seconds of LIBLINEAR (-s 5, -s 6) less reading, and Towline's seconds of
           solving and certifying until its objective is LIBLINEAR's own final one. The Lasso of each set of numbers at 1/20 of the largest lambda: seconds until the
           relative duality gap is 1e-4, of celer and skglm with the loosest of their tolerances that reaches it, reading and turning to columns not included in
           theirs, turning included in ours.
  core     a tenth of the rows in memory, with --limited in a control group with the disk at 125 MB/s: seconds, passes and bytes until the relative difference to the
           best objective, which a run by columns in memory finds, is 1e-3 in a certificate; and to a gap of 1e-6 for DA-BCD. Methods without a certificate make more and more passes; theirs is the shortest run that is there.
  stuck    the same memory and problems for D-BCD: the lowest relative difference in any certificate of --stuck-passes passes, since its objective goes up and down, and
           how far its dual objective, which never falls, is below the optimum at the first certificate and at the last.
  path     bytes read for a path of --points points, and for its last point alone: with room for its weights and a tenth of the rows, and with the memory of the path.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import common
from common import HERE, drop_from_cache, timed
from record import Record

PASSES = [5, 10, 20, 40, 80, 160]

PEER = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_svmlight_file
what, path = sys.argv[1:3]
x, y = load_svmlight_file(path)
x.data = x.data.astype(np.float32).astype(np.float64)
if what.startswith("liblinear"):
    from liblinear.liblinearutil import parameter, problem, train
    number = int(what[-1])
    data = problem(y, x)
    begin = time.perf_counter()
    model = train(data, parameter(f"-s {number} -c 1 -B -1 -q"))
    seconds = time.perf_counter() - begin
    w = np.array(model.w[: x.shape[1]]) * (1 if model.label[0] > 0 else -1)
    z = y * (x @ w)
    losses = (np.maximum(0, 1 - z) ** 2).sum() if number == 5 else np.logaddexp(0, -z).sum()
    print(json.dumps({"seconds": seconds, "objective": np.abs(w).sum() + losses, "weights": int((w != 0).sum())}))
    sys.exit()
from celer import Lasso as Celer
from skglm import Lasso as Skglm
x = x.tocsc()
largest = np.abs(x.T @ y).max()
strength = largest / float(sys.argv[3])
found = {"strength": strength}
for name, kind in [("celer", Celer), ("skglm", Skglm)]:
    kind(alpha=strength / len(y), fit_intercept=False, tol=1e-1).fit(x, y)
    for tolerance in [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9]:
        begin = time.perf_counter()
        w = kind(alpha=strength / len(y), fit_intercept=False, tol=tolerance, max_iter=1000).fit(x, y).coef_
        seconds = time.perf_counter() - begin
        r = y - x @ w
        objective = strength * np.abs(w).sum() + 0.5 * r @ r
        beta = r * min(1.0, strength / np.abs(x.T @ r).max())
        gap = 1 - (beta @ y - 0.5 * beta @ beta) / objective
        found[name] = {"seconds": seconds, "objective": objective, "gap": gap, "weights": int((w != 0).sum())}
        if gap <= 1e-4:
            break
print(json.dumps(found))
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_common(parser)
    parser.add_argument("parts", nargs="*", default=["memory", "core", "stuck", "path"], help="memory, core, stuck, path [all]")
    parser.add_argument("--kernel", help="two classes, as text")
    parser.add_argument("--numbers", action="append", default=[], help="numbers to predict, as text")
    parser.add_argument("--dense", help="a set of numbers to make random Fourier features of")
    parser.add_argument("--rff", type=int, default=2000, help="how many of them")
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--part", type=float, default=20.0, help="the largest lambda over that of the Lasso")
    parser.add_argument("--first-passes", type=int, default=5, help="passes of the first run of the methods without a certificate")
    parser.add_argument("--passes", type=int, default=160, help="most passes of the methods without a certificate")
    parser.add_argument("--methods", default="admm,bc-admm,mirror-descent", help="these methods")
    parser.add_argument("--most-passes", type=int, default=1000, help="most passes of the others")
    parser.add_argument("--max-time", type=float, default=120.0, help="most seconds of a run out of core")
    parser.add_argument("--stuck-passes", type=int, default=40, help="most passes of D-BCD")
    parser.add_argument("--points", type=int, default=50, help="points of a path")
    parser.add_argument("--block-size", help="of stores, such as 50k for small data")
    parser.add_argument("--limited", action="store_true", help="in a control group with a disk of 125 MB/s; needs root")
    parser.add_argument("--peer-results", help="a file to keep results of peers and of methods without a certificate in, and to take them from")
    parser.add_argument("--record", default="penalties", help="the end of the record's name")
    return parser.parse_args()


class Bench(Record):
    def __init__(self, options, towline, python, work):
        self.options, self.towline, self.python, self.work = options, towline, python, pathlib.Path(work)
        says = "; out of core under a memory limit, with the disk at 125 MB/s" if options.limited else ""
        super().__init__("Penalties", f"`benchmarks/penalties.py` says what exactly is measured{says}.")
        self.kept = json.loads(pathlib.Path(options.peer_results).read_text()) if options.peer_results and pathlib.Path(options.peer_results).exists() else {}

    def row(self, what, towline, peer, ratio, goal=""):
        super().row(what, towline, peer, ratio if isinstance(ratio, str) else f"{ratio:.1f}", goal)

    def run(self, *command, limited=None):
        line = [self.towline, *map(str, command), "--json"]
        if limited and self.options.limited:
            # Pages that are in memory already would count for nobody, and come faster than the disk.
            for file in filter(pathlib.Path.is_file, pathlib.Path(command[1]).rglob("*")):
                drop_from_cache(file)
            line = [HERE / "limited", str(limited), "125M", "--", *line]
        seconds, out, _ = timed(line, (0, 5))
        return json.loads(out) | {"wall": seconds}

    def pack(self, path, *more):
        store = self.work / f"{name(path)}{''.join(map(str, more))}.tow"
        if not store.exists():
            size = ["--block-size", self.options.block_size] if self.options.block_size else []
            timed([self.towline, "pack", path, "-o", store, "-q", *map(str, more), *size])
        return store

    def tenth(self, store, more=0):
        """All that is fixed and a tenth of what the rows take, but at least what a run needs; ADMM and paths hold more of weights than one run."""
        plan = timed([self.towline, "plan", store, "--penalty", "l1", "--solver", "dual", "--memory", "1000G", "--json"])[1]
        whole = json.loads(plan)
        fixed = whole["weight_bytes"] + whole["dual_bytes"] + whole["read_ahead_bytes"]
        return max(fixed + whole["resident_bytes"] // 10, whole["least_bytes"]) + more * whole["weight_bytes"]

    def train(self, store, problem, memory, *more):
        return self.run("train", store, *problem, "--memory", memory, "-o", self.work / "m.towm", *more, limited=memory * 5 // 4)

    def traced(self, store, problem, memory, *more):
        """A run, and its trace."""
        trace = self.work / "trace.jsonl"
        run = self.train(store, problem, memory, "--trace", trace, *more)
        return run, [json.loads(line) for line in trace.read_text().splitlines()]

    def best(self, title, store, problem):
        """The best objective that there is."""
        exactly = ["--memory", "16G", "-o", self.work / "m.towm", "--tolerance", 1e-8, "--max-time", self.options.max_time, "--restart"]
        return self.keep(f"{title} best", lambda: self.run("train", store, *problem, *exactly))["objective"]

    def until(self, objective, store, problem, memory, *more):
        """Cost and objective of the first certificate of a run that is as good as that, else of its end."""
        run, steps = self.traced(store, problem, memory, *more)
        there = next((step for step in steps if step["objective"] is not None and step["objective"] <= objective), None)
        # What is not training, such as opening the store, is the same for both.
        return run if there is None else there | {"wall": run["wall"] - run["seconds"]["training"] + there["seconds"]}

    def keep(self, key, find):
        """What `find` has found, which may have been kept from a run before."""
        if key not in self.kept:
            self.kept[key] = find()
            if self.options.peer_results:
                pathlib.Path(self.options.peer_results).write_text(json.dumps(self.kept, indent=1) + "\n")
        return self.kept[key]

    def peer(self, what, path, *more):
        """Results of a peer."""

        def find():
            script, text = self.work / "peer.py", self.work / f"{name(path)}.svm"
            script.write_text(PEER)
            unpack = {".zst": "zstd -dc", ".bz2": "bzip2 -dc", ".gz": "gzip -dc"}.get(pathlib.Path(path).suffix, "cat")
            subprocess.run(f"{unpack} {path} > {text}", shell=True, check=True)
            found = json.loads(timed([self.python, script, what, text, *more])[1])
            text.unlink()
            return found

        return self.keep(" ".join([what, name(path), *map(str, more)]), find)


def name(path):
    return pathlib.Path(path).name.split(".")[0]


def memory(bench):
    for loss, number in [("squared-hinge", 5), ("logistic", 6)] if bench.options.kernel else []:
        store = bench.pack(bench.options.kernel)
        theirs = bench.peer(f"liblinear-{number}", bench.options.kernel)
        trace = bench.work / "trace.jsonl"
        run = bench.run("train", store, "--penalty", "l1", "--loss", loss, "--tolerance", 1e-4, "--threads", 1, "--restart", "--memory", "16G", "--max-time", 40, "--trace", trace, "-o", bench.work / "m.towm")
        steps = [json.loads(line) for line in trace.read_text().splitlines()]
        there = next((step for step in steps if step["objective"] is not None and step["objective"] <= theirs["objective"]), None)
        what = f"L1 {loss}, {name(bench.options.kernel)}, to {theirs['objective']:.3f} of LIBLINEAR -s {number}"
        ours = there["solve_seconds"] + there["certify_seconds"] if there else None
        bench.row(what, f"{ours:.2f} s" if ours else "not reached", f"{theirs['seconds']:.2f} s", theirs["seconds"] / ours if ours else "-", "at least 5")
        bench.notes.append(f"L1 {loss}: after {run['seconds']['solve'] + run['seconds']['certify']:.1f} s by {run['solver']}, the objective was {run['objective']:.4f} and the relative gap {run['relative_gap']:.1e}.")
    for path in bench.options.numbers:
        store = bench.pack(path)
        theirs = bench.peer("lasso", path, bench.options.part)
        run = bench.run("train", store, "--penalty", "l1", "--lambda", theirs["strength"], "--loss", "squared", "--tolerance", 1e-4, "--threads", 1, "--restart", "--memory", "16G", "-o", bench.work / "m.towm")
        ours = run["seconds"]["solve"] + run["seconds"]["certify"]
        for peer in ["celer", "skglm"]:
            found = theirs[peer]
            gap = "" if found["gap"] <= 1e-4 else f", at a gap of {found['gap']:.1e}"
            bench.row(f"Lasso, {name(path)}, {found['weights']} weights, gap 1e-4, {peer}", f"{ours:.3f} s", f"{found['seconds']:.3f} s{gap}", found["seconds"] / ours, "at least 0.67")


def problems(bench):
    """Stores, what is minimised on them, and how they are called."""
    options = bench.options
    if options.kernel:
        yield name(options.kernel), bench.pack(options.kernel), ["--penalty", "l1", "--loss", "squared-hinge"]
    sets = [(path, []) for path in options.numbers] + ([(options.dense, ["--rff", options.rff, "--gamma", options.gamma])] if options.dense else [])
    for path, more in sets:
        store = bench.pack(path, *more)
        lasso = ["--penalty", "l1", "--loss", "squared"]
        folder = bench.work / "largest"
        top = bench.run("path", store, *lasso, "--points", 1, "--lambda-ratio", 0.999, "--restart", "--memory", "16G", "-o", folder)
        yield name(path) + (", Fourier features" if more else ""), store, lasso + ["--lambda", top["points"][0]["lambda"] / bench.options.part]


def core(bench):
    for title, store, problem in problems(bench):
        budget, wide = bench.tenth(store), bench.tenth(store, 2)
        most = ["--restart", "--max-passes", bench.options.most_passes, "--max-time", bench.options.max_time]
        best = bench.best(title, store, problem)
        above = lambda run: run["objective"] / best - 1
        cells = lambda run: f"{run['wall']:.1f} s, {run['passes']} passes, {run['bytes_read'] / 1e6:.0f} MB"
        ours = bench.until(best * (1 + 1e-3), store, problem, budget, "--method", "da-bcd", "--tolerance", 1e-4, *most)
        others = {}
        for method in bench.options.methods.split(","):
            for passes in [passes for passes in PASSES if bench.options.first_passes <= passes <= bench.options.passes]:
                limits = ["--max-passes", passes, "--max-time", bench.options.max_time]
                run = bench.keep(f"{title} {method} {passes} passes", lambda: bench.train(store, problem, wide, "--method", method, *limits))
                if above(run) <= 1e-3 or run["wall"] > bench.options.max_time:
                    break
            others[method] = run
            reached = "" if above(run) <= 1e-3 else f", {above(run):.1e} above"
            goal = "at least 3" if method != "mirror-descent" else ""
            ratio = f"{'over ' if reached else ''}{run['wall'] / ours['wall']:.1f}"
            bench.row(f"{title}, {budget >> 20} MiB, 1e-3: DA-BCD against {method}", cells(ours), cells(run) + reached, ratio, goal)
        bench.row(f"{title}: passes to 1e-3", f"{ours['passes']}, {above(ours):.1e} above", "", "", "at most 20")
        plain = bench.until(best * (1 + 1e-3), store, problem, budget, "--method", "da-bcd", "--working-set", "off", "--tolerance", 1e-4, *most[:2], 30, *most[3:])
        bench.row(f"{title}: the same without a working set of features", f"{cells(plain)}, {above(plain):.1e} above", "", "")
        exact = bench.train(store, problem, budget, "--method", "da-bcd", "--tolerance", 1e-6, *most)
        bench.row(f"{title}: DA-BCD to a gap of 1e-6", f"{exact['status']}, {cells(exact)}, {above(exact):.1e} above", "", "", "reached")
        auto = bench.until(best * (1 + 1e-3), store, problem, budget, "--tolerance", 1e-4, *most)
        bench.row(f"{title}: --method auto to 1e-3", f"{cells(auto)}, {above(auto):.1e} above", "", "")


def stuck(bench):
    for title, store, problem in problems(bench):
        best, budget = bench.best(title, store, problem), bench.tenth(store)
        limits = ["--restart", "--max-passes", bench.options.stuck_passes, "--max-time", bench.options.max_time]
        run, steps = bench.traced(store, problem, budget, "--method", "d-bcd", "--tolerance", 1e-6, *limits)
        seen = [step for step in steps if step["objective"] is not None]
        below = lambda step: f"{1 - step['dual_objective'] / best:.2e}"
        lowest = min(step["objective"] for step in seen) / best - 1
        bench.row(f"{title}, {budget >> 20} MiB: D-BCD, lowest of {run['passes']} passes", f"{lowest:.1e} above", "", "", "above 1e-2 on one set")
        bench.row(f"{title}: its dual objective, after {seen[0]['passes']} and {seen[-1]['passes']} passes", f"{below(seen[0])}, {below(seen[-1])} below", "", "")


def path(bench):
    for title, store, problem in problems(bench):
        # The point before, from which the next one starts, and the names of features for its model take about as much as the weights of one.
        budget = bench.tenth(store, 1)
        problem = problem[:4]
        run = bench.run("path", store, *problem, "--memory", budget, "-o", bench.work / "path", "--restart", "--points", bench.options.points, limited=budget * 5 // 4)
        last = problem + ["--lambda", run["points"][-1]["lambda"]]
        megabytes = lambda run: f"{run['bytes_read'] / 1e6:.0f} MB in {run['wall']:.1f} s"
        for memory in (bench.tenth(store), budget):
            alone = bench.train(store, last, memory, "--restart")
            bench.row(f"{title}: a path of {bench.options.points} points, {budget >> 20} MiB, and its last point alone, {memory >> 20} MiB", megabytes(run), megabytes(alone), run["bytes_read"] / alone["bytes_read"], "at most 8")


def main():
    options = arguments()
    towline = options.towline or common.build(options)[0]
    python = common.peers(options) if "memory" in options.parts else None
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options, towline, python, work)
        for part in options.parts:
            with bench.part(part):
                {"memory": memory, "core": core, "stuck": stuck, "path": path}[part](bench)
        bench.write(options.records, options.record, common.versions(towline, python))


if __name__ == "__main__":
    try:
        main()
    except common.Failed as failure:
        sys.exit(f"penalties.py: {failure}")
