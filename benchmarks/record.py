"""The dated record of a benchmark: rows of a table, notes below it, and the facts that both came from."""
import contextlib
import datetime
import json
import pathlib
import sys

import common


class Record:
    def __init__(self, title, says, heads=("what", "Towline", "peer", "ratio", "must reach")):
        self.title, self.says, self.heads = title, says, heads
        self.rows, self.notes, self.facts = [], [], []
        # Further text, and drawings by name, to which the text refers as DATE-NAME.
        self.sections, self.drawings = [], {}

    def row(self, *cells):
        self.rows.append(cells + ("",) * (len(self.heads) - len(cells)))
        print("  " + " | ".join(cells), file=sys.stderr)

    @contextlib.contextmanager
    def part(self, name):
        """A part that may fail: what was measured before it is worth keeping."""
        print(name, file=sys.stderr)
        try:
            yield
        except (common.Failed, KeyboardInterrupt) as error:
            self.notes.append(f"{name} did not end: {str(error).splitlines()[-1] if str(error) else 'interrupted'}")

    def markdown(self, date, machine, versions):
        text = f"# {self.title}, {date}\n\n{machine['processor']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}. "
        text += f"{self.says}\n\n{common.table(['program', 'version'], versions.items())}\n"
        text += common.table(self.heads, self.rows)
        text += "".join(f"- {note}\n" for note in self.notes)
        return text + "".join(f"\n{section}" for section in self.sections).replace("DATE-", f"{date}-")

    def write(self, folder, name, versions):
        """Writes DATE-NAME.md for people and DATE-NAME.json for programs."""
        date, machine = datetime.date.today().isoformat(), common.machine()
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        text = self.markdown(date, machine, versions)
        (folder / f"{date}-{name}.md").write_text(text)
        for drawing, contents in self.drawings.items():
            (folder / f"{date}-{drawing}").write_text(contents)
        facts = {"schema": 1, "date": date, "machine": machine, "versions": versions, "rows": self.rows, "facts": self.facts}
        (folder / f"{date}-{name}.json").write_text(json.dumps(facts, indent=1) + "\n")
        print(text)
