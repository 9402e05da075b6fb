"""A warehouse of a broker, as 45 views over views: staging, dimensions with histories, facts, roll-ups, reports.

Six tables come from the systems of a broker: customers as they register and move, accounts, securities, prices by the
day, trades and cash movements.  Customers and accounts come as versions; a dimension says from when to when each
version held, by a window.  Facts join the version that held at their time; roll-ups and reports read facts.

Rule: a view reads tables and views that stand above it, in SQL that Spark, DuckDB and `flow.sql` read alike; an order
is of all columns that can tell rows apart, wherever it decides which rows are shown.
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

TABLES = {
    "customers": "c_id int, version int, name string, tier int, city string, since date, score decimal(10,2)",
    "accounts": "a_id int, version int, c_id int, broker int, status string, since date",
    "securities": "symbol string, issuer string, exchange string, industry string, listed date, shares bigint",
    "prices": "symbol string, day date, high decimal(12,2), low decimal(12,2), close decimal(12,2), volume bigint",
    "trades": "t_id bigint, a_id int, symbol string, day date, kind string, status string, quantity int,"
    " price decimal(12,2), fee decimal(10,2)",
    "cash": "x_id bigint, a_id int, day date, amount decimal(12,2), what string",
}
VIEWS: dict[str, str] = {}


def _view(name: str, text: str) -> None:
    VIEWS[name] = " ".join(text.split())


# ---- staging: cleaned, one row for each thing -------------------------------------------------------------

_view(
    "stg_customers",
    """
    select c_id, version, trim(name) as name, coalesce(tier, 3) as tier, upper(coalesce(city, 'nowhere')) as city,
    since, score from customers where c_id is not null and since is not null""",
)
_view(
    "stg_accounts",
    """
    select a_id, version, c_id, coalesce(broker, 0) as broker, lower(status) as status, since from accounts
    where a_id is not null and since is not null""",
)
_view(
    "stg_securities",
    """
    select symbol, issuer, exchange, coalesce(industry, 'other') as industry, listed, shares from securities
    where symbol is not null""",
)
_view("stg_prices", "select symbol, day, high, low, close, volume from prices where close > 0 and high >= low")
_view(
    "stg_trades",
    """
    select t_id, a_id, symbol, day, kind, quantity, price, fee, quantity * price as value from trades
    where status = 'done' and quantity > 0 and price is not null""",
)
_view(
    "stg_cash", "select x_id, a_id, day, amount, coalesce(what, 'unknown') as what from cash where amount is not null"
)
_view("stg_cancelled", "select t_id, a_id, symbol, day, quantity from trades where status = 'cancelled'")
_view(
    "bad_trades",
    """
    select t_id, 'no account' as problem from trades
    where a_id not in (select a_id from accounts where a_id is not null)
    union all select t_id, 'no security' from trades t where not exists
    (select 1 from securities s where s.symbol = t.symbol)
    union all select t_id, 'no price' from trades where price is null""",
)

# ---- dimensions: each version with the days on which it held ----------------------------------------------

_view(
    "dim_customer",
    """
    select c_id, version, name, tier, city, score, since as valid_from,
    coalesce(lead(since) over (partition by c_id order by since, version), date '9999-12-31') as valid_to,
    row_number() over (partition by c_id order by since desc, version desc) = 1 as is_current from stg_customers""",
)
_view("dim_customer_now", "select c_id, name, tier, city, score from dim_customer where is_current")
_view(
    "dim_account",
    """
    select a_id, version, c_id, broker, status, since as valid_from,
    coalesce(lead(since) over (partition by a_id order by since, version), date '9999-12-31') as valid_to,
    row_number() over (partition by a_id order by since desc, version desc) = 1 as is_current from stg_accounts""",
)
_view("dim_account_now", "select a_id, c_id, broker, status from dim_account where is_current")
_view(
    "dim_broker",
    """
    select broker, count(*) as accounts, count(distinct c_id) as customers from dim_account_now group by broker""",
)
_view(
    "dim_security",
    """
    select s.symbol, s.issuer, s.exchange, s.industry, s.shares, p.first_day, p.last_day from stg_securities s
    left join (select symbol, min(day) as first_day, max(day) as last_day from stg_prices group by symbol) p
    on p.symbol = s.symbol""",
)
_view(
    "dim_issuer",
    """
    select issuer, count(*) as symbols, sum(shares) as shares, min(industry) as industry from stg_securities
    where issuer is not null group by issuer""",
)
_view(
    "dim_day",
    """
    select day, year(day) as year, month(day) as month, year(day) * 100 + month(day) as period from
    (select day from stg_prices union select day from stg_trades union select day from stg_cash) d
    where day is not null""",
)
_view(
    "moves",
    """
    select c_id, valid_from, city, before from (select c_id, valid_from, city,
    lag(city) over (partition by c_id order by valid_from, version) as before from dim_customer) m
    where before is not null and before <> city""",
)

# ---- facts: what happened, with the versions that held then -----------------------------------------------

_view(
    "fact_trades",
    """
    select t.t_id, t.a_id, a.c_id, a.broker, t.symbol, s.industry, s.issuer, t.day, t.kind, t.quantity, t.value,
    coalesce(t.fee, 0) as fee from stg_trades t
    join dim_account a on a.a_id = t.a_id and t.day >= a.valid_from and t.day < a.valid_to
    join dim_security s on s.symbol = t.symbol""",
)
_view(
    "fact_trades_customer",
    """
    select f.t_id, f.c_id, c.tier, c.city, f.symbol, f.day, f.value, f.fee from fact_trades f
    join dim_customer c on c.c_id = f.c_id and f.day >= c.valid_from and f.day < c.valid_to""",
)
_view(
    "fact_cash",
    """
    select x.x_id, x.a_id, a.c_id, x.day, x.amount, sum(x.amount) over (partition by x.a_id order by x.day, x.x_id
    rows between unbounded preceding and current row) as balance from stg_cash x
    join dim_account_now a on a.a_id = x.a_id""",
)
_view(
    "fact_prices",
    """
    select symbol, day, close, volume, high - low as spread,
    lag(close) over (partition by symbol order by day) as before,
    max(high) over (partition by symbol order by day rows between 4 preceding and current row) as high_week,
    min(low) over (partition by symbol order by day rows between 4 preceding and current row) as low_week
    from stg_prices""",
)
_view(
    "fact_holdings",
    """
    select a_id, symbol, sum(case when kind = 'buy' then quantity else -quantity end) as quantity, count(*) as trades
    from fact_trades group by a_id, symbol""",
)
_view(
    "fact_lots",
    """
    select t_id, a_id, symbol, day, sum(case when kind = 'buy' then quantity else -quantity end) over
    (partition by a_id, symbol order by day, t_id rows between unbounded preceding and current row) as held
    from fact_trades""",
)
_view(
    "fact_watches",
    """
    select a_id, symbol, count(*) as cancelled, max(day) as last_day from stg_cancelled group by a_id, symbol""",
)

# ---- roll-ups ---------------------------------------------------------------------------------------------

_view(
    "last_price",
    """
    select symbol, day, close from (select symbol, day, close,
    row_number() over (partition by symbol order by day desc) as n from stg_prices) p where n = 1""",
)
_view(
    "daily_trades",
    """
    select day, kind, count(*) as trades, sum(value) as value, sum(fee) as fees from fact_trades group by day, kind""",
)
_view(
    "monthly_trades",
    """
    select d.period, t.kind, sum(t.trades) as trades, sum(t.value) as value from daily_trades t
    join dim_day d on d.day = t.day group by d.period, t.kind""",
)
_view(
    "by_industry",
    """
    select industry, kind, count(*) as trades, sum(value) as value from fact_trades group by rollup (industry, kind)""",
)
_view(
    "by_city_tier",
    """
    select city, tier, count(*) as trades, sum(value) as value,
    grouping(city) as all_cities, grouping(tier) as all_tiers
    from fact_trades_customer group by grouping sets ((city, tier), (city), ())""",
)
_view(
    "by_broker",
    """
    select f.broker, b.accounts, count(*) as trades, sum(f.fee) as fees, count(distinct f.c_id) as active
    from fact_trades f join dim_broker b on b.broker = f.broker group by f.broker, b.accounts""",
)
_view(
    "by_issuer",
    """
    select i.issuer, i.symbols, coalesce(sum(f.value), 0) as value, count(f.t_id) as trades from dim_issuer i
    left join fact_trades f on f.issuer = i.issuer group by i.issuer, i.symbols""",
)
_view(
    "positions",
    """
    select h.a_id, h.symbol, h.quantity, h.quantity * p.close as worth from fact_holdings h
    join last_price p on p.symbol = h.symbol where h.quantity <> 0""",
)
_view(
    "account_worth",
    """
    select a.a_id, a.c_id, coalesce(p.worth, 0) as worth, coalesce(c.balance, 0) as balance from dim_account_now a
    left join (select a_id, sum(worth) as worth from positions group by a_id) p on p.a_id = a.a_id
    left join (select a_id, sum(amount) as balance from stg_cash group by a_id) c on c.a_id = a.a_id""",
)
_view(
    "customer_worth",
    """
    select c.c_id, c.name, c.tier, c.city, sum(w.worth) as worth, sum(w.balance) as balance, count(*) as accounts
    from dim_customer_now c join account_worth w on w.c_id = c.c_id group by c.c_id, c.name, c.tier, c.city""",
)
_view(
    "volatility",
    """
    select symbol, count(*) as days, max(close) - min(close) as reach, sum(volume) as volume,
    sum(case when close > before then 1 else 0 end) as risen from fact_prices group by symbol""",
)

# ---- reports: views over views over views -----------------------------------------------------------------

_view(
    "rich_by_city",
    """
    select city, c_id, worth from (select city, c_id, worth,
    rank() over (partition by city order by worth desc, c_id) as place from customer_worth) r where place <= 3""",
)
_view(
    "above_tier",
    """
    select w.c_id, w.tier, w.worth from customer_worth w
    join (select tier, sum(worth) as worth, count(*) as n from customer_worth group by tier) t on t.tier = w.tier
    where w.worth * t.n > t.worth""",
)
_view(
    "sleepers",
    """
    select c_id, name from dim_customer_now c where not exists (select 1 from fact_trades f where f.c_id = c.c_id
    and f.value > 20000)""",
)
_view(
    "big_days",
    """
    select day, value from (select day, sum(value) as value from daily_trades group by day) d
    where value > (select max(value) / 2 from (select sum(value) as value from daily_trades group by day) m)""",
)
_view(
    "top_symbols",
    """
    select symbol, value from (select symbol, sum(value) as value from fact_trades group by symbol) s
    order by value desc, symbol limit 10""",
)
_view(
    "hot_symbols",
    """
    select t.symbol, t.value, v.reach, v.risen from top_symbols t join volatility v on v.symbol = t.symbol""",
)
_view(
    "overdrawn",
    """
    select a_id, c_id, balance from account_worth where balance < 0 and a_id in (select a_id from fact_trades)""",
)
_view(
    "monthly_growth",
    """
    select period, value, value - lag(value) over (order by period) as more from
    (select period, sum(value) as value from monthly_trades group by period) m""",
)
_view(
    "tier_share",
    """
    select tier, city, worth, sum(worth) over (partition by tier) as of_tier from
    (select tier, city, sum(worth) as worth from customer_worth group by tier, city) w""",
)
_view(
    "movers_trades",
    """
    select m.c_id, m.city, count(f.t_id) as trades from moves m
    left join fact_trades_customer f on f.c_id = m.c_id and f.city = m.city group by m.c_id, m.city""",
)
assert len(VIEWS) == 45, len(VIEWS)


# ---- the data ---------------------------------------------------------------------------------------------

START = datetime.date(2024, 1, 1)
CITIES = ("rome", "oslo", "lima", "kyiv", "bonn", None)
INDUSTRIES = ("energy", "metals", "foods", "software", None)
Rows = list[tuple[object, ...]]
Batch = dict[str, tuple[Rows, Rows]]


class Source:
    """The six tables of a warehouse of so many trades, and batches of changes of a hundredth of their rows."""

    def __init__(self, trades: int, seed: int = 1):
        self.rng = random.Random(seed)
        self.people, self.symbols = max(trades // 20, 5), max(trades // 100, 5)
        self.days = 60
        self.new = dict.fromkeys(TABLES, 0)
        each = {
            "customers": self.people, "accounts": self.people * 2, "securities": self.symbols,
            "prices": self.symbols * self.days, "trades": trades, "cash": trades // 2,
        }  # fmt: skip
        self.rows: dict[str, Rows] = {name: [self.row(name) for _ in range(many)] for name, many in each.items()}

    def batch(self, share: float = 0.01) -> Batch:
        """Rows that come and rows that go: some new ones, some changed, some deleted."""
        found: Batch = {}
        for name, rows in self.rows.items():
            many = max(1, round(len(rows) * share))
            gone = [rows.pop(self.rng.randrange(len(rows))) for _ in range(many if name != "securities" else 1)]
            come = [self.changed(name, row) for row in gone[: (many + 1) // 2]]
            come += [self.row(name) for _ in range(len(gone) - len(come))]
            rows += come
            found[name] = (come, gone)
        return found

    def changed(self, name: str, row: tuple[object, ...]) -> tuple[object, ...]:
        """A version of a customer or an account that follows; a correction of anything else."""
        other = self.row(name)
        kept = {"customers": 1, "accounts": 1, "securities": 1, "prices": 2, "trades": 4, "cash": 2}[name]
        return (*row[:kept], *other[kept:])

    def row(self, name: str) -> tuple[object, ...]:
        r, number = self.rng, self.new[name]
        self.new[name] += 1
        day = START + datetime.timedelta(days=r.randrange(self.days))
        money = lambda most: Decimal(r.randrange(1, most)).scaleb(-2)
        symbol = f"S{r.randrange(self.symbols):04}"
        match name:
            case "customers":
                person = number if number < self.people * 3 // 4 else r.randrange(self.people)
                since = START + datetime.timedelta(days=r.randrange(-30, self.days))
                return (person, number, f" c{person} ", r.choice((1, 2, 3, None)), r.choice(CITIES), since, money(9999))
            case "accounts":
                account = number if number < self.people * 3 // 2 else r.randrange(self.people * 2)
                since = START + datetime.timedelta(days=r.randrange(-30, self.days // 2))
                status = r.choice(("OPEN", "CLOSED", "Open"))
                return (account, number, account % self.people, r.choice((1, 2, 3, 4, None)), status, since)
            case "securities":
                listed = START - datetime.timedelta(days=r.randrange(900))
                issuer = f"I{number % (self.symbols // 2 + 1)}"
                return (f"S{number:04}", issuer, r.choice("NQ"), r.choice(INDUSTRIES), listed, r.randrange(10**6))
            case "prices":
                day = START + datetime.timedelta(days=number // self.symbols)
                low = money(20_000)
                close = low + money(500)
                return (f"S{number % self.symbols:04}", day, close + money(300), low, close, r.randrange(10**6))
            case "trades":
                status = r.choice(("done",) * 8 + ("cancelled", "open"))
                fee = None if r.random() < 0.05 else money(2_000)
                price = None if r.random() < 0.01 else money(20_000)
                account = r.randrange(self.people * 2 + 1)
                return (number, account, symbol, day, r.choice(("buy", "sell")), status, r.randrange(200), price, fee)
        amount = money(900_000) * r.choice((1, 1, -1))
        return (number, r.randrange(self.people * 2), day, amount, r.choice(("in", "out", "fee", None)))
