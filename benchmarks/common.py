"""What the benchmarks share: running programs, peers, the machine, tables."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ["liblinear-official==2.50.0", "scikit-learn==1.9.1", "vowpalwabbit==9.11.9"]


def add_common(parser):
    """Arguments that every benchmark has."""
    parser.add_argument("--peers", default=os.environ.get("TOWLINE_PEERS"), help="a ready virtual environment with the peers")
    parser.add_argument("--no-peers", action="store_true", help="leave out the peers that are Python packages")
    parser.add_argument("--target", default=os.environ.get("CARGO_TARGET_DIR"), help="folder of cargo's output")
    parser.add_argument("--no-build", action="store_true", help="use what is in the target folder")
    parser.add_argument("--towline", help="another binary of towline than the one in the target folder")
    parser.add_argument("--work", help="folder for stores and other temporary files; large and on the disk to be measured")
    parser.add_argument("--records", default=str(HERE / "records"), help="folder for the record")


class Failed(Exception):
    """A program did not do what was asked of it."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def timed(command, expect=0):
    """Seconds, standard output and standard error of a command that ends with this exit code, or with one of these."""
    expected = expect if isinstance(expect, tuple) else (expect,)
    with open(os.devnull, "rb") as nothing:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [str(part) for part in command], stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        out, error = process.communicate()
        seconds = time.perf_counter() - begin
    if process.returncode not in expected:
        words = error.decode(errors="replace").strip()[-2000:]
        raise Failed(f"{' '.join(map(str, command))}: exit code {process.returncode}\n{words}", process.returncode)
    return seconds, out.decode(), error.decode(errors="replace")


def read_through(path):
    """Brings a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 22):
            pass


def drop_from_cache(path):
    """Asks the kernel to forget the cached pages of a file; needs no rights."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def remove(path):
    shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else pathlib.Path(path).unlink(missing_ok=True)


def build(options):
    target = pathlib.Path(options.target or ROOT / "target")
    if not options.no_build:
        cargo = ["cargo", "build", "--release", "--locked"]
        environment = dict(os.environ, CARGO_TARGET_DIR=str(target))
        for what in (["--package", "towline-cli"], ["--package", "towline", "--examples"]):
            subprocess.run(cargo + what, cwd=ROOT, env=environment, check=True)
    towline = pathlib.Path(options.towline or target / "release/towline")
    examples = target / "release/examples"
    for path in (towline, examples / "read_store", examples / "row_kernels"):
        if not path.exists():
            sys.exit(f"{path} is missing; run without --no-build")
    return towline, examples


def peers(options):
    """The Python of an environment that has the peers; it is made on the first run."""
    if options.no_peers:
        return None
    folder = pathlib.Path(options.peers or HERE / ".venv")
    python = folder / "bin/python"
    if not python.exists():
        print(f"creating {folder} with {', '.join(PEERS)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS], check=True)
    return python


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.splitlines()[0].strip()
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def machine():
    def field(path, name):
        for line in open(path):
            if line.startswith(name):
                return line.split(":", 1)[1].strip()
        return "unknown"

    return {
        "processor": field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": int(field("/proc/meminfo", "MemTotal").split()[0]) * 1024,
        "system": f"{platform.system()} {re.match('[0-9.]*', platform.release())[0].rstrip('.')}",
    }


def versions(towline, python):
    found = {
        "towline": first_line(str(towline), "--version"),
        "commit": first_line("git", "describe", "--always", "--dirty"),
        "rustc": first_line("rustc", "--version"),
        "python": platform.python_version(),
        "liblinear-tools": first_line("dpkg-query", "-W", "-f", "${Version}", "liblinear-tools"),
    }
    for peer in PEERS if python else []:
        name = peer.split("==")[0]
        found[name] = first_line(str(python), "-c", f"import importlib.metadata as m; print(m.version('{name}'))")
    return found


def table(head, lines):
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *lines]]) + "\n"
