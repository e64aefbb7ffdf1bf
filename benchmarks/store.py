#!/usr/bin/env python3
"""Measures the store against its peers, in one run, and writes a dated record.

    benchmarks/store.py --sparse kernel.train --dense digits.train

Needs Rust, Python 3.9 and a network (once, for the peers); Debian's liblinear-tools for LIBLINEAR's own reader; root or a
delegated control group for the run under a memory limit. What is missing is left out and the record says so.

What is timed, always from the start to the end of a process unless stated, with the input in the page cache:
  pack       towline pack, everything included: parsing, counting, renumbering, encoding, writing, syncing.
  LIBLINEAR  liblinear-train -e 0. It reads the whole file with its own C code, then refuses the tolerance 0 and ends before it
             solves anything: the pure time of its reader. Without liblinear-train the Python reader of liblinear-official
             stands in for it (the call alone, without the start of Python), and the record says so.
  sklearn    sklearn.datasets.load_svmlight_file, the call alone.
  VW         python -m vowpalwabbit --cache_file, with --noop: parsing and writing the cache, no learning. Its input has " |" after
             the label; that file is made beforehand and not timed.
  read       all blocks, read and decoded into resident rows by one thread (examples/read_store.rs).
  rows       dot product and addition per row against loops written by hand (examples/row_kernels.rs).
  limited    towline pack --memory 192M in a control group of 256 MiB, and the same without either limit. The input is dropped
             from the page cache before both, since cached pages would not be charged to the group.
The programs take turns, REPEATS times; the record gives medians and ratios of medians.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import statistics
import sys

from common import (
    HERE,
    ROOT,
    Failed,
    add_common,
    build,
    drop_from_cache,
    machine,
    peers,
    read_through,
    remove,
    table,
    timed,
    versions,
)

TEXT_READERS = ("svm", "libsvm", "svmlight", "train", "test", "txt", "")


def arguments():
    parser = argparse.ArgumentParser(description="Measures the store against its peers and writes a dated record.")
    parser.add_argument("--sparse", help="libsvm text with many features, such as kernel.train")
    parser.add_argument("--dense", help="a dense set: libsvm text, or any file that towline reads")
    parser.add_argument("--pack-options", default="", help="more options of towline pack for --dense, such as '--label Cover_Type'")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="threads of towline pack")
    add_common(parser)
    options = parser.parse_args()
    if not options.sparse and not options.dense:
        parser.error("name at least one data set; benchmarks/README.md says how to make them")
    return options


# --- programs ---------------------------------------------------------------------------------------------------------


SKLEARN = """
import sys, time
from sklearn.datasets import load_svmlight_file
begin = time.perf_counter()
x, y = load_svmlight_file(sys.argv[1])
print(time.perf_counter() - begin, x.nnz)
"""

LIBLINEAR = """
import sys, time
from liblinear.liblinearutil import svm_read_problem
begin = time.perf_counter()
y, x = svm_read_problem(sys.argv[1], return_scipy=True)
print(time.perf_counter() - begin, x.nnz)
"""


class Bench:
    """One data set and everything that is measured on it."""

    def __init__(self, path, more, options, towline, examples, python, work):
        self.path, self.more, self.options, self.towline, self.examples = path, more, options, towline, examples
        self.python, self.work = python, work
        self.store, self.cache, self.marked = work / "bench.tow", work / "bench.cache", work / "bench.vw"
        self.seconds, self.facts, self.notes, self.commands = {}, {}, [], {}

    def note(self, name, seconds, command):
        self.seconds.setdefault(name, []).append(seconds)
        self.commands[name] = " ".join(self.shown(str(part)) for part in command)
        print(f"  {name}: {seconds:.2f} s", file=sys.stderr)

    def shown(self, part):
        """Commands without the folders of this machine."""
        for path, short in ((self.work, ""), (pathlib.Path(self.path).resolve().parent, ""), (self.towline.parent, ""),
                            (self.examples, ""), (HERE, "benchmarks")):
            part = part.replace(f"{path}/", f"{short}/" if short else "")
        return "python" if self.python and part == str(self.python) else part

    def pack(self, name, prefix=(), extra=()):
        remove(self.store)
        command = [*prefix, self.towline, "pack", self.path, "-o", self.store, "--json", "--threads", self.options.threads,
                   *self.more, *extra]
        seconds, out, error = timed(command)
        self.note(name, seconds, command)
        return json.loads(out), error

    def liblinear(self):
        if shutil.which("liblinear-train"):
            command = ["liblinear-train", "-e", "0", self.path, os.devnull]
            seconds, _, error = timed(command, expect=1)
            if "eps <= 0" not in error:
                raise Failed(f"liblinear-train ended otherwise than planned: {error[-500:]}")
            self.note("LIBLINEAR", seconds, command)
        else:
            self.remark("liblinear-train is not installed (Debian: liblinear-tools): the Python reader of liblinear-official stands in.")
            _, out, _ = timed([self.python, "-c", LIBLINEAR, self.path])
            self.note("LIBLINEAR", float(out.split()[0]), ["svm_read_problem", self.path, "return_scipy=True"])

    def sklearn(self):
        _, out, _ = timed([self.python, "-c", SKLEARN, self.path])
        self.note("scikit-learn", float(out.split()[0]), ["load_svmlight_file", self.path])

    def vowpal_wabbit(self):
        remove(self.cache)
        command = [self.python, "-m", "vowpalwabbit", "--noop", "--quiet", "-k", "-d", self.marked, "--cache_file", self.cache]
        seconds, _, _ = timed(command)
        self.note("Vowpal Wabbit", seconds, command)
        self.facts["vw_cache_bytes"] = self.cache.stat().st_size

    def remark(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def attempt(self, what):
        """A peer that fails is left out; ours may not fail."""
        try:
            what()
        except (Failed, OSError, ValueError) as error:
            self.remark(f"{what.__name__} was left out: {self.shown(str(error).strip().splitlines()[-1][:200])}")

    def limited(self):
        """Under a limit and without, both from a cold input."""
        drop_from_cache(self.path)
        self.pack("pack, cold input")
        drop_from_cache(self.path)
        try:
            packed, error = self.pack("pack, limited", prefix=[HERE / "limited", "256M", "--"], extra=["--memory", "192M"])
        except Failed as failed:
            if failed.code != 125:  # 125: no control groups here
                raise
            return self.remark(str(failed).splitlines()[-1])
        self.facts["limited_peak_memory_bytes"] = packed["peak_memory_bytes"]
        found = re.search(r"peak_bytes=(\d+) oom_kills=(\d+)", error)
        if found:
            self.facts["limited_group_peak_bytes"] = int(found[1])

    def example(self, name, *more):
        command = [self.examples / name, self.store, *more]
        _, out, _ = timed(command)
        self.commands[name] = " ".join(self.shown(str(part)) for part in command)
        return json.loads(out)

    def run(self):
        is_text = pathlib.Path(self.path).suffix.lstrip(".") in TEXT_READERS
        if self.python and is_text:
            with open(self.path, "rb") as plain, open(self.marked, "wb", buffering=1 << 22) as marked:
                marked.writelines(line.replace(b" ", b" | ", 1) for line in plain)
        reads, kernels = [], []
        for repeat in range(self.options.repeats):
            print(f"{os.path.basename(self.path)}: repeat {repeat + 1} of {self.options.repeats}", file=sys.stderr)
            self.limited()
            read_through(self.path)
            self.facts.update(self.pack("pack")[0])
            reads.append(self.example("read_store", 3))
            kernels.append(self.example("row_kernels", 15))
            if self.python and is_text:
                self.attempt(self.liblinear)
                self.attempt(self.sklearn)
                read_through(self.marked)
                self.attempt(self.vowpal_wabbit)
        if self.python and not is_text:
            self.remark("The peers read libsvm text only.")
        self.facts["read_gb_per_second"] = statistics.median(r["decoded_gb_per_second"] for r in reads)
        self.facts["row_ratio"] = statistics.median(k["ratio"] for k in kernels)
        self.facts["row_values_per_second"] = statistics.median(k["values_per_second"] for k in kernels)
        self.facts["layout"] = kernels[0]["layout"]
        self.facts["reads"], self.facts["kernels"] = reads, kernels
        for path in (self.store, self.cache, self.marked):
            remove(path)

    def median(self, name):
        return statistics.median(self.seconds[name]) if name in self.seconds else None


# --- the record -------------------------------------------------------------------------------------------------------


def rows(bench):
    """What, measured, ratio, must reach (for the kernel data)."""
    facts, pack = bench.facts, bench.median("pack")
    text_bytes = os.path.getsize(bench.path)
    yield "pack, text to store", f"{pack:.2f} s, {text_bytes / pack / 1e6:.0f} MB/s", "1", ""
    for peer, what in (
        ("LIBLINEAR", "LIBLINEAR reads the text"),
        ("scikit-learn", "scikit-learn reads the text"),
        ("Vowpal Wabbit", "Vowpal Wabbit writes its cache"),
    ):
        seconds = bench.median(peer)
        if seconds:
            goal = "at least 6" if peer == "LIBLINEAR" else ""
            yield what, f"{seconds:.2f} s, {text_bytes / seconds / 1e6:.0f} MB/s", f"{seconds / pack:.2f} x pack", goal
    share, each = facts["store_bytes"] / text_bytes, facts["store_bytes"] / facts["values"]
    yield "size of the store", f"{facts['store_bytes'] / 1e6:.1f} MB, {each:.2f} bytes a value", f"{share:.3f} of the text", "at most 0.25; 5 bytes"
    if "vw_cache_bytes" in facts:
        yield "size of Vowpal Wabbit's cache", f"{facts['vw_cache_bytes'] / 1e6:.1f} MB", f"{facts['vw_cache_bytes'] / text_bytes:.3f} of the text", ""
    yield "read + decode, one thread, warm", f"{facts['read_gb_per_second']:.2f} GB/s of decoded rows", "", "at least 1.2"
    yield "row dot + add", f"{facts['row_values_per_second'] / 1e6:.0f} M values/s", f"{facts['row_ratio']:.3f} of a loop by hand", "at most 1.10"
    limited, cold = bench.median("pack, limited"), bench.median("pack, cold input")
    if limited:
        peak = f"{facts['limited_peak_memory_bytes'] / 2**20:.0f} MiB resident"
        yield "pack --memory 192M in a group of 256 MiB", f"{limited:.2f} s, {peak}", f"{limited / cold:.2f} x unlimited ({cold:.2f} s, cold)", "at most 1.5"


def markdown(date, facts, found, benches, options):
    text = [f"# The store, {date}\n"]
    gigabytes = facts["memory_bytes"] / 2**30
    text.append(f"{facts['processor']}, {facts['cores']} cores, {gigabytes:.0f} GiB, {facts['system']}. "
                f"Medians of {options.repeats} runs that took turns; `towline pack` with {options.threads} threads. "
                "`benchmarks/store.py` says what exactly is timed.\n")
    text.append(table(["program", "version"], found.items()))
    for bench in benches:
        f = bench.facts
        size = os.path.getsize(bench.path) / 1e6
        text.append(f"## {os.path.basename(bench.path)}\n")
        kind = ("dense" if f["layout"]["dense"] else "sparse") + ", " + f["layout"]["values"]
        text.append(f"{size:,.1f} MB, {f['rows']:,} rows, {f['features']:,} features seen, {f['values']:,} values; {kind} in memory.\n")
        text.append(table(["what", "measured", "ratio", "must reach"], rows(bench)))
        text.append("All seconds:\n")
        text.append(table(["run", "seconds"], [(n, ", ".join(f"{s:.2f}" for s in v)) for n, v in bench.seconds.items()]))
        if bench.notes:
            text.append("\n".join(f"- {note}" for note in bench.notes) + "\n")
        text.append("```\n" + "\n".join(f"{name}: {command}" for name, command in bench.commands.items()) + "\n```\n")
    return "\n".join(text)


def main():
    options = arguments()
    towline, examples = build(options)
    python = peers(options)
    work = pathlib.Path(options.work or ROOT / "target/bench").resolve()
    work.mkdir(parents=True, exist_ok=True)
    benches = []
    for path, more in ((options.sparse, ""), (options.dense, options.pack_options)):
        if path:
            bench = Bench(os.path.abspath(path), more.split(), options, towline.resolve(), examples.resolve(), python, work)
            bench.run()
            benches.append(bench)
    date = datetime.date.today().isoformat()
    facts, found = machine(), versions(towline, python)
    records = pathlib.Path(options.records)
    records.mkdir(parents=True, exist_ok=True)
    sets = {os.path.basename(b.path): {"seconds": b.seconds, "commands": b.commands, "notes": b.notes, **b.facts} for b in benches}
    record = {"schema": 1, "date": date, "machine": facts, "versions": found, "repeats": options.repeats, "data": sets}
    (records / f"{date}-store.json").write_text(json.dumps(record, indent=1) + "\n")
    (records / f"{date}-store.md").write_text(markdown(date, facts, found, benches, options))
    print((records / f"{date}-store.md").read_text())


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"store.py: {error}")
