#!/usr/bin/env python3
"""Checks that the links of all Markdown files lead somewhere: relative paths exist, and so do the headings they name.

    docs/check_links.py

Links to the web are not followed.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(```|~~~).*?^\1", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)", re.M)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.M)


def prose(path):
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """The anchors that the headings of a file get on the usual hosts."""
    found = set()
    for heading in HEADING.findall(prose(path)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        name, number = anchor, 0
        while name in found:
            number += 1
            name = f"{anchor}-{number}"
        found.add(name)
    return found


def files():
    """All Markdown files that git knows or would add; all of them where there is no git."""
    try:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
        return [ROOT / name for name in sorted(set(listed)) if name and (ROOT / name).exists()]
    except (OSError, subprocess.CalledProcessError):
        return [path for path in sorted(ROOT.rglob("*.md")) if not {"target", ".venv"} & set(path.parts)]


def main():
    broken, count = [], 0
    for path in files():
        for match in LINK.finditer(CODE.sub("", prose(path))):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            count += 1
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                broken.append(f"{path.relative_to(ROOT)}: {link}: no such file")
            elif not target.is_relative_to(ROOT):
                broken.append(f"{path.relative_to(ROOT)}: {link}: leaves the repository")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                broken.append(f"{path.relative_to(ROOT)}: {link}: no such heading")
    print("\n".join(broken) or f"{count} links lead somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
