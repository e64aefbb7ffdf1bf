#!/usr/bin/env python3
"""Do modules of the library import only from the layers below their own? Prints the graph.

    docs/check_layers.py              folders and what they import; exit code 1 if an edge points up
    docs/check_layers.py --modules    the same for modules, one level deeper

Also fails where a method has a clock, opens a reader of its own or ends a run by hand: those are parts of the engine
(`Session`, `Pass`, `Saving`).

A path such as `crate::loss` is followed to where the root of the crate has it from. Tests may import anything.
"""
import collections
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "crates/towline/src"
# From the bottom to the top: a layer may import from those before it.
LAYERS = ["base", "data", "math", "io", "engine", "model", "methods", "fit", "report"]
# What a method leaves to the engine, and who may do it nevertheless: rows of a stream come once, and not by blocks.
OF_THE_ENGINE = r"\bInstant::now\b|\bReadAhead::new\b|\bTrained \{ weights"
STREAMS = "methods/online/"
# Neither of these needs the other.
APART = {("io", "math"), ("engine", "io")}


def aliases():
    """Where the modules that the root of the crate names come from."""
    text = (SOURCE / "lib.rs").read_text()
    found = {layer: (layer,) for layer in LAYERS}
    for path, names in re.findall(r"^pub(?:\(crate\))? use ([a-z_:]+)::(\{[^}]*\}|[a-z_]+(?: as [a-z_]+)?);", text, re.M):
        for name in re.findall(r"[a-z_]+(?: as [a-z_]+)?", names):
            module, _, alias = name.partition(" as ")
            found[alias or module] = (*path.split("::"), module)
    return found


def code(path):
    """The text without comments and without unit tests."""
    text = path.read_text()
    text = re.sub(r"^#\[cfg\(test\)\]\nmod [a-z_]+ \{.*", "", text, flags=re.M | re.S)
    return re.sub(r"//.*", "", text)


def is_test(path):
    return "tests" in path.parts or path.stem in ("tests", "testing", "testing_arrow", "malformed")


def graph(depth):
    """Edges between modules that are this deep, with the files that have them."""
    known, edges = aliases(), collections.defaultdict(lambda: collections.defaultdict(set))
    for path in sorted(SOURCE.rglob("*.rs")):
        place = path.relative_to(SOURCE).with_suffix("").parts
        if place == ("lib",) or is_test(path):
            continue
        here = place[:depth] if place[-1] != "mod" else place[:-1][:depth]
        text = code(path)
        if "crate::{" in text:
            sys.exit(f"{path}: name each module of the crate in a line of its own, so that this script can read it")
        for name in re.findall(r"\bcrate::([a-z_:]+)", text):
            parts = [part for part in name.split("::") if part]
            there = (*known.get(parts[0], (parts[0],)), *parts[1:])[:depth]
            if there != here[:len(there)]:
                edges["/".join(here)]["/".join(there)].add("/".join(place))
    return edges


def goes_up(here, there):
    order = {layer: number for number, layer in enumerate(LAYERS)}
    return order[there] > order[here] or (here, there) in APART


def cycle(edges, layer):
    """Modules of a layer that import each other in a circle, if there are any."""
    left = {name: {there for there in edges.get(name, ()) if there.startswith(f"{layer}/")} for name in edges
            if name.startswith(f"{layer}/")}
    while free := [name for name, imports in left.items() if not imports & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def loops():
    """Places in methods that do what the engine does for all of them."""
    found = []
    for path in sorted((SOURCE / "methods").rglob("*.rs")):
        place = path.relative_to(SOURCE).as_posix()
        if not is_test(path) and not place.startswith(STREAMS):
            found += [f"{place}: {text}" for text in re.findall(OF_THE_ENGINE, code(path))]
    return found


def main():
    by_layer = graph(1)
    for here in LAYERS:
        print(f"{here:8} -> {' '.join(there for there in LAYERS if there in by_layer[here])}")
    if "--modules" in sys.argv[1:]:
        for here, edges in sorted(graph(2).items()):
            print(f"{here:22} -> {' '.join(sorted(edges))}")
    wrong = [(here, there) for here in LAYERS for there in by_layer[here] if goes_up(here, there)]
    for here, there in wrong:
        print(f"{here} must not import from {there}: {', '.join(sorted(by_layer[here][there]))}", file=sys.stderr)
    circle = cycle(graph(2), "methods")
    if circle:
        print(f"methods import each other in a circle: {', '.join(circle)}", file=sys.stderr)
    own_loops = loops()
    for place in own_loops:
        print(f"{place} is for the engine: Session, Pass and Saving", file=sys.stderr)
    unknown = {there for edges in by_layer.values() for there in edges if there not in LAYERS}
    for there in sorted(unknown):
        print(f"{there} is in no layer", file=sys.stderr)
    sys.exit(bool(wrong or circle or own_loops or unknown))


if __name__ == "__main__":
    main()
