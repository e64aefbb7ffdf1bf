"""Pages and examples: what they print is what is printed."""

import doctest
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SESSION = re.compile(r"^```pycon\n(.*?)^```", re.S | re.M)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


PAGES = [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if SESSION.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", [str(path.relative_to(ROOT)) for path in PAGES])
def test_sessions_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "data", tmp_path / "data", ignore=shutil.ignore_patterns("*.tow"))
    text = (ROOT / page).read_text(encoding="utf-8")
    sessions = SESSION.findall(text)
    assert sessions
    parser = doctest.DocTestParser()
    test = parser.get_doctest("\n".join(sessions), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(test)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("example", sorted((ROOT / "crates/towline-python/examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(example):
    result = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True)
    assert result.stdout and not result.stderr
