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


def reviews(batches: int, rows: int = 2_000):
    """Batches of texts and what they say: mostly words that mean nothing."""
    random = np.random.default_rng(0)
    for _ in range(batches):
        labels = random.choice(["good", "bad"], rows)
        texts = [
            " ".join([*random.choice(PLAIN, 60), *random.choice(GOOD if label == "good" else BAD, 2), *random.choice(GOOD + BAD, 2)])
            for label in labels
        ]
        yield texts, labels


def main(folder: pathlib.Path) -> None:
    hashing = HashingVectorizer(n_features=2**18, dtype=np.float32)

    def batches():
        for texts, labels in reviews(10):
            # Labels of batches are numbers.
            yield hashing.transform(texts), (labels == "good").astype(int)

    store = towline.pack(batches(), folder / "reviews.tow", block_size="256K", memory="64M")
    print(f"{store.rows} rows, {store.features} features, {store.values} values")
    model = towline.LinearSVC(memory="12M", tol=1e-3).fit(store)
    print(f"gap {model.gap_:.1e} after {model.passes_} passes over {model.bytes_read_ // model.passes_ // 1000} kB: {model.status_}")
    texts, labels = next(iter(reviews(1)))
    predicted = model.predict(hashing.transform(texts))
    print(f"accuracy {np.mean(predicted == (labels == 'good')):.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(pathlib.Path(folder))
