"""One run of a peer on two threads, for cores.py: the peer, a file of libsvm rows, C. Only training counts."""
import json
import sys
import time

import numpy
import scipy.sparse


def rows(path):
    """Labels of -1 and 1, and a matrix, from text; a compressed file has to be unpacked before."""
    labels, offsets, columns, values = [], [0], [], []
    with open(path) as lines:
        for line in lines:
            label, *pairs = line.split()
            labels.append(label)
            columns.append(numpy.array([pair.split(":")[0] for pair in pairs], dtype=numpy.int32) - 1)
            values.append(numpy.array([pair.split(":")[1] for pair in pairs], dtype=numpy.float32))
            offsets.append(offsets[-1] + len(pairs))
    y = numpy.where(numpy.array(labels) == labels[0], 1.0, -1.0)
    return scipy.sparse.csr_matrix((numpy.concatenate(values), numpy.concatenate(columns), offsets)), y


def liblinear(x, y, c):
    from liblinear.liblinearutil import parameter, problem, train
    data, how = problem(y, x.astype(numpy.float64)), parameter(f"-s 3 -c {c} -q")
    begin = time.perf_counter()
    model = train(data, how)
    seconds = time.perf_counter() - begin
    return seconds, numpy.array(model.get_decfun()[0]) * (1 if model.get_labels()[0] == 1 else -1)


def snap(x, y, c):
    from snapml import SupportVectorMachine
    model = SupportVectorMachine(regularizer=1 / c, fit_intercept=False, n_jobs=2)
    begin = time.perf_counter()
    model.fit(x, y)
    return time.perf_counter() - begin, model.coef_.ravel()


def main():
    peer, path, c = sys.argv[1], sys.argv[2], float(sys.argv[3])
    x, y = rows(path)
    seconds, w = {"LIBLINEAR": liblinear, "Snap ML": snap}[peer](x, y, c)
    objective = 0.5 * w @ w + c * numpy.maximum(0, 1 - y * (x @ w)).sum()
    print("RESULT " + json.dumps({"seconds": seconds, "objective": float(objective)}))


if __name__ == "__main__":
    main()
