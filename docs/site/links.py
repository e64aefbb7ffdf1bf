"""Where a link leads on the site: to a page of docs/, to a page that comes from elsewhere in the repository, or nowhere.

Pages are written for a plain checkout, in which every relative link leads to a file. Files that are no part of the site,
such as sources, are named there without a link.
"""
import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Pages from outside docs/, and their place on the site.
OUTSIDE = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarks.md",
    "data/README.md": "project/data.md",
    **{f"benchmarks/records/{path.name}": f"records/{path.name}"
       for path in sorted((ROOT / "benchmarks/records").iterdir()) if path.suffix in (".md", ".svg")},
}
ALIASES = {"README.md": "index.md", "benchmarks/records": "results.md", "docs/decisions": "decisions/README.md"}
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.S | re.M)
LINK = re.compile(r"(!?)\[((?:`[^`\n]*`|[^\]`])*)\]\(([^)\s]+)\)")


def on_site(path):
    """The page or file of the site that a path of the repository is, or None."""
    path = posixpath.normpath(path)
    if path in ALIASES:
        return ALIASES[path]
    is_tool = path.endswith(".py") or path.startswith("docs/site/") or path == "docs/build"
    if path.startswith("docs/") and (ROOT / path).is_file() and not is_tool:
        return path[len("docs/"):]
    return OUTSIDE.get(path)


def rewrite(text, source, place):
    """The page with links for the site; `source` is its path in the repository, `place` the one on the site."""

    def link(match):
        image, words, target = match.groups()
        name, _, anchor = target.partition("#")
        if not name or re.match(r"[a-z][a-z0-9+.-]*:", target):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
        found = on_site(path)
        if found is None:
            return f'<span class="path" title="{path} in the repository">{words}</span>' if path != words else words
        target = posixpath.relpath(found, posixpath.dirname(place) or ".")
        # README.md and others that have become another page have other headings.
        anchor = f"#{anchor}" if anchor and path not in ALIASES else ""
        return f"{image}[{words}]({target}{anchor})"

    return outside_code(text, lambda prose: LINK.sub(link, prose))


def outside_code(text, change):
    """Changes all but fenced code."""
    parts, at = [], 0
    for fence in FENCED.finditer(text):
        parts += [change(text[at:fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])


def for_python(text):
    """Markdown as Python's reads it: a blank line before every list and table, and no backslash before a bar in code."""

    def change(prose):
        prose = re.sub(r"`[^`\n]+`", lambda code: code[0].replace(r"\|", "|"), prose)
        prose = re.sub(r"(?m)^((?![-*] |\d+\. |\s|\|)[^\n]+)\n(?=[-*] |1\. )", r"\1\n\n", prose)
        return re.sub(r"(?m)^((?!\|)[^\n]+)\n(?=\|[^\n]*\|\n\| ?-)", r"\1\n\n", prose)

    return outside_code(text, change)
