#!/usr/bin/env python3
"""Opens reports in a real browser: every section is there, nothing is complained of, hover and search work.

    docs/test_report.py PROGRAM [--browser CHROMIUM] [--pictures FOLDER]

Needs Playwright for Python (`pip install playwright`) and Chromium of the system. With --pictures, writes what the pages look like in light and
dark. ./check browser runs it where Chromium is installed.
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ["<script>window.hacked = 1</script>", 'say "hi" & \'bye\'', "🚀 rocket", "مرحبا بالعالم", "<img src=x onerror='window.hacked = 2'>", "plain"]


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


def write_table(path, rows, seed):
    """Columns with names that pages stumble over."""
    source = random.Random(seed)
    lines = [",".join(["label", *map(quoted, NAMES)])]
    for _ in range(rows):
        values = [source.gauss(0, 1) for _ in NAMES]
        score = sum(weight * value for weight, value in zip([2, -1.5, 1, -0.5, 0.3, 0], values)) + source.gauss(0, 0.8)
        lines.append(",".join(["<b>yes</b>" if score > 0 else "no & never", *(f"{value:.4f}" for value in values)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Browser:
    """Pages from disk, without a network, with all complaints kept."""

    def __init__(self, browser, pictures):
        self.browser, self.pictures = browser, pictures

    def open(self, path, scheme="light", **context):
        self.complaints = []
        context = self.browser.new_context(color_scheme=scheme, viewport={"width": 1180, "height": 900}, offline=True, **context)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.complaints.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=yes]", timeout=10_000)
        return page

    def check(self, page, name, sections):
        for section in sections:
            assert page.locator(f"section#{section} h2").count() == 1, f"{name}: there is no section {section}"
        places = page.locator(".chart:not([hidden])")
        assert places.count() > 0, f"{name}: there are no charts"
        for number in range(places.count()):
            place = places.nth(number)
            assert place.locator("canvas").count() == 1, f"{name}: {place.get_attribute('aria-label')} is not drawn"
        assert page.evaluate("window.hacked") is None, f"{name}: a name was run"
        assert not self.complaints, f"{name}: {self.complaints}"

    def picture(self, page, name):
        if self.pictures:
            page.screenshot(path=self.pictures / f"{name}.png", full_page=True)


def hover_shows_values(page):
    chart = page.locator("#rows .chart").first
    chart.scroll_into_view_if_needed()
    over = chart.locator(".u-over").bounding_box()
    value = chart.locator(".u-legend .u-series .u-value").nth(1)
    before = value.text_content()
    page.mouse.move(over["x"] + over["width"] / 2, over["y"] + over["height"] / 2)
    page.wait_for_timeout(100)
    after = value.text_content()
    assert before != after and "%" in after, f"hovering shows {before!r}, then {after!r}"


def search_finds(page):
    shown = lambda: page.locator("table.weights tbody tr:visible").count()  # noqa: E731
    before = shown()
    page.fill("#search", "ROCKET")
    assert shown() == 1 and page.locator("#found").text_content() == "1 found", "search does not find 🚀 rocket"
    page.fill("#search", "<script>")
    assert shown() == 1, "search does not find a name that looks like a tag"
    page.fill("#search", "مرحبا")
    assert shown() == 1, "search does not find Arabic"
    page.fill("#search", "")
    assert shown() == before


def axis_can_be_chosen(page):
    chart = page.locator("#convergence .chart:not([hidden])").first
    first = chart.get_attribute("data-choice")
    other = page.locator(f"#convergence .choices input:not([value={first}])").first
    if other.count():
        wanted = other.get_attribute("value")
        other.check(force=True)
        chart = page.locator("#convergence .chart:not([hidden])").first
        assert chart.get_attribute("data-choice") == wanted and chart.locator("canvas").count() == 1


def look_at_all(browser, folder, run):
    write_table(folder / "train.csv", 400, 1)
    write_table(folder / "test.csv", 300, 2)
    everything = ["head", "convergence", "memory", "model", "rows", "data"]
    run("train", "train.csv", "--label", "label", "--loss", "logistic", "--tolerance", "1e-6", "--test", "test.csv", "--test-every", "0",
        "--report", "two.html", "-q")
    page = browser.open(folder / "two.html")
    browser.check(page, "two classes", everything)
    for name in NAMES:
        assert page.locator("#model bdi.name", has_text=name).count() > 0, f"{name} is not shown"
    assert page.locator("h1").text_content() == "train.towm"
    hover_shows_values(page)
    search_finds(page)
    axis_can_be_chosen(page)
    page.emulate_media(media="print")
    page.emulate_media(media="screen", color_scheme="dark")
    browser.check(page, "two classes after printing, in the dark", everything)

    census = ROOT / "data/a9a.zst"
    run("train", census, "-o", "a9a.towm", "--loss", "logistic", "--solver", "dual", "--tolerance", "1e-6", "--memory", "64M", "--bias", "1",
        "--test", ROOT / "data/a9a.t.zst", "--test-every", "0", "--report", "census.html", "-q", "--threads", "2")
    for scheme in ("light", "dark"):
        page = browser.open(folder / "census.html", scheme)
        browser.check(page, f"census in the {scheme}", everything)
        browser.picture(page, f"census-{scheme}")
    run("train", census, "-o", "hinge.towm", "-q", "--tolerance", "1e-4")
    run("report", "a9a.towm", "hinge.towm", "--test", ROOT / "data/a9a.t.zst", "-o", "both.html")
    page = browser.open(folder / "both.html")
    browser.check(page, "two models", everything)
    browser.picture(page, "both")

    run("cv", "train.csv", "--label", "label", "-C", "0.001..100", "--report", "cv.html", "-q")
    page = browser.open(folder / "cv.html")
    browser.check(page, "cross-validation", ["head", "validation"])
    browser.picture(page, "cv")
    run("path", "train.csv", "--label", "label", "--loss", "logistic", "--penalty", "l1", "--points", "12", "--test", "test.csv", "--report", "path.html", "-q")
    page = browser.open(folder / "path.html", "dark")
    browser.check(page, "a path", ["head", "convergence", "path"])
    browser.picture(page, "path")

    lines = [f"{k % 5} {1 + k % 5}:1 {6 + k % 3}:0.5 {9 + k % 7}:{k % 11}" for k in range(400)]
    (folder / "classes.svm").write_text("\n".join(lines) + "\n")
    run("train", "classes.svm", "--task", "classification", "--multiclass", "softmax", "--loss", "logistic", "--test", "classes.svm", "--report", "classes.html", "-q")
    page = browser.open(folder / "classes.html")
    browser.check(page, "classes", ["head", "convergence", "memory", "model", "rows", "data"])
    browser.picture(page, "classes")
    run("train", ROOT / "data/hills.zst", "-o", "hills.towm", "--loss", "squared", "--test", ROOT / "data/hills.zst", "--report", "hills.html", "-q")
    page = browser.open(folder / "hills.html")
    browser.check(page, "numbers", ["head", "memory", "model", "rows", "data"])
    browser.picture(page, "hills")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--browser", default=shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"))
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.browser:
        sys.exit("there is no Chromium; install it, on Debian as chromium, or name one with --browser")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    program = os.path.abspath(arguments.program)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = pathlib.Path(name)

        def run(*words):
            done = subprocess.run([program, *map(str, words)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 0:
                sys.exit(f"towline {' '.join(map(str, words))} (exit code {done.returncode}) prints\n{done.stdout}")

        chromium = playwright.chromium.launch(executable_path=arguments.browser, args=["--no-sandbox"])
        look_at_all(Browser(chromium, arguments.pictures), folder, run)
        chromium.close()
    print("reports are drawn, searched and hovered over without a complaint")


if __name__ == "__main__":
    main()
