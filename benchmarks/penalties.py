#!/usr/bin/env python3
"""Penalties: DA-BCD against ADMM, BC-ADMM and D-BCD out of core, LIBLINEAR, celer and skglm in memory, and a path.

    benchmarks/penalties.py --kernel kernel.svm --numbers debian-size.train.zst     the tables of the record
    benchmarks/penalties.py --kernel small.svm --numbers small.svm --passes 30 --block-size 50k    a quick look at small data

Out of core: a tenth of the data in memory, and with --limited in a control group with the disk at 125 MB/s. What is told is the relative difference to the best
objective that any program has found. The methods without a certificate are run with more and more passes until they are there, and their time is that of the
shortest such run, so it has no evaluation in it. Random Fourier features of `--dense FILE` (`--gamma`) are a second set for regression.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from common import HERE, Failed, add_common, build, timed

PASSES = [5, 10, 20, 40, 80, 160, 320]


class Bench:
    def __init__(self, options, towline, work):
        self.options, self.towline, self.work = options, towline, pathlib.Path(work)

    def run(self, *command, limited=None, expect=(0, 5)):
        line = [self.towline, *map(str, command), "--json"]
        if limited and self.options.limited:
            line = [HERE / "limited", str(limited), "125M", "--", *line]
        seconds, out, _ = timed(line, expect)
        return json.loads(out) | {"wall": seconds}

    def pack(self, name, path, *more):
        store = self.work / f"{name}.tow"
        if not store.exists():
            size = ["--block-size", self.options.block_size] if self.options.block_size else []
            timed([self.towline, "pack", path, "-o", store, "-q", *map(str, more), *size])
        return store

    def tenth(self, store, penalty="l1"):
        """A tenth of what all rows take, but at least what a run needs; ADMM and paths hold more dense vectors than one run."""
        plan = lambda memory: json.loads(timed([self.towline, "plan", store, "--penalty", penalty, "--memory", memory, "--json"])[1])
        whole = plan("1000G")
        fixed = whole["weight_bytes"] + whole["dual_bytes"] + whole["read_ahead_bytes"]
        return max(fixed + whole["resident_bytes"] // 10, int(1.2 * whole["least_bytes"])) + 2 * whole["weight_bytes"]

    def train(self, store, problem, memory, *more):
        return self.run("train", store, *problem, "--memory", memory, "-o", self.work / "m.towm", *more, limited=memory * 5 // 4)


def table(title, head, rows):
    print(f"\n## {title}\n| " + " | ".join(head) + " |\n| " + " | ".join("---" for _ in head) + " |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    sys.stdout.flush()


def out_of_core(bench, name, store, problem):
    memory = bench.tenth(store)
    exact = bench.train(store, problem, memory, "--tolerance", 1e-7, "--restart", "--max-passes", bench.options.most_passes)
    best = exact["objective"]
    rows = []
    for method in ["da-bcd", "auto"]:
        for tolerance in [1e-3, 1e-6]:
            run = bench.train(store, problem, memory, "--method", method, "--tolerance", tolerance, "--restart", "--max-passes", bench.options.most_passes)
            above = run["objective"] / best - 1
            rows.append([method, f"gap {tolerance:g}", f"{above:.1e}", run["passes"], f"{run['bytes_read'] / 1e6:.0f}", f"{run['wall']:.1f}"])
    for method in ["admm", "bc-admm", "mirror-descent"]:
        for passes in [passes for passes in PASSES if passes <= bench.options.passes]:
            run = bench.train(store, problem, memory, "--method", method, "--max-passes", passes)
            above = run["objective"] / best - 1
            if above <= 1e-3:
                break
        rows.append([method, "1e-3" if above <= 1e-3 else "not there", f"{above:.1e}", run["passes"], f"{run['bytes_read'] / 1e6:.0f}", f"{run['wall']:.1f}"])
    run = bench.train(store, problem, memory, "--method", "d-bcd", "--tolerance", 1e-6, "--restart", "--max-passes", bench.options.passes)
    above = run["objective"] / best - 1
    rows.append(["d-bcd", run["status"], f"{above:.1e}", run["passes"], f"{run['bytes_read'] / 1e6:.0f}", f"{run['wall']:.1f}"])
    table(f"{name}, {memory >> 20} MiB: {' '.join(problem)}; best objective {best:.6f}", ["method", "until", "above", "passes", "MB read", "seconds"], rows)


PEER = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_svmlight_file
what, path, strength = sys.argv[1], sys.argv[2], float(sys.argv[3])
x, y = load_svmlight_file(path)
x.data = x.data.astype(np.float32).astype(np.float64)
if what.startswith("liblinear"):
    from liblinear.liblinearutil import parameter, problem, train
    number = int(what[-1])
    data = problem(y, x)
    begin = time.perf_counter()
    model = train(data, parameter(f"-s {number} -c {1 / strength!r} -B -1 -q"))
    seconds = time.perf_counter() - begin
    w = np.array(model.w[: x.shape[1]]) * (1 if model.label[0] > 0 else -1)
    z = y * (x @ w)
    losses = (np.maximum(0, 1 - z) ** 2).sum() if number == 5 else np.logaddexp(0, -z).sum()
else:
    x = x.tocsc()
    alpha = strength / len(y)
    scale = 0.5 * (y @ y)
    if what == "celer":
        from celer import Lasso
        fit = lambda: Lasso(alpha=alpha, fit_intercept=False, tol=1e-4, verbose=0).fit(x, y).coef_
    else:
        from skglm import Lasso
        fit = lambda: Lasso(alpha=alpha, fit_intercept=False, tol=1e-4).fit(x, y).coef_
    fit()
    begin = time.perf_counter()
    w = fit()
    seconds = time.perf_counter() - begin
    losses = 0.5 * ((x @ w - y) ** 2).sum()
print(json.dumps({"seconds": seconds, "objective": strength * np.abs(w).sum() + losses}))
"""


def peer(bench, what, path, strength):
    python = pathlib.Path(bench.options.peers) / "bin/python"
    script = bench.work / "peer.py"
    script.write_text(PEER)
    text = bench.work / "plain.svm"
    subprocess.run(f"case {path} in *.zst) zstd -dc {path};; *) cat {path};; esac > {text}", shell=True, check=True)
    return json.loads(timed([python, script, what, text, strength])[1])


def in_memory(bench, kernel, numbers):
    rows = []
    for loss, number in [("squared-hinge", 5), ("logistic", 6)]:
        store = bench.pack("kernel", kernel)
        theirs = peer(bench, f"liblinear-{number}", kernel, 1.0)
        rows.append(race(bench, store, loss, 1.0, f"LIBLINEAR -s {number}", theirs))
    store = bench.pack("numbers", numbers)
    for what in ["celer", "skglm"]:
        rows.append(race(bench, store, "squared", bench.options.strength, what, peer(bench, what, numbers, bench.options.strength)))
    table("In memory, one thread, to the objective of the peer", ["loss", "lambda", "peer", "its objective", "its seconds", "ours", "our seconds", "ratio"], rows)


def race(bench, store, loss, strength, name, theirs):
    """The first tolerance at which our objective is as good as theirs."""
    for tolerance in [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5]:
        run = bench.run("train", store, "--penalty", "l1", "--lambda", strength, "--loss", loss, "--tolerance", tolerance, "--threads", 1, "--restart", "--memory", "16G", "-o", bench.work / "m.towm")
        if run["objective"] <= theirs["objective"] * (1 + 1e-9):
            break
    ours = run["seconds"]["solve"] + run["seconds"]["certify"]
    return [loss, strength, name, f"{theirs['objective']:.6f}", f"{theirs['seconds']:.2f}", f"{run['objective']:.6f}", f"{ours:.2f}", f"{theirs['seconds'] / ours:.2f}"]


def path(bench, name, store, problem):
    memory = bench.tenth(store)
    folder = bench.work / "path"
    run = bench.run("path", store, *problem, "--memory", memory, "-o", folder, "--restart", "--points", bench.options.points, limited=memory * 5 // 4)
    last = run["points"][-1]
    alone = bench.train(store, problem + ["--lambda", last["lambda"]], memory, "--restart")
    ratio = run["bytes_read"] / alone["bytes_read"]
    table(f"A path of {bench.options.points} points on {name}, {memory >> 20} MiB", ["MB read", "MB read for the last point alone", "ratio", "seconds"],
          [[f"{run['bytes_read'] / 1e6:.0f}", f"{alone['bytes_read'] / 1e6:.0f}", f"{ratio:.1f}", f"{run['wall']:.1f}"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_common(parser)
    parser.add_argument("--kernel", required=True, help="two classes: the kernel data, as text")
    parser.add_argument("--numbers", required=True, help="numbers to predict: Debian package sizes, as text")
    parser.add_argument("--dense", help="a dense set of numbers for random Fourier features")
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--strength", type=float, default=100.0, help="lambda of the Lasso")
    parser.add_argument("--passes", type=int, default=320, help="most passes of the methods without a certificate")
    parser.add_argument("--most-passes", type=int, default=1000, help="most passes of the others")
    parser.add_argument("--points", type=int, default=50, help="points of the path")
    parser.add_argument("--block-size", help="of stores, such as 50k for small data")
    parser.add_argument("--limited", action="store_true", help="in a control group with a disk of 125 MB/s; needs root")
    options = parser.parse_args()
    towline = options.towline or build(options)[0]
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options, towline, work)
        kernel = bench.pack("kernel", options.kernel)
        sets = [("kernel data", kernel, ["--penalty", "l1", "--loss", "squared-hinge"])]
        lasso = ["--penalty", "l1", "--loss", "squared"]
        sets.append(("package sizes", bench.pack("numbers", options.numbers), lasso))
        if options.dense:
            sets.append(("random Fourier features", bench.pack("dense", options.dense, "--rff", 2000, "--gamma", options.gamma), lasso))
        for name, store, problem in sets:
            strength = [] if problem[3] == "squared-hinge" else ["--lambda", str(options.strength)]
            out_of_core(bench, name, store, problem + strength)
        path(bench, "the kernel data", kernel, sets[0][2])
        if options.peers and not options.no_peers:
            in_memory(bench, options.kernel, options.numbers)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(str(failure))
