"""What faults are tried on: small runs of every verb, and the judge of what they leave behind."""
import hashlib
import pathlib
import random
import shutil
import subprocess

# Runs of a fraction of a second. Whatever takes so long hangs.
LIMIT_SECONDS = 120
# done, failure, usage, budget, bad data, not converged, not durable, interrupted
CODES = {0, 1, 2, 3, 4, 5, 6, 130}
NEW_CODES = {0, 5, 6}

# name: arguments, what is written
VERBS = {
    "pack": ("pack more.svm -o new.tow -q", "new.tow"),
    "pack --force": ("pack more.svm -o a.tow --force -q", "a.tow"),
    "pack --append": ("pack more.svm -o a.tow --append -q", "a.tow"),
    "train": ("train a.tow -o m.towm -q --restart --solver dual -C 3", "m.towm"),
    "train a file": ("train more.svm -o n.towm -q", "n.towm"),
    "train --trace --test": ("train a.tow -o m.towm -q --restart -C 3 --trace t.jsonl --test more.svm", "m.towm"),
    "train --penalty l1": ("train a.tow -o m.towm -q --restart --penalty l1 --loss logistic", "m.towm"),
    "train classes": ("train classes.svm -o k.towm -q -C 2", "k.towm"),
    "cv": ("cv a.tow -C 0.1,1 --folds 3 --refit -o best.towm -q", "best.towm"),
    "path": ("path a.tow --penalty l1 --loss logistic --points 3 -o points -q", "points"),
    "stream": ("train --stream more.svm -o s.towm -q", "s.towm"),
    "predict": ("predict m.towm more.svm -o p.txt", "p.txt"),
    "eval": ("eval m.towm more.svm", None),
    "export": ("export m.towm --to liblinear -o m.txt", "m.txt"),
    "index": ("index a.tow -q", "a.tow"),
    "verify": ("verify a.tow", None),
    "cat": ("cat a.tow", None),
    "info": ("info a.tow", None),
}


def rows(count, seed):
    source = random.Random(seed)
    lines = []
    for _ in range(count):
        columns = sorted(source.sample(range(1, 60), 8))
        values = [(column, round(source.uniform(-1, 1), 3)) for column in columns]
        sign = "+1" if sum(value * (column % 3 - 1) for column, value in values) > 0 else "-1"
        lines.append(sign + "".join(f" {column}:{value}" for column, value in values))
    return "\n".join(lines) + "\n"


def classes(count, seed):
    """Rows of three classes, each of which has a model of its own."""
    source = random.Random(seed)
    lines = []
    for i in range(count):
        values = "".join(f" {column}:{round(source.uniform(0, 1) + (column % 3 == i % 3), 3)}" for column in range(1, 10))
        lines.append(f"{i % 3}{values}")
    return "\n".join(lines) + "\n"



class Bench:
    """A folder with inputs, a store, a model; and what each verb makes of it."""

    def __init__(self, towline, folder):
        self.towline, self.folder = str(pathlib.Path(towline).resolve()), pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.template, self.here = self.folder / "template", self.folder / "here"
        self.template.mkdir(parents=True)
        (self.template / "first.svm").write_text(rows(150, 1))
        (self.template / "more.svm").write_text(rows(120, 2))
        (self.template / "classes.svm").write_text(classes(90, 3))
        for arguments in ("pack first.svm -o a.tow -q", "train a.tow -o m.towm -q"):
            subprocess.run([self.towline, *arguments.split()], cwd=self.template, check=True, capture_output=True)
        self.inputs = {name: self.digest(self.template / name) for name in ("first.svm", "more.svm", "classes.svm")}
        self.old, self.new = {}, {}
        for verb in VERBS:
            self.reset()
            self.old[verb] = self.meaning(verb)
            ended = self.run(VERBS[verb][0].split())
            assert ended.returncode in NEW_CODES, (verb, ended.stderr)
            self.new[verb] = self.meaning(verb)

    @staticmethod
    def digest(path):
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def reset(self):
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.template, self.here, symlinks=True)

    def run(self, arguments, before=(), environment=None, folder=None):
        """Runs the program to its end; a hang is an end as well."""
        try:
            return subprocess.run([*before, self.towline, *arguments], cwd=folder or self.here, env=environment,
                                  capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, None, "", "hangs")

    def meaning(self, verb, folder=None):
        """What the output of a verb says, without times and names; None if there is none."""
        name = VERBS[verb][1]
        folder = folder or self.here
        if name is None or not (folder / name).exists():
            return None
        if name.endswith(".tow"):
            sound = self.run(["verify", name], folder=folder).returncode == 0
            rows = self.run(["cat", name], folder=folder).stdout
            return ("store", sound, hashlib.sha256(rows.encode()).hexdigest())
        if name.endswith(".towm"):
            (folder / "judged.txt").unlink(missing_ok=True)
            said = self.run(["predict", name, "more.svm", "--output", "judged.txt"], folder=folder)
            text = (folder / "judged.txt").read_text() if said.returncode == 0 else said.stderr
            (folder / "judged.txt").unlink(missing_ok=True)
            return ("model", said.returncode == 0, hashlib.sha256(text.encode()).hexdigest())
        if (folder / name).is_dir():
            # Points of a path come one after the other; each of them is whole.
            return ("models", all(self.run(["info", str(path)], folder=folder).returncode == 0 for path in (folder / name).glob("*.towm")))
        return ("file", True, self.digest(folder / name))

    def judge(self, verb, ended, killed=False):
        """What is wrong after a run with a fault; nothing if all is well."""
        if ended.returncode is None:
            return "hangs"
        if ended.returncode == 127 and "loading shared libraries" in ended.stderr:
            return None
        if not killed and ended.returncode not in CODES:
            return f"ends with {ended.returncode}: {ended.stderr.strip()[-300:]}"
        if "panicked" in ended.stderr:
            return f"panics: {ended.stderr.strip()[-300:]}"
        return self.judge_files(verb, None if killed else ended.returncode)

    def judge_files(self, verb, code, folder=None):
        folder = folder or self.here
        for name, digest in self.inputs.items():
            if self.digest(folder / name) != digest:
                return f"{name} has changed"
        found = self.meaning(verb, folder)
        # Who interrupts a training run has what it has learnt so far.
        is_part = code == 130 and found is not None and found[0] == "model" and found[1]
        if found not in (self.old[verb], self.new[verb]) and not is_part:
            return f"neither old nor new: {found}"
        if code in NEW_CODES and found != self.new[verb]:
            return f"says {code}, and what is there is old"
        return None

    def judge_again(self, verb):
        """The same command without a fault ends well and leaves nothing of the one before."""
        arguments = VERBS[verb][0].split()
        if verb == "pack --append" and self.meaning(verb) == self.new[verb]:
            return None
        if verb == "pack" and self.meaning(verb) is not None:
            return None
        ended = self.run(arguments)
        if ended.returncode not in NEW_CODES:
            return f"again: {ended.returncode}: {ended.stderr.strip()[-300:]}"
        if self.meaning(verb) != self.new[verb]:
            return "again: not the new output"
        left = [str(path.name) for path in self.here.rglob("*towline-new*")]
        return f"again: {left} are left" if left else None
