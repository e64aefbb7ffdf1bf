"""The page of the Python package, from its sources: signatures and docstrings. Nothing is imported, and nothing has to be built."""
import ast
import pathlib
import re
import textwrap

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "crates/towline-python/python/towline"
GROUPS = [
    ("Classification", ["LinearSVC", "LogisticRegression", "LogisticRegressionCV", "RidgeClassifier", "RampSVC", "StreamClassifier"]),
    ("Regression", ["Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "LinearSVR", "HuberRegressor", "QuantileRegressor", "GroupLasso",
                    "MultiTaskLasso", "MultiTaskElasticNet", "StreamRegressor", "lasso_path", "enet_path"]),
    ("Files, models, validation", ["pack", "Store", "Schema", "cv", "read_model", "Model", "History", "TraceFile", "load_trace", "StoreError"]),
]


class Module:
    """The classes and functions of a file, and where its other names come from."""

    read = {}

    def __init__(self, name):
        path = PACKAGE / f"{name}.py"
        tree = ast.parse((path if path.exists() else path.with_suffix(".pyi")).read_text(encoding="utf-8"))
        kinds = (ast.ClassDef, ast.FunctionDef)
        self.tree, self.own = tree, {node.name: node for node in tree.body if isinstance(node, kinds)}
        self.imports = {alias.asname or alias.name: node.module for node in tree.body if isinstance(node, ast.ImportFrom)
                        and node.level == 1 and node.module for alias in node.names}

    @classmethod
    def of(cls, name):
        if name not in cls.read:
            cls.read[name] = cls(name)
        return cls.read[name]

    def find(self, name):
        """Where a name is defined, and as what; None for names of other packages."""
        if name in self.own:
            return self, self.own[name]
        if name.startswith("_native."):
            return Module.of("_native").find(name.split(".")[1])
        return Module.of(self.imports[name]).find(name) if name in self.imports else None


def page():
    package = Module.of("__init__")
    names = next(ast.literal_eval(node.value) for node in package.tree.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    grouped = [name for _, group in GROUPS for name in group]
    groups = [(title, [name for name in group if name in names]) for title, group in GROUPS]
    groups.append(("More", [name for name in names if name not in grouped]))
    out = [f"# Python reference\n\n{prose(ast.get_docstring(package.tree))}\n\n"
           "[The guide](../python.md) shows them at work, and [another](../from-scikit-learn.md) compares them with scikit-learn.\n"]
    for title, group in groups:
        if group:
            out.append(f"\n## {title}\n" + "".join(entry(name, *package.find(name)) for name in group))
    return "".join(out)


def entry(name, module, node):
    if isinstance(node, ast.FunctionDef):
        return f"\n### {name}\n\n{signature(name, node)}\n{prose(ast.get_docstring(node))}\n"
    lineage = ancestors(module, node)
    made = next((found for _, kind in lineage for found in kind.body if getattr(found, "name", "") == "__init__"), None)
    text = f"\n### {name}\n\n{signature(name, made, skip=1) if made and name != 'Model' else ''}\n{prose(ast.get_docstring(node))}\n"
    rows = members(lineage)
    return text + ("\n" + "\n".join(f"`{what}`\n:   {about}\n" for what, about in rows) if rows else "")


def ancestors(module, node):
    """A class and those that it inherits from within the package, the nearest first."""
    found = [(module, node)]
    for base in node.bases:
        known = module.find(ast.unparse(base))
        if known and isinstance(known[1], ast.ClassDef):
            found += ancestors(*known)
    return found


def members(lineage):
    """Public methods and properties with what is said of them; a class's own come before inherited ones."""
    found = {}
    for _, node in lineage:
        for member in node.body:
            name = getattr(member, "name", "_")
            about = ast.get_docstring(member) if isinstance(member, ast.FunctionDef) else None
            if name.startswith("_") or name in found or not isinstance(member, ast.FunctionDef):
                continue
            if any(ast.unparse(mark) == "property" for mark in member.decorator_list):
                kind = f": {ast.unparse(member.returns)}" if member.returns else ""
                found[name] = f"{name}{kind}", prose(about, short=True)
            else:
                found[name] = f"{name}({arguments(member, skip=1)})", prose(about, short=True)
    return [(what, about or "\u00a0") for what, about in found.values()]


def arguments(node, skip=0):
    given = ast.unparse(node.args).split(", ", skip)
    return given[skip] if len(given) > skip else ""


def signature(name, node, skip=0):
    text = f"towline.{name}({arguments(node, skip)})"
    if len(text) > 100:
        parts = [part.replace(" ", "\0") for part in re.split(r", (?![^\[(]*[\])])", arguments(node, skip))]
        lines = textwrap.wrap(", ".join(parts), 92, break_long_words=False)
        text = f"towline.{name}(\n    " + "\n    ".join(lines).replace("\0", " ") + "\n)"
    return f"```python\n{text}\n```\n"


def prose(text, short=False):
    """A docstring as Markdown: its code, its names of classes, its sessions, its sections."""
    if not text:
        return ""
    text = text.split("\n\n")[0] if short else text
    text = re.sub(r":(?:class|func):`~?\.?(\w+)`", lambda match: f"[`{match[1]}`](#{match[1].lower()})", text)
    text = re.sub(r":(?:meth|attr):`~?\.?(\w+)`", r"`\1`", text)  # Members have no headings to lead to.
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    text = re.sub(r"(?m)^(\w[\w ]*)\n-{3,}$", r"**\1**\n", text)
    text = re.sub(r"(?m)((?:^(?:>>>|\.\.\.) .*\n?)(?:^(?!\n).+\n?)*)", lambda match: f"```pycon\n{match[1].rstrip()}\n```\n", text)
    return " ".join(text.split()) if short else text
