#!/usr/bin/env python3
"""A pipeline of scikit-learn for tables.py, as a person who knows the table would write it; in the environment of the
peers. Prints one line with RESULT and JSON: the score of each model on the test file, and the seconds from reading the
training file to its last fit.

    table_pipelines.py FOLDER SET MODEL

It also predicts the training file, from CSV to CSV, and says how many seconds that took, of the wall and of processors.

MODEL is one of those that MODELS lists for the kind of the set. Columns, dates, money and text are named by hand here.
"""
import json
import sys
import time

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score, root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

MODELS = {"numbers": {"ridge": lambda: Ridge()},
          "classes": {"logistic": lambda: LogisticRegression(max_iter=1000), "svc": lambda: LinearSVC()}}
SCORES = {"auc": roc_auc_score, "accuracy": accuracy_score, "rmse": root_mean_squared_error}


def parts_of_date(table, name):
    """Year, month, weekday and days of a column of dates in its place."""
    date = pd.to_datetime(table.pop(name))
    table[f"{name} month"], table[f"{name} weekday"] = date.dt.month.astype(str), date.dt.weekday.astype(str)
    table[f"{name} day"] = (date - pd.Timestamp(2000, 1, 1)).dt.days.astype(float)


def amount(column):
    return pd.to_numeric(column.str.replace(r"[$,%]", "", regex=True))


def flights(table):
    parts_of_date(table, "FlightDate")
    for name in ("CRSDepTime", "CRSArrTime"):
        table[f"{name} hour"] = (table[name] // 100).astype(str)
    text = ["DayOfWeek", "Flight_Number_Operating_Airline"]
    table[text] = table[text].astype(str)
    return table.drop(columns="FlightDate weekday")


def census(table):
    codes = [2, 3, 38]
    table[codes] = table[codes].astype(str)
    return table


def shop(table):
    parts_of_date(table, "joined")
    table["income"], table["discount"] = amount(table["income"]), amount(table["discount"])
    table["review"] = table["review"].fillna("")
    return table.drop(columns="customer")


def debian_size(table):
    return table.drop(columns="package")


class Set:
    """How a table is read: its label, how it is judged, its columns of text, and what a person does to it first."""

    def __init__(self, label, score, text=(), prepare=None, header=True, positive=None, words=(1, 1)):
        self.label, self.score, self.text, self.header, self.words = label, score, list(text), header, words
        self.prepare, self.positive = prepare or (lambda table: table), positive

    def read(self, path):
        table = pd.read_csv(path, header=0 if self.header else None, skipinitialspace=True, low_memory=False)
        label = self.label if self.header else table.columns[-1]
        table = self.prepare(table)
        y = table.pop(label).to_numpy()
        for name in self.text:
            table[name] = table[name].fillna("")
        return table, y


SETS = {
    "flights": Set("ArrDel15", "auc", prepare=flights, positive=1),
    "census": Set(None, "auc", prepare=census, header=False, positive="50000+."),
    "german": Set("credit_risk", "auc", positive=2),
    "kddcup99": Set(None, "accuracy", header=False),
    "covtype": Set("Cover_Type", "accuracy"),
    "debian-size": Set("size", "rmse", text=["description", "tags"], prepare=debian_size),
    "debian-section": Set("section", "accuracy", text=["text"], words=(1, 2)),
    "news": Set("group", "accuracy", text=["text"], words=(1, 2)),
    "shop": Set("spent", "rmse", text=["review"], prepare=shop),
    "kernel": Set("class", "accuracy", text=["text"], words=(1, 2)),
}


def transformer(of, table):
    """Numbers are imputed and standardized, categories one-hot, text is tf-idf of words, or of pairs of them too."""
    numbers = [name for name in table.select_dtypes("number").columns if name not in of.text]
    categories = [name for name in table.columns if name not in numbers and name not in of.text]
    parts = []
    if numbers:
        parts.append(("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers))
    if categories:
        one_hot = make_pipeline(SimpleImputer(strategy="constant", fill_value="absent"),
                                OneHotEncoder(handle_unknown="ignore"))
        parts.append(("categories", one_hot, categories))
    parts += [(name, TfidfVectorizer(ngram_range=of.words, min_df=2), name) for name in of.text]
    return ColumnTransformer(parts, sparse_threshold=0.3)


def predicting(of, pipeline, folder, name):
    """The labels of the training file, which is the larger one, written as CSV."""
    if name == "kernel":
        return {}
    begin, cpu = time.perf_counter(), time.process_time()
    x, _ = of.read(f"{folder}/{name}.train.csv")
    x.columns = x.columns.astype(str)
    pd.DataFrame({"prediction": pipeline.predict(x)}).to_csv(f"{folder}/{name}.peer.csv", index=False)
    return {"predict_seconds": time.perf_counter() - begin, "predict_cpu": time.process_time() - cpu, "rows": len(x)}


def main():
    folder, name, model = sys.argv[1:4]
    of = SETS[name]
    kind = "numbers" if of.score == "rmse" else "classes"
    begin = time.perf_counter()
    x, y = of.read(f"{folder}/{name}.train.csv")
    x.columns = x.columns.astype(str)
    pipeline = make_pipeline(transformer(of, x), MODELS[kind][model]())
    pipeline.fit(x, y)
    seconds = time.perf_counter() - begin
    x, y = of.read(f"{folder}/{name}.test.csv")
    x.columns = x.columns.astype(str)
    if of.score == "auc":
        scores = pipeline.decision_function(x)
        scores = scores if pipeline.classes_[1] == of.positive else -scores
        found = roc_auc_score(y == of.positive, scores)
    else:
        found = SCORES[of.score](y, pipeline.predict(x))
    result = {"score": float(found), "seconds": seconds} | predicting(of, pipeline, folder, name)
    print("\nRESULT " + json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
