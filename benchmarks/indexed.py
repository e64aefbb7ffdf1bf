#!/usr/bin/env python3
"""Measures training with an index against the same truncated loss by blocks, and writes a dated record.

    benchmarks/indexed.py --covtype covtype --kdd kddcup.data.gz --digits digits --deformed deformed

`--covtype` names libsvm text with two classes and features from 0 to 1 (benchmarks/README.md), `--kdd` the KDD Cup 99 table or its extract of ten percent as it
comes (CSV, no header; categories one-hot, numbers scaled to [0, 1], normal against the rest), `--digits PREFIX` and `--deformed PREFIX` files PREFIX.train and PREFIX.test of
`datagen mnist`: `--copies 1`, and `--copies 43 --strength 0.5` for two million rows (1 against the rest, as in the paper). A third of the rows of the first two is for testing; test errors
are those of at most 60,000 rows. Settings of the paper: s = 1, C = 1, n = 1000.

Both trainers begin with the same model of 10,000 rows, in a tenth of the memory that the rows take, under `limited` (root or a delegated control
group; left out with --no-limit) with a disk of 125 MB/s. Time and bytes count until the test error first is within 0.1 points of the batch solver's last one; time
spent on test scores is subtracted. Small sets take a fraction of a second, so that several seeds are run and the median ratio counts. --max-time ends both trainers. The convex model is LIBLINEAR's (-s 3) if liblinear-train is there, else Towline's.
With `--work` stores and results are kept, and `--only` measures single parts; the record has all parts that are there.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import sys
import tempfile

import common
import found
from common import HERE
from indexed_sets import prepare
from record import Record

# Active rows of one class fit into three tenths of what all rows take; in one tenth reading them back is most of what is read.
CLASS_MEMORY, CLASS_TOLERANCE = 3, 1e-2
SMALL_ROWS = 1_000_000
PARTS = ["index", "train", "convex", "classes", "found"]


def arguments():
    parser = argparse.ArgumentParser(description="Measures training with an index and writes a dated record.")
    parser.add_argument("--covtype", metavar="FILE", help="libsvm text with two classes")
    parser.add_argument("--kdd", metavar="FILE", help="the KDD Cup 99 table, gzip or plain")
    parser.add_argument("--digits", metavar="PREFIX", help="PREFIX.train and PREFIX.test of datagen mnist")
    parser.add_argument("--deformed", metavar="PREFIX", help="the same, with millions of rows")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="parts to measure [default: all]")
    parser.add_argument("--rows", type=int, help="take only so many rows of each set, to try things")
    parser.add_argument("--no-limit", action="store_true", help="without a control group, and at the disk's own speed")
    parser.add_argument("--part", type=float, default=0.1, help="memory as a part of what the rows take [default: 0.1]")
    parser.add_argument("--seeds", type=int, help="runs of both trainers, of which the median ratio counts [default: 5 below a million rows, else 1]")
    parser.add_argument("--max-time", type=float, default=240, help="seconds that a trainer has [default: 240]")
    common.add_common(parser)
    return parser.parse_args()


class Bench:
    """What has been measured, part by part; with --work it is kept, so that parts can be run one by one."""

    def __init__(self, options, programs, work):
        (self.towline, self.examples), self.options, self.work = programs, options, work
        self.kept = work / "results.json"
        self.results = json.loads(self.kept.read_text()) if self.kept.exists() else {}

    def begin(self, data, part):
        self.now = self.results[f"{data.name}: {part}"] = {"rows": [], "notes": [], "sections": [], "facts": {}, "drawings": {}}

    def end(self):
        self.kept.write_text(json.dumps(self.results))

    def of(self, data, part):
        return self.results[f"{data.name}: {part}"]

    def all(self, what):
        return [result[what] for result in self.results.values()]

    def row(self, *cells):
        self.now["rows"].append(cells)
        print("  " + " | ".join(cells), file=sys.stderr)

    def train(self, data, method, memory, *more, seconds=None):
        """A run: its summary, and its trace with test errors and the seconds of training up to each."""
        model, trace = self.work / "model.towm", self.work / "trace.jsonl"
        for path in (model, trace, *self.work.glob("model.towm*.duals")):
            common.remove(path)
        for path in data.store.rglob("*"):
            if path.is_file():
                common.drop_from_cache(path)
        prefix = [] if self.options.no_limit else [HERE / "limited", str(int(memory * 1.25) + (24 << 20)), "125M", "--"]
        command = [*prefix, self.towline, "train", data.store, "-o", model, "--json", "--trace", trace, "--method", method, "--memory", memory,
                   "--test", data.test, "--test-every", 0, "--max-time", seconds or self.options.max_time, *more]
        _, out, _ = common.timed(command, expect=(0, 5))
        steps, scoring = [json.loads(line) for line in open(trace)], 0
        for step in steps:
            # The clock of a step stops before its own score.
            step["trained_seconds"], scoring = step["seconds"] - scoring, step["test_seconds"]
        return json.loads(out), [step for step in steps if step.get("test") is not None]


def error(step):
    return 100 * (1 - step["test"]["accuracy"])


def until(steps, goal):
    """Seconds and bytes up to the first step with a test error of at most `goal`."""
    return next(((step["trained_seconds"], max(step["bytes_read"], 1)) for step in steps if error(step) <= goal), None)


def measure_index(bench, data):
    """Packs and indexes; blocks are small enough for a tenth of the memory that the rows take."""
    def json_of(*command):
        return json.loads(common.timed([bench.towline, *command, "--json"])[1])

    pack = json_of("pack", data.train_text, "-o", data.store, "--force")
    memory = int(bench.options.part * json_of("plan", data.store, "--solver", "dual", "--memory", "64G")["resident_bytes"])
    block = min(4 << 20, memory // 40)
    if block < 4 << 20:
        pack = json_of("pack", data.train_text, "-o", data.store, "--force", "--block-size", block)
    common.timed([bench.towline, "pack", data.test_text, "-o", data.test, "--force", "--quiet", "--block-size", block])
    index, info = json_of("index", data.store), json_of("info", data.store)
    seconds, stored = pack.get("seconds") or pack["total_seconds"], info["store_bytes"]
    bench.row(f"{data.name}: building the index", f"{index['seconds']:.1f} s, {index['bytes'] / 1e6:.1f} MB", f"pack {seconds:.1f} s, store {stored / 1e6:.1f} MB",
              f"{index['seconds'] / seconds:.2f} and {index['bytes'] / stored:.2f}", "at most 3 and 1.3")
    bench.now["facts"] = {"pack": pack, "index": index, "memory": memory}


def measure_train(bench, data):
    """Both trainers with the same seeds, hence the same first models; what counts is the median ratio."""
    index = bench.of(data, "index")["facts"]
    seeds = bench.options.seeds or (5 if index["pack"]["rows"] < SMALL_ROWS else 1)
    runs = [one_seed(bench, data, index["memory"], seed) for seed in range(seeds)]
    bench.now["facts"] = {"runs": runs}
    wanted = {"covtype": "time at least 0.67", "MNIST": ""}.get(data.name, "at least 5 and 10")
    goals = [run["goal"] for run in runs]
    what = f"{data.name}: to a test error of {spread(goals, '.2f')} %, {index['memory'] / 2**20:.1f} MiB" + (f", median of {seeds} seeds" if seeds > 1 else "")
    there = [run for run in runs if run["indexed"]]
    if 2 * len(there) <= seeds:
        bench.row(what, f"not reached with {seeds - len(there)} seeds", "", "-", wanted)
        return
    # A run that does not get there has the ratio 0.
    ratios = [[run["by_blocks"][k] / run["indexed"][k] if run["indexed"] else 0.0 for run in runs] for k in (0, 1)]
    bench.row(what, cost_of(run["indexed"] for run in there), f"by blocks {cost_of(run['by_blocks'] for run in runs)}",
              " and ".join(spread(ratio, ".1f") for ratio in ratios), wanted)


def one_seed(bench, data, memory, seed):
    """Seconds and bytes of both trainers up to the first step within the goal."""
    batch, batch_steps = bench.train(data, "trunc-l1-dual", memory, "--seed", seed, *data.one_class())
    ours, steps = bench.train(data, "ibcd-l1-dual", memory, "--seed", seed, *data.one_class())
    goal = error(batch_steps[-1]) + 0.1
    run = {"goal": goal, "by_blocks": until(batch_steps, goal), "indexed": until(steps, goal), "ended": [batch, ours], "traces": [brief(batch_steps), brief(steps)]}
    print(f"  seed {seed}: indexed {run['indexed']}, by blocks {run['by_blocks']}; {ours['status']}, {ours['relative_gap']:.1e}", file=sys.stderr)
    return run


def brief(steps):
    """Seconds, bytes and test error of about 200 steps, for the record."""
    every = max(1, len(steps) // 200)
    return [[round(step["trained_seconds"], 3), step["bytes_read"], round(error(step), 4)] for step in steps[::every]]


def spread(numbers, form):
    """The median, and least and largest if they differ as they are written."""
    low, middle, high = (format(number, form) for number in (min(numbers), statistics.median(numbers), max(numbers)))
    return middle if low == high else f"{middle} ({low} to {high})"


def cost_of(costs):
    seconds, read = zip(*costs)
    return f"{statistics.median(seconds):.2f} s, {statistics.median(read) / 1e6:.1f} MB"


def measure_convex(bench, data):
    """The model with an index, trained to its end in memory, against the convex one."""
    ours = in_memory(bench, data, "ibcd-l1-dual")
    theirs = in_memory(bench, data, "sbm", "--loss", "hinge")
    bench.now["facts"] = {"indexed": ours, "convex": theirs}
    convex_error = liblinear(data, bench.work) if shutil.which("liblinear-train") else 100 * (1 - theirs["test"]["accuracy"])
    ours_error = 100 * (1 - ours["test"]["accuracy"])
    bench.row(f"{data.name}: test error", f"{ours_error:.3f} %", f"convex {convex_error:.3f} %", f"{ours_error - convex_error:+.3f} points", "at most +0.1")
    wanted = "at least 5" if data.name in ("kddcup99", "deformed-MNIST") else ""
    bench.row(f"{data.name}: support rows", f"{ours['support']:,}", f"convex {theirs['support']:,}", f"{theirs['support'] / max(ours['support'], 1):.1f}", wanted)
    for name, run in (("indexed", ours), ("convex", theirs)):
        if run["status"] != "converged":
            bench.now["notes"].append(f"{data.name}: the {name} model whose support rows are counted ended at a relative gap of {run['relative_gap']:.1e}.")
    if data.name == "kddcup99":
        why_so_many(bench, data)


def why_so_many(bench, data):
    """Where the support rows of the extract lie, and what a larger C does: the whole table has ten times the rows."""
    for method, more in (("sbm", ["--loss", "hinge"]), ("ibcd-l1-dual", [])):
        run = in_memory(bench, data, method, "--tolerance", 1e-5, *more)
        scores = common.timed([bench.towline, "predict", bench.work / "whole.towm", data.train_text, "--scores"])[1].split()
        with open(data.train_text) as lines:
            margins = [(1 if line.startswith("1") else -1) * float(score) for line, score in zip(lines, scores)]
        parts = [sum(low <= margin < high for margin in margins) for low, high in ((-float("inf"), -1), (-1, 0), (0, 1))]
        bench.now["notes"].append(f"{data.name}, {method} to a gap of 1e-5: {run['support']:,} support rows; margins below -1, from there to 0 and from 0 to 1 have "
                                  f"{parts[0]:,}, {parts[1]:,} and {parts[2]:,} rows. Only those below -1 can be cut off by s = 1.")
    for loss, method, c in (("hinge", "ibcd-l1-dual", 10), ("hinge", "ibcd-l1-dual", 100), ("squared-hinge", "ibcd-l2-dual", 1)):
        ours, theirs = in_memory(bench, data, method, "-C", c), in_memory(bench, data, "sbm", "--loss", loss, "-C", c)
        bench.row(f"{data.name}: support rows, {loss}, C = {c}", f"{ours['support']:,}", f"convex {theirs['support']:,}", f"{theirs['support'] / max(ours['support'], 1):.1f}", "at least 5" if c == 1 else "")


def in_memory(bench, data, method, *more, one_class=True):
    """A run to its end, in all memory if nothing else is said."""
    model = bench.work / "whole.towm"
    for path in (model, *bench.work.glob("whole.towm*.duals")):
        common.remove(path)
    which = data.one_class() if one_class else []
    return json.loads(common.timed([bench.towline, "train", data.store, "-o", model, "--json", "--method", method, "--test", data.test,
                                    "--max-time", 2 * bench.options.max_time, *which, *more], expect=(0, 5))[1])


def liblinear(data, work):
    """LIBLINEAR's test error, on the same lines with two classes."""
    train, test, model = work / "two.train", work / "two.test", work / "liblinear.model"
    for source, to in ((data.train_text, train), (data.test_text, test)):
        with open(source) as lines, open(to, "w") as out:
            if data.positive is None:
                shutil.copyfileobj(lines, out)
            else:
                for line in lines:
                    label, _, rest = line.partition(" ")
                    out.write(f"{1 if label == data.positive else -1} {rest}")
    common.timed(["liblinear-train", "-s", "3", "-q", train, model])
    text = common.timed(["liblinear-predict", test, model, work / "liblinear.out"])[1]
    common.remove(train)
    return 100 - float(re.search(r"Accuracy = ([0-9.]+)%", text)[1])


def measure_classes(bench, data):
    """Bytes read until all classes have converged, in one run and each in a run of its own with as much memory."""
    if data.name != "MNIST":
        return
    memory = CLASS_MEMORY * bench.of(data, "index")["facts"]["memory"]

    def run(*which):
        return in_memory(bench, data, "ibcd-l1-dual", "--memory", memory, "--tolerance", CLASS_TOLERANCE, *which, one_class=False)

    alone, together = [run("--positive", digit) for digit in range(10)], run("--multiclass", "ovr")
    bench.now["facts"] = {"alone": alone, "together": together}
    read = [one["bytes_read"] for one in alone]
    ended = sum(one["status"] == "converged" for one in alone)
    bench.row(f"{data.name}: ten classes to a gap of {CLASS_TOLERANCE}, {memory / 2**20:.1f} MiB", f"in one run {together['bytes_read'] / 1e6:.1f} MB",
              f"ten runs {sum(read) / 1e6:.1f} MB", f"{sum(read) / together['bytes_read']:.2f}", "above 1")
    bench.now["notes"].append(f"Ten classes of {data.name}: {ended} of ten single runs converged, with {spread([n / 1e6 for n in read], '.1f')} MB each; all in one run ended {together['status']}, "
                              f"with a test error of {100 * (1 - together['test']['accuracy']):.2f} % and {together['passes']} passes over all rows where single runs add up to {sum(one['passes'] for one in alone)}.")


def main():
    options = arguments()
    programs = common.build(options)
    measures = {"index": measure_index, "train": measure_train, "convex": measure_convex, "classes": measure_classes, "found": found.measure}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(options.work or temporary)
        bench = Bench(options, programs, work)
        for data in prepare(options, work):
            for part in options.only:
                print(f"{data.name}: {part}", file=sys.stderr)
                bench.begin(data, part)
                try:
                    measures[part](bench, data)
                except common.Failed as failure:
                    # What was measured before is worth keeping.
                    bench.now["notes"].append(f"{data.name}, {part}, did not end: {str(failure).splitlines()[-1]}")
                bench.end()
        write_record(options, bench, common.versions(programs[0], None))


def write_record(options, bench, versions):
    record = Record("Training with an index", "`benchmarks/indexed.py` says what exactly is timed; a ratio above 1 is in favour of the index.",
                    ("what", "with an index", "without", "ratio", "must reach"))
    record.rows, record.notes, record.sections = (sum(bench.all(what), []) for what in ("rows", "notes", "sections"))
    record.facts = bench.results
    for drawings in bench.all("drawings"):
        record.drawings.update(drawings)
    record.write(options.records, "indexed", versions)


if __name__ == "__main__":
    try:
        main()
    except common.Failed as failure:
        sys.exit(f"indexed.py: {failure}")
