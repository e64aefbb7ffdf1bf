#!/usr/bin/env python3
"""The experiments of the four papers, on data that ships here or that --set names: each algorithm as published beside ours.

  benchmarks/papers.py sbm avsf dabcd ibcd --set w8a=w8a.zst --set rcv1=rcv1.train,rcv1.test
  benchmarks/papers.py sbm avsf dabcd ibcd --quick     a9a alone, a few minutes; writes nothing, fails where the order of methods is not the papers'

All methods of an experiment train on the same store. Passes, visits and bytes are counted, so that they are the same on every machine; three
seeds, the median, and the range in brackets. docs/papers.md says what the papers claim, and what came of it.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import common
import curves
from record import Record

A9A = f"a9a={common.ROOT / 'data/a9a.zst'},{common.ROOT / 'data/a9a.t.zst'}"


class Bench:
    """The program, a set packed into blocks, and the claims that were looked at."""

    def __init__(self, options, towline, work):
        self.options, self.towline, self.work = options, towline, pathlib.Path(work)
        self.seeds = range(3)
        self.failed = []
        self.stores = {}

    def pack(self, name, path, blocks):
        """A store with at least so many blocks."""
        key = (name, blocks)
        if key not in self.stores:
            store = self.work / f"{name}-{blocks}.tow"
            size = 4 << 20
            while True:
                common.remove(store)
                common.timed([self.towline, "pack", path, "-o", store, "--block-size", str(size), "--quiet"])
                found = json.loads(common.timed([self.towline, "info", store, "--json"])[1])
                if found["blocks"] >= blocks or size <= 2000:
                    break
                size = max(2000, int(size * found["blocks"] / blocks / 1.3))
            self.stores[key] = store
        return self.stores[key]

    def train(self, store, *arguments, test=None, trace=False, seed=0):
        """The summary of a run, and its trace if that is wanted."""
        lines = self.work / "trace.jsonl"
        model = self.work / "model.towm"
        # Every run begins anew; only exact methods know --restart.
        common.remove(f"{model}.duals")
        command = [self.towline, "train", store, "-o", model, "--json", "--memory", "1G", "--threads", "1", "--seed", str(seed)]
        command += ["--test", test] if test else []
        command += ["--trace", lines] if trace else []
        command += ["--test-every", "0"] if trace and test else []
        _, out, _ = common.timed([*command, *map(str, arguments)], expect=(0, 5))
        summary = json.loads(out)
        return (summary, [json.loads(line) for line in lines.read_text().splitlines()]) if trace else summary

    def claim(self, what, holds):
        """The order of methods that a paper claims; a run with --quick fails if it does not hold."""
        print(f"  {'holds' if holds else 'DOES NOT HOLD'}: {what}", file=sys.stderr)
        if not holds:
            self.failed.append(what)
        return "holds" if holds else "does not hold"


def spread(values, form="{:,.0f}"):
    """Median and range; a run that did not get there counts as endless."""
    show = lambda value: "never" if value == float("inf") else form.format(value)
    middle = statistics.median(values)
    return show(middle) if min(values) == max(values) else f"{show(middle)} [{show(min(values))} to {show(max(values))}]"


def by_pass(trace, value):
    """(pass, value) at the end of each pass."""
    found = {}
    for line in trace:
        if value(line) is not None:
            found[line["passes"]] = value(line)
    return sorted(found.items())


def accuracy_of(line):
    return (line.get("test") or {}).get("accuracy")


def sbm(bench, record, name, train, test):
    """SBM, Figures 2 and 3, and what its partition and its cache are each worth."""
    store = bench.pack(name, train, 36)
    best = bench.train(store, "--tolerance", "1e-8", "--solver", "dual", "--max-passes", "100000")["dual_objective"]
    passes = 30 if bench.options.quick else 100
    methods = [
        ("BMD", "bmd-as-published"), ("BMD, blocks drawn anew", "bmd-as-published --partition redrawn"),
        ("SBM-1/2", "sbm-as-published"), ("SBM-1/3", "sbm-as-published --cache-share 0.3333333"),
        ("SBM-1/2-rand", "sbm-as-published --selection random"), ("SBM-1/2, first score", "sbm-as-published --selection first-score"),
        ("SBM-1/2, blocks drawn anew", "sbm-as-published --partition redrawn"), ("ours", "sbm --blocks 12"),
    ]
    lines, accuracy, reached = [], [], {}
    for label, method in methods:
        needed = {1e-2: [], 1e-3: [], 1e-4: []}
        for seed in bench.seeds:
            _, trace = bench.train(store, "--method", *method.split(), "--max-passes", passes, "--tolerance", "1e-12", seed=seed, trace=True, test=test)
            curve = [(k, abs(best - dual) / abs(dual)) for k, dual in by_pass(trace, lambda line: line["dual_objective"]) if k and dual]
            for bound in needed:
                needed[bound].append(next((k for k, off in curve if off <= bound), float("inf")))
            if seed == 0:
                lines.append((label, curve[:passes]))
                accuracy.append((label, by_pass(trace, accuracy_of)))
        reached[label] = needed
        record.row(name, label, *(spread(needed[bound]) for bound in needed))
    record.drawings[f"papers-sbm-{name}-objective.svg"] = curves.chart(f"{name}: difference to the optimum, a twelfth of the rows in memory", "passes", "relative difference (7)", lines)
    record.sections.append(f"![{name}](DATE-papers-sbm-{name}-objective.svg)\n")
    median = {label: statistics.median(needed[1e-3]) for label, needed in reached.items()}
    bench.claim(f"{name}: SBM-1/2 takes fewer passes to 1e-3 than BMD (Figure 2)", median["SBM-1/2"] < median["BMD"])
    bench.claim(f"{name}: so does SBM-1/3", median["SBM-1/3"] < median["BMD"])
    bench.claim(f"{name}: and SBM-1/2-rand", median["SBM-1/2-rand"] < median["BMD"])
    bench.claim(f"{name}: blocks that are drawn anew take fewer passes than fixed ones, without a cache", median["BMD, blocks drawn anew"] < median["BMD"])
    if test:
        online(bench, record, name, store, test, accuracy)


def online(bench, record, name, store, test, accuracy):
    """Figure 3 and the accuracy after one pass."""
    rules = ["pegasos", "bm-pegasos", "perceptron", "mira", "cw"]
    for rule in rules:
        _, trace = bench.train(store, "--method", rule, "--max-passes", 8, trace=True, test=test)
        accuracy.append((rule, by_pass(trace, accuracy_of)))
    top = max(value for _, line in accuracy for _, value in line)
    off = [(label, [(k, max(top - value, 1e-5)) for k, value in line if 0 < k <= 8]) for label, line in accuracy]
    record.drawings[f"papers-sbm-{name}-accuracy.svg"] = curves.chart(f"{name}: test accuracy below the best", "passes", "difference (8)", off)
    record.sections.append(f"![{name}](DATE-papers-sbm-{name}-accuracy.svg)\n")
    once = [("SBM-in-1", "sbm-as-published --rounds 1"), ("SBM-in-3", "sbm-as-published --rounds 3"), ("BMD-in-1", "bmd-as-published --rounds 1")]
    once += [(rule, rule) for rule in rules]
    lines = []
    for label, method in once:
        found = [bench.train(store, "--method", *method.split(), "--max-passes", 1, test=test, seed=seed)["test"]["accuracy"] for seed in bench.seeds]
        lines.append([label, spread([100 * value for value in found], "{:.2f} %")])
    record.sections.append(f"## {name}: test accuracy after one pass\n\n" + common.table(["method", "accuracy"], lines))


def avsf(bench, record, name, train, test):
    """AVSF, Tables 2 and 3 and Figure 1."""
    store = bench.pack(name, train, 1)
    cs = [0.01, 1, 100] if bench.options.quick else [0.01, 0.1, 1, 10, 100, 1000]
    orders = [("LIBLINEAR's rule", ["--order", "shrinking"]), ("AVSF", ["--method", "avsf-as-published"]),
              ("uniform", ["--order", "permutation"]), ("ours", ["--order", "auto"])]
    for bound in [0.01] if bench.options.quick else [0.01, 0.001]:
        lines, at = {}, {}
        for c in cs:
            cells = []
            for label, arguments in orders:
                if label == "uniform" and c > 10:
                    cells.append("")
                    continue
                runs = [bench.train(store, "--loss", "hinge", "-C", c, *arguments, "--stop", "kkt", "-e", bound, "--max-passes", 1000000, "--max-time", 120, seed=seed)
                        for seed in bench.seeds]
                visits = [run["visits"] if run["status"] == "converged" else float("inf") for run in runs]
                at[label, c] = statistics.median(visits)
                lines.setdefault(label, []).append((c, at[label, c]))
                cells.append(f"{spread(visits, '{:.2e}')}, {statistics.median(run['seconds']['solve'] for run in runs):.2f} s")
            record.row(name, f"{bound:g}", f"{c:g}", *cells)
        finite = [(label, [(c, y) for c, y in line if y != float("inf")]) for label, line in lines.items()]
        figure = f"papers-avsf-{name}-{bound:g}.svg"
        record.drawings[figure] = curves.chart(f"{name}: visits until violations are below {bound:g}", "C", "visits of rows", finite, x_log=True)
        record.sections.append(f"![{name}](DATE-{figure})\n")
        largest = cs[-1]
        bench.claim(f"{name}: AVSF visits fewer rows than LIBLINEAR's rule at C = {largest:g} (Tables 2 and 3)", at["AVSF", largest] < at["LIBLINEAR's rule", largest])
        bench.claim(f"{name}: and gains more there than at C = 0.01", at["LIBLINEAR's rule", largest] / at["AVSF", largest] > at["LIBLINEAR's rule", 0.01] / at["AVSF", 0.01])


def dabcd(bench, record, name, train, test):
    """DA-BCD, Figure 1: l1-regularized squared hinge loss, ten blocks."""
    store = bench.pack(name, train, 10)
    goal = ["--loss", "squared-hinge", "--penalty", "l1", "--lambda", "1", "-C", "1"]
    best = bench.train(store, *goal, "--tolerance", "1e-8", "--max-passes", "100000")["objective"]
    methods = [("DA-BCD", "da-bcd-as-published"), ("ours", "da-bcd --blocks 10 --working-set off"), ("D-BCD", "d-bcd --blocks 10"),
               ("ADMM", "admm"), ("BC-ADMM", "bc-admm"), ("OnlineMD", "mirror-descent")]
    counts = [2, 5, 10, 20] if bench.options.quick else [1, 2, 3, 5, 7, 10, 15, 20, 30, 50]
    lines, end = [], {}
    for label, method in methods:
        exact = [] if label in ("ADMM", "BC-ADMM", "OnlineMD") else ["--tolerance", "1e-12"]
        curve = []
        for passes in counts:
            runs = [bench.train(store, *goal, "--method", *method.split(), *exact, "--max-passes", passes, seed=seed)["objective"] for seed in bench.seeds]
            curve.append((passes, max(statistics.median(runs) - best, 0.0) / best))
            end[label] = [max(run - best, 0.0) / best for run in runs]
        # The paper draws the lowest value so far of D-BCD, which goes up and down.
        low = [(k, min(off for seen, off in curve if seen <= k)) for k, _ in curve]
        lines.append((label, low))
        record.row(name, label, *(f"{off:.1e}" for _, off in curve), spread(end[label], "{:.1e}"))
    record.drawings[f"papers-dabcd-{name}.svg"] = curves.chart(f"{name}: l1, squared hinge loss, ten blocks", "passes", "relative difference to the optimum", lines)
    record.sections.append(f"![{name}](DATE-papers-dabcd-{name}.svg)\n")
    last = {label: statistics.median(values) for label, values in end.items()}
    bench.claim(f"{name}: DA-BCD gets further than D-BCD, which is stuck (Figure 1)", last["DA-BCD"] < last["D-BCD"])
    bench.claim(f"{name}: and further than ADMM", last["DA-BCD"] < last["ADMM"])
    bench.claim(f"{name}: mirror descent is the slowest that converges", last["OnlineMD"] > max(last["ADMM"], last["DA-BCD"]))
    bench.claim(f"{name}: ours gets at least as far as DA-BCD", last["ours"] <= last["DA-BCD"] * 1.01 + 1e-12)


def ibcd(bench, record, name, train, test):
    """IBCD, Figures 2 to 5: truncated losses with an index, by blocks, convex ones, and online Pegasos."""
    store = bench.pack(name, train, 10)
    common.timed([bench.towline, "index", store, "--memory", "1G", *(["--force"] if (pathlib.Path(store) / "index").exists() else [])])
    methods = [
        ("Index-L1-dual", "ibcd-l1-dual-as-published"), ("ours, Index-L1", "ibcd-l1-dual"), ("Trunc-L1-dual", "trunc-l1-dual"),
        ("Index-L2-dual", "ibcd-l2-dual-as-published"), ("Index-L2-primal", "ibcd-l2-primal-as-published"), ("Trunc-L2-primal", "trunc-l2-primal"),
        ("L1-dual", "sbm --loss hinge"), ("L2-dual", "sbm --loss squared-hinge"),
        ("Online-L1, truncated", "pegasos --truncate 1"),
    ]
    found = {}
    for label, method in methods:
        passes = ["--max-passes", "5"] if method.startswith("pegasos") else []
        runs = [bench.train(store, "--method", *method.split(), *passes, test=test, seed=seed) for seed in bench.seeds]
        found[label] = statistics.median(run["objective"] for run in runs)
        record.row(name, label, spread([run["objective"] for run in runs], "{:,.2f}"), spread([run["support"] for run in runs]),
                   spread([run["bytes_read"] / 1e6 for run in runs], "{:.2f} MB"), f"{statistics.median(run['seconds']['training'] for run in runs):.2f} s",
                   spread([100 * (1 - run["test"]["accuracy"]) for run in runs], "{:.2f} %") if test else "")
    bench.claim(f"{name}: the index ends within 2 % of F_s by blocks (hinge)", found["Index-L1-dual"] <= 1.02 * found["Trunc-L1-dual"])
    bench.claim(f"{name}: and for the squared hinge loss", found["Index-L2-primal"] <= 1.02 * found["Trunc-L2-primal"])
    bench.claim(f"{name}: online Pegasos is not there after five passes", found["Online-L1, truncated"] > found["Index-L1-dual"])
    lines = []
    for s in [0.25, 0.5, 1, 2]:
        cells = []
        for first in ["off", "1"]:
            runs = [bench.train(store, "--method", "ibcd-l1-dual", "--truncate", s, "--first-truncate", first, test=test, seed=seed) for seed in bench.seeds]
            cells.append(spread([run["objective"] for run in runs], "{:,.2f}"))
            if test:
                cells.append(spread([100 * (1 - run["test"]["accuracy"]) for run in runs], "{:.2f} %"))
        lines.append([f"{s:g}", *cells])
    head = ["s", "F_s, begun at s", *(["test error"] if test else []), "F_s, begun at 1", *(["test error"] if test else [])]
    record.sections.append(f"## {name}: sweep of s, and where it begins\n\n" + common.table(head, lines))


EXPERIMENTS = {
    "sbm": (sbm, ("set", "method", "passes to 1e-2", "to 1e-3", "to 1e-4")),
    "avsf": (avsf, ("set", "violation", "C", "LIBLINEAR's rule", "AVSF", "uniform", "ours")),
    "dabcd": (dabcd, None),
    "ibcd": (ibcd, ("set", "method", "F_s or F", "support vectors", "read", "training", "test error")),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="+", choices=EXPERIMENTS)
    parser.add_argument("--quick", action="store_true", help="a9a alone, fewer points, no record; fails if a claim does not hold")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=TRAIN[,TEST]", help="a further set, libsvm text of two classes")
    parser.add_argument("--only", action="store_true", help="without a9a")
    common.add_common(parser)
    options = parser.parse_args()
    towline = pathlib.Path(options.towline) if options.towline else common.build(options)[0]
    sets = ([] if options.only else [A9A]) + options.set
    failed = []
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        bench = Bench(options, towline, work)
        for paper in options.papers:
            run, heads = EXPERIMENTS[paper]
            if paper == "dabcd":
                counts = 4 if options.quick else 10
                heads = ("set", "method", *(f"after {k}" for k in ([2, 5, 10, 20] if options.quick else [1, 2, 3, 5, 7, 10, 15, 20, 30, 50])), "range")
                assert len(heads) == counts + 3
            record = Record(f"The paper of {paper}", " ".join(run.__doc__.split()) + " Relative differences are to the optimum; counts are medians of three seeds.", heads)
            for text in sets:
                name, files = text.split("=", 1)
                train, test = (files.split(",") + [None])[:2]
                with record.part(f"{paper} on {name}"):
                    run(bench, record, name, train, test)
            record.notes += [f"does not hold: {what}" for what in bench.failed]
            failed += bench.failed
            bench.failed = []
            if not options.quick:
                record.write(options.records, f"papers-{paper}", common.versions(towline, None))
            elif record.notes:
                failed += [note for note in record.notes if "did not end" in note]
    if options.quick and failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
