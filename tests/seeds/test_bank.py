"""The bank: money moves between accounts, news of it arrives in any order, and none is ever missing or made."""

from random import Random

import pytest

from ebbflow.columns.schema import LONG
from ebbflow.columns.text_pool import Pool
from tests.meaning.histories import at_once, recut, singletons
from tests.meaning.programs import Sketch, call, schema
from tests.meaning.runtimes import ASKED, RUNTIMES, judge
from tests.seeds.asking import changes_of

TRANSFER = schema(id=LONG, payer=LONG, payee=LONG, amount=LONG)


def bank(*coordinates):
    s = Sketch(*coordinates)
    transfers = s.input("transfers", TRANSFER)
    credits = s.aggregate(transfers, ("payee",), amount=("sum", "amount"))
    debits = s.aggregate(transfers, ("payer",), amount=("sum", "amount"))
    moved = s.concat(
        s.map(credits, account="payee", amount="amount"),
        s.map(debits, account="payer", amount=call("neg", s.col(debits, "amount"))),
    )
    balance = s.aggregate(moved, ("account",), amount=("sum", "amount"))
    s.output("balance", balance)
    s.output("total", s.aggregate(balance, (), amount=("sum", "amount")))
    both = s.outer(credits, credits, {"payee": "payee"}, "full")
    unmatched = call("or", call("is_null", s.col(both, "left_payee")), call("is_null", s.col(both, "right_payee")))
    s.output("unmatched", s.filter(both, unmatched))
    return s.graph


def transfers(random, width, count):
    made = []
    for i in range(count):
        time = tuple(random.randint(0, 12 if width == 1 else 4) for _ in range(width))
        row = (i, random.randint(0, 9), random.randint(0, 9), random.randint(1, 100))
        made.append(("transfers", row, time, 1))
        if random.random() < 0.2:  # called off later
            made.append(("transfers", row, tuple(c + random.randint(0, 2) for c in time), -1))
    return made


def cuts(random, changes, width):
    end = {"transfers": ()}
    times = [change[2] for change in changes]
    whole = at_once(changes, end)
    return [whole, singletons(changes, ["transfers"], end), *(recut(random, whole, n, times) for n in (2, 3, 7))]


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("runtime", ASKED)
def test_the_total_is_zero_at_every_complete_time_however_the_news_is_cut(runtime, width):
    random = Random(width)
    changes = transfers(random, width, 30)
    graph = bank(*("time", "known")[:width])
    for steps in cuts(random, changes, width):
        judge(RUNTIMES[runtime], graph, steps, Pool())


@pytest.mark.parametrize("runtime", ASKED)
def test_no_money_is_missing_and_no_row_unmatched(runtime):
    """Not by comparing with the oracle, but by what a bank would ask for."""
    changes = transfers(Random(5), 1, 60)
    fed = {"transfers": [(row, time, diff) for _, row, time, diff in changes]}
    moves = [{"transfers": ((t,),)} for t in range(1, 16)] + [{"transfers": ()}]
    found = changes_of(runtime, bank("time"), fed, moves)
    assert {record for record, _ in found["total"]} == {(0,)}
    assert found["unmatched"] == {}
    assert len(found["balance"]) > 50
