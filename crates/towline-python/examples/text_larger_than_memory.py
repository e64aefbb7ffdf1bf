"""Classifies text that is larger than the memory it may take.

    python text_larger_than_memory.py [FOLDER]

Writes lines of made-up reviews to a file, batch by batch; hashes their words; packs them into a store; and trains within a budget that holds neither
the text nor its rows.
"""

import pathlib
import sys
import tempfile

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

import towline

GOOD = "crisp warm funny honest brilliant lovely sharp patient bright tender".split()
BAD = "dull loud stale clumsy shallow bleak tired messy bland sour".split()
PLAIN = [f"word{number}" for number in range(20_000)]


def reviews(batches: int, rows: int = 1_000, seed: int = 0):
    """Batches of texts, and whether they are good: mostly words that mean nothing."""
    random = np.random.default_rng(seed)
    for _ in range(batches):
        good = random.integers(0, 2, rows)
        plain, meant = random.integers(0, len(PLAIN), (rows, 60)), random.integers(0, len(GOOD), (rows, 3))
        yield [
            " ".join([*(PLAIN[word] for word in words), *((GOOD if is_good else BAD)[word] for word in said)])
            for words, said, is_good in zip(plain, meant, good)
        ], good


def main(folder: pathlib.Path) -> None:
    hashing = HashingVectorizer(n_features=2**18, dtype=np.float32)

    def batches():
        for texts, good in reviews(10):
            yield hashing.transform(texts), good

    store = towline.pack(batches(), folder / "reviews.tow", block_size="64K", memory="64M")
    print(f"{store.rows} rows, {store.features} features, {store.values} values")
    model = towline.LinearSVC(memory="3M", tol=1e-3).fit(store)
    print(f"gap {model.gap_:.1e} after {model.passes_} passes over {model.bytes_read_ // model.passes_ // 1000} kB: {model.status_}")
    texts, good = next(iter(reviews(1, seed=1)))
    print(f"accuracy {np.mean(model.predict(hashing.transform(texts)) == good):.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(pathlib.Path(folder))
