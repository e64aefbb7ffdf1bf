#!/usr/bin/env python3
"""Checks the site as it was built: every link and every file that a page needs is there, and nothing comes from the web.

    docs/site/check.py FOLDER
"""
import functools
import html.parser
import pathlib
import sys
from urllib.parse import unquote, urlsplit


class Page(html.parser.HTMLParser):
    """Anchors, links, and what is loaded."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given.get("id"), given.get("name")}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag in ("img", "script", "iframe") and given.get("src"):
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("href") and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given["href"])


def main(site):
    read = functools.lru_cache(maxsize=None)(Page)
    # rustdoc checks its own links.
    pages = [path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] != "rust" and path.name != "404.html"]
    broken, count = [], 0
    for path in pages:
        page = read(path)
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    broken.append(f"{path.relative_to(site)}: {link} comes from the web")
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_relative_to(site) or not target.is_file():
                broken.append(f"{path.relative_to(site)}: {link}: no such file")
            elif parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
                broken.append(f"{path.relative_to(site)}: {link}: no such place")
    print("\n".join(broken[:50]) or f"{len(pages)} pages, {count} links lead somewhere, nothing comes from the web")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
