"""The parts of solvers.py that measure against peers, and out of core."""
import json
import math
import pathlib
import resource
import subprocess
import sys
import time

import common
from common import HERE

# The solvers that LIBLINEAR has for a loss.
LIBLINEAR = {"hinge": [3], "squared-hinge": [1, 2], "logistic": [0, 7],
             "epsilon-insensitive": [13], "squared-epsilon-insensitive": [11, 12]}
LEAST_SECONDS = 1e-3
# Cells in which LIBLINEAR takes less say little about solvers.
NOTABLE_SECONDS = 1e-2
POINTS, FOLDS = 100, 10
# The gap of most runs, and of the goals.
USUAL = 1e-6
# A gap with which Towline's objective is LIBLINEAR's but for the billionth part that `reach` allows.
FINE = 1e-9
# What the record keeps of a summary.
KEPT = ("status", "relative_gap", "objective", "dual_objective", "solver", "passes", "sweeps")


class Peers:
    """Runs of peers, kept in a file if there is one."""

    def __init__(self, options):
        self.options, self.python = options, common.peers(options)
        self.file = pathlib.Path(options.peer_results) if options.peer_results else None
        self.kept = json.loads(self.file.read_text()) if self.file and self.file.exists() else {}

    def run(self, what, path, *more):
        """What the peer found; only the status if it took too long or failed."""
        name = " ".join([what, pathlib.Path(path).name, *map(str, more)])
        if name not in self.kept:
            self.kept[name] = self.measure([self.python, HERE / "solver_peers.py", what, path, *more])
            if self.file:
                self.file.write_text(json.dumps(self.kept, indent=1) + "\n")
        return self.kept[name]

    def measure(self, command):
        limit = self.options.peer_time
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"status": f"not in {limit:g} s", "seconds": limit, "objective": None}
        line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
        if line is None:
            print(done.stderr[-2000:], file=sys.stderr)
            return {"status": "failed", "seconds": None, "objective": None}
        gave_up = "reaching max number of iterations" in done.stdout
        return json.loads(line[7:]) | {"status": "at its iteration limit" if gave_up else "done"}


class Clock:
    """The part of a processor that a run has, while other programs have the rest."""

    def __init__(self):
        self.begin, self.used = time.perf_counter(), self.processor()

    @staticmethod
    def processor():
        found = resource.getrusage(resource.RUSAGE_CHILDREN)
        return found.ru_utime + found.ru_stime

    def share(self):
        return min(1.0, (self.processor() - self.used) / max(time.perf_counter() - self.begin, 1e-9))


def traced(bench, stem, limit, *more):
    """The summary of a run, and the objectives of its trace with what they had cost."""
    trace = bench.work / "trace.jsonl"
    common.remove(trace)
    # The limit is one of the processor; what the last run had of it this one will have, about.
    patience = limit / max(getattr(bench, "share", 1.0), 0.2)
    clock = Clock()
    found = bench.train(stem, "--trace", trace, *more, limit=patience)
    bench.share = share = clock.share()
    steps = [json.loads(line) for line in open(trace)] if trace.exists() else []
    points = [(share * spent(step), step["objective"]) for step in steps if step["objective"] is not None]
    if found.get("objective") is not None:
        found["spent"] = share * spent(found["seconds"])
        if found.get("classes"):
            return found, by_class(found["classes"], points)
        points.append((found["spent"], found["objective"]))
    return found, [point for point in points if point[0] <= limit]


def by_class(classes, points):
    """The points of each class: they train one after the other, and each has a clock of its own."""
    begins = [k for k, point in enumerate(points) if k == 0 or point[0] < points[k - 1][0]]
    if len(begins) != len(classes):
        return {}
    ends = begins[1:] + [len(points)]
    return {each["class"]: points[begin:end] for each, begin, end in zip(classes, begins, ends)}


def spent(cost):
    """Seconds of solving and certifying; reading is the peer's too and counts for nobody."""
    if "solve_seconds" in cost:
        return cost["solve_seconds"] + cost["certify_seconds"]
    return cost["solve"] + cost["certify"]


def arrive(points, run):
    """Seconds until weights have the objective of a run of LIBLINEAR, that of each class where there are several."""
    if not isinstance(points, dict):
        return reach(points, run["objective"])
    times = [reach(points.get(name, []), objective) for name, objective in (run.get("classes") or {"": 0}).items()]
    return None if None in times else sum(times)


def reach(points, objective):
    """Seconds until weights have this objective."""
    return next((seconds for seconds, found in points if found <= objective * (1 + 1e-9)), None)


def duel(bench, peers, entry, loss, c):
    """A cell: the solver of LIBLINEAR that does best against Towline."""
    npz = bench.work / f"{entry['stem']}.npz"
    runs = {kind: peers.run("liblinear", npz, loss, kind, c) for kind in LIBLINEAR[loss]}
    ended = {kind: run for kind, run in runs.items() if run["objective"] is not None}
    cell = {"set": f"{entry['set']} {entry['scale']}", "loss": loss, "C": c, "liblinear": runs}
    if not ended and any(run["seconds"] is None for run in runs.values()):
        return cell | {"ratio": None, "why": "LIBLINEAR failed"}
    longest = max(run["seconds"] for run in runs.values() if run["seconds"])
    limit = max(5.0, 1.5 * longest)
    problem = [entry["stem"], limit, "--loss", loss, "-C", c, *bench.plain]
    repeats = 1 if longest > 1 else 3
    tries = [traced(bench, *problem, "--tolerance", USUAL) for _ in range(repeats)]
    found = tries[-1][0]
    if any(arrive(points, run) is None for run in ended.values() for _, points in tries[-1:]):
        tries += [traced(bench, *problem, "--tolerance", FINE) for _ in range(repeats)]
        found = tries[-1][0]
    # Coordinate descent knows its objective only where it certifies.
    for tolerance in tolerances(found, ended) if found.get("solver") == "dual" else []:
        tries += [traced(bench, *problem, "--tolerance", tolerance) for _ in range(repeats)]
    cell |= {"towline": {name: found.get(name) for name in KEPT}}
    if not ended:
        seconds = found["spent"] if found["status"] == "converged" else None
        ratio = longest / max(seconds, LEAST_SECONDS) if seconds is not None else None
        return cell | {"ratio": ratio, "seconds": seconds, "why": f"LIBLINEAR {next(iter(runs.values()))['status']}"}
    ratio, kind, seconds = min(rate(kind, run, tries, limit) for kind, run in ended.items())
    run = ended[kind]
    return cell | {"ratio": ratio, "kind": kind, "seconds": seconds, "peer_seconds": run["seconds"],
                   "why": "" if seconds is not None else "not reached", "contradiction": contradicts(found, ended)}


def tolerances(found, ended):
    """Gaps that make Towline stop about where each solver of LIBLINEAR did; certificates may be rarer than that."""
    dual = found.get("dual_objective")
    gaps = [1 - dual / run["objective"] for run in ended.values()] if dual is not None else []
    return sorted({float(f"{gap:.2g}") for gap in gaps if 2 * FINE < gap < 0.5})


def rate(kind, run, tries, limit):
    """How often LIBLINEAR's time holds Towline's, which is the limit if it did not get there; and Towline's seconds."""
    times = [time for time in (arrive(points, run) for _, points in tries) if time is not None]
    seconds = min(times, default=None)
    ours = limit if seconds is None else seconds
    return max(run["seconds"], LEAST_SECONDS) / max(ours, LEAST_SECONDS), kind, seconds


def contradicts(found, ended):
    """Whether a peer has an objective below the bound that Towline gives."""
    dual = found.get("dual_objective")
    return dual is not None and any(run["objective"] < dual - 1e-7 * abs(dual) for run in ended.values())


def show(bench, cell):
    seconds = cell.get("seconds")
    ratio = "-" if cell["ratio"] is None else f"{cell['ratio']:.2g}"
    peer = f"{cell['peer_seconds']:.4f} s (-s {cell['kind']})" if "kind" in cell else cell["why"]
    ours = f"{seconds:.4f} s" if seconds is not None else "not reached"
    solver = (cell.get("towline") or {}).get("solver") or "-"
    ratio = ("< " if cell["why"] == "not reached" else "") + ratio
    bench.row(cell["set"], cell["loss"], f"{cell['C']:g}", ours, peer, ratio, solver)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def against_liblinear(bench, peers):
    """All sets, losses that LIBLINEAR has, C = 1, 100, 1000."""
    options = bench.options
    losses = [loss for loss in LIBLINEAR if not options.losses or loss in options.losses.split(",")]
    cells, left_out, wanted = [], 0, low_cells(options.again)
    for loss in losses:
        for entry in bench.sets("numbers" if loss.endswith("insensitive") else "classes"):
            for c in map(float, options.C.split(",") if options.C else ["1", "100", "1000"]):
                if wanted and (f"{entry['set']} {entry['scale']}", loss, c) not in wanted:
                    continue
                if bench.late():
                    left_out += 1
                    continue
                cells.append(duel(bench, peers, entry, loss, c))
                show(bench, cells[-1])
    bench.facts += cells
    if left_out:
        bench.notes.append(f"{left_out} cells were left out, --limit-seconds was over.")
    conclude(bench, cells)


def low_cells(record):
    """Cells that a record has below 0.8; none if there is no record."""
    facts = json.loads(pathlib.Path(record).read_text())["facts"] if record else []
    return {(cell["set"], cell["loss"], cell["C"]) for cell in facts if cell["ratio"] is not None and cell["ratio"] < 0.8}


def conclude(bench, cells):
    """Geometric means for each C, the worst cell, and what contradicts a certificate."""
    for c in sorted({cell["C"] for cell in cells}):
        rated = [cell for cell in cells if cell["C"] == c and cell["ratio"] is not None]
        notable = [cell["ratio"] for cell in rated if cell.get("peer_seconds", NOTABLE_SECONDS) >= NOTABLE_SECONDS]
        goal = "at least 10" if c >= 100 else "at least 3"
        if rated:
            whole = mean([cell["ratio"] for cell in rated])
            text = f"C = {c:g}: geometric mean {whole:.2g} of {len(rated)} cells ({goal})"
            if notable:
                text += f"; {mean(notable):.2g} of the {len(notable)} in which LIBLINEAR takes 10 ms or more"
            bench.notes.append(text)
    slow = [cell for cell in cells if cell["ratio"] and cell.get("peer_seconds", 1) >= NOTABLE_SECONDS]
    rated = sorted((cell for cell in cells if cell["ratio"] is not None), key=lambda cell: cell["ratio"])
    if rated:
        worst = rated[0]
        below = sum(cell["ratio"] < 0.8 for cell in rated)
        bench.notes.append(f"worst cell: {worst['set']}, {worst['loss']}, C = {worst['C']:g}: {worst['ratio']:.2g} "
                           f"(at least 0.8); {below} of {len(rated)} cells are below 0.8, "
                           f"{sum(cell['ratio'] < 0.8 for cell in slow)} of the {len(slow)} longer ones")
    for cell in cells:
        if cell.get("contradiction"):
            where = f"{cell['set']}, {cell['loss']}, C = {cell['C']:g}"
            bench.notes.append(f"{where}: LIBLINEAR's objective is below Towline's bound")
    bench.rows.sort(key=lambda row: float(row[5].lstrip("< ")) if row[5] != "-" else math.inf)


def against_ridge(bench, peers):
    """Ridge and least squares, raw columns. Least squares is the ridge of alpha = 1e-6 for the peer."""
    for stem in ("covtype-raw-numbers", "flights-raw-numbers"):
        for what, alpha, flags in (("ridge", 1.0, []), ("least squares", 1e-6, ["--penalty", "none"])):
            for intercept in ("no", "yes") if stem.startswith("covtype") else ("no",):
                peer = peers.run("ridge", bench.work / f"{stem}.npz", alpha, intercept)
                more = ["--intercept"] if intercept == "yes" else bench.plain
                problem = ["--loss", "squared", "-C", 1, "--tolerance", 1e-6, *flags, *more]
                runs = [bench.train(stem, *problem) for _ in range(3)]
                bench.facts.append({"ridge": stem, "what": what, "intercept": intercept, "peer": peer, "towline": runs})
                name = f"{what}, {stem.split('-')[0]}{', intercept' if intercept == 'yes' else ''}"
                ridge_row(bench, name, peer, runs)


def ridge_row(bench, what, peer, runs):
    found = [run for run in runs if run["status"] == "converged"]
    shown = f"{peer['seconds']:.3f} s" if peer["seconds"] else peer["status"]
    if not found or not peer["seconds"]:
        gap = runs[-1]["relative_gap"]
        words = runs[-1]["status"] + (f", gap {gap:.1e}" if gap is not None else "") if not found else "done"
        return bench.row(what, words, shown, "-", "at least 1")
    best = min(found, key=lambda run: run["seconds"]["training"])
    seconds = best["seconds"]
    theirs = peer["losses"] + (0 if "least" in what else peer["norm"])
    apart = best["objective"] / theirs - 1
    text = f"{seconds['training']:.3f} s, of which {seconds['read']:.3f} s reading; "
    text += f"objective {apart:+.1e} from the peer's"
    bench.row(what, text, shown, f"{peer['seconds'] / seconds['training']:.2f}", "at least 1")


def tenth(bench, store, *more):
    """All that is fixed and a tenth of what the rows take, but at least what a run needs; and the bytes of a pass."""
    plan = json.loads(common.timed([bench.towline, "plan", store, *more, "--solver", "dual", "--memory", "1000G", "--json"])[1])
    fixed = plan["weight_bytes"] + plan["dual_bytes"] + plan["read_ahead_bytes"]
    return max(fixed + plan["resident_bytes"] // 10, plan["least_bytes"]), plan["pass_bytes"]


def against_lasso(bench, peers):
    """A path of lambdas and folds; both sides have the same lambdas, since 1/C = alpha x rows."""
    made = bench.work / "lasso.json"
    if not made.exists():
        return bench.notes.append("lasso.json is missing; prepare makes it with --covtype and --lasso")
    about = json.loads(made.read_text())
    peer = peers.run("lasso", bench.work)
    store = bench.store("lasso")
    memory, pass_bytes = tenth(bench, store, "--penalty", "l1", "--loss", "squared", "--intercept")
    found = lasso_by_towline(bench, store, about, memory)
    bench.facts.append({"lasso": about["rows"], "memory": memory, "peer": peer, "towline": found})
    shown = f"{peer['seconds']:.0f} s" + (f", rmse {peer['rmse']:.3f}" if "rmse" in peer else f", {peer['status']}")
    what = f"Lasso path, {POINTS} lambdas, {FOLDS} folds, {memory / 1e6:.0f} MB"
    if found is None:
        return bench.row(what, f"not in {bench.options.peer_time:g} s", shown, "-", "at least 5")
    reads = found["cost"]["bytes_read"] / pass_bytes
    best = min(point["mean"] for point in found["points"])
    bench.row(what, f"{found['seconds']:.1f} s, {reads:.1f} reads, rmse {best:.3f}", shown,
              f"{peer['seconds'] / found['seconds']:.2f}", "at least 5; one read")


def lasso_by_towline(bench, store, about, memory):
    """The whole path with its folds by `towline cv` along C; None if it takes too long."""
    ends = [1 / (about["rows"] * alpha) for alpha in (about["alphas"][0], about["alphas"][-1])]
    problem = ["--loss", "squared", "--penalty", "l1", "--intercept", "-C", f"{ends[0]!r}..{ends[1]!r}:{POINTS}"]
    command = [bench.towline, "cv", store, *problem, "--folds", FOLDS, "--tolerance", 1e-4, "--memory", memory,
               "--threads", 1, "--json", "-q", "--restart"]
    limit = bench.options.peer_time
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode not in (0, 5):
        raise common.Failed(done.stderr.strip()[-500:], done.returncode)
    return json.loads(done.stdout)


def out_of_core(bench, _peers):
    """How often all rows are read, with a tenth of them in memory."""
    for stem in ("covtype-raw", "covtype-scaled"):
        memory, pass_bytes = tenth(bench, bench.store(stem), "--loss", "hinge")
        problem = ["--loss", "hinge", "-C", 1, "--tolerance", 1e-4, *bench.plain]
        found = bench.train(stem, *problem, "--memory", memory, limit=10 * bench.options.max_time)
        bench.facts.append({"core": stem, "memory": memory, "pass_bytes": pass_bytes, "towline": found})
        gap = f"{found['relative_gap']:.1e}" if found["relative_gap"] is not None else found.get("error", "-")
        seconds = found.get("seconds", {}).get("training", found.get("wall", 0))
        reads = f"{found.get('bytes_read', 0) / pass_bytes:.1f}"
        plan = json.loads(common.timed([bench.towline, "plan", bench.store(stem), "--solver", "dual", "--memory", memory, "--json"])[1])
        share = 100 * plan["resident_rows"] / next(each["rows"] for each in bench.sets() if each["stem"] == stem)
        bench.row(f"{stem}, hinge, C = 1, {memory / 1e6:.1f} MB, {share:.0f} % of the rows",
                  f"{found['status']}, gap {gap}, {seconds:.1f} s", "", f"{reads} reads", "at most 25 to 1e-4")


# What `auto` chooses from, for each loss.
SOLVERS = {"hinge": ["dual", "multipliers"], "squared-hinge": ["dual", "newton"], "logistic": ["dual", "newton"],
           "squared": ["dual", "gram"], "epsilon-insensitive": ["dual", "multipliers"], "huber": ["dual", "newton"]}
NUMBERS = ("squared", "epsilon-insensitive", "huber")
# Of two runs that take less, neither is worse.
SAME_SECONDS = 0.02


def choice(bench, _peers):
    """`auto` against each of the solvers that it chooses from, to a gap of 1e-6."""
    options, cells = bench.options, []
    for loss in [loss for loss in SOLVERS if not options.losses or loss in options.losses.split(",")]:
        for entry in bench.sets("numbers" if loss in NUMBERS else "classes"):
            for c in map(float, options.C.split(",") if options.C else ["1e-3", "1", "1e3"]):
                if not bench.late():
                    cells.append(choice_cell(bench, entry, loss, c))
    bench.facts += cells
    rated = [cell for cell in cells if cell["ratio"] is not None]
    for cell in sorted(rated, key=lambda cell: -cell["ratio"]):
        others = ", ".join(f"{name} {shown}" for name, shown in cell["others"].items())
        bench.row(f"{cell['set']}, {cell['loss']}, C = {cell['C']:g}", f"{cell['solver']}, {cell['seconds']:.2f} s",
                  others, f"{cell['ratio']:.2f}", "at most 1.3")
    worse = sum(cell["ratio"] > 1.3 for cell in rated)
    bench.notes.append(f"{worse} of {len(rated)} cells are above 1.3; {len(cells) - len(rated)} have no ratio")


def choice_cell(bench, entry, loss, c):
    """Seconds of training by `auto` and by the best of the others; a run that does not end in time has no seconds."""
    problem = ["--loss", loss, "-C", c, "--tolerance", 1e-6, *bench.plain]
    found = bench.train(entry["stem"], *problem)
    cell = {"set": f"{entry['set']} {entry['scale']}", "loss": loss, "C": c, "solver": found.get("solver")}
    if found["status"] != "converged":
        return cell | {"ratio": None, "others": {}, "seconds": None}
    seconds, others, best = found["seconds"]["training"], {}, None
    for solver in SOLVERS[loss]:
        run = bench.train(entry["stem"], *problem, "--solver", solver, limit=max(2.0, 1.5 * seconds))
        if run["status"] == "converged":
            others[solver] = f"{run['seconds']['training']:.2f} s"
            best = min(best or math.inf, run["seconds"]["training"])
        else:
            others[solver] = run["status"]
    ratio = None if best is None else max(seconds, SAME_SECONDS) / max(best, SAME_SECONDS)
    return cell | {"ratio": ratio, "others": others, "seconds": seconds}


HEADS = ("what", "Towline", "peer", "ratio", "must reach")
CELLS = ("set", "loss", "C", "Towline", "LIBLINEAR", "ratio", "solver")
PARTS = {
    "peers": (against_liblinear, "Solvers against LIBLINEAR", CELLS),
    "ridge": (against_ridge, "Ridge and least squares", HEADS),
    "lasso": (against_lasso, "A Lasso path with folds", HEADS),
    "choice": (choice, "auto against the best of its solvers", ("what", "auto", "others", "ratio", "must reach")),
    "core": (out_of_core, "Covtype out of core", HEADS),
}


def run(part, measured, options, bench_of):
    measure, title, heads = measured
    says = "One thread. `benchmarks/solvers.py` says what exactly is timed; a ratio above 1 is in favour of Towline."
    bench = bench_of(options, title, says, heads)
    peers = Peers(options) if part not in ("core", "choice") else None
    with bench.part(part):
        measure(bench, peers)
    bench.finish(part, peers and peers.python)
