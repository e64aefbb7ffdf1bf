#!/usr/bin/env python3
"""Attacks on small runs of every verb: failing system calls, kills, damaged and forged files, races, full disks, loss of power, fuzz targets.

    cargo build --release -p towline-cli && cargo build --release -p towline --example damaged
    python3 benchmarks/faults.py --seed 1 --minutes 60 --jobs 2

Whatever happens, old outputs are intact or new ones complete, and nothing panics, hangs or is killed by a signal. Needs `strace` and, for short writes, a C
compiler. The parts share the time; a part that has reached its goal ends early, and what it leaves goes to those after it. `--only calls,kills` runs some of them, `--goals 0.01` a
hundredth of each. What was done is kept in `WORK/done.json`: the same command goes on from there, with other seeds, until all goals are reached; `--anew` begins again.
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
import threading
import time

import common
import fault_power
from fault_bench import CODES, VERBS, Bench
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
    """One of several that work side by side, each in a folder of its own."""

    def __init__(self, bench, seed, shared):
        self.bench, self.random, self.shared = bench, random.Random(seed), shared

    def note(self, part, verb, what, wrong, count=1):
        self.shared.note(part, verb, what, wrong, count)

    def goes_on(self, name, until):
        return time.time() < until and not self.shared.is_done(name)

    # Every call of every verb fails once in every way.
    def points(self):
        bench, log, points = self.bench, self.bench.folder / "calls", []
        for verb, (arguments, _) in VERBS.items():
            bench.reset()
            bench.run(arguments.split(), ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=" + ",".join(ERRORS), "-o", str(log)])
            # Each thread has its own count.
            counts = {}
            for line in log.read_text(errors="replace").splitlines():
                words = line.split("(")[0].split()
                if len(words) == 2 and words[1] in ERRORS:
                    counts.setdefault((words[1], words[0]), []).append(1)
            most = {}
            for (call, _), found in counts.items():
                most[call] = max(most.get(call, 0), len(found))
            points += [[verb, call, k, error] for call, count in most.items() for k in range(1, count + 1) for error in ERRORS[call]]
        self.random.shuffle(points)
        return points

    def calls(self, until):
        bench = self.bench
        while time.time() < until:
            point = self.shared.next_point(self.points)
            if point is None:
                return
            verb, call, k, error = point
            bench.reset()
            inject = f"inject={call}:error={error}:when={k}"
            ended = bench.run(VERBS[verb][0].split(), ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject])
            self.note("failing calls", verb, inject, bench.judge(verb, ended) or bench.judge_again(verb))

    def short(self, until):
        with tempfile.TemporaryDirectory() as folder:
            source, library = pathlib.Path(folder, "short.c"), pathlib.Path(folder, "short.so")
            source.write_text(SHORT)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
            for verb, (arguments, _) in VERBS.items():
                if not self.goes_on("short", until):
                    return
                self.bench.reset()
                ended = self.bench.run(arguments.split(), environment={**os.environ, "LD_PRELOAD": str(library)})
                wrong = self.bench.judge(verb, ended) or (None if ended.returncode in (0, 5) else f"ends with {ended.returncode}")
                self.note("short reads and writes", verb, "half of each", wrong)

    def kills(self, until):
        bench, took = self.bench, {}
        while self.goes_on("kills", until):
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

    # A flipped bit, another length: what is read from it is what was there, or nothing. Many in one process.
    def damage(self, until):
        self.in_one_process("damage", "flip", "damaged files", until)

    # Numbers and bytes changed under right checksums: manifests, tables, blocks, pages, feature maps, models, dual variables.
    def forged(self, until):
        self.in_one_process("forged", "forge", "forged files", until)

    def in_one_process(self, name, kind, part, until):
        bench = self.bench
        bench.reset()
        for arguments in ("index a.tow -q", "train classes.svm -o k.towm -q", "train a.tow -o m.towm -q --restart"):
            bench.run(arguments.split())
        while self.goes_on(name, until):
            seed, count = self.shared.seeds(name, PIECE)
            command = [str(self.shared.damaged), str(bench.here), kind, str(seed), str(count)]
            try:
                ended = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
                lines, code = ended.stdout.splitlines(), ended.returncode
            except subprocess.TimeoutExpired as error:
                lines, code = (error.stdout or b"").decode(errors="replace").splitlines(), "hangs"
            wrong = [line for line in lines if line.startswith("WRONG")]
            for line in wrong:
                self.note(part, kind, line[:200], line[:300])
            done = lines and lines[-1].startswith("DONE")
            self.note(part, kind, f"seeds {seed} to {seed + count - 1}", None if done else f"ends with {code} after {lines[-1:]}", count - len(wrong))
            if not done:
                bench.reset()
                return

    # Two runs to one output: each ends with what it was asked for, or says why not.
    def races(self, until):
        bench = self.bench
        verbs = [verb for verb, (_, name) in VERBS.items() if name]
        while self.goes_on("races", until):
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

    # A file system of a few blocks more or less than what is needed: in memory, and ext4 in a file.
    def full(self, until):
        bench, mount, image = self.bench, self.bench.folder / "small", self.bench.folder / "small.img"
        mount.mkdir(exist_ok=True)
        while self.goes_on("full", until):
            verb = self.random.choice([verb for verb, (_, name) in VERBS.items() if name])
            need = sum(path.stat().st_blocks for path in bench.template.rglob("*")) // 8 + 8
            pages = need + self.random.randrange(1, 60)
            kind = self.random.choice(["tmpfs", "ext4"])
            if not self.mounted(kind, pages, mount, image):
                return
            here = bench.here
            try:
                bench.here = mount / "here"
                try:
                    bench.reset()
                except (shutil.Error, OSError):
                    continue
                ended = bench.run(VERBS[verb][0].split())
                self.note("full disks", verb, f"{kind} of {pages} pages", self.judge_full(verb, ended))
            finally:
                bench.here = here
                subprocess.run(["umount", mount], check=True)

    def mounted(self, kind, pages, mount, image):
        options = ["-t", "tmpfs", "-o", f"size={pages * 4096}", "tmpfs"]
        if kind == "ext4":
            # A journal and tables take room of their own.
            size = (pages + 400) * 4096
            image.unlink(missing_ok=True)
            with open(image, "wb") as file:
                file.truncate(size)
            if subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-b", "4096", "-N", "256", image], capture_output=True).returncode:
                return False
            options = ["-o", "loop", str(image)]
        return subprocess.run(["mount", *options, mount], capture_output=True).returncode == 0

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
        bench, log = self.bench, self.bench.folder / "log"
        for verb, (arguments, name) in VERBS.items():
            if not name or time.time() > until or not self.shared.claim("power", verb):
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
                self.note("losses of power", verb, line[:60], bench.judge_files(verb, None, folder))

    # Each fuzz target, some seconds at a time.
    def fuzz(self, until):
        targets = sorted(path.stem for path in pathlib.Path("fuzz/tests").glob("*.rs"))
        while self.goes_on("fuzz", until):
            target = targets[self.shared.seeds("fuzz turns", 1)[0] % len(targets)]
            seconds = max(5, min(60, int(until - time.time())))
            environment = {**os.environ, "BOLERO_RANDOM_TEST_TIME_MS": str(1000 * seconds), "FUZZ_SECONDS": str(seconds)}
            command = ["cargo", "test", "--release", "-p", "towline-fuzz", "--test", target, "--", "--nocapture", "--test-threads", "1"]
            ended = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
            executions = sum(int(line.split()[1]) for line in ended.stdout.splitlines() if line.startswith("EXECUTIONS "))
            self.note(f"fuzz {target}", target, "random inputs", None if ended.returncode == 0 else (ended.stdout + ended.stderr)[-600:], max(1, executions))


class Shared:
    """What all workers have done, this time and before."""

    def __init__(self, path, goals, seed, damaged):
        self.path, self.goals, self.damaged, self.lock = path, goals, damaged, threading.Lock()
        self.state = json.loads(path.read_text()) if path.exists() else {"seed": seed, "counts": {}, "failures": [], "next": {}, "points": None, "claimed": []}

    def note(self, part, verb, what, wrong, count):
        with self.lock:
            done = self.state["counts"].setdefault(part, [0, 0])
            done[0] += count
            if wrong:
                done[1] += 1
                self.state["failures"].append({"part": part, "verb": verb, "fault": what, "wrong": wrong})
                print(f"  {part}: {verb}: {what}: {wrong}", file=sys.stderr)

    def save(self):
        with self.lock:
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.state))
            new.replace(self.path)

    def done(self, name):
        # The least of all fuzz targets counts.
        counts = [done[0] for part, done in self.state["counts"].items() if part.startswith(NAMES[name])]
        return (min(counts) if name == "fuzz" else sum(counts)) if counts else 0

    def is_done(self, name):
        return self.done(name) >= self.goals[name]

    def seeds(self, name, count):
        """Seeds that nobody has had."""
        with self.lock:
            first = self.state["next"].get(name, 1_000_000 * self.state["seed"] if name in ("damage", "forged") else 0)
            self.state["next"][name] = first + count
            return first, count

    def claim(self, name, what):
        with self.lock:
            if [name, what] in self.state["claimed"]:
                return False
            self.state["claimed"].append([name, what])
            return True

    def next_point(self, find):
        with self.lock:
            if self.state["points"] is None:
                self.state["points"] = find()
                self.state["all points"] = len(self.state["points"])
            return self.state["points"].pop() if self.state["points"] else None


# Parts, their shares of the time, what their counts are called, and how much of each is the goal.
PARTS = {"calls": 25, "short": 2, "kills": 25, "damage": 6, "forged": 6, "races": 10, "full": 6, "power": 8, "fuzz": 12}
NAMES = {"calls": "failing calls", "short": "short reads", "kills": "kills", "damage": "damaged files", "forged": "forged files", "races": "two at once",
         "full": "full disks", "power": "losses of power", "fuzz": "fuzz "}
GOALS = {"calls": 1_000_000, "short": len(VERBS), "kills": 10_000, "damage": 100_000, "forged": 10_000, "races": 1_000, "full": 1_000, "power": 1_000_000, "fuzz": 100_000_000}
# Files that are damaged in one process.
PIECE = 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--towline", default="target/release/towline")
    parser.add_argument("--damaged", default="target/release/examples/damaged")
    parser.add_argument("--work", default="/dev/shm/towline-faults" if os.path.isdir("/dev/shm") else "target/faults")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--goals", type=float, default=1.0)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--records", default="benchmarks/records")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work).resolve()
    if arguments.anew:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    goals = {name: max(1, int(goal * arguments.goals)) for name, goal in GOALS.items()}
    shared = Shared(work / "done.json", goals, arguments.seed, pathlib.Path(arguments.damaged).resolve())
    benches = [Bench(arguments.towline, work / f"worker{number}") for number in range(arguments.jobs)]
    turn = sum(shared.state["next"].values()) + sum(done[0] for done in shared.state["counts"].values())
    workers = [Campaign(bench, f"{arguments.seed} {turn} {number}", shared) for number, bench in enumerate(benches)]
    end, names = time.time() + 60 * arguments.minutes, arguments.only.split(",")
    for number, name in enumerate(names):
        print(name, file=sys.stderr)
        left = sum(PARTS[later] for later in names[number:])
        until = time.time() + (end - time.time()) * PARTS[name] / left
        # Damaged files and fuzz targets use all processors by themselves, or need but one.
        some = workers[:1] if name in ("fuzz", "short", "full") else workers
        threads = [threading.Thread(target=getattr(worker, name), args=(until,)) for worker in some]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        shared.save()
    write(shared, arguments)
    sys.exit(1 if shared.state["failures"] else 0)


def write(shared, arguments):
    says = f"Seed {shared.state['seed']}. Small runs of {len(VERBS)} commands; `benchmarks/faults.py` says what is tried and what is judged."
    record = Record("Faults", says, ("fault", "tried", "wrong", "which"))
    for part, (done, wrong) in shared.state["counts"].items():
        name = next((name for name, begin in NAMES.items() if part.startswith(begin)), None)
        which = f"{shared.goals[name]:,} is the goal" if name and shared.goals[name] < 1_000_000_000 and name not in ("calls", "power", "short") else ""
        if name == "calls":
            left = len(shared.state["points"] or [])
            which = f"{shared.state.get('all points', 0) - left:,} of {shared.state.get('all points', 0):,} fault points"
        record.row(part, f"{done:,}", f"{wrong:,}", which)
    record.facts = shared.state["failures"]
    record.write(arguments.records, "faults", common.versions(arguments.towline, None))


if __name__ == "__main__":
    main()
