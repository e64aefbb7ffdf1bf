"""What MkDocs needs to know of this repository: pages from outside docs/, generated pages, links, figures, navigation."""
import logging
import os
import posixpath
import re

import command_line
import links
import python_reference
from mkdocs.structure.files import File

LOG = logging.getLogger("mkdocs.hooks.towline")
FIGURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+\.svg)\)")
# Where pages of the site come from, if not from docs/.
SOURCES = {}


def on_config(config):
    lists = {"COMMANDS": command_line.navigation, "DECISIONS": decisions}
    config.nav = filled(config.nav, lists)
    # No page is lost: those that the navigation does not name end its guides.
    named = set(re.findall(r"[\w./-]+\.md", str(config.nav)))
    guides = next(entry["Guides"] for entry in config.nav if "Guides" in entry)
    guides += sorted(path.name for path in (links.ROOT / "docs").glob("*.md") if path.name not in named)
    return config


def filled(nav, lists):
    """The navigation with the lists that are made."""
    for entry in nav:
        for title, inside in entry.items() if isinstance(entry, dict) else ():
            if isinstance(inside, list):
                filled(inside, lists)
            elif inside in lists:
                entry[title] = lists[inside]()
    return nav


def decisions():
    """Decisions in the groups of their list."""
    text = (links.ROOT / "docs/decisions/README.md").read_text(encoding="utf-8")
    nav, listed = ["decisions/README.md"], {"README.md"}
    for group in re.split(r"^## ", text, flags=re.M)[1:]:
        pages = re.findall(r"^- \[(.+)\]\(([^)]+)\)$", group, re.M)
        nav.append({group.split("\n")[0]: [{title: f"decisions/{name}"} for title, name in pages]})
        listed |= {name for _, name in pages}
    for path in sorted((links.ROOT / "docs/decisions").glob("*.md")):
        if path.name not in listed:
            LOG.warning(f"docs/decisions/README.md does not list {path.name}")
    return nav


def on_files(files, config):
    made = {**command_line.pages(), "reference/python.md": python_reference.page()}
    for source, place in links.OUTSIDE.items():
        if place.endswith(".md"):
            SOURCES[place] = source
            made[place] = (links.ROOT / source).read_text(encoding="utf-8")
        else:
            files.append(File.generated(config, place, abs_src_path=str(links.ROOT / source)))
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri
    text = links.rewrite(markdown, SOURCES.get(place, f"docs/{place}"), place)
    if place == "commands.md":
        text = re.sub(r"(?m)^\| (`towline (\w+).*?`) \|", r"| [\1](reference/\2.md) |", text)
    if place == "reference.md" and os.environ.get("TOWLINE_RUSTDOC"):
        text = text.replace("`cargo doc --no-deps --open`", '<a href="rust/towline/index.html">The pages of the crate</a>')
    if place.startswith("records/"):
        # Tables of measurements would crowd out the pages about them.
        page.meta["search"] = {"exclude": True}
    elif place.startswith(("decisions/", "project/")):
        # Those who search look for how before they look for why.
        page.meta["search"] = {"boost": 0.1}
    if place == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
    return links.for_python(FIGURE.sub(lambda match: figure(match, place), text))


def figure(match, place):
    """An SVG of ours becomes part of the page, so that it follows the colours of the page and not those of the system."""
    path = links.ROOT / "docs" / posixpath.join(posixpath.dirname(place), match[2])
    if not path.is_file():
        return match[0]
    drawing = re.sub(r"<style>.*?</style>\s*", "", path.read_text(encoding="utf-8"), flags=re.S)
    drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{match[1]}" class="figure" ', 1)
    return "<figure data-search-exclude>" + re.sub(r"\n\s*", "", drawing) + "</figure>"
