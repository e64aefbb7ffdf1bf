#!/usr/bin/env python3
"""Runs scikit-learn's own tests on our estimators.

The modules of tests that the installed scikit-learn ships are imported with our classes under the names of its own. Tests that
use one of ours have to pass, but for those that `peer_failures.txt` lists with a reason.

    python peer_tests.py                       all modules that name one of the classes
    python peer_tests.py --quick               the modules in QUICK
    python peer_tests.py test_ridge            modules with this in their path
    python peer_tests.py test_ridge -- -k svd  what stands behind -- goes to pytest
    python peer_tests.py --records benchmarks/records   counts for a record

Ends with 0 if nothing fails that should not.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import pkgutil
import re
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
import sklearn

import towline

CLASSES = ("LinearSVC", "LogisticRegression", "Ridge", "Lasso", "ElasticNet", "LinearSVR")
#: Where tests import them from.
HOMES = (
    "sklearn.linear_model",
    "sklearn.linear_model._coordinate_descent",
    "sklearn.linear_model._logistic",
    "sklearn.linear_model._ridge",
    "sklearn.svm",
    "sklearn.svm._classes",
)
#: Modules that are quick: seconds in all.
QUICK = (
    "feature_selection/tests/test_from_model.py",
    "linear_model/tests/test_sag.py",
    "linear_model/tests/test_sparse_coordinate_descent.py",
    "svm/tests/test_bounds.py",
)
#: Modules that look for all estimators of scikit-learn, where they find two of the same name.
LISTING = re.compile(r"\b(all_estimators|_tested_estimators)\b")
EXPECTED = Path(__file__).with_name("peer_failures.txt")
FOLDER = Path(sklearn.__file__).parent


class Substitution:
    """The plugin: puts our classes in place while a module of tests is imported, and notes which tests use one."""

    def __init__(self):
        self.uses = False
        self.passed: set[str] = set()
        self.failed: dict[str, str] = {}
        for name in CLASSES:
            self._watch(getattr(towline, name))

    def _watch(self, ours: type) -> None:
        for method in ("__init__", "fit", "get_params"):
            original = getattr(ours, method)

            @functools.wraps(original)
            def noted(*args, _original=original, **named):
                self.uses = True
                return _original(*args, **named)

            setattr(ours, method, noted)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector):
        with substituted() if isinstance(collector, pytest.Module) else contextmanager(lambda: iter([None]))():
            return (yield)

    def pytest_collection_modifyitems(self, config, items):
        """Leaves out tests that cannot use one of our classes."""
        kept = [item for item in items if root_name(item) in reaching(item.path)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.uses = False
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        name = identifier(item.nodeid)
        if report.failed and self.uses:
            self.failed.setdefault(name, last_line(report.longreprtext))
        elif report.passed and call.when == "call" and self.uses:
            self.passed.add(name)
        return report


@contextmanager
def substituted():
    """Our classes under the names of scikit-learn's, for whoever imports them now."""
    homes = [importlib.import_module(home) for home in HOMES]
    originals = [(home, name, getattr(home, name)) for home in homes for name in CLASSES if hasattr(home, name)]
    for home, name, _ in originals:
        setattr(home, name, getattr(towline, name))
    try:
        yield
    finally:
        for home, name, original in originals:
            setattr(home, name, original)


def import_all() -> None:
    """Imports all of scikit-learn but its tests: what is imported later would get our classes, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for found in pkgutil.walk_packages([str(FOLDER)], "sklearn.", onerror=lambda name: None):
            if ".tests" in found.name or "conftest" in found.name or ".externals" in found.name or "experimental" in found.name:
                continue
            try:
                importlib.import_module(found.name)
            except ImportError:
                pass  # needs a package that is not there


def root_name(item) -> str:
    """The name in its module by which a test is defined: that of a function, or of the class around it."""
    return item.nodeid.split("::")[1].partition("[")[0]


@functools.cache
def reaching(path: Path) -> frozenset[str]:
    """Names at the top of a module from which one of the classes can be reached: by what they name, or what that names."""
    uses: dict[str, set[str]] = {}
    for part in ast.parse(path.read_text()).body:
        nodes = list(ast.walk(part))
        named = {getattr(node, kind) for node in nodes for kind in ("id", "attr", "arg") if isinstance(getattr(node, kind, None), str)}
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            defined = {part.name}
        else:
            defined = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for name in defined:
            uses.setdefault(name, set()).update(named)
    found = set(CLASSES)
    while more := {name for name, named in uses.items() if name not in found and named & found}:
        found |= more
    return frozenset(found)


def identifier(nodeid: str) -> str:
    """The name of a test from the folder of scikit-learn on. Addresses of objects are no part of it."""
    path, _, test = nodeid.partition("::")
    parts = Path(path).parts
    at = parts.index("sklearn") + 1 if "sklearn" in parts else 0
    return "/".join(parts[at:]) + "::" + re.sub(r"0x[0-9a-f]+", "0x", test)


def last_line(text: str) -> str:
    """What went wrong, of a long report."""
    lines = [line[2:].strip() for line in text.splitlines() if line.startswith("E ")]
    return (lines or text.strip().splitlines() or [""])[0]


def modules(chosen: list[str], quick: bool) -> list[str]:
    """Paths of the modules of tests that name one of the classes."""
    named = re.compile(rf"\b({'|'.join(CLASSES)})\b")
    texts = {path: path.read_text() for path in FOLDER.rglob("tests/test_*.py")}
    found = sorted(path for path, text in texts.items() if named.search(text) and not LISTING.search(text))
    short = {path: path.relative_to(FOLDER).as_posix() for path in found}
    return [str(path) for path in found if (not quick or short[path] in QUICK) and (not chosen or any(word in short[path] for word in chosen))]


def expected_failures() -> dict[str, str]:
    """The reason for each test that is known to fail. A name without brackets stands for all parameters of the test."""
    reasons, reason = {}, ""
    for line in EXPECTED.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            reasons[line.strip()] = reason
    return reasons


def compare(plugin: Substitution) -> bool:
    """Prints what differs from the list, and says whether a test fails that is not in it."""
    expected = expected_failures()
    surprising = {name: why for name, why in plugin.failed.items() if name not in expected and name.split("[")[0] not in expected}
    ran = plugin.passed | set(plugin.failed)
    ran |= {name.split("[")[0] for name in ran}
    failed = set(plugin.failed) | {name.split("[")[0] for name in plugin.failed}
    mended = [name for name in expected if name in ran and name not in failed]
    for name, why in surprising.items():
        print(f"FAILS  {name}\n       {why}")
    for name in mended:
        print(f"PASSES {name}\n       and is in {EXPECTED.name}: take it out")
    total = len(plugin.passed | set(plugin.failed))
    print(
        f"{total} tests of scikit-learn {sklearn.__version__} use one of our classes: {len(plugin.passed - set(plugin.failed))} pass, "
        f"{len(plugin.failed) - len(surprising)} fail as expected, {len(surprising)} fail that should pass"
    )
    return not surprising


def write_record(plugin: Substitution, folder: Path) -> None:
    """Writes DATE-peer-tests.md: how many tests use one of our classes, how many fail, and for which reasons."""
    expected, total = expected_failures(), len(plugin.passed | set(plugin.failed))
    reasons = Counter(expected.get(name) or expected.get(name.split("[")[0]) or "not in the list" for name in plugin.failed)
    modules = Counter(name.partition("::")[0] for name in plugin.passed | set(plugin.failed))
    failing = Counter(name.partition("::")[0] for name in plugin.failed)
    lines = [
        f"# scikit-learn's own tests, {date.today()}",
        "",
        f"`crates/towline-python/peer_tests.py`: our {', '.join(CLASSES)} in the place of the classes of scikit-learn {sklearn.__version__} in "
        f"{len(modules)} of its modules of tests. {total} tests use one of them: **{total - len(plugin.failed)} pass, {len(plugin.failed)} fail** (goal: at most 60).",
        "",
        *table(("failures", "reason"), [(count, reason) for reason, count in reasons.most_common()]),
        *table(("module", "tests", "fail"), [(name, count, failing[name]) for name, count in sorted(modules.items())]),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{date.today()}-peer-tests.md").write_text("\n".join(lines).rstrip() + "\n")


def table(heads: tuple, rows: list[tuple]) -> list[str]:
    """The lines of a table in Markdown, and an empty one."""
    return [f"| {' | '.join(map(str, row))} |" for row in (heads, ["---"] * len(heads), *rows)] + [""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts of the paths of modules; all without them")
    parser.add_argument("--quick", action="store_true", help="just a few modules")
    parser.add_argument("--failures", type=Path, help="write failures with their first line to this file")
    parser.add_argument("--records", type=Path, help="write a dated record of the counts into this folder, benchmarks/records")
    own, behind = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, behind = own[:at], own[at + 1 :]
    arguments = parser.parse_args(own)
    import_all()
    plugin = Substitution()
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--tb=short", "-c", "/dev/null", f"--rootdir={FOLDER.parent}"]
    status = pytest.main([*options, "--show-capture=no", "-r", "N", *modules(arguments.words, arguments.quick), *behind], plugins=[plugin])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return int(status)
    if arguments.records:
        write_record(plugin, arguments.records)
    if arguments.failures:
        arguments.failures.write_text("".join(f"{name}\t{why}\n" for name, why in sorted(plugin.failed.items())))
    return 0 if compare(plugin) else 1


if __name__ == "__main__":
    sys.exit(main())
