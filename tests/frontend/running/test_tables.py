"""Claims about what a commit gives, when it is looked at."""

import pickle

import ebbflow as ebb


def two():
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop string, amount long")
    flow.output("large", sales.filter(sales.amount > 5))
    flow.output("<b>small", sales.filter(sales.amount <= 5))
    return flow.compute(sales=[("north", 10)])


def test_every_table_stands_under_the_name_of_its_output():
    assert repr(two()).splitlines() == [
        "large:",
        "┌───────┬────────┬────────┐",
        "│ shop  │ amount │ _count │",
        "├───────┼────────┼────────┤",
        "│ north │     10 │      1 │",
        "└───────┴────────┴────────┘",
        "<b>small: no rows",
    ]


def test_in_a_notebook_names_are_text():
    shown = two()._repr_html_()
    assert shown.startswith("<p>large:</p><table>") and shown.endswith("<p>&lt;b&gt;small: no rows</p>")


def test_it_is_a_dict_and_travels_as_one():
    tables = two()
    assert isinstance(tables, dict) and list(tables) == ["large", "<b>small"]
    assert pickle.loads(pickle.dumps(tables)) == tables == {**tables}
