"""Pages of the command line, from the help of the program.

The help is that of `crates/towline-cli/tests/snapshots`, which a test compares with what the program prints: pages made of it are
up to date whenever the tests pass, and the site needs no program.
"""
import html
import pathlib
import re

SNAPSHOTS = pathlib.Path(__file__).resolve().parents[2] / "crates/towline-cli/tests/snapshots"
OPTION = re.compile(r"^ {2,6}(?=[-<\[])(\S.*)$")


def snapshot(name):
    return (SNAPSHOTS / f"all__snapshots__{name}.snap").read_text(encoding="utf-8").split("\n---\n", 1)[1]


def commands():
    """Name and summary of each command, in the order of the program."""
    listed = snapshot("help").split("Commands:\n")[1].split("\n\n")[0]
    # Summaries that do not fit into a line go on in the next one.
    listed = re.sub(r"\n {10,}", " ", listed)
    pairs = re.findall(r"^  (\S+) +(.*)$", listed, re.M)
    return [(name, text) for name, text in pairs if name != "help"]


def navigation():
    return ["commands.md", *({f"towline {name}": f"reference/{name}.md"} for name, _ in commands())]


def pages():
    """Text by place."""
    return {f"reference/{name}.md": page(name) for name, _ in commands()}


def page(name):
    text = snapshot(f"help-{name}").rstrip("\n")
    about, _, rest = text.partition("\nUsage: ")
    usage, _, rest = rest.partition("\n\n")
    out = [f"# towline {name}\n\n{sentences(about)}\n\n```text\n{usage}\n```\n"]
    for section in re.split(r"\n(?=[A-Z][^\n]*:\n)", "\n" + rest):
        head, _, body = section.strip("\n").partition("\n")
        if head:
            out.append(f"\n## {head.rstrip(':')}\n\n" + options(body))
    return "".join(out)


def options(body):
    """A heading for each option, so that search knows it; text that is none, such as examples, stays as it is."""
    out, name, lines = [], None, []
    for line in [*body.split("\n"), "  -"]:
        match = OPTION.match(line)
        if not match:
            lines.append(line)
            continue
        if name:
            out.append(option(name, lines))
        elif any(map(str.strip, lines)):
            out.append("```text\n" + "\n".join(lines).strip("\n") + "\n```\n")
        name, lines = match[1], []
    return "\n".join(out)


def option(name, lines):
    long = re.search(r"--([\w-]+)|-(\w)|<(\w+)", name)
    anchor = next(filter(None, long.groups())).lower() if long else name.strip("[]<>.").lower()
    flags, _, value = name.partition(" <")
    shown = f"<code>{html.escape(flags)}</code>"
    if value:
        shown += f" <code class=\"value\">&lt;{html.escape(value)}</code>"
    return f"#### {shown} {{ #{anchor} .option }}\n\n" + "\n\n".join(paragraphs(lines)) + "\n"


def paragraphs(lines):
    """The text of an option, unwrapped; a list of possible values stays a list."""
    text = "\n".join(line[10:] for line in lines).strip("\n")
    found = []
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("Possible values:"):
            values = re.findall(r"^- (\S+?):? +(.*(?:\n {2,}.*)*)|^- (\S+)$", part, re.M)
            items = [f"- `{(name or alone).rstrip(':')}`" + (f": {sentences(about)}" if about else "")
                     for name, about, alone in values]
            found.append("\n".join(items))
        elif part.startswith("[") and found and not found[-1].startswith("- "):
            found[-1] += " " + sentences(part)
        elif part:
            found.append(sentences(part))
    return found


def sentences(text):
    """Text of a help as Markdown: options are code, and nothing else means anything."""
    text = " ".join(text.split())
    text = re.sub(r"([\\`*_<>\[\]#|~])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*|-[a-zA-Z](?![\w-]))", r"`\1`", text)
