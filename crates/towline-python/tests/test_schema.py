"""What the columns of tables are, said by a schema, a file or rules."""

import copy
import pickle
import re

import numpy as np
import pandas
import polars
import pytest

import towline


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    rows = 400
    city = random.choice(["Rome", "Oslo", "Lima", "Bern"], rows, p=[0.5, 0.3, 0.195, 0.005])
    frame = pandas.DataFrame(
        {
            "age": random.integers(18, 80, rows).astype(float),
            "city": city,
            "code": random.integers(1, 4, rows),
            "note": [f"the {word} fox number {n % 7} jumps" for n, word in enumerate(np.where(city == "Rome", "red", "blue"))],
        }
    )
    return frame, np.where((city == "Rome") ^ (frame["code"] == 2), "yes", "no")


def test_looking_writing_and_reading(table, tmp_path):
    frame, y = table
    schema = towline.Schema.of(frame.assign(clicked=y), label="clicked")
    assert schema.names == ["age", "city", "code", "note", "clicked"] and schema.label == ["clicked"]
    assert schema["age"]["kind"] == "number" and schema["city"]["kind"] == "category"
    schema.write(tmp_path / "table.toml")
    again = towline.Schema.read(tmp_path / "table.toml")
    assert again == schema and pickle.loads(pickle.dumps(schema)) == schema and copy.deepcopy(schema) == schema
    assert repr(again).startswith("Schema({'age': 'number', 'city': 'category'")
    again["city"] = "category, rare=5"
    assert again != schema and again["city"]["rare"] == 5
    with pytest.raises(KeyError, match="there is no column 'town'"):
        schema["town"]


def test_files_and_frames_by_the_same_schema(table, tmp_path):
    frame, y = table
    whole = frame.assign(clicked=y)
    whole.to_csv(tmp_path / "table.csv", index=False)
    schema = towline.Schema.of(tmp_path / "table.csv", label="clicked")
    schema["code"] = "category"
    schema["note"] = "text, words=1-2, min=3"
    schema.write(tmp_path / "table.toml")
    by_file = towline.LogisticRegression(tol=1e-8, max_iter=1000).fit(tmp_path / "table.csv", schema=tmp_path / "table.toml", precision="f64")
    by_frame = towline.LogisticRegression(tol=1e-8, max_iter=1000).fit(frame, y, schema=schema)
    assert {"code=2", "note:red fox"} <= set(by_frame.features_)
    np.testing.assert_allclose(by_frame.predict_proba(frame), by_file.predict_proba(whole), atol=1e-4)
    assert by_frame.schema_["code"]["kind"] == "category"
    assert by_frame.schema_["note"]["kind"]["text"]["most"] == 2
    store = towline.pack(tmp_path / "table.csv", tmp_path / "table.tow", schema=schema)
    assert store.schema["code"]["kind"] == "category"


def test_rules_of_single_columns(table):
    frame, y = table
    rules = {"city": "category, rare=5", "note": "text, words=1-2", "code": "category", "age": "bins=30/60"}
    model = towline.LogisticRegression().fit(frame, y, schema=rules)
    features = set(model.features_)
    assert {"city=(rare)", "code=1", "age=30..60", "note:red fox"} <= features and "city=Bern" not in features
    same = {"category": "code", "text": {"note": "words=1-2"}, "column": {"city": "rare=5", "age": "bins=30/60"}}
    again = towline.LogisticRegression().fit(frame, y, **same)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    again = towline.LogisticRegression().fit(polars.from_pandas(frame), y, schema=rules)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_products_powers_and_hashes(table):
    frame, y = table
    how = {"column": {"age": "powers=2", "*": "hash=6"}, "interact": ["city*code"], "category": ["code"], "ignore": "note"}
    model = towline.LogisticRegression().fit(frame, y, **how)
    features = list(model.features_)
    assert "age^2" in features and any(re.fullmatch(r"city=#\d+\*code=#\d+", name) for name in features), features
    assert model.score(frame, y) > 0.95
    texts = towline.LogisticRegression().fit(frame, y, text="note", max_features=3, ignore=["city", "code", "age"])
    assert len(texts.features_) == 3


def test_numbers_alone_are_a_table_where_something_is_said_of_them(table):
    frame, y = table
    numbers = frame[["age", "code"]]
    assert len(towline.LogisticRegression().fit(numbers, y).coef_[0]) == 2
    model = towline.LogisticRegression().fit(numbers, y, schema={"code": "category"})
    assert {"code=1", "code=2", "code=3", "age"} <= set(model.features_)
    assert model.predict(numbers).shape == y.shape


@pytest.mark.parametrize(
    "schema, message",
    [
        ({"city": "rare=1"}, "city: 'rare=1': write rare=5"),
        ({"city": "colour"}, "city: 'colour' is no rule of a column"),
        ({"city": "number, words=2"}, "'words=2' is for text, and the rule says 'number'"),
        ({"town": "category"}, "town"),
    ],
)
def test_wrong_rules_are_named(table, schema, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        towline.LogisticRegression().fit(*table, schema=schema)


def test_wrong_schemas_are_named(table, tmp_path):
    frame, y = table
    with pytest.raises(ValueError, match="begin with one of number, category"):
        towline.Schema({"city": "rare=5"})
    with pytest.raises(ValueError, match="'town', which is none of its columns"):
        towline.Schema({"city": "category"}, label="town")
    (tmp_path / "wrong.toml").write_text("columns = 3")
    with pytest.raises(ValueError, match=r"(?s)wrong\.toml: .*correct the file"):
        towline.LogisticRegression().fit(frame, y, schema=tmp_path / "wrong.toml")
    with pytest.raises(TypeError, match="schema= says what 'category' says"):
        towline.LogisticRegression().fit(frame, y, schema={"code": "category"}, category=["city"])
    with pytest.raises(ValueError, match="'user' is no product of two columns"):
        towline.LogisticRegression().fit(frame, y, interact=["user"])


def test_a_schema_of_ones_own(table):
    frame, y = table
    schema = towline.Schema({"age": "number, impute=median", "city": "category", "code": "category", "note": "ignore"})
    model = towline.LogisticRegression().fit(frame, y, schema=schema)
    assert all(not name.startswith("note") for name in model.features_)
    with pytest.raises(ValueError, match="age"):
        model.predict(frame.drop(columns="age"))
