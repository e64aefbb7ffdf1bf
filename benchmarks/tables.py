#!/usr/bin/env python3
"""Tables and text as people have them, against pipelines of scikit-learn. Writes a dated record.

    benchmarks/table_sets.py FOLDER --flights … --kddcup99 … --covtype … --census … --news … --kernel …
    benchmarks/tables.py --work FOLDER [scores text packing predict]

Everybody has all cores and all memory unless said otherwise, and a process of its own; peaks are those of the kernel.

  scores   `towline train FILE --label NAME` and no other option against the best of the pipelines of table_pipelines.py,
           each of which a person wrote for its table. Scores are of test rows: the area under the ROC curve for two
           classes, accuracy for more, root mean square error for numbers. Seconds are from the text file to the model.
  text     the kernel's sources, words and pairs of them, tf-idf, to a model in 512 MB, against TfidfVectorizer and
           LogisticRegression.
  packing  `pack` with preparation against `pack --scale none --absent zero`, each the shortest of three.
  predict  rows a second, CSV in and CSV out, against reading, transforming and predicting in the pipeline: the rows of
           the training file, which is the larger one. Each is the shortest of three for Towline, which starts a process
           and loads its model each time, and one run in a process that is there already for the pipeline.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import common
from record import Record

LABELS = {"flights": "ArrDel15", "kddcup99": "c42", "census": "c42", "german": "credit_risk", "covtype": "Cover_Type",
          "debian-size": "size", "debian-section": "section", "shop": "spent", "news": "group", "kernel": "class"}
SCORES = {"flights": "auc", "census": "auc", "german": "auc", "debian-size": "rmse", "shop": "rmse"}
MODELS = {"numbers": ["ridge"], "classes": ["logistic", "svc"]}
PARTS = ["scores", "text", "packing", "predict"]
MOST_POINTS, MOST_PART = 0.005, 0.01


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="what to measure [all]")
    parser.add_argument("--sets", help="only these tables, with commas between them")
    parser.add_argument("--peer-time", type=float, default=900.0, help="most seconds of a pipeline [900]")
    parser.add_argument("--record", default="tables", help="the end of the record's name; none writes none")
    common.add_common(parser)
    return parser.parse_args()


def measured(command, limit=3600):
    """Seconds, peak bytes, standard output and processor seconds of a command; nothing if it did not end in time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        begin = time.perf_counter()
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=error)
        late = threading.Timer(limit, process.kill)
        late.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds, was_late = time.perf_counter() - begin, not late.is_alive()
        late.cancel()
        code = process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        error.seek(0)
        if was_late:
            return None
        if code not in (0, 5):
            words = error.read().decode(errors="replace").strip()[-500:]
            raise common.Failed(f"{' '.join(map(str, command))}: exit code {code}\n{words}")
        processor = usage.ru_utime + usage.ru_stime
        return seconds, usage.ru_maxrss * 1024, out.read().decode(errors="replace"), processor


class Bench(Record):
    def __init__(self, options):
        super().__init__("Tables and text", "`benchmarks/tables.py` says what exactly is measured.")
        self.options, self.work = options, pathlib.Path(options.work)
        target = pathlib.Path(options.target or common.ROOT / "target")
        self.towline = pathlib.Path(options.towline or target / "release/towline")
        self.python = common.peers(options)

    def sets(self):
        wanted = self.options.sets.split(",") if self.options.sets else list(LABELS)
        return [name for name in wanted if (self.work / f"{name}.train.csv").exists()]

    def file(self, name, part="train"):
        return self.work / f"{name}.{part}.csv"

    def train(self, name, *more):
        """Seconds, peak and summary of a run from the text file; what was packed before is removed."""
        for left in (f"{name}.train.csv.tow", f"{name}.towm", f"{name}.towm.duals"):
            common.remove(self.work / left)
        command = [self.towline, "train", self.file(name), "--label", LABELS[name], "-o", self.work / f"{name}.towm",
                   "--json", "-q", *more]
        seconds, peak, out, _ = measured(command)
        return seconds, peak, json.loads(out)

    def score(self, name):
        command = [self.towline, "eval", self.work / f"{name}.towm", self.file(name, "test"), "--json"]
        return json.loads(common.timed(command)[1])[measure(name)]

    def pipeline(self, name, model):
        """What a pipeline found, with its peak; nothing if it did not end."""
        script = common.HERE / "table_pipelines.py"
        command = [self.python, "-W", "ignore", script, self.work, name, model]
        found = measured(command, self.options.peer_time)
        return found and json.loads(found[2].rpartition("RESULT ")[2]) | {"peak": found[1], "model": model}


def measure(name):
    return SCORES.get(name, "accuracy")


def scores(bench):
    for name in bench.sets():
        if name == "kernel":
            continue
        kind = "numbers" if measure(name) == "rmse" else "classes"
        with bench.part(name):
            seconds, peak, summary = bench.train(name)
            score = bench.score(name)
            all_found = [bench.pipeline(name, model) for model in MODELS[kind]]
            compare(bench, name, (score, seconds, peak, summary["status"]), [found for found in all_found if found])


def compare(bench, name, ours, peers):
    """A row: the best pipeline counts."""
    score, seconds, peak, status = ours
    is_error = measure(name) == "rmse"
    best = (min if is_error else max)(peers, key=lambda found: found["score"])
    behind = score / best["score"] - 1 if is_error else best["score"] - score
    is_met = behind <= (MOST_PART if is_error else MOST_POINTS)
    bench.facts.append({"set": name, "score": score, "seconds": seconds, "peak": peak, "status": status, "peers": peers})
    text = f"{100 * behind:+.2f} " + ("% of the error" if is_error else "points")
    bench.row(f"{name}: {measure(name)}", f"{score:.4f}", f"{best['score']:.4f} ({best['model']})",
              f"behind by {text}" if is_met else f"**behind by {text}**",
              "at most 1 %" if is_error else "at most 0.5 points")
    bench.row(f"{name}: seconds, text to model", f"{seconds:.2f} s, {status}", f"{best['seconds']:.2f} s",
              f"{best['seconds'] / seconds:.1f}", "above 1")
    bench.row(f"{name}: peak memory", f"{peak / 2**20:.0f} MiB", f"{best['peak'] / 2**20:.0f} MiB",
              f"{best['peak'] / peak:.1f}", "at least 3")


def text(bench):
    if "kernel" not in bench.sets():
        return
    size = bench.file("kernel").stat().st_size
    seconds, peak, _ = bench.train("kernel", "--text", "text:words=1-2,min=2", "--memory", "512M")
    score, found = bench.score("kernel"), bench.pipeline("kernel", "logistic")
    what = f"kernel, {size / 1e9:.2f} GB of text, words and pairs, 512 MB"
    if found is None:
        limit = bench.options.peer_time
        bench.row(f"{what}: seconds", f"{seconds:.1f} s", f"not in {limit:.0f} s", f"> {limit / seconds:.1f}", "5")
        return
    bench.facts.append({"set": "kernel", "score": score, "seconds": seconds, "peak": peak, "peers": [found]})
    bench.row(f"{what}: seconds", f"{seconds:.1f} s", f"{found['seconds']:.1f} s", f"{found['seconds'] / seconds:.1f}", "5")
    bench.row("kernel: accuracy", f"{score:.4f}", f"{found['score']:.4f}",
              f"behind by {100 * (found['score'] - score):+.2f} points", "at most 0.2 points")
    bench.row("kernel: peak memory", f"{peak / 2**20:.0f} MiB", f"{found['peak'] / 2**20:.0f} MiB",
              f"{found['peak'] / peak:.1f}")


def packing(bench):
    for name in bench.sets():
        if name == "kernel":
            continue
        def best(*more):
            command = [bench.towline, "pack", bench.file(name), "--label", LABELS[name], "-o", bench.work / "packed.tow",
                       "--force", "-q", *more]
            return min(common.timed(command)[0] for _ in range(3))
        prepared, plain = best(), best("--scale", "none", "--absent", "zero")
        bench.facts.append({"set": name, "prepared": prepared, "plain": plain})
        bench.row(f"{name}: packing with preparation", f"{prepared:.3f} s", f"{plain:.3f} s without",
                  f"{prepared / plain:.2f}", "at most 1.5")


def predict(bench):
    """Models are those of the scores."""
    for name in bench.sets():
        model = bench.work / f"{name}.towm"
        known = next((fact for fact in bench.facts if fact["set"] == name and fact.get("peers")), None)
        if name == "kernel" or not model.exists() or not known:
            continue
        out = bench.work / f"{name}.predicted.csv"
        common.remove(out)
        command = [bench.towline, "predict", model, bench.file(name), "-o", out]
        found = min((measured(command) for _ in range(3)), key=lambda found: found[0])
        seconds, cpu = found[0], found[3]
        peer = min(known["peers"], key=lambda found: found["predict_seconds"])
        rows = peer["rows"]
        bench.facts.append({"set": name, "predict_seconds": seconds, "predict_cpu": cpu, "predict_peer": peer})
        bench.row(f"{name}: rows a second, predicting", f"{rows / seconds:,.0f}", f"{rows / peer['predict_seconds']:,.0f}",
                  f"{peer['predict_seconds'] / seconds:.1f}", "10")
        bench.row(f"{name}: rows a processor second, predicting", f"{rows / cpu:,.0f}", f"{rows / peer['predict_cpu']:,.0f}",
                  f"{peer['predict_cpu'] / cpu:.1f}")


def main():
    options = arguments()
    if not options.work:
        sys.exit("name the folder that table_sets.py has filled with --work")
    os.environ.setdefault("PYTHONHASHSEED", "0")
    bench = Bench(options)
    for part in options.parts or PARTS:
        with bench.part(part):
            {"scores": scores, "text": text, "packing": packing, "predict": predict}[part](bench)
    if options.record != "none":
        bench.write(options.records, options.record, common.versions(bench.towline, bench.python))


if __name__ == "__main__":
    main()
