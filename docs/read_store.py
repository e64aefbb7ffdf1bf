#!/usr/bin/env python3
"""Reads a Towline store as docs/format.md describes it and prints libsvm text, like `towline cat`.

    docs/read_store.py STORE [ROWS]

It is the test of that document: written from it alone, with the standard library alone, and checked against the
program by docs/test_format.py. It is slow, and it holds one block at a time in memory.
"""
import decimal
import json
import os
import struct
import sys

CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def check(data, expected, what):
    if crc32c(data) != expected:
        sys.exit(f"{what}: checksum mismatch")


class Cursor:
    """Takes little-endian numbers from the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        assert self.at <= len(self.data), "ends too early"
        return self.data[self.at - size : self.at]

    def many(self, code, count):
        form = f"<{count}{code}"
        return list(struct.unpack(form, self.take(struct.calcsize(form))))

    def one(self, code):
        return self.many(code, 1)[0]

    def packed(self, count):
        """Groups of 128 numbers: a width for each group, then four interleaved lanes of 32 numbers for each."""
        widths = self.take((count + 127) // 128)
        numbers = []
        for width in widths:
            words = self.many("I", 4 * width)
            lanes = [sum(word << 32 * k for k, word in enumerate(words[lane::4])) for lane in range(4)]
            mask = (1 << width) - 1
            numbers += [lanes[i % 4] >> width * (i // 4) & mask for i in range(128)]
        return numbers[:count]

    def end(self):
        assert self.at == len(self.data), "bytes left over"


def read_manifest(store):
    text = open(os.path.join(store, "manifest.json"), encoding="utf-8").read()
    opening, closing = '{"crc32c":"xxxxxxxx","manifest":', "}\n"
    check(text[len(opening) : -len(closing)].encode(), int(text[11:19], 16), "manifest.json")
    manifest = json.loads(text)["manifest"]
    assert manifest["version"] in (1, 2, 3, 4, 5), "another version of the format"
    return manifest


def read_file(store, entry):
    data = open(os.path.join(store, entry["name"]), "rb").read()
    assert len(data) == entry["bytes"], f"{entry['name']}: wrong size"
    check(data, entry["checksum"], entry["name"])
    return data


def read_features(data):
    """Names or numbers of the features of one map, in column order."""
    cursor = Cursor(data)
    magic, version, named, scaled, count = struct.unpack("<4sHBBQ", cursor.take(16))
    assert magic == b"TOWF" and version in (1, 2), "not a feature map"
    if version == 2:
        return read_chunks(cursor, named, scaled, count)
    if named:
        places, ends = cursor.many("I", count), cursor.many("Q", count)
        text = cursor.take(ends[-1] if ends else 0)
        starts = [0] + ends
        keys = [text[starts[place] : ends[place]].decode() for place in places]
    else:
        keys = cursor.many("Q", count)
    cursor.many("d", 2 * count if scaled else 0)  # shift and factor of each column: `cat` shows values as stored
    cursor.end()
    return keys


def read_chunks(cursor, named, scaled, count):
    """The second version of a feature map: columns in order, 16,384 at a time."""
    size, keys, last = cursor.one("Q") or 1 << 64, [], 0
    for first in range(0, count, 16384):
        columns = min(16384, count - first)
        numbers = cursor.packed(columns)
        if named:
            keys += [cursor.take(length).decode() for length in numbers]
        else:
            highs = cursor.packed(columns) if size > 1 << 32 else [0] * columns
            for low, high in zip(numbers, highs):
                last = (last + (high << 32) + low) % size
                keys.append(last)
        cursor.many("d", 2 * columns if scaled else 0)  # shift and factor of each column
    cursor.end()
    return keys


def read_floats(cursor, rows):
    tag = cursor.one("B")
    if tag == 0:
        return [cursor.one("d")] * rows
    if tag == 1:
        dictionary = cursor.many("d", cursor.one("H"))
        return [dictionary[code] for code in cursor.packed(rows)]
    return cursor.many({2: "f", 3: "d"}[tag], rows)


def read_integers(cursor, rows):
    tag, number = cursor.one("B"), cursor.one("Q")
    if tag == 4:
        numbers = []
        for step in cursor.packed(rows):
            number += step
            numbers.append(number)
        return numbers
    assert tag == 5, "unknown encoding"
    low, high = cursor.packed(rows), cursor.packed(rows)
    return [number + (h << 32 | l) for l, h in zip(low, high)]


def read_columns(cursor, lengths, columns):
    tag = cursor.one("B")
    if tag == 0:
        return [range(columns)] * len(lengths)
    numbers, rows, at = cursor.packed(sum(lengths)), [], 0
    for length in lengths:
        row = numbers[at : at + length]
        if tag == 1:
            for k in range(1, length):
                row[k] += row[k - 1] + 1
        at += length
        rows.append(row)
    return rows


def read_values(cursor, lengths):
    tag, count = cursor.one("B"), sum(lengths)
    if tag == 0:
        return [1.0] * count
    if tag == 1:
        return [value for value, length in zip(cursor.many("d", len(lengths)), lengths) for _ in range(length)]
    if tag == 2:
        width, size = cursor.one("B"), cursor.one("I")
        dictionary = cursor.many({4: "f", 8: "d"}[width], size)
        return [dictionary[code] for code in cursor.packed(count)]
    if tag == 3:
        width, sizes = cursor.one("B"), cursor.packed(len(lengths))
        entries, codes = cursor.many({4: "f", 8: "d"}[width], sum(sizes)), iter(cursor.packed(count))
        values, first = [], 0
        for size, length in zip(sizes, lengths):
            values += [entries[first + next(codes)] for _ in range(length)]
            first += size
        return values
    return cursor.many({4: "f", 5: "d"}[tag], count)


def read_block(data):
    """Yields targets, weight, group, id and the (column, value) pairs of each row."""
    header = data[:128]
    check(header[:124], struct.unpack("<I", header[124:])[0], "block header")
    magic, version, _dense, _kind, rows, targets, values, columns = struct.unpack("<4sHBBII8xQQ", header[:40])
    assert magic == b"TOWB" and version in (1, 2), "not a block"
    assert version == 2 or targets == 0, "version 1 has one target a row"
    sections, at = [], 128
    for size, checksum in struct.iter_unpack("<QI", header[40:124]):
        check(data[at : at + size], checksum, "block section")
        sections.append(Cursor(data[at : at + size]))
        at += size
    assert at == len(data), "the sections do not fill the block"
    least = sections[0].one("I")
    lengths = [least + more for more in sections[0].packed(rows)]
    assert sum(lengths) == values
    indices, numbers = read_columns(sections[1], lengths, columns), read_values(sections[2], lengths)
    labels = list(zip(*[read_floats(sections[3], rows) for _ in range(targets or 1)]))
    weights = read_floats(sections[4], rows)
    groups, ids = read_integers(sections[5], rows), read_integers(sections[6], rows)
    for section in sections:
        section.end()
    at = 0
    for i, row in enumerate(indices):
        yield labels[i], weights[i], groups[i], ids[i], list(zip(row, numbers[at : at + lengths[i]]))
        at += lengths[i]


def digits(value, single):
    """The fewest digits that read back as the same float, without an exponent."""
    text = repr(value)
    if single:
        bits = struct.pack("<f", value)
        text = next(t for n in range(1, 10) if struct.pack("<f", float(t := f"{value:.{n}g}")) == bits)
    text = format(decimal.Decimal(text), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def lines(store):
    manifest = read_manifest(store)
    features = [key for entry in manifest["feature_maps"] for key in read_features(read_file(store, entry))]
    # Where rows are mapped on reading, these are the ones that lie on disk.
    manifest.update(manifest.get("made_from") or {})
    assert len(features) == manifest["features"]
    files = [open(os.path.join(store, entry["name"]), "rb") for entry in manifest["block_files"]]
    classes, single = manifest["labels"]["names"], manifest["precision"] == "f32"
    for offset, size, values, rows, file, _ in struct.iter_unpack("<QQQIIQ", read_file(store, manifest["table"])):
        files[file].seek(offset)
        for targets, _weight, group, _id, entries in read_block(files[file].read(size)):
            assert len(targets) == max(1, len(manifest.get("targets", [])))
            pairs = [(features[column], value) for column, value in entries]
            if not manifest["named_features"]:
                pairs.sort()
            line = [classes[int(targets[0])] if classes else ",".join(digits(target, False) for target in targets)]
            line += [f"qid:{group}"] if manifest["grouped"] else []
            yield " ".join(line + [f"{key}:{digits(value, single)}" for key, value in pairs])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    most = int(sys.argv[2]) if len(sys.argv) == 3 else None
    for number, line in enumerate(lines(sys.argv[1])):
        if number == most:
            break
        print(line)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
