#!/usr/bin/env python3
"""Opens the built site from disk in a browser without a network: search finds things, no page has an error or is wider than a phone.

    pip install playwright
    docs/site/try_browser.py FOLDER [--chromium /usr/bin/chromium] [--shots FOLDER]

It needs a browser, so that ./check does not run it.
"""
import argparse
import pathlib
import sys

from playwright.sync_api import sync_playwright

# What people may type, and a page that has to be among what is found.
SEARCHES = {"duality gap": "how-it-works.html", "--hash-bits": "streams.html", "LinearSVC": "reference/python.html", "tf-idf": "text.html",
            "--class-weight": "reference/train.html"}
PAGES = ["index.html", "start.html", "how-it-works.html", "from-liblinear.html", "reference/train.html", "reference/python.html", "results.html"]


def searches(browser, site, wrong):
    page = browser.new_context(offline=True).new_page()
    listen(page, wrong)
    for words, expected in SEARCHES.items():
        page.goto(f"{site.as_uri()}/index.html")
        page.click("input.md-search__input")
        page.keyboard.type(words, delay=20)
        page.wait_for_selector(".md-search-result__link", timeout=20_000, state="attached")
        page.wait_for_timeout(500)
        found = [link.get_attribute("href") for link in page.locator(".md-search-result__link").all()]
        if not any(expected in link for link in found):
            wrong.append(f"a search for '{words}' does not find {expected}")


def looks(browser, site, shots, wrong):
    for scheme in ("light", "dark"):
        for width, height in ((1280, 1000), (390, 844)):
            page = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": height}).new_page()
            listen(page, wrong)
            for name in PAGES:
                page.goto(f"{site.as_uri()}/{name}")
                page.wait_for_timeout(200)
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide > width:
                    wrong.append(f"{name} is {wide} pixels wide in a window of {width}")
                if shots:
                    page.screenshot(path=shots / f"{name.replace('/', '-')[:-5]}-{scheme}-{width}.png")


def listen(page, wrong):
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    page.on("console", lambda said: wrong.append(f"{page.url}: {said.text}") if said.type in ("error", "warning") else None)
    page.on("request", lambda asked: wrong.append(f"{page.url} asks for {asked.url}") if asked.url.startswith("http") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--chromium", help="the browser [default: that of Playwright]")
    parser.add_argument("--shots", type=pathlib.Path, help="a folder for pictures of the pages")
    arguments = parser.parse_args()
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox", "--disable-gpu"])
        searches(browser, arguments.site.resolve(), wrong)
        looks(browser, arguments.site.resolve(), arguments.shots, wrong)
        browser.close()
    print("\n".join(wrong) or f"{len(SEARCHES)} searches and {len(PAGES)} pages are as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
