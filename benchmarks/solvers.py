#!/usr/bin/env python3
"""Does every table converge, and how fast? Writes a dated record.

    benchmarks/solvers.py prepare --work FOLDER --covtype covtype.csv.zst --kddcup99 kddcup.data_10_percent.gz ...
    benchmarks/solvers.py matrix --work FOLDER --quick
    benchmarks/solvers.py peers ridge lasso core --work FOLDER

One thread for everybody. What is measured, one part per name:

  prepare  nothing: it makes the data sets of solver_sets.py in the work folder and packs them.
  matrix   every set, raw and scaled, x every loss x C in 0.001, 1, 1000 x intercept or none, default options, until
           the gap is 1e-6 or --max-time is over. A cell is met if the gap is reached within 60 s or 100 scans. Seconds
           are those of training as towline says, reading the store included. Of several classes the worst gap counts.
  peers    LIBLINEAR at its default tolerance, solving only, no intercept; of its solvers for a loss the one that does
           best against Towline. Towline: seconds in solving and certifying until its weights have the objective of
           LIBLINEAR, which NumPy computes from its weights. Times under a millisecond count as one. Where it is not
           reached within 1.5 times LIBLINEAR's time and 5 s, that time counts. Seconds are those of the processor:
           what the clock says, times the part of a processor that the run had. Of several classes, which train one
           after the other, each has to have the objective that LIBLINEAR has for it; its times are added up.
  ridge    ridge and least squares against Ridge(solver="cholesky") of scikit-learn, all rows in memory.
  lasso    a path of 100 lambdas and 10 folds, a tenth of the rows in memory, against LassoCV with all memory.
  choice   `auto` against each of the solvers that it chooses from, no intercept, gap 1e-6; must be at most 1.3 times as
           long as the best of them.
  sparse   Lasso, elastic net and l1 logistic regression against celer, skglm and adelie, no intercept, lambda a tenth, a
           hundredth and a thousandth of the largest; seconds of the processor, solving only, until the objective is
           within 1e-6 of the optimum. Peers run with one tolerance after the other, and the loosest that will do
           counts; what they compile is compiled before.
  core     covtype with a tenth of the rows in memory, hinge, C = 1, gap 1e-4: how often all rows are read.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import common
from common import HERE, ROOT
from record import Record
import solver_duels
import solver_sparse

SOURCES = ["covtype", "kddcup99", "flights", "ijcnn1", "a9a", "w8a", "mnist"]
LOSSES = {"hinge": "classes", "squared-hinge": "classes", "logistic": "classes",
          "squared": "numbers", "epsilon-insensitive": "numbers", "huber": "numbers"}
GAP, MOST_SECONDS, MOST_SCANS = 1e-6, 60.0, 100
WORST = 40


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=list(PARTS), help="what to do")
    for name in SOURCES:
        parser.add_argument(f"--{name}", metavar="FILE", help="its source, for prepare")
    parser.add_argument("--sets", help="only these sets, with commas between them")
    parser.add_argument("--losses", help="only these losses, with commas between them")
    parser.add_argument("--scales", help="only raw, or only scaled")
    parser.add_argument("-C", help="only these values of C, with commas between them")
    parser.add_argument("--quick", action="store_true", help="only the sets that ship with scikit-learn")
    parser.add_argument("--max-time", type=float, default=MOST_SECONDS, help="most seconds of a cell [60]")
    parser.add_argument("--limit-seconds", type=float, help="begin no further cell after so many seconds")
    parser.add_argument("--resume", action="store_true", help="keep the cells of an earlier run in the work folder")
    parser.add_argument("--strict", action="store_true", help="fail if a cell of the matrix is not met")
    parser.add_argument("--peer-time", type=float, default=600.0, help="most seconds of a run of a peer [600]")
    parser.add_argument("--again", metavar="RECORD.json", help="of peers, only the cells that this record has below 0.8")
    parser.add_argument("--peer-results", help="a file to keep results of peers in, and to take them from")
    parser.add_argument("--lasso", type=int, metavar="ROWS", help="prepare the part lasso, such as with 1000000 rows")
    parser.add_argument("--record", help="the end of the record's name [solvers-PART]; none writes none")
    common.add_common(parser)
    return parser.parse_args()


class Bench(Record):
    def __init__(self, options, title, says, heads):
        super().__init__(title, says, heads)
        self.options, self.work = options, pathlib.Path(options.work)
        target = pathlib.Path(options.target or ROOT / "target")
        self.towline = pathlib.Path(options.towline or target / "release/towline")
        if not self.towline.exists():
            sys.exit(f"{self.towline} is missing; run cargo build --release, or name another with --towline")
        help_text = common.timed([self.towline, "train", "--help"])[1]
        # Tables may have an intercept by default; libsvm rows have none.
        self.plain = ["--no-intercept"] if "--no-intercept" in help_text else []
        self.begin = time.monotonic()

    def sets(self, kind=None):
        """The sets that were prepared and asked for."""
        listed = self.work / "sets.json"
        if not listed.exists():
            sys.exit(f"{listed} is missing; run the part prepare first")
        wanted, scales = (words(text) for text in (self.options.sets, self.options.scales))
        for entry in json.loads(listed.read_text()):
            if (not kind or kind in entry["kind"]) and (not wanted or entry["set"] in wanted):
                if (not scales or entry["scale"] in scales) and (entry["quick"] or not self.options.quick):
                    yield entry

    def late(self):
        limit = self.options.limit_seconds
        return limit is not None and time.monotonic() - self.begin > limit

    def store(self, stem):
        return self.work / f"{stem}.tow"

    def train(self, stem, *more, limit=None):
        """The summary of a run; one that does not end in time, or fails, has the status that says so."""
        limit = limit or self.options.max_time
        patience = 3 * limit + 60
        command = [self.towline, "train", self.store(stem), "-o", self.work / "model.towm", "--json", "-q", "--restart",
                   "--threads", 1, "--max-time", limit, *more]
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=patience)
        except subprocess.TimeoutExpired:
            return {"status": "killed", "relative_gap": None, "wall": patience}
        if done.returncode not in (0, 5):
            error = (done.stderr.strip().splitlines() or ["no words"])[-1]
            return {"status": "failed", "relative_gap": None, "error": f"exit code {done.returncode}: {error}"}
        return json.loads(done.stdout)

    def finish(self, part, python=None):
        """Writes the record, or only prints its table."""
        if self.options.record == "none":
            return print(common.table(self.heads, self.rows) + "".join(f"- {note}\n" for note in self.notes))
        some = "-quick" if self.options.quick else "-again" if self.options.again else ""
        name = self.options.record or f"solvers-{part}{some}"
        self.write(self.options.records, name, common.versions(self.towline, python))


def words(text):
    return [word.strip() for word in text.split(",")] if text else []


def prepare(options):
    """Makes the sets and packs them."""
    work = pathlib.Path(options.work)
    work.mkdir(parents=True, exist_ok=True)
    sources = [f"{name}={getattr(options, name)}" for name in SOURCES if getattr(options, name)]
    command = [common.peers(options), HERE / "solver_sets.py", work]
    for source in sources:
        command += ["--source", source]
    if options.lasso:
        command += ["--lasso", options.lasso]
    subprocess.run([str(word) for word in command], check=True)
    bench = Bench(options, "", "", ())
    stems = [entry["stem"] for entry in bench.sets()] + (["lasso"] if (work / "lasso.json").exists() else [])
    for stem in stems:
        text, store = work / f"{stem}.svm", bench.store(stem)
        if not store.exists():
            common.timed([bench.towline, "pack", text, "-o", store, "-q"])
            common.remove(text)


def cells(bench):
    """What the matrix has to measure."""
    options = bench.options
    for loss, kind in LOSSES.items():
        if options.losses and loss not in words(options.losses):
            continue
        for entry in bench.sets(kind):
            for c in map(float, words(options.C) or ["1e-3", "1", "1e3"]):
                for intercept in (False, True):
                    name = {"set": entry["set"], "scale": entry["scale"]}
                    yield entry, name | {"loss": loss, "C": c, "intercept": intercept}


def measure(bench, entry, cell):
    """A cell with what was found."""
    flags = ["--intercept"] if cell["intercept"] else bench.plain
    begin = time.perf_counter()
    found = bench.train(entry["stem"], "--loss", cell["loss"], "-C", cell["C"], "--tolerance", GAP, *flags)
    wall = time.perf_counter() - begin
    gaps = [each["relative_gap"] for each in found.get("classes", [])] or [found["relative_gap"]]
    gap = None if None in gaps else max(gaps)
    seconds = found.get("seconds", {}).get("training", wall)
    scans = found.get("scans", max(found.get("passes", 0), found.get("sweeps", 0)))
    met = gap is not None and gap <= GAP * (1 + 1e-9) and (seconds <= MOST_SECONDS or scans <= MOST_SCANS)
    return cell | {"gap": gap, "seconds": seconds, "wall": wall, "scans": scans, "passes": found.get("passes"),
                   "status": found["status"], "solver": found.get("solver"), "objective": found.get("objective"),
                   "error": found.get("error"), "met": met}


def key(cell):
    return tuple(cell[name] for name in ("set", "scale", "loss", "C", "intercept"))


def matrix(options):
    """All cells, the worst first."""
    says = f"Default options, one thread, gap {GAP:g}, at most {options.max_time:g} s a cell. "
    says += "`benchmarks/solvers.py` says what a cell is."
    bench = Bench(options, "Solvers: does every table converge", says, HEADS)
    kept, log = {}, bench.work / "matrix.jsonl"
    if options.resume and log.exists():
        kept = {key(cell): cell for cell in map(json.loads, open(log))}
    planned, left_out = list(cells(bench)), 0
    with open(log, "a" if options.resume else "w") as out:
        for number, (entry, cell) in enumerate(planned, 1):
            found = kept.get(key(cell))
            if not found and bench.late():
                left_out += 1
                continue
            if not found:
                found = measure(bench, entry, cell)
                out.write(json.dumps(found) + "\n")
                out.flush()
                if not found["met"]:
                    print(f"{number}/{len(planned)}: " + " | ".join(shown(found)), file=sys.stderr)
            bench.facts.append(found)
    report(bench, left_out)
    bench.finish("matrix")
    return all(cell["met"] for cell in bench.facts)


HEADS = ("set", "loss", "C", "intercept", "gap", "seconds", "scans", "status", "solver")


def shown(cell):
    gap = "-" if cell["gap"] is None else f"{cell['gap']:.1e}"
    status = cell["status"] if not cell["error"] else f"{cell['status']}: {cell['error']}"
    return (f"{cell['set']} {cell['scale']}", cell["loss"], f"{cell['C']:g}", "yes" if cell["intercept"] else "no", gap,
            f"{cell['seconds']:.2f}", f"{cell['scans']}", status, cell["solver"] or "-")


def badness(cell):
    """Cells without a gap first, then large gaps, then long runs."""
    return (cell["met"], -(float("inf") if cell["gap"] is None else max(cell["gap"], GAP)), -cell["seconds"])


def report(bench, left_out):
    """Counts, the worst cells, and a table of all cells for each loss."""
    done = sorted(bench.facts, key=badness)
    met = sum(cell["met"] for cell in done)
    bench.rows = [shown(cell) for cell in done[:WORST]]
    bench.notes.append(f"{met} of {len(done)} cells are met, {len(done) - met} are not; above are the worst.")
    if left_out:
        bench.notes.append(f"{left_out} cells were left out, --limit-seconds was over.")
    most = bench.options.max_time
    over = [cell["seconds"] - most for cell in done if cell["seconds"] > most + 1]
    if over:
        bench.notes.append(f"{len(over)} cells end more than 1 s after --max-time, at most {max(over):.1f} s.")
    for name in ("loss", "set", "scale", "C", "intercept", "solver"):
        values = dict.fromkeys(cell[name] for cell in bench.facts)
        counts = [[cell["met"] for cell in done if cell[name] == value] for value in values]
        bench.notes.append(f"met by {name}: " + ", ".join(f"{v} {sum(m)}/{len(m)}" for v, m in zip(values, counts)))
    for loss in dict.fromkeys(cell["loss"] for cell in bench.facts):
        bench.sections.append(loss_table(loss, [cell for cell in bench.facts if cell["loss"] == loss]))


def loss_table(loss, found):
    """A row for each set, a column for each C with and without intercept."""
    columns = sorted({(cell["C"], cell["intercept"]) for cell in found})
    lines = []
    for name in dict.fromkeys((cell["set"], cell["scale"]) for cell in found):
        line = [" ".join(name)]
        for column in columns:
            cell = next((c for c in found if (c["set"], c["scale"], c["C"], c["intercept"]) == name + column), None)
            line.append("" if not cell else short(cell))
        lines.append(line)
    head = ["set"] + [f"C = {c:g}{', intercept' if intercept else ''}" for c, intercept in columns]
    return f"## {loss}\nSeconds and scans, or **the gap at the end**.\n\n{common.table(head, lines)}"


def short(cell):
    if cell["met"]:
        return f"{cell['seconds']:.2f} s, {cell['scans']}"
    return f"**{cell['status'] if cell['gap'] is None else format(cell['gap'], '.0e')}**, {cell['seconds']:.1f} s"


DUELS = solver_duels.PARTS | {"sparse": (solver_sparse.against_sparse, "Sparse models against celer, skglm and adelie",
                                         solver_sparse.HEADS)}
PARTS = {"prepare": prepare, "matrix": matrix, **{name: None for name in DUELS}}


def main():
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    options = arguments()
    if not options.work:
        sys.exit("solvers.py: name a folder for stores with --work; prepare fills it, and the other parts use it")
    good = True
    for part in options.parts:
        if part in DUELS:
            solver_duels.run(part, DUELS[part], options, Bench)
        else:
            good = PARTS[part](options) is not False and good
    if options.strict and not good:
        sys.exit("solvers.py: some cells are not met")


if __name__ == "__main__":
    try:
        main()
    except common.Failed as error:
        sys.exit(f"solvers.py: {error}")
