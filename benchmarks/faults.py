#!/usr/bin/env python3
"""Attacks on small runs of every verb: failing system calls, kills, damaged and forged files, races, full disks, loss of power.

    python3 benchmarks/faults.py --towline target/release/towline --seed 1 --seconds 3600

Whatever happens, old outputs are intact or new ones complete, and nothing panics, hangs or is killed by a signal. Needs `strace` and, for short writes, a C
compiler. The parts share the time; a part that has tried everything ends early. `--only calls,kills` runs some of them.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import common
import fault_power
from fault_bench import CODES, VERBS, Bench, lists_of_files
from record import Record

ERRORS = {
    "write": ("ENOSPC", "EIO", "EINTR"), "pwrite64": ("ENOSPC", "EIO", "EINTR"), "fsync": ("EIO", "ENOSPC"), "openat": ("EIO", "ENOSPC", "EMFILE"),
    "rename": ("EIO", "ENOSPC"), "renameat": ("EIO", "ENOSPC"), "renameat2": ("EIO", "ENOSPC"), "unlink": ("EIO",), "unlinkat": ("EIO",),
    "ftruncate": ("EIO",), "fallocate": ("ENOSPC",), "mkdir": ("ENOSPC",), "read": ("EIO", "EINTR"), "pread64": ("EIO", "EINTR"), "flock": ("EINTR",),
}
# Every write that is longer than a byte writes half of what it was asked for.
SHORT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static size_t half(size_t n) { return n > 1 ? (n + 1) / 2 : n; }
ssize_t write(int f, const void *b, size_t n) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return real(f, b, half(n));
}
ssize_t pwrite64(int f, const void *b, size_t n, off64_t at) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return real(f, b, half(n), at);
}
ssize_t read(int f, void *b, size_t n) {
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, "read");
    return real(f, b, half(n));
}
"""


class Campaign:
    def __init__(self, bench, seed, seconds):
        self.bench, self.random, self.seconds = bench, random.Random(seed), seconds
        self.counts, self.failures = {}, []

    def note(self, part, verb, what, wrong):
        done = self.counts.setdefault(part, [0, 0])
        done[0] += 1
        if wrong:
            done[1] += 1
            self.failures.append({"part": part, "verb": verb, "fault": what, "wrong": wrong})
            print(f"  {part}: {verb}: {what}: {wrong}", file=sys.stderr)

    # Every call of every verb fails once in every way.
    def calls(self, until):
        bench, log = self.bench, self.bench.folder / "calls"
        points = []
        for verb, (arguments, _) in VERBS.items():
            bench.reset()
            bench.run(arguments.split(), ["strace", "-f", "-qq", "-e", "trace=" + ",".join(ERRORS), "-o", str(log)])
            # Each thread has its own count.
            counts = {}
            for line in log.read_text(errors="replace").splitlines():
                words = line.split("(")[0].split()
                if len(words) == 2 and words[1] in ERRORS:
                    counts.setdefault((words[1], words[0]), []).append(1)
            most = {}
            for (call, _), found in counts.items():
                most[call] = max(most.get(call, 0), len(found))
            points += [(verb, call, k, error) for call, count in most.items() for k in range(1, count + 1) for error in ERRORS[call]]
        self.random.shuffle(points)
        for number, (verb, call, k, error) in enumerate(points):
            if time.time() > until:
                return f"{number:,} of {len(points):,} fault points"
            bench.reset()
            inject = f"inject={call}:error={error}:when={k}"
            ended = bench.run(VERBS[verb][0].split(), ["strace", "-f", "-qq", "-o", "/dev/null", "-e", inject])
            self.note("failing calls", verb, inject, bench.judge(verb, ended) or bench.judge_again(verb))
        return f"all {len(points):,} fault points"

    def short(self, until):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "short.c"), pathlib.Path(folder, "short.so")
            source.write_text(SHORT)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            for verb, (arguments, _) in VERBS.items():
                self.bench.reset()
                ended = self.bench.run(arguments.split(), environment={**os.environ, "LD_PRELOAD": str(library)})
                wrong = self.bench.judge(verb, ended) or (None if ended.returncode in (0, 5) else f"ends with {ended.returncode}")
                self.note("short reads and writes", verb, "half of each", wrong)
        return "every verb"

    def kills(self, until):
        bench, took = self.bench, {}
        while time.time() < until:
            verb = self.random.choice(list(VERBS))
            arguments = VERBS[verb][0].split()
            bench.reset()
            begin = time.time()
            if verb not in took:
                bench.run(arguments)
                took[verb] = time.time() - begin
                continue
            number = self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
            after = self.random.uniform(0, 1.1 * took[verb])
            process = subprocess.Popen([bench.towline, *arguments], cwd=bench.here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                _, said = process.communicate(timeout=after)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                _, said = process.communicate()
            # Before the handler is there, and in verbs without one, the signal itself ends the process.
            killed = process.returncode == -number
            ended = subprocess.CompletedProcess(arguments, process.returncode, "", said)
            self.note("kills", verb, f"{number.name} after {after:.3f} s", bench.judge(verb, ended, killed) or bench.judge_again(verb))
        return ""

    # A flipped bit, another length: what is read from it is what was there, or nothing.
    def damage(self, until):
        bench = self.bench
        bench.reset()
        for arguments in ("index a.tow -q", "predict m.towm more.svm -o p.txt"):
            bench.run(arguments.split())
        # Dual variables are only a start for the next run.
        files = [p.relative_to(bench.here) for p in lists_of_files(bench.here) if p.parts[-1] not in ("first.svm", "more.svm", "p.txt") and "duals" not in p.name]
        readers = [["verify", "a.tow"], ["cat", "a.tow"], ["predict", "m.towm", "more.svm"], ["train", "a.tow", "-o", "x.towm", "-q"], ["info", "a.tow"]]
        whole = {tuple(r): bench.run(r) for r in readers}
        pristine = {path: (bench.here / path).read_bytes() for path in files}
        while time.time() < until:
            path = self.random.choice(files)
            data = bytearray(pristine[path])
            kind = self.random.choice(["flip", "flip", "flip", "cut", "longer"])
            at = self.random.randrange(len(data)) if data else 0
            if kind == "flip" and data:
                data[at] ^= 1 << self.random.randrange(8)
            elif kind == "cut":
                data = data[:at]
            else:
                data += bytes(self.random.randrange(256) for _ in range(self.random.choice([1, 8, 4096])))
            (bench.here / path).write_bytes(data)
            reader = self.random.choice(readers)
            ended = bench.run(reader)
            wrong = None
            if ended.returncode not in CODES or "panicked" in ended.stderr:
                wrong = f"{reader[0]} ends with {ended.returncode}: {ended.stderr[-200:]}"
            elif ended.returncode == 0 and reader[0] in ("cat", "predict") and ended.stdout != whole[tuple(reader)].stdout:
                wrong = f"{reader[0]} says something else"
            self.note("damaged files", str(path), f"{kind} at {at}, {reader[0]}", wrong)
            (bench.here / path).write_bytes(pristine[path])
            (bench.here / "x.towm").unlink(missing_ok=True)
        return ""

    # Numbers of a manifest changed under a right checksum.
    def forged(self, until):
        bench = self.bench
        bench.reset()
        path = bench.here / "a.tow" / "manifest.json"
        pristine = path.read_bytes()
        readers = [["verify", "a.tow"], ["cat", "a.tow"], ["train", "a.tow", "-o", "x.towm", "-q", "--max-passes", "5"], ["info", "a.tow"], ["plan", "a.tow"],
                   ["pack", "more.svm", "-o", "a.tow", "--append", "-q"]]
        while time.time() < until:
            manifest = json.loads(pristine)["manifest"]
            place, key = self.leaf(manifest)
            place[key] = self.random.choice([0, 1, 2**31, 2**32, 2**53, 2**63, -1, 1e308, None, "", "x" * 5000, [], {}, True, place[key]])
            text = json.dumps(manifest, separators=(",", ":"))
            path.write_text('{"crc32c":"%08x","manifest":%s}\n' % (crc32c(text.encode()), text))
            reader = self.random.choice(readers)
            ended = bench.run([*reader])
            wrong = None
            if ended.returncode not in CODES or "panicked" in ended.stderr:
                wrong = f"{reader[0]} ends with {ended.returncode}: {ended.stderr[-200:]}"
            self.note("forged manifests", reader[0], f"{key}: {str(place[key])[:30]}", wrong)
            if reader[0] == "pack":
                bench.reset()
            path.write_bytes(pristine)
        return ""

    def leaf(self, node):
        while True:
            keys = list(node.keys()) if isinstance(node, dict) else list(range(len(node)))
            key = self.random.choice(keys)
            if not isinstance(node[key], (dict, list)) or not node[key]:
                return node, key
            node = node[key]

    # Two runs to one output: each ends with what it was asked for, or says why not.
    def races(self, until):
        bench = self.bench
        verbs = [verb for verb, (_, name) in VERBS.items() if name]
        while time.time() < until:
            verb = self.random.choice(verbs)
            arguments = VERBS[verb][0].split()
            bench.reset()
            start = lambda: subprocess.Popen([bench.towline, *arguments], cwd=bench.here, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            first = start()
            time.sleep(self.random.choice([0, 0, 0.01, 0.05]))
            both = [first, start()]
            said = [process.communicate()[1] for process in both]
            wrong = None
            for process, text in zip(both, said):
                if process.returncode not in CODES or "panicked" in text:
                    wrong = f"ends with {process.returncode}: {text[-200:]}"
            if not wrong and not any(process.returncode in (0, 5) for process in both):
                wrong = f"neither is done: {said}"
            self.note("two at once", verb, "the same command twice", wrong or bench.judge_files(verb, 0))
        return ""

    # A file system of a few blocks more or less than what is needed.
    def full(self, until):
        bench, mount = self.bench, self.bench.folder / "small"
        mount.mkdir(exist_ok=True)
        while time.time() < until:
            verb = self.random.choice([verb for verb, (_, name) in VERBS.items() if name])
            need = sum(path.stat().st_blocks for path in bench.template.rglob("*")) // 8 + 8
            pages = need + self.random.randrange(1, 60)
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs", mount], capture_output=True).returncode:
                return "no tmpfs can be mounted here"
            try:
                here, bench.here = bench.here, mount / "here"
                try:
                    bench.reset()
                except (shutil.Error, OSError):
                    continue
                ended = bench.run(VERBS[verb][0].split())
                self.note("full disks", verb, f"{pages} pages", self.judge_full(verb, ended))
            finally:
                bench.here = here
                subprocess.run(["umount", mount], check=True)
        return ""

    def judge_full(self, verb, ended):
        """What is there is judged elsewhere: reading it may take room that is not there."""
        bench, small = self.bench, self.bench.here
        if ended.returncode is None or ended.returncode not in CODES or "panicked" in ended.stderr:
            return f"ends with {ended.returncode}: {ended.stderr[-200:]}"
        copy = bench.folder / "copied"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(small, copy, symlinks=True)
        return bench.judge_files(verb, ended.returncode, copy)

    def power(self, until):
        bench, log, states = self.bench, self.bench.folder / "log", 0
        for verb, (arguments, name) in VERBS.items():
            if not name or time.time() > until:
                continue
            bench.reset()
            # The log is of a run from here on: where it begins is on disk.
            root, kept = bench.here, bench.folder / "kept"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(root, kept, symlinks=True)
            bench.run(arguments.split(), ["strace", "-f", "-qq", "-y", "-xx", "-s", "4000000", "-e", "trace=" + fault_power.CALLS, "-o", str(log)])
            shutil.rmtree(root)
            kept.rename(root)
            for folder, line in fault_power.replay(log, root, bench.folder / "after"):
                states += 1
                self.note("losses of power", verb, line[:60], bench.judge_files(verb, None, folder))
                if time.time() > until:
                    break
        return f"{states:,} states"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# Parts and their shares of the time.
PARTS = {"calls": 30, "short": 5, "kills": 20, "damage": 15, "forged": 10, "races": 8, "full": 4, "power": 8}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towline", default="target/release/towline")
    parser.add_argument("--work", default="target/faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--records", default="benchmarks/records")
    arguments = parser.parse_args()
    campaign = Campaign(Bench(arguments.towline, pathlib.Path(arguments.work).resolve()), arguments.seed, arguments.seconds)
    says = f"Seed {arguments.seed}. Small runs of {len(VERBS)} commands; `benchmarks/faults.py` says what is tried and what is judged."
    record = Record("Faults", says, ("fault", "tried", "wrong", "which"))
    names = arguments.only.split(",")
    whole = sum(PARTS[name] for name in names)
    for name in names:
        before = dict((part, list(counts)) for part, counts in campaign.counts.items())
        with record.part(name):
            which = getattr(campaign, name)(time.time() + arguments.seconds * PARTS[name] / whole)
        for part, (done, wrong) in campaign.counts.items():
            if part not in before:
                record.row(part, f"{done:,}", f"{wrong:,}", which)
    record.facts = campaign.failures
    record.write(arguments.records, "faults", common.versions(arguments.towline, None))
    sys.exit(1 if campaign.failures else 0)


if __name__ == "__main__":
    main()
