"""The part `sparse` of solvers.py: Lasso, elastic net and l1 logistic regression against celer, skglm and adelie."""
import json
import subprocess
import sys

import common
from common import HERE
from solver_duels import FINE, KEPT, LEAST_SECONDS, NOTABLE_SECONDS, mean, reach, traced

PEERS = {"celer": "celer==0.7.4", "skglm": "skglm==0.5", "adelie": "adelie==1.1.52"}
MODELS = {"Lasso": ("squared", 1.0), "elastic net": ("squared", 0.5), "l1 logistic": ("logistic", 1.0)}
# Parts of the least lambda under which all weights are 0.
PARTS = (0.1, 0.01, 0.001)
# How far above the optimum everybody may stop.
ENOUGH = 1e-6
HEADS = ("set", "model", "lambda", "Towline", *PEERS, "ratio to the best")


def results(command, limit):
    """What a program of the peers prints, as far as it comes within so many seconds."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
        out, error = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        out, error = (late.stdout or b"").decode(), ""
    found = [json.loads(line[7:]) for line in out.splitlines() if line.startswith("RESULT ")]
    if error and not found:
        print(error[-1500:], file=sys.stderr)
    return found


def install(python):
    """Adds the peers to the environment of all others, unless they are there."""
    command = [python, "-m", "pip", "install", "--quiet", *PEERS.values()]
    subprocess.run([str(word) for word in command], check=True)


def problems_of(bench, npz, python, kinds):
    """Models and lambdas for a set, each with what Towline finds."""
    found = results([python, HERE / "solver_sparse_peers.py", "scales", npz], bench.options.peer_time)
    for name, (loss, share) in MODELS.items():
        most = found[0]["most"].get(loss) if found else None
        if not most or ("numbers" if loss == "squared" else "classes") not in kinds:
            continue
        for part in PARTS:
            alpha = part * most / share
            yield {"model": name, "loss": loss, "share": share, "part": part, "alpha": alpha,
                   "C": 1 / (found[0]["rows"] * alpha)}


def by_towline(bench, stem, problem):
    """Seconds until F is near the optimum, and that optimum; nothing where it is not found in time."""
    penalty = ["--penalty", "l1"] if problem["share"] == 1 else ["--penalty", "elastic-net", "--l1-ratio", problem["share"]]
    more = ["--loss", problem["loss"], "-C", repr(problem["C"]), *penalty, *bench.plain]
    limit = bench.options.max_time
    fine, points = traced(bench, stem, limit, *more, "--tolerance", FINE)
    if fine.get("objective") is None:
        return {"seconds": None, "enough": None, "summary": fine}
    enough = fine["objective"] * (1 + ENOUGH)
    tries = [points]
    repeats = 1 if fine["spent"] > 1 else 3
    tries += [traced(bench, stem, limit, *more, "--tolerance", ENOUGH)[1] for _ in range(repeats)]
    times = [time for time in (reach(points, enough) for points in tries) if time is not None]
    gap = fine["relative_gap"]
    is_optimum = gap is not None and gap <= ENOUGH
    return {"seconds": min(times, default=None) if is_optimum else None, "enough": enough,
            "summary": {name: fine.get(name) for name in KEPT}}


def sets(bench):
    """Each set once: arrays of text are those of its classes or of its numbers."""
    return [(entry, bench.work / f"{entry['stem']}.npz") for entry in bench.sets()]


def against_sparse(bench, peers):
    """All sets, models and lambdas; a run of a peer may take --peer-time seconds, a set ten times that."""
    python, cells, left_out = peers.python, [], 0
    install(python)
    for entry, npz in sets(bench):
        if bench.late():
            left_out += 1
            continue
        problems = list(problems_of(bench, npz, python, entry["kind"]))
        for problem in problems:
            problem |= {"towline": by_towline(bench, entry["stem"], problem)}
        asked = [problem | {"enough": problem["towline"]["enough"]} for problem in problems if problem["towline"]["enough"]]
        lists = {}
        for peer in PEERS:
            plain = json.dumps([{key: each[key] for key in ("loss", "share", "alpha", "enough")} for each in asked])
            seconds = bench.options.peer_time
            lists[peer] = results([python, HERE / "solver_sparse_peers.py", peer, npz, seconds, plain], 10 * seconds)
        for k, problem in enumerate(asked):
            found = {peer: lists[peer][k] if k < len(lists[peer]) else None for peer in PEERS}
            cells.append(problem | {"set": f"{entry['set']} {entry['scale']}", "peers": found})
            show(bench, cells[-1])
    bench.facts += cells
    if left_out:
        bench.notes.append(f"{left_out} sets were left out, --limit-seconds was over.")
    conclude(bench, cells)


def times(cell):
    """Seconds of the peers that got there."""
    return {peer: run["seconds"] for peer, run in cell["peers"].items() if run and run["reached"]}


def ratio(cell):
    """The time of the best peer over Towline's; none where neither got there, or Towline alone did."""
    ours, theirs = cell["towline"]["seconds"], times(cell).values()
    if ours is None or not theirs:
        return None
    return max(min(theirs), LEAST_SECONDS) / max(ours, LEAST_SECONDS)


def show(bench, cell):
    of_peers = []
    for peer in PEERS:
        run = cell["peers"][peer]
        if not run:
            of_peers.append("not in time")
        elif run["reached"]:
            of_peers.append(f"{run['seconds']:.4f} s")
        else:
            above = run["objective"] / cell["enough"] * (1 + ENOUGH) - 1 if run["objective"] is not None else float("nan")
            of_peers.append(f"{above:.0e} above after {run['seconds']:.2f} s" if run["seconds"] is not None else "failed")
    ours = cell["towline"]["seconds"]
    found = ratio(cell)
    shown = f"{found:.2g}" if found is not None else "Towline alone" if ours is not None else "-"
    bench.row(cell["set"], cell["model"], f"{cell['part']:g} of the largest",
              f"{ours:.4f} s ({cell['towline']['summary']['solver']})" if ours is not None else "not reached", *of_peers, shown)


def conclude(bench, cells):
    """Geometric means, for each peer and against the best of them."""
    for name in MODELS:
        some = [cell for cell in cells if cell["model"] == name]
        rated = [found for found in map(ratio, some) if found is not None]
        if not rated:
            continue
        long = [cell for cell in some if ratio(cell) is not None and min(times(cell).values()) >= NOTABLE_SECONDS]
        text = f"{name}: geometric mean {mean(rated):.2g} against the best of the three, {len(rated)} cells"
        if long:
            text += f"; {mean(list(map(ratio, long))):.2g} of the {len(long)} in which that takes 10 ms or more"
        bench.notes.append(text + f"; worst {min(rated):.2g}")
        alone = sum(cell["towline"]["seconds"] is not None and not times(cell) for cell in some)
        lost = sum(cell["towline"]["seconds"] is None for cell in some)
        bench.notes.append(f"{name}: of {len(some)} cells {alone} were reached by Towline alone, {lost} not by Towline")
    for peer in PEERS:
        both = [cell for cell in cells if peer in times(cell) and cell["towline"]["seconds"] is not None]
        if both:
            each = [max(times(cell)[peer], LEAST_SECONDS) / max(cell["towline"]["seconds"], LEAST_SECONDS) for cell in both]
            bench.notes.append(f"{peer}: geometric mean {mean(each):.2g} of {len(both)} cells that both reached; "
                               f"it did not reach {sum(peer not in times(cell) for cell in cells)} of {len(cells)}")
