"""Views as people define them: for each topic the queries, in Spark's SQL and, where it differs, in DuckDB's.

Rule: an order is of all columns that can tell rows apart, wherever it decides which rows are shown.
"""

from __future__ import annotations

VIEWS: dict[str, list[tuple[str, str]]] = {}


def _views(topic: str, *queries: str | tuple[str, str]) -> None:
    VIEWS[topic] = [one if isinstance(one, tuple) else (one, one) for one in queries]


_views(
    "grouping",
    "select status, count(*) as n, sum(qty) as units, avg(qty) as mean, min(day), max(placed) from orders group "
    "by status",
    "select customer, sum(amount) as total from orders group by customer having sum(amount) > 20 and count(*) > 1",
    "select customer as c, status as st, sum(amount) from orders group by c, st",
    "select customer, status, sum(amount) from orders group by 1, 2",
    "select customer, status, sum(amount) from orders group by all",
    "select customer % 3 as bucket, count(*) from orders group by customer % 3",
    "select customer % 3 as bucket, count(*) from orders group by bucket having bucket > 0",
    "select count(*) from orders having count(*) > 3",
    "select sum(qty) from nothing n join orders o on n.a = o.id",
    "select count(*), sum(a), max(b), avg(a), count(distinct b), stddev(a), bool_and(a > 1) from nothing",
    "select a, count(*) from nothing group by a",
    "select count(distinct customer), count(distinct status), sum(distinct qty), avg(distinct qty), count(*) from"
    " orders",
    "select status, count(distinct customer) filter (where qty > 1), sum(amount) filter (where day >= date "
    "'2024-02-01') from orders group by status",
    (
        "select count(distinct customer, status) from orders",
        "select count(distinct (customer, status)) filter (where customer is not null and status is not null) "
        "from orders",
    ),
    "select customer, count(case when status = 'paid' then 1 end) as paid, sum(case status when 'paid' then "
    "amount else 0 end) from orders group by customer",
    "select region, count(*) from customers group by region having count(*) = (select max(n) from (select "
    "count(*) n from customers group by region) z)",
    "select region, status, grouping(region) g1, grouping(status) g2, grouping_id(region, status) gid, sum(qty) "
    "from orders o join customers c on o.customer = c.id group by grouping sets ((region, status), (region), ())",
    "select region, status, sum(qty) from orders o join customers c on o.customer = c.id group by rollup(region, "
    "status)",
    "select region, status, sum(qty) from orders o join customers c on o.customer = c.id group by cube(region, status)",
    "select case when grouping(region) = 1 then 'all' else coalesce(region, '?') end as r, count(*) from "
    "customers group by rollup(region)",
    "select region, status, day, count(*) from orders o join customers c on o.customer = c.id group by region, "
    "rollup(status, day)",
    "select status, day, count(*) from orders group by grouping sets (rollup(status), cube(day))",
    "select year(day) as y, month(day) as m, sum(amount) from orders group by year(day), month(day) order by 1, 2",
    "select max(total) - min(total) from (select customer, sum(amount) as total from orders group by customer) x",
    "select status, stddev(qty), stddev_pop(qty), variance(qty), var_pop(qty), stddev_samp(qty), var_samp(qty) "
    "from orders group by status",
    "select corr(qty, customer), covar_pop(qty, customer), covar_samp(qty, customer), regr_slope(qty, customer) "
    "from orders",
    (
        "select status, bool_or(qty > 3), bool_and(qty > 0), every(qty > 1) from orders group by status",
        "select status, bool_or(qty > 3), bool_and(qty > 0), bool_and(qty > 1) from orders group by status",
    ),
    (
        "select median(qty), percentile_cont(0.25) within group (order by qty) from orders",
        "select median(qty), quantile_cont(qty, 0.25) from orders",
    ),
    "select max(length(name)), min(upper(name)) from customers",
    "select count(*) filter (where status is null), count(status), count(*) - count(status) from orders",
    "select sum(x) from (select -qty as x from orders union all select qty from orders) z",
    "select min(status), max(status), min(placed), max(day) from orders",
    "select any_value(1) from orders group by status",
    "select 'total' as label, count(*) from orders",
    "select count(*) + 1, 2 * sum(qty), coalesce(sum(qty), 0) from orders where id < 0",
    "select distinct status, qty > 2 as big from orders",
    "select count(*) from (select distinct customer, status from orders) d",
    "select status || '-' || cast(qty as string) as k, count(*) from orders group by status || '-' || cast(qty as"
    " string)",
    "select upper(status) as s, count(*) from orders group by upper(status) having upper(status) <> 'X'",
    "select sum(qty) as s from orders group by status having s > 3",
    "select customer from orders group by customer having count(*) > 1 order by customer limit 2",
    "select customer, sum(qty) as q from orders group by customer order by sum(qty) desc, customer limit 2",
    "select status from orders group by status order by count(*) desc, status limit 1",
)

_views(
    "joins",
    "select o.id, c.name from orders o inner join customers c on c.id = o.customer where c.region = 'eu'",
    "select o.id, c.name, i.sku from orders o join customers c on c.id = o.customer join items i on i.order_id = o.id",
    "select c.id, c.name, o.id as oid from customers c left join orders o on o.customer = c.id",
    "select c.id, count(o.id) as n, coalesce(sum(o.amount), 0) as total from customers c left join orders o on "
    "o.customer = c.id group by c.id",
    "select c.name, o.id from customers c left join orders o on o.customer = c.id and o.status = 'paid' where "
    "o.id is null",
    "select c.name, o.id from orders o right join customers c on o.customer = c.id",
    "select c.name, o.id from orders o full outer join customers c on o.customer = c.id and o.qty > 2",
    "select coalesce(a.k, b.k) as k, a.n, b.n as m from (select customer as k, count(*) n from orders group by "
    "customer) a full join (select referrer as k, count(*) n from customers group by referrer) b on a.k = b.k",
    "select a.name, b.name from customers a join customers b on a.referrer = b.id",
    "select a.name, b.name from customers a, customers b where a.credit < b.credit and a.region = b.region",
    "select a.id, b.id from orders a join orders b on a.qty < b.qty and a.day >= b.day",
    "select a.id, b.id from orders a left join orders b on a.qty < b.qty - 2",
    "select a.id, b.id from orders a full join orders b on a.qty > b.qty + 3",
    "select o.id, c.id from orders o left join customers c on o.qty between c.id and c.id + 1",
    "select o.id, c.id from orders o join customers c on o.customer = c.id or o.qty = c.id",
    "select o.id, c.id from orders o left join customers c on o.customer = c.id or o.status = c.region",
    "select o.id, c.id from orders o join customers c on o.customer <> c.id",
    "select * from customers natural join (select id, 1 as one from orders) z",
    "select id, c.name, z.n from customers c join (select customer as id, count(*) n from orders group by "
    "customer) z using (id)",
    "select id, name, n from customers c full join (select customer as id, count(*) n from orders group by "
    "customer) z using (id)",
    "select id, name, n from customers c right join (select customer as id, count(*) n from orders group by "
    "customer) z using (id)",
    "select id, c.id as cid, z.id as zid from customers c full join (select customer as id from orders) z using (id)",
    "select * from (select id, region from customers) a full join (select id, status as region from orders) b "
    "using (id, region)",
    "select count(*) from orders cross join customers",
    (
        "select o.id from orders o left semi join customers c on o.customer = c.id",
        "select o.id from orders o semi join customers c on o.customer = c.id",
    ),
    (
        "select o.id from orders o left anti join customers c on o.customer = c.id",
        "select o.id from orders o anti join customers c on o.customer = c.id",
    ),
    "select o.id, x.tot from orders o join (select order_id, sum(price * n) as tot from items group by order_id) "
    "x on x.order_id = o.id and x.tot > o.amount / 10",
    "select c.name, o.id, i.sku from customers c left join orders o on o.customer = c.id left join items i on "
    "i.order_id = o.id",
    "select c.name, o.id, i.sku from customers c left join (orders o join items i on i.order_id = o.id) on "
    "o.customer = c.id",
    "select c.id, o.id from customers c left join orders o on true where c.id < 3",
    "select c.id, o.id from customers c left join orders o on c.id = o.customer and c.region = 'eu'",
    "select c.id, o.id from customers c left join orders o on c.region = 'eu'",
    "select c.id, o.id from customers c full join orders o on false",
    "select c.id, o.id from customers c join orders o on c.id = o.customer and c.id = o.qty",
    "select c.id, n.a from customers c left join nothing n on n.a = c.id",
    "select n.a, c.id from nothing n right join customers c on n.a = c.id",
    "select lower(c.region) r, o.status from customers c join orders o on lower(c.region) = lower(o.status) or "
    "c.id = o.id",
    "select o1.id, o2.id from orders o1 join orders o2 on o1.customer is not distinct from o2.customer where "
    "o1.id < o2.id",
    "select o.id, e1.dst, e2.dst as d2 from orders o join edges e1 on e1.src = o.id left join edges e2 on e2.src "
    "= e1.dst",
    "select count(*) from edges a, edges b, edges c where a.dst = b.src and b.dst = c.src and c.dst = a.src",
    "select a.src, b.dst from edges a join edges b on a.dst = b.src where not exists (select 1 from edges c where"
    " c.src = a.src and c.dst = b.dst)",
    "select o.*, c.name from orders o join customers c on c.id = o.customer",
    "select * from edges a join edges b on a.dst = b.src",
    "select c.* from customers c",
    "select o.id, c.name from orders as o, customers as c where o.customer = c.id and o.day > c.since",
)

_views(
    "subqueries",
    "select id, (select count(*) from items i where i.order_id = o.id) as n from orders o",
    "select id, (select sum(price * n) from items i where i.order_id = o.id) as total from orders o where (select"
    " count(*) from items i where i.order_id = o.id) > 0",
    "select id from orders o where amount > (select avg(amount) from orders p where p.customer = o.customer)",
    "select id from orders where amount > (select avg(amount) from orders)",
    "select id from orders where amount = (select max(amount) from orders)",
    (
        "select id, amount - (select avg(amount) from orders) as diff from orders",
        "select id, round(amount - (select avg(amount) from orders), 6) as diff from orders",
    ),
    "select id from orders where customer in (select id from customers where region = 'eu')",
    "select id from orders where customer not in (select id from customers)",
    "select id from orders where customer not in (select id from customers where id is not null)",
    "select id from orders where customer not in (select referrer from customers)",
    "select id from orders where customer not in (select a from nothing)",
    "select id, customer not in (select referrer from customers) as x from orders",
    "select id from orders where customer is not null and (customer not in (1, 2, null)) is null",
    "select name from customers c where exists (select * from orders o where o.customer = c.id and o.status = 'paid')",
    "select name from customers c where not exists (select * from orders o where o.customer = c.id)",
    "select name from customers c where exists (select 1 from orders)",
    "select name from customers c where not exists (select 1 from nothing)",
    "select name, exists (select 1 from orders o where o.customer = c.id) or c.region = 'us' from customers c",
    "select name from customers c where (select count(*) from orders o where o.customer = c.id) >= 2",
    "select name from customers c where 2 <= (select count(*) from orders o where o.customer = c.id and o.qty > c.id)",
    "select name, (select o.status from orders o where o.customer = c.id order by o.id desc, o.status, o.amount, "
    "o.placed, o.day, o.qty limit 1) as latest from customers c",
    "select name, (select max(x.q) from (select sum(qty) q from orders o where o.customer = c.id group by "
    "o.status) x) from customers c",
    "select c.id, (select count(distinct o.status) from orders o where o.customer = c.id) from customers c",
    "select c.id, case when exists (select 1 from orders o where o.customer = c.id) then 'active' else 'idle' end"
    " from customers c",
    "select c.id from customers c where c.id = any (select customer from orders where qty > 2)",
    "select c.id from customers c where c.credit >= all (select credit from customers where credit is not null)",
    "select c.id from customers c where c.credit > any (select credit from customers)",
    (
        "select c.id from customers c where c.credit < some (select credit from customers)",
        "select c.id from customers c where c.credit < any (select credit from customers)",
    ),
    "select c.id from customers c where c.credit <= all (select x.credit from customers x where x.region = c.region)",
    "select c.id, c.credit > all (select credit from customers where region = 'eu') from customers c",
    "select (select max(id) from orders) as a, (select min(id) from orders) as b",
    "select x.region, x.n from (select region, count(*) n from customers group by region) x where x.n > 1",
    "select * from (select id, qty from orders order by qty desc, id limit 3) x",
    "select sum(qty) from (select qty from orders order by qty desc, id, amount limit 2) x",
    "select * from (select customer, max(qty) m from orders group by customer) x join customers c on c.id = "
    "x.customer where x.m > (select avg(qty) from orders)",
    "select o.id from orders o where (o.customer, o.status) in (select customer, max(status) from orders group by"
    " customer)",
    "select c.id from customers c where c.id in (select o.customer from orders o where o.qty > c.referrer)",
    "select c.id from customers c where c.id not in (select o.customer from orders o where o.status = c.region)",
    "select c.id from customers c where exists (select 1 from orders o where o.customer = c.id and exists (select"
    " 1 from items i where i.order_id = o.id and i.n > c.id))",
    "select c.id, (select sum((select sum(i.n) from items i where i.order_id = o.id)) from orders o where "
    "o.customer = c.id) from customers c",
    "select sum((select count(*) from items i where i.order_id = o.id)) from orders o",
    "select customer, sum(qty) from orders o group by customer having sum(qty) > (select sum(n) from items i "
    "where i.order_id = o.customer)",
    "select o.id from orders o join customers c on o.customer = c.id and c.credit > (select avg(credit) from "
    "customers)",
    "select o.id, c.id from orders o left join customers c on o.customer = c.id and c.id in (select referrer from"
    " customers)",
    "select id from orders where qty > (select min(n) from items) and qty < (select max(n) from items)",
    "select id from orders where qty between (select min(n) from items) and (select avg(n) from items)",
    "select id from orders o where day = (select max(day) from orders p where p.customer = o.customer and p.id <>"
    " o.id)",
    "select id from orders where coalesce(customer, -1) in (select coalesce(id, -1) from customers)",
    "select id from orders o where not (customer in (select id from customers) and qty > 2)",
    "select id from orders o where customer in (select id from customers) or status in (select region from customers)",
    "select id from orders order by (select count(*) from items i where i.order_id = orders.id) desc, id, amount,"
    " qty limit 3",
    "select case when id in (select order_id from items) then 1 else 0 end as has, count(*) from orders group by "
    "case when id in (select order_id from items) then 1 else 0 end",
    "select status, sum(case when exists (select 1 from items i where i.order_id = o.id) then 1 else 0 end) from "
    "orders o group by status",
    "select o.id from orders o where o.amount > 2 * (select coalesce(avg(price), 0) from items i where i.order_id"
    " = o.id)",
    "with big as (select * from orders where qty > 2), per as (select customer, count(*) n from big group by "
    "customer) select c.name, per.n from per join customers c on c.id = per.customer",
    "with a as (select id from customers), b as (select id from a where id > 1) select * from b union all select "
    "* from a",
    "with a as (select 1 as x), a2 as (select x + 1 as x from a) select a.x, a2.x as y from a, a2",
    "with x(k, n) as (select customer, count(*) from orders group by customer) select k from x where n > 1",
    "select * from (with z as (select id from customers) select * from z where id > 1) y",
    "with z as (with y as (select id from customers) select * from y) select * from z",
    "select id, (with m as (select max(n) mx from items where order_id = o.id) select mx from m) from orders o",
)

_views(
    "lateral",
    "select c.name, t.id, t.qty from customers c, lateral (select o.id, o.qty from orders o where o.customer = "
    "c.id order by o.qty desc, o.id, o.amount limit 2) t",
    "select c.name, t.id from customers c left join lateral (select o.id from orders o where o.customer = c.id "
    "order by o.placed desc, o.id limit 1) t on true",
    "select c.name, t.n, t.s from customers c cross join lateral (select count(*) n, sum(qty) s from orders o "
    "where o.customer = c.id) t",
    "select c.name, t.n, u.m from customers c, lateral (select count(*) n from orders o where o.customer = c.id) "
    "t, lateral (select t.n * 2 as m) u",
    "select o.id, d.total from orders o join lateral (select sum(price * n) as total from items i where "
    "i.order_id = o.id) d on d.total > 5",
    "select o.id, d.total from orders o left join lateral (select sum(price * n) as total from items i where "
    "i.order_id = o.id) d on d.total > 5",
    "select c.id, x.v from customers c, lateral (values (c.id), (c.referrer)) x(v)",
    "select c.id, x.k, x.v from customers c cross join lateral (values ('a', c.id), ('b', c.id * 10)) as x(k, v)",
    "select c.id, t.rn, t.id as oid from customers c, lateral (select o.id, row_number() over (order by o.id, "
    "o.qty, o.amount) rn from orders o where o.customer = c.id) t where t.rn <= 2",
    "select c.id, t.x from customers c, lateral (select o.id as x from orders o where o.customer = c.id union all"
    " select i.n from items i where i.order_id = c.id) t",
    "select c.id, t.x from customers c, lateral (select distinct o.status as x from orders o where o.customer = "
    "c.id) t",
    "select c.id, t.x from customers c, lateral (select o.status as x from orders o where o.customer = c.id "
    "except select 'paid') t",
    "select c.id, t.n from customers c, lateral (select status, count(*) n from orders o where o.qty > c.id group"
    " by status having count(*) > 1) t",
)

_views(
    "windows",
    "select id, row_number() over (partition by customer order by id, amount, qty, placed, status, day) rn from orders",
    "select * from (select o.*, row_number() over (partition by customer order by qty desc, id, amount, placed, "
    "status, day) rn from orders o) x where rn = 1",
    "select id, customer, rank() over (order by qty), dense_rank() over (order by qty desc), percent_rank() over "
    "(order by qty), cume_dist() over (order by qty) from orders",
    "select id, sum(qty) over (partition by customer order by id, amount, qty rows between unbounded preceding "
    "and current row) from orders",
    (
        "select id, sum(qty) over (partition by status), qty * 100.0 / sum(qty) over (partition by status) from orders",
        "select id, sum(qty) over (partition by status), qty * 100.0 / sum(qty) over (partition by status) from orders",
    ),
    "select id, sum(qty) over (order by day) from orders",
    "select id, avg(qty) over (order by id, amount, qty rows between 2 preceding and current row) from orders",
    "select id, lag(qty) over (partition by customer order by id, amount, qty) l1, lead(qty, 2, -1) over "
    "(partition by customer order by id, amount, qty) l2 from orders",
    "select id, qty - lag(qty, 1, 0) over (order by id, amount, qty) from orders",
    "select id, first_value(qty) over (partition by status order by id, qty), last_value(qty) over (partition by "
    "status order by id, qty rows between unbounded preceding and unbounded following) from orders",
    "select id, nth_value(qty, 2) over (partition by status order by id, qty rows between unbounded preceding and"
    " unbounded following) from orders",
    "select id, ntile(3) over (order by id, amount, qty, placed, status, day) from orders",
    "select id, count(*) over (), max(qty) over (), count(*) over (partition by customer) from orders",
    "select id, sum(qty) over w, count(*) over w from orders window w as (partition by status order by day)",
    "select id, sum(qty) over (w rows between 1 preceding and current row) from orders window w as (partition by "
    "status order by id, qty, amount)",
    "select id, qty from orders qualify row_number() over (partition by status order by qty desc, id, amount) = 1",
    "select id, rank() over (order by qty desc) as r from orders qualify r <= 2",
    "select id, sum(qty) over (order by day range between interval 10 days preceding and current row) from orders",
    "select id, count(*) over (order by qty range between 1 preceding and 1 following) from orders where qty is "
    "not null",
    "select customer, sum(qty) as s, rank() over (order by sum(qty) desc) from orders group by customer",
    "select customer, sum(qty), sum(sum(qty)) over (order by customer) from orders group by customer",
    "select status, count(*) * 1.0 / sum(count(*)) over () from orders group by status",
    "select id, min(amount) over (partition by customer order by id, qty, amount rows between 1 following and 2 "
    "following) from orders",
    "select id, max(status) over (partition by customer order by id) from orders",
    "select day, sum(s) over (order by day) from (select day, sum(amount) s from orders group by day) d",
    "select id, case when lag(status) over (partition by customer order by id, qty, amount) = status then 0 else "
    "1 end as changed from orders",
    "select id, row_number() over (order by id, qty, amount) - row_number() over (partition by status order by "
    "id, qty, amount) as grp from orders",
    "select id, stddev(qty) over (partition by status), var_pop(qty) over (partition by status) from orders",
    "select id, count(distinct customer) over (partition by status) from orders",
    "select id, sum(qty) filter (where status = 'paid') over (partition by customer) from orders",
    (
        "select id, last_value(customer) ignore nulls over (order by id, qty, amount rows between unbounded "
        "preceding and current row) from orders",
        "select id, last_value(customer ignore nulls) over (order by id, qty, amount rows between unbounded "
        "preceding and current row) from orders",
    ),
    "select id, sum(amount) over (partition by customer order by day desc nulls last), row_number() over (order "
    "by id desc nulls last, qty, amount, placed) from orders",
    "select c.id, sum(o.qty) over (partition by c.region order by o.id, o.qty, o.amount, c.id) from customers c "
    "join orders o on o.customer = c.id",
    (
        "select id, lag(day) over (order by id, qty, amount), datediff(day, lag(day) over (order by id, qty, "
        "amount)) from orders",
        "select id, lag(day) over (order by id, qty, amount), day - lag(day) over (order by id, qty, amount) from"
        " orders",
    ),
    "select distinct status, count(*) over (partition by status) from orders",
    "select id, sum(qty) over (partition by status order by id, qty, amount rows between unbounded preceding and "
    "1 preceding) from orders",
    "select * from (select customer, status, n, rank() over (partition by customer order by n desc) r from "
    "(select customer, status, count(*) n from orders group by customer, status) a) b where r = 1",
    "select id, row_number() over () > 0 from orders",
    "select id, rank() over (partition by status order by day), dense_rank() over (partition by status order by "
    "day) from orders order by 2, 1",
    "select sum(qty) over () / count(*) over () from orders",
    "select id, (sum(qty) over (partition by customer)) - (sum(qty) over (partition by status)) from orders",
    (
        "select avg(d) from (select datediff(day, lag(day) over (partition by customer order by day, id, qty, "
        "amount)) d from orders) z",
        "select avg(d) from (select day - lag(day) over (partition by customer order by day, id, qty, amount) d "
        "from orders) z",
    ),
)

_views(
    "sets",
    "select id from customers union select customer from orders",
    "select id from customers union all select customer from orders union all select order_id from items",
    "(select id from customers union all select customer from orders) except select src from edges",
    "select id from customers intersect select customer from orders",
    "select customer from orders intersect all select id from customers",
    "select customer from orders except all select id from customers",
    "select customer, status from orders except select id, region from customers",
    "select id from customers except (select customer from orders intersect select src from edges)",
    "select id, 'c' as kind from customers union all select id, 'o' from orders",
    "select id, credit from customers union all select id, qty from orders",
    "select id from customers union select customer from orders order by 1 limit 3",
    "(select id from customers order by id limit 2) union all (select id from orders order by id desc limit 1)",
    "select kind, count(*) from (select 'c' kind, id from customers union all select 'o', id from orders) z group"
    " by kind",
    "select status from orders union select region from customers union select null",
    "select * from orders where false union all select * from orders",
    "values (1, 'a'), (2, 'b')",
    "select v.a, o.id from (values (1, 'x'), (2, 'y')) as v(a, b) left join orders o on o.customer = v.a",
    "select id from orders where (customer, status) in ((1, 'paid'), (2, 'open'))",
    "select * from (values (1), (null), (3)) v(x) where x not in (select customer from orders where customer is "
    "not null)",
    "select 1 as one",
    "select 1 + 1, 'a' || 'b', null is null",
    "select count(*) from (select 1 union all select 1) x",
    (
        "select id from customers minus select customer from orders",
        "select id from customers except select customer from orders",
    ),
)

_views(
    "expressions",
    (
        "select id, coalesce(status, 'none'), nullif(status, 'paid'), ifnull(qty, 0), nvl(qty, -1) from orders",
        "select id, coalesce(status, 'none'), nullif(status, 'paid'), ifnull(qty, 0), coalesce(qty, -1) from orders",
    ),
    "select trim(name), lower(name), upper(name), length(name), ltrim(name), rtrim(name), reverse(name) from customers",
    "select substring(name, 1, 2), substr(name, 2), left(name, 1), right(name, 2), replace(name, 'a', 'b'), "
    "lpad(name, 5, '*'), rpad(name, 5, '-') from customers",
    "select substring(name from 1 for 2), substring(name from 2), position('a' in name), trim(both 'a' from "
    "name), trim(leading 'A' from name) from customers",
    "select name || ':' || region, concat_ws('-', name, region), concat(coalesce(name, ''), region) from "
    "customers where region is not null",
    (
        "select md5(name), md5(cast(id as string)) from customers",
        "select md5(name), md5(cast(id as varchar)) from customers",
    ),
    (
        "select id % 2, mod(id, 3), id / 2, abs(-id), round(credit, 1), floor(credit), ceil(credit), "
        "sign(credit), power(id, 2), sqrt(abs(credit)) from customers",
        "select id % 2, mod(id, 3), id / 2, abs(-id), round(credit, 1), cast(floor(credit) as bigint), "
        "cast(ceil(credit) as bigint), cast(sign(credit) as double), power(id, 2), sqrt(abs(credit)) from "
        "customers",
    ),
    "select -id, +id, id * -1, 7 - -id from customers",
    "select case when credit > 100 then 'gold' when credit > 10 then 'silver' else 'bronze' end tier, count(*) "
    "from customers group by 1",
    "select case region when 'eu' then 1 when 'us' then 2 end from customers",
    "select id from customers where name like 'A%' or name like '%n' or name like '_o%'",
    "select id from customers where name ilike 'a%' or name not ilike '%O%'",
    (
        "select id from customers where name rlike '^[A-C]' or regexp_like(name, 'n$')",
        "select id from customers where regexp_matches(name, '^[A-C]') or regexp_matches(name, 'n$')",
    ),
    (
        "select regexp_replace(name, '[aeiou]', '#') from customers",
        "select regexp_replace(name, '[aeiou]', '#', 'g') from customers",
    ),
    "select regexp_extract(name, '([A-Z])(.*)', 2) from customers",
    (
        "select split_part(name, 'n', 1), starts_with(name, 'A'), contains(name, 'n') from customers",
        "select split_part(name, 'n', 1), starts_with(name, 'A'), contains(name, 'n') from customers",
    ),
    (
        "select startswith(name, 'A'), endswith(name, 'n') from customers",
        "select starts_with(name, 'A'), ends_with(name, 'n') from customers",
    ),
    "select extract(year from day), extract(month from day), extract(day from placed), extract(hour from placed),"
    " extract(minute from placed), extract(quarter from day), extract(week from day), extract(doy from day) from "
    "orders",
    "select date_part('year', placed), date_part('month', day) from orders",
    "select date_trunc('month', placed), date_trunc('day', placed), date_trunc('hour', placed), "
    "date_trunc('week', placed), date_trunc('year', placed), date_trunc('quarter', placed) from orders",
    "select date_trunc('month', day) as m, sum(amount) from orders group by date_trunc('month', day)",
    "select day + interval '1' day, day - interval '2' month, placed + interval '3' hour, placed - interval '90' "
    "minute from orders",
    "select day + interval 1 day, day + interval '1 month', placed + interval '1 hour' from orders",
    "select day + interval '1 day 2 hours' from orders",
    "select id from orders where day >= date '2024-02-01' - interval '1 month' and day < date '2024-02-01' + "
    "interval '10 days'",
    "select id from orders where placed between timestamp '2024-01-15 00:00:00' and timestamp '2024-02-20 12:00:00'",
    "select id from orders where day > '2024-02-01' and placed < '2024-03-01'",
    (
        "select day - date '2024-01-01' from orders",
        "select day - date '2024-01-01' from orders",
    ),
    (
        "select datediff(day, date '2024-01-01'), date_add(day, 3), date_sub(day, 3), add_months(day, 1), "
        "last_day(day) from orders",
        "select day - date '2024-01-01', day + 3, day - 3, cast(day + interval 1 month as date), last_day(day) "
        "from orders",
    ),
    "select datediff('day', date '2024-01-01', day) from orders",
    "select date_diff('day', date '2024-01-01', day), date_diff('month', date '2024-01-01', day) from orders "
    "where day is not null",
    (
        "select cast(placed as date), cast(day as timestamp), to_date('2024-01-05'), cast('2024-01-05' as date) "
        "from orders",
        "select cast(placed as date), cast(day as timestamp), date '2024-01-05', cast('2024-01-05' as date) from "
        "orders",
    ),
    (
        "select placed::date, qty::double, amount::string, '12'::int, id::bigint from orders",
        "select placed::date, qty::double, amount::varchar, '12'::int, id::bigint from orders",
    ),
    "select placed::date as d, count(*) from orders group by placed::date",
    "select amount::decimal(12,4), qty::decimal(5,1), credit::int from orders join customers c on c.id = customer"
    " where credit is null or abs(credit - floor(credit) - 0.5) > 0.01",
    (
        "select cast(qty as varchar(10)), cast(id as char(3)), cast(qty as text) from orders",
        "select cast(qty as varchar), cast(id as varchar), cast(qty as varchar) from orders",
    ),
    (
        "select cast('abc' as string), try_cast('x' as int), cast(true as int), cast(1 as boolean) from orders",
        "select cast('abc' as varchar), try_cast('x' as int), cast(true as int), cast(1 as boolean) from orders",
    ),
    "select id from orders where status in ('paid', 'open') and qty not in (1, 2)",
    "select id from orders where status is null or status != 'paid' and not qty < 2",
    "select id from orders where (status = 'paid') is true or (qty > 2) is not false",
    (
        "select id from orders where (qty > 2) is unknown",
        "select id from orders where (qty > 2) is null",
    ),
    (
        "select id, qty > 2 and status = 'paid', qty > 2 or null, not (qty > 2) from orders",
        "select id, qty > 2 and status = 'paid', qty > 2 or null::boolean, not (qty > 2) from orders",
    ),
    "select greatest(qty, id, 2), least(qty, id), greatest(status, 'm') from orders",
    "select amount * qty, amount + 1.5, amount - qty, amount * 1.1, qty * 2.5, qty + credit from orders join "
    "customers c on c.id = customer",
    "select round(amount * 0.19, 2), round(amount, 0), round(amount, 1) from orders",
    "select amount % 3, qty % 2 = 0 from orders",
    "select qty is distinct from customer, qty is not distinct from customer from orders",
    (
        "select to_timestamp('2024-01-05 10:00:00') < placed from orders",
        "select timestamp '2024-01-05 10:00:00' < placed from orders",
    ),
    "select extract(epoch from placed) from orders",
    (
        "select unix_timestamp(placed) from orders",
        "select cast(epoch(placed) as bigint) from orders",
    ),
    (
        "select date_format(day, 'yyyy-MM') from orders",
        "select strftime(day, '%Y-%m') from orders",
    ),
    (
        "select make_date(2024, 1, 5), dayofweek(day) from orders",
        "select make_date(2024, 1, 5), dayofweek(day) + 1 from orders",
    ),
    (
        "select extract(dow from day), extract(isodow from day) from orders",
        "select extract(dow from day) + 1, extract(isodow from day) from orders",
    ),
    (
        "select div(qty, 2), qty div 2 from orders",
        "select qty // 2, qty // 2 from orders",
    ),
    (
        "select id <> 3, id != 3, id <=> null, not id = 3 from orders",
        "select id <> 3, id != 3, id is not distinct from null, not id = 3 from orders",
    ),
    "select * exclude (amount, placed) from orders",
    (
        "select * except (amount, placed) from orders",
        "select * exclude (amount, placed) from orders",
    ),
    (
        "select o.* except (amount) from orders o",
        "select o.* exclude (amount) from orders o",
    ),
    "select * replace (qty * 2 as qty) from orders",
    "select *, qty * 2 as double_qty from orders",
    "select o.*, c.* from orders o join customers c on c.id = o.customer",
    "select ID, STATUS from ORDERS where Qty > 2",
    (
        "select `id` as `Order Id`, `o`.`qty` from orders `o`",
        'select id as "Order Id", o.qty from orders o',
    ),
    'select o.id as "total" from orders o',
    "select id as id, id as id2, id from orders",
    "select qty q, amount as a from orders",
    "select qty as q, q + 1 as r, r * 2 as s from orders",
    "select sum(qty) as s, s / 2 as half from orders",
    "select id from orders /* c */ where qty > 1",
    "select id, qty from orders where qty > 2 order by qty desc, id limit 2 offset 1",
    "select id, qty from orders order by 2 desc nulls last, 1 limit 2",
    "select id, qty from orders order by qty desc nulls last, id fetch first 2 rows only",
    "select id from orders order by id limit 0",
    "select id from orders order by id limit all",
    "select distinct on (customer) customer, id, qty from orders order by customer, qty desc, id, amount",
    "select distinct customer from orders order by customer limit 2",
    "select id, sum(qty) over (partition by customer) as s from orders order by s desc nulls last, id, amount, "
    "qty limit 3",
    "select customer, count(*) as n from orders group by customer order by n desc, customer limit 3",
    "select id from orders order by length(status) desc nulls last, id, amount limit 2",
    "select id from (select id from orders order by qty nulls last, id, amount limit 4) a order by id desc limit 2",
)

_views(
    "pivot and unpivot",
    (
        "select * from (select customer, status, qty from orders) pivot (sum(qty) for status in ('paid', 'open'))",
        "select customer, sum(qty) filter (where status = 'paid'), sum(qty) filter (where status = 'open') from "
        "orders group by customer",
    ),
    (
        "select * from (select customer, status, qty from orders) pivot (sum(qty) as s, count(*) as n for status "
        "in ('paid' as p, 'open' as o))",
        "select customer, sum(qty) filter (where status = 'paid'), nullif(count(*) filter (where status = "
        "'paid'), 0), sum(qty) filter (where status = 'open'), nullif(count(*) filter (where status = 'open'), 0)"
        " from orders group by customer",
    ),
    "select customer, sum(case when status = 'paid' then amount end) paid, sum(case when status = 'open' then "
    "amount end) open from orders group by customer",
    (
        "select * from (select id, qty, customer from orders) unpivot (v for k in (qty, customer))",
        "select id, k, v from (select id, qty, customer from orders) unpivot (v for k in (qty, customer))",
    ),
)

_views(
    "series",
    "select * from range(5)",
    "select * from range(2, 8, 3)",
    (
        "select id from range(1, 4) r(id)",
        "select r.x from range(1, 4) r(x)",
    ),
    "select g.x, count(o.id) from generate_series(1, 5) g(x) left join orders o on o.qty = g.x group by g.x",
    "select x from generate_series(1, 10, 4) as g(x)",
    "select d.x, count(o.id) from generate_series(date '2024-01-01', date '2024-01-10', interval '1 day') as d(x)"
    " left join orders o on o.day = d.x group by d.x",
    "select o.id, g.x from orders o cross join generate_series(1, 2) as g(x)",
)

_views(
    "asof",
    "select t.sym, t.ts, q.px from trades t asof join quotes q on t.sym = q.sym and t.ts >= q.ts",
    "select t.sym, t.ts, q.px from trades t asof left join quotes q on t.sym = q.sym and t.ts >= q.ts",
    "select t.sym, t.ts, q.px from trades t asof join quotes q using (sym, ts)",
    "select t.sym, t.ts, (select q.px from quotes q where q.sym = t.sym and q.ts <= t.ts order by q.ts desc, q.px"
    " limit 1) from trades t",
)

_views(
    "recursion",
    "with recursive r(src, dst) as (select src, dst from edges union select r.src, e.dst from r join edges e on "
    "r.dst = e.src) select * from r",
    "with recursive up(id, boss, depth) as (select id, referrer, 0 from customers union select u.id, c.referrer, "
    "depth + 1 from up u join customers c on c.id = u.boss where depth < 5) select * from up",
    "with recursive n(x) as (select 1 union all select x + 1 from n where x < 10) select sum(x) from n",
    "with recursive fib(a, b) as (select 0, 1 union all select b, a + b from fib where b < 50) select a from fib",
    "with recursive days(d) as (select date '2024-01-01' union all select cast(d + interval 1 day as date) from "
    "days where d < date '2024-01-08') select d, count(o.id) from days left join orders o on o.day = d group by d",
    "with recursive reach as (select 1 as n union select e.dst from reach join edges e on e.src = reach.n) select"
    " count(*) from reach",
    "with recursive reach(n) as (select 1 union select e.dst from edges e, reach where e.src = reach.n), far as "
    "(select n from reach where n > 2) select * from far",
    (
        "with recursive path(n, p) as (select id, cast(id as string) from customers where referrer is null union "
        "all select c.id, p || '/' || cast(c.id as string) from path join customers c on c.referrer = path.n "
        "where length(p) < 12) select * from path",
        "with recursive path(n, p) as (select id, cast(id as varchar) from customers where referrer is null union"
        " all select c.id, p || '/' || cast(c.id as varchar) from path join customers c on c.referrer = path.n "
        "where length(p) < 12) select * from path",
    ),
    "with recursive a(n) as (select 1 union select n + 1 from a where n < 5) select * from a where n in (select "
    "customer from orders)",
    "with recursive r(n) as (select id from customers where id = 1 union select c.id from customers c join r on "
    "c.referrer = r.n) select c.name from customers c where c.id not in (select n from r)",
    "with recursive anc(id, anc) as (select id, referrer from customers where referrer is not null union select "
    "a.id, c.referrer from anc a join customers c on a.anc = c.id where c.referrer is not null) select id, "
    "count(*) from anc group by id",
    "with recursive sp(n, d) as (select 1, 0 union select e.dst, sp.d + 1 from sp join edges e on e.src = sp.n "
    "where sp.d < 6) select n, min(d) from sp group by n",
    "with recursive t(n) as (values (1) union all select n * 2 from t where n < 100) select * from t",
    (
        "with recursive cal as (select date '2024-01-01' as d union all select d + interval 1 day from cal where "
        "d < date '2024-01-05') select d from cal",
        "with recursive cal as (select date '2024-01-01' as d union all select cast(d + interval 1 day as date) "
        "from cal where d < date '2024-01-05') select d from cal",
    ),
    (
        "with recursive r(x, path) as (select src, cast(src as string) from edges union all select e.dst, r.path "
        "|| '>' || cast(e.dst as string) from r join edges e on e.src = r.x where length(r.path) < 6) select "
        "count(*), max(length(path)) from r",
        "with recursive r(x, path) as (select src, cast(src as varchar) from edges union all select e.dst, r.path"
        " || '>' || cast(e.dst as varchar) from r join edges e on e.src = r.x where length(r.path) < 6) select "
        "count(*), max(length(path)) from r",
    ),
)

_views(
    "dbt-like",
    "with src as (select id as order_id, customer as customer_id, day as order_date, status from orders), pay as "
    "(select order_id, sum(price * n) as paid from items group by order_id), final as (select s.*, "
    "coalesce(p.paid, 0) as paid from src s left join pay p using (order_id)) select * from final",
    "with c as (select customer, min(day) as first_order, max(day) as most_recent, count(id) as number_of_orders "
    "from orders group by customer) select cu.id, cu.name, c.first_order, c.most_recent, "
    "coalesce(c.number_of_orders, 0) from customers cu left join c on cu.id = c.customer",
    (
        "select md5(cast(coalesce(cast(id as string), '') || '-' || coalesce(cast(customer as string), '') as "
        "string)) as sk from orders",
        "select md5(coalesce(cast(id as varchar), '') || '-' || coalesce(cast(customer as varchar), '')) as sk "
        "from orders",
    ),
    "select id, status, day as valid_from, lead(day) over (partition by customer order by day, id, qty, amount) "
    "as valid_to, lead(day) over (partition by customer order by day, id, qty, amount) is null as is_current from"
    " orders where day is not null",
    "select uid, page, ts, sum(new) over (partition by uid order by ts, page, ms rows unbounded preceding) as "
    "session from (select uid, page, ts, ms, case when lag(ts) over (partition by uid order by ts, page, ms) is "
    "null or ts > lag(ts) over (partition by uid order by ts, page, ms) + interval '30 minutes' then 1 else 0 end"
    " as new from clicks) z",
    "select date_trunc('hour', ts) as h, page, count(*) n, count(distinct uid) u, avg(ms) from clicks group by 1, 2",
    "select page, sum(ms) / 1000.0 as s, max(ms) filter (where uid is not null) from clicks group by page having "
    "count(*) >= 2",
    "select uid, count(*) filter (where page = 'home') * 1.0 / count(*) from clicks group by uid",
    "select * from (select sym, ts, px, px / lag(px) over (partition by sym order by ts, px) - 1 as ret from "
    "quotes) z where ret is not null and abs(ret) > 0.01",
    "select sym, ts, avg(px) over (partition by sym order by ts range between interval '1 hour' preceding and "
    "current row) from quotes where ts is not null",
    "select q.sym, q.ts, q.px from quotes q join (select sym, max(ts) as ts from quotes group by sym) l on l.sym "
    "= q.sym and l.ts = q.ts",
    "select a.uid, b.uid, count(*) from clicks a join clicks b on a.page = b.page and a.uid < b.uid group by "
    "a.uid, b.uid",
    "select c1.page as from_page, c2.page as to_page, count(*) from clicks c1 join clicks c2 on c1.uid = c2.uid "
    "and c2.ts > c1.ts and c2.ts <= c1.ts + interval '1' hour group by c1.page, c2.page",
    "select uid from clicks where page = 'home' intersect select uid from clicks where page = 'cart' except "
    "select uid from clicks where page = 'pay'",
    "select region, sum(amount) as revenue, rank() over (order by sum(amount) desc nulls last) rk from orders o "
    "join customers c on o.customer = c.id group by region",
    "select c.region, o.status, sum(o.amount), sum(sum(o.amount)) over (partition by c.region) from orders o join"
    " customers c on o.customer = c.id group by c.region, o.status",
    "select t.region, t.name, t.total from (select c.region, c.name, c.id, sum(o.amount) total, row_number() over"
    " (partition by c.region order by sum(o.amount) desc nulls last, c.id, c.name) rn from customers c join "
    "orders o on o.customer = c.id group by c.region, c.name, c.id) t where t.rn <= 2",
    "select count(*) from orders o1 where not exists (select 1 from orders o2 where o2.customer = o1.customer and"
    " o2.placed > o1.placed)",
    "select sum(price * n * (1 - 0.1)) as revenue from items where n between 1 and 3 and price > 0.5",
    "select sku, sum(n) n, sum(price * n) v, sum(price * n) / nullif(sum(n), 0) from items group by sku",
    "select o.id, sum(i.price * i.n) - o.amount as diff from orders o join items i on i.order_id = o.id group by "
    "o.id, o.amount having sum(i.price * i.n) <> o.amount",
    "select status, count(*) n from orders where day >= (select max(day) from orders) - interval '30 days' group "
    "by status",
    "select id from orders where placed > (select max(ts) from clicks) - interval '10 days'",
    "select coalesce(a.d, b.d) d, coalesce(a.n, 0) n, coalesce(b.m, 0) m from (select day d, count(*) n from "
    "orders group by day) a full outer join (select cast(ts as date) d, count(*) m from clicks group by cast(ts "
    "as date)) b on a.d = b.d",
    "select sum(qty) from orders where status = (select status from orders group by status order by count(*) "
    "desc, status limit 1)",
    "select o.status, c.region, count(*) from orders o left join customers c on c.id = o.customer group by "
    "o.status, c.region order by 3 desc, 1, 2 limit 4",
    "select case when n = 1 then 'once' when n between 2 and 3 then 'few' else 'many' end as b, count(*) from "
    "(select customer, count(*) n from orders group by customer) z group by 1",
    (
        "select floor(credit / 10) * 10 as bin, count(*) from customers group by floor(credit / 10) * 10",
        "select cast(floor(credit / 10) * 10 as bigint) as bin, count(*) from customers group by floor(credit / "
        "10) * 10",
    ),
    (
        "select width_bucket(credit, 0, 100, 5) from customers",
        "select case when credit is null then null when credit < 0 then 0 when credit >= 100 then 6 else "
        "cast(floor(credit / 20) as int) + 1 end from customers",
    ),
    (
        "select approx_count_distinct(customer) from orders",
        "select count(distinct customer) from orders",
    ),
    "select mode(qty) from (select 1 as qty from orders) z",
    "select count_if(qty > 2), count(qty > 2) from orders",
    "select sum(qty) filter (where qty > 100), count(*) filter (where qty > 100), max(qty) filter (where qty > "
    "100) from orders",
    "select * from orders o where o.id = 1 or exists (select 1 from customers c where c.id = o.customer and "
    "c.credit > 10) order by id, amount, qty limit 3",
    "select sum(a.qty * b.qty) from orders a, orders b where a.id = b.id",
    "select cast(sum(qty) as double) / count(*) from orders having count(*) > 0",
    "select id, (select qty) from orders",
    "select id, nullif(nullif(qty, 1), 2), coalesce(nullif(status, ''), 'n/a') from orders",
    "select all status from orders",
    "select id from orders where 1 = 1 and qty = qty",
    "select id from orders where qty + id > 3 and true",
    "select o.customer, listagg_free.n from orders o join (select count(*) n from items) listagg_free on true",
    "select id from orders where qty > 1",
    (
        "table orders",
        "select * from orders",
    ),
    (
        "from orders select id",
        "select id from orders",
    ),
)

_views(
    "moments",
    "select o.id from orders o join clicks c on c.ts - o.placed < interval '1 hour' and c.ts > o.placed",
    "select o.id from orders o, clicks c where c.ts between o.placed - interval '2 days' and o.placed + interval "
    "'2 days'",
    "select id from orders where placed + interval '1 day' * qty < timestamp '2024-03-01 00:00:00'",
    "select id, placed + qty * interval '1 hour' from orders",
    (
        "select id, day + qty from orders",
        "select id, day + qty from orders",
    ),
    "select id, day - qty from orders",
    "select id, extract(epoch from placed - timestamp '2024-01-01 00:00:00') from orders",
    "select id, extract(day from placed - timestamp '2024-01-01 00:00:00') from orders where placed is not null",
    "select avg(extract(epoch from (c.ts - o.placed))) from orders o, clicks c where o.id = c.uid",
    "select max(placed) - min(placed) > interval '10 days' from orders",
    "select id from orders where placed > timestamp '2024-02-01' and placed < timestamp '2024-02-01' + interval "
    "'1' month",
    "select date '2024-03-31' - interval 1 month, date '2024-01-31' + interval '1 month', timestamp '2024-01-31 "
    "10:00:00' + interval 1 month from orders limit 1",
    (
        "select id, timestampdiff(minute, placed, timestamp '2024-04-01 00:00:00') from orders",
        "select id, cast(floor(epoch(timestamp '2024-04-01 00:00:00' - placed) / 60) as bigint) from orders",
    ),
    (
        "select id, months_between(day, date '2024-01-01') > 1 from orders where day is not null",
        "select id, day > date '2024-02-01' from orders where day is not null",
    ),
    (
        "select id, hour(placed), minute(placed), second(placed), year(placed), quarter(placed), weekofyear(day),"
        " dayofyear(day), day(day), dayofmonth(day) from orders",
        "select id, hour(placed), minute(placed), second(placed), year(placed), quarter(placed), weekofyear(day),"
        " dayofyear(day), day(day), dayofmonth(day) from orders",
    ),
    (
        "select dayname(day), monthname(day) from orders",
        "select left(dayname(day), 3), left(monthname(day), 3) from orders",
    ),
    "select id, cast(placed as date) - day from orders",
    "select id, day between date '2024-01-10' and date '2024-02-10', day >= '2024-02-01' from orders",
    "select id from orders where date_trunc('month', placed) = timestamp '2024-02-01 00:00:00'",
    "select id from orders where date_trunc('month', placed) = '2024-02-01'",
    "select id from orders where year(day) = 2024 and month(day) in (1, 2)",
    "select id from orders where day in (date '2024-01-08', '2024-02-22')",
    "select coalesce(day, date '1970-01-01'), coalesce(placed, timestamp '1970-01-01 00:00:00') from orders",
    "select greatest(day, since), least(day, since) from orders join customers on customers.id = customer",
    "select case when day is null then '2024-01-01' else cast(day as string) end from orders",
    "select min(day), max(day), count(day), max(day) - min(day) from orders",
    "select id from orders where placed >= day",
    (
        "select id, date(placed), to_date(placed) from orders",
        "select id, placed::date, placed::date from orders",
    ),
    (
        "select unix_timestamp(day) from orders where day is not null",
        "select cast(epoch(day) as bigint) from orders where day is not null",
    ),
    (
        "select from_unixtime(0), timestamp_seconds(1700000000) from orders limit 1",
        "select '1970-01-01 00:00:00', make_timestamp(1700000000000000) from orders limit 1",
    ),
    "select id, extract(month from placed)::int * 100 + extract(day from placed)::int from orders",
    (
        "select trunc(day, 'MM'), trunc(day, 'year') from orders",
        "select date_trunc('month', day), date_trunc('year', day) from orders",
    ),
    (
        "select date_add(day, qty), date_sub(day, qty), dateadd(month, 1, day), dateadd(day, qty, day) from orders",
        "select day + qty, day - qty, day + interval 1 month, day + qty from orders",
    ),
    (
        "select datediff(placed, timestamp '2024-01-01 00:00:00') from orders",
        "select placed::date - date '2024-01-01' from orders",
    ),
    (
        "select next_day(day, 'MON') from orders where day is not null",
        "select day + (8 - isodow(day))::int from orders where day is not null",
    ),
)

_views(
    "names",
    "select orders.id, orders.qty from orders where orders.status = 'paid'",
    "select o.id as order_id, o.id + 1 as next from orders as o order by order_id limit 2",
    "select a.id, b.id from (select id from orders) a, (select id from orders) b where a.id = b.id",
    "select x.* from (select id, qty as id2 from orders) as x",
    "select a, b from (select id, qty from orders) as t(a, b)",
    "select t.a from (select id, qty from orders) t(a) where t.qty > 1",
    "with t as (select id as ID from orders) select Id from T",
    "with orders as (select id from customers) select * from orders",
    "with c as (select * from customers), customers as (select * from c where id > 2) select count(*) from customers",
    (
        "select count(*) as `n total`, sum(qty) as `s` from orders group by status",
        "select count(*), sum(qty) from orders group by status",
    ),
    (
        "select o.id as value, o.qty as `key`, o.day as `date` from orders o",
        "select o.id, o.qty, o.day from orders o",
    ),
    "select id as x, x + 1 from (select 1 as x, id from orders) z",
    (
        "select qty as id, id as qty from orders order by id limit 3",
        "select qty as id, id as qty from orders order by 1 limit 3",
    ),
    (
        "select -qty as qty from orders group by qty having qty > 1",
        "select -qty from orders group by qty having qty > 1",
    ),
    (
        "select upper(status) as status, count(*) from orders group by status",
        "select upper(status), count(*) from orders group by status",
    ),
    (
        "select o.id from orders o where exists (select 1 from items where order_id = id)",
        "select o.id from orders o where exists (select 1 from items where order_id = id)",
    ),
    "select (select max(id) from customers where id < qty) from orders",
    "select id from orders where qty = (select max(qty) from orders)",
)

_views(
    "null logic",
    "select id from orders where not (qty > 2)",
    "select id from orders where qty > 2 or not qty > 2",
    "select id from orders where status <> 'paid'",
    "select id from orders where status not in ('paid', null)",
    "select id from orders where null",
    "select count(*) from orders where qty = null",
    (
        "select sum(null), count(null), max(null) from orders",
        "select null, count(null), null from orders",
    ),
    (
        "select coalesce(null, null, qty), nullif(null, 1), greatest(null, 1) from orders",
        "select coalesce(null, null, qty), null, greatest(null, 1) from orders",
    ),
    "select case when null then 1 else 2 end, case null when null then 1 else 2 end from orders",
    (
        "select null + 1, null || 'a', null = null, null is null from orders",
        "select null + 1, null::varchar, null = null, null is null from orders",
    ),
    "select id, qty in (1, 2, customer), qty not in (1, customer) from orders",
    "select status, count(*) from orders group by status having status is null or count(*) > 1",
    (
        "select a.id, b.id from orders a join orders b on a.status = b.status and a.customer <=> b.customer",
        "select a.id, b.id from orders a join orders b on a.status = b.status and a.customer is not distinct from"
        " b.customer",
    ),
    "select distinct customer from orders where customer is not null",
    "select count(*) from (select customer from orders union select null) x",
    "select max(status) filter (where status > 'zzz') from orders group by customer",
    "select avg(qty) from orders where qty is null",
    "select id from orders where qty between null and 3 or qty between 3 and null",
    "select id from orders where status like null or status like 'p%'",
    "select id, status is not null and status in (select region from customers) from orders",
    "select id, status not in (select region from customers where region is not null) from orders",
    "select id, customer in (select referrer from customers c where c.region = orders.status) from orders",
    "select id, exists (select 1 from customers c where c.id = orders.customer and c.credit is null) from orders",
)

_views(
    "aggregates more",
    "select customer, sum(qty) filter (where status = 'paid') / nullif(count(*), 0) from orders group by customer",
    "select customer, count(distinct status) filter (where qty > 2), count(distinct case when qty > 2 then status"
    " end) from orders group by customer",
    "select sum(distinct qty), count(distinct qty), avg(distinct qty), max(distinct qty) from orders group by customer",
    "select status, min(day) filter (where qty > 1), max(amount) from orders group by status having max(amount) >"
    " 1 and min(qty) is not null",
    "select sum(qty) + sum(customer), sum(qty + customer) from orders",
    "select status, sum(qty) as a, sum(customer) as b from orders group by status having a > b",
    "select max(n) from (select status, count(*) as n from orders group by status having count(*) > 1) t",
    "select count(*) from (select 1 from orders group by customer, status) x",
    "select customer, status, count(*) from orders group by customer, status having count(*) = (select max(c) "
    "from (select count(*) c from orders group by customer, status) z)",
    "select 1 from orders having count(*) > 2",
    (
        "select count(*) from orders group by ()",
        "select count(*) from orders",
    ),
    "select status, count(*) from orders group by grouping sets ((status), (status))",
    "select customer, status, sum(qty) from orders group by rollup((customer, status))",
    "select coalesce(status, 'ALL'), sum(qty) from orders where status is not null group by rollup(status)",
    (
        "select status, customer, grouping_id(), count(*) from orders group by cube(status, customer)",
        "select status, customer, grouping_id(status, customer), count(*) from orders group by cube(status, customer)",
    ),
    "select status, sum(qty), rank() over (partition by grouping(status) order by sum(qty) desc) from orders "
    "group by rollup(status)",
    "select bit_and(qty), bit_or(qty), bit_xor(qty) from orders",
    (
        "select string(id), int(qty), double(qty), bigint(id) from orders",
        "select id::varchar, qty, qty::double, id::bigint from orders",
    ),
    "select sum(case when status = 'paid' then 1 else 0 end) * 100.0 / count(*) from orders",
    (
        "select sum(if(status = 'paid', amount, 0)), count_if(status = 'paid'), sum(int(status = 'paid')) from orders",
        "select sum(case when status = 'paid' then amount else 0 end), count_if(status = 'paid'), sum((status = "
        "'paid')::int) from orders",
    ),
    "select min(qty) + max(qty) / 2, abs(sum(qty) - count(*)), round(avg(qty), 1) from orders",
    "select length(max(name)), upper(min(name)) from customers group by region",
    "select region, sum(credit), avg(credit), min(credit), max(credit) from customers group by region",
    (
        "select percentile(qty, 0.5), percentile_disc(0.5) within group (order by qty) from orders",
        "select quantile_cont(qty, 0.5), quantile_disc(qty, 0.5) from orders",
    ),
    "select customer, sum(qty) over (partition by customer) from orders group by customer, qty",
)

_views(
    "joins more",
    "select a.id from orders a join orders b on a.id = b.id and a.qty = b.qty join orders c on b.id = c.id",
    "select c.id, o.n from customers c left join (select customer, count(*) n from orders group by customer) o on"
    " c.id = o.customer where o.n is null or o.n > 1",
    "select c.id, coalesce(x.n, 0) + coalesce(y.n, 0) from customers c left join (select customer k, count(*) n "
    "from orders group by customer) x on x.k = c.id left join (select referrer k, count(*) n from customers group"
    " by referrer) y on y.k = c.id",
    "select * from (select id from customers) a cross join (select max(id) m from orders) b where a.id < b.m",
    "select o.id, c.name from orders o left join customers c on o.customer = c.id and c.name like 'A%' and o.qty > 1",
    "select o.id, c.name from orders o left join customers c on upper(c.region) = upper(o.status)",
    "select o.id, c.id from orders o full join customers c on o.customer = c.id where o.id is null or c.id is null",
    "select o.id, c.id, i.sku from orders o full join customers c on o.customer = c.id full join items i on "
    "i.order_id = o.id",
    "select coalesce(o.customer, c.id) k, count(*) from orders o full join customers c on o.customer = c.id group"
    " by coalesce(o.customer, c.id)",
    "select o.id from orders o, customers c, items i where o.customer = c.id and i.order_id = o.id and i.price * "
    "i.n > o.amount / 5 and c.region in ('eu', 'us')",
    "select o.id, c.id from orders o join customers c on (o.customer = c.id and o.qty > 1) or (o.customer = "
    "c.referrer and o.qty <= 1)",
    "select e.src, f.dst from edges e left join edges f on e.dst = f.src and f.dst <> e.src",
    "select e.src from edges e where e.dst in (select src from edges) and e.src not in (select dst from edges "
    "where dst is not null)",
    "select c.id from customers c join customers d on c.id = d.referrer group by c.id having count(*) > 1",
    "select a.id, b.id from customers a join customers b on a.credit between b.credit - 50 and b.credit + 50 and "
    "a.id <> b.id",
    "select o.id, t.qty from orders o join trades t on t.ts <= o.placed left join quotes q on q.sym = t.sym and "
    "q.ts <= t.ts",
    "select c.name, max(o.amount) from customers c left outer join orders o on c.id = o.customer group by c.name "
    "having max(o.amount) is null or max(o.amount) > 10",
    "select o.id, x.c from orders o left join (select order_id, count(*) c from items group by order_id) x on "
    "x.order_id = o.id and x.c > (select avg(n) from items)",
    "select id from customers where id in (select customer from orders group by customer having count(*) > 1)",
    (
        "select l.id from orders l left anti join orders r on l.id = r.id and r.qty > 3",
        "select l.id from orders l anti join orders r on l.id = r.id and r.qty > 3",
    ),
    "select c1.id, c2.id, c3.id from customers c1 left join customers c2 on c1.referrer = c2.id left join "
    "customers c3 on c2.referrer = c3.id",
    "select * from edges a left join edges b using (src)",
    "select src, count(*) from edges a join edges b using (src) group by src",
    "select a.src, b.src, src from edges a left join (select dst as src from edges) b using (src)",
    "select * from edges a inner join (values (1, 'x'), (2, 'y')) v(src, tag) using (src)",
    "select o.id, d from orders o, (select distinct day as d from orders) days where o.day <= d",
    "select distinct a.src from edges a, edges b where a.src = b.dst and a.dst = b.src",
    "select t1.sym, count(*) from trades t1 join trades t2 on t1.sym = t2.sym and t1.ts < t2.ts group by t1.sym",
)

_views(
    "sets more",
    "select qty from orders union all select qty from orders except all select n from items",
    "select qty, status from orders union select n, sku from items intersect select qty, sym from trades",
    "(select qty from orders) union (select n from items) order by qty desc limit 2",
    "select * from (select qty from orders union all select n from items) z where qty > 2",
    "select qty as a from orders union all select 1.5 from items",
    "select day from orders union select cast(ts as date) from clicks",
    "select count(*), sum(q) from (select qty q from orders union select n from items) z",
    "select status, 1 as k from orders union all select 'total', count(*) from orders",
    "select id from orders intersect select id from customers intersect select src from edges",
    "(select id from orders except select id from customers) union all (select id from customers except select id"
    " from orders)",
    "with a as (select id from orders), b as (select id from customers) (select * from a except select * from b) "
    "union all (select * from b except select * from a)",
    "select null as x union all select id from orders",
    "select id, null as extra from customers union all select id, status from orders",
)

_views(
    "windows more",
    "select id, sum(amount) over (partition by customer order by placed, id, qty rows between 3 preceding and 1 "
    "preceding) from orders",
    "select id, first_value(status) over (partition by customer order by qty desc, id, amount) from orders",
    "select id, lag(qty, 1) over w as p, lead(qty, 1) over w as n from orders window w as (partition by customer "
    "order by id, amount, qty)",
    "select id, count(*) over (partition by customer order by day range between unbounded preceding and current "
    "row) from orders",
    "select id, sum(qty) over (order by id, qty, amount rows between current row and unbounded following) from orders",
    "select id, row_number() over (partition by status, customer order by id desc, qty, amount, placed) from orders",
    "select * from (select id, dense_rank() over (order by amount desc) as r from orders) where r <= 3",
    "select customer, status, count(*) as n, row_number() over (partition by customer order by count(*) desc, "
    "status) as rn from orders group by customer, status",
    "select customer, total, total / sum(total) over () as share from (select customer, sum(qty) total from "
    "orders group by customer) z",
    "select id, max(qty) over (order by placed range between interval '30 days' preceding and interval '1 day' "
    "preceding) from orders where placed is not null",
    "select id, qty, sum(qty) over (order by qty desc range between 1 preceding and current row) from orders "
    "where qty is not null",
    "select status, sum(qty), lag(sum(qty)) over (order by status) from orders group by status",
    "select day, count(*) as n, sum(count(*)) over (order by day rows between unbounded preceding and current "
    "row) as running from orders group by day",
    "select id, ntile(4) over (partition by status order by qty, id, amount, placed) from orders",
    "select id, percent_rank() over (partition by status order by qty) from orders",
    "select id, count(*) filter (where qty > 2) over (partition by status), avg(qty) filter (where qty > 1) over "
    "(order by id, qty, amount rows between 2 preceding and current row) from orders",
    "select c.region, o.id, row_number() over (partition by c.region order by o.amount desc, o.id, o.qty) rn from"
    " orders o join customers c on c.id = o.customer qualify rn <= 2",
    "select id from orders qualify count(*) over (partition by customer) > 1",
    "select id from orders qualify sum(qty) over (partition by customer) > (select avg(qty) from orders)",
    "select id, sum(sum_q) over (order by id) from (select id, sum(qty) sum_q from orders group by id) z",
    "select distinct customer, first_value(id) over (partition by customer order by id, qty) from orders",
    (
        "select id, min(placed) over (partition by customer), datediff(placed, min(placed) over (partition by "
        "customer)) from orders",
        "select id, min(placed) over (partition by customer), placed::date - (min(placed) over (partition by "
        "customer))::date from orders",
    ),
    "select id, lead(day, 1, date '9999-12-31') over (partition by customer order by day, id, qty, amount) from orders",
    "select uid, count(*) from (select uid, ts, ts - lag(ts) over (partition by uid order by ts, page, ms) > "
    "interval '1 day' as gap from clicks) z where gap group by uid",
    "select id, sum(qty) over (partition by status order by day rows between unbounded preceding and unbounded "
    "following) from orders",
    "select id, qty = max(qty) over (partition by customer) as is_top from orders",
    "select count(*) from (select row_number() over (partition by customer order by id) rn from orders) z where rn = 1",
    "select sum(qty) over (partition by case when qty > 2 then 'hi' else 'lo' end) from orders",
    "select id, nth_value(status, 1) over (partition by customer order by id, qty, amount) from orders",
    "select id, row_number() over (order by (select count(*) from items i where i.order_id = orders.id), id, qty,"
    " amount) from orders",
)

_views(
    "text",
    (
        "select concat('a', 'b', name), name || null, 'x' || id from customers",
        "select case when name is not null then 'ab' || name end, null::varchar, 'x' || id from customers",
    ),
    "select lower(trim(name)) = 'dan', name = trim(name), trim(' x '), ltrim(' x'), rtrim('x ') from customers",
    "select id from customers where lower(name) in ('ann', 'bob') or name > 'C'",
    (
        "select name like '%a%', name like 'A__', name not like '%', name like 'a\\\\_%' from customers",
        "select name like '%a%', name like 'A__', name not like '%', name like 'a\\_%' escape '\\' from customers",
    ),
    "select replace(name, 'n', ''), translate(name, 'an', 'xy'), repeat('ab', 2), reverse(name), left(name, 2), "
    "right(name, 1) from customers",
    (
        "select length(trim(name)), substr(name, -2), substr(name, 2, 2), substring(name, 0, 2) from customers",
        "select length(trim(name)), substr(name, -2), substr(name, 2, 2), substring(name, 1, 2) from customers",
    ),
    "select split_part('a,b,c', ',', 2), split_part(name, 'n', 1) from customers",
    (
        "select regexp_replace(name, '(A)(n)', '$2$1'), regexp_extract(name, '[a-z]+', 0), regexp_count(name, "
        "'n') from customers",
        "select regexp_replace(name, '(A)(n)', '\\2\\1', 'g'), regexp_extract(name, '[a-z]+', 0), "
        "len(regexp_extract_all(name, 'n')) from customers",
    ),
    (
        "select lpad(cast(id as string), 3, '0'), rpad(name, 2, '.'), format_string('%d-%s', id, name) from "
        "customers where id is not null and name is not null",
        "select lpad(cast(id as varchar), 3, '0'), rpad(name, 2, '.'), printf('%d-%s', id, name) from customers "
        "where id is not null and name is not null",
    ),
    (
        "select sha2(name, 256), sha1(name), md5(name || region) from customers",
        "select sha256(name), sha1(name), md5(name || region) from customers",
    ),
    (
        "select hex(id), bin(id) from customers",
        "select hex(id), bin(id) from customers",
    ),
    (
        "select cast('12.5' as double), cast(' 7 ' as int), cast('2024-01-05' as date), cast('true' as boolean), "
        "cast(3.7 as int), cast(1 as string) from customers limit 1",
        "select 12.5::double, 7, date '2024-01-05', true, 3, '1' from customers limit 1",
    ),
    "select concat_ws(',', name, null, region), coalesce(concat_ws('', null), 'n') from customers",
    (
        "select position('n', name), locate('n', name), instr(name, 'n'), charindex('n', name) from customers",
        "select position('n' in name), position('n' in name), instr(name, 'n'), position('n' in name) from customers",
    ),
    (
        "select ascii('A'), char(66), initcap('hello world'), soundex('Robert'), levenshtein('kitten', 'sitting')"
        " from customers limit 1",
        "select 65, 'B', 'Hello World', 'R163', levenshtein('kitten', 'sitting') from customers limit 1",
    ),
)

_views(
    "numbers",
    (
        "select 7 / 2, 7 % 4, -7 % 4, 7 div 2, 2 * 3 + 4, (2 + 3) * 4, 10 - 2 - 3 from orders limit 1",
        "select 3.5, 3, -3, 3, 10, 20, 5 from orders limit 1",
    ),
    (
        "select round(2.5), round(-2.5), round(1234.567, -2), round(1234.567, 2), bround(2.5, 0), ceil(1.2), "
        "floor(-1.2) from orders limit 1",
        "select 3.0, -3.0, 1200.0, 1234.57, 2.0, 2.0, -2.0 from orders limit 1",
    ),
    "select amount * qty / nullif(customer, 0) > 5 from orders",
    (
        "select abs(qty - 3), sign(qty - 3), power(qty, 2), sqrt(qty), exp(0), ln(1), log(10, 100), log2(8), "
        "cbrt(27) from orders",
        "select abs(qty - 3), cast(sign(qty - 3) as double), power(qty, 2), sqrt(qty), 1.0::double, 0.0::double, "
        "2.0::double, 3.0::double, 3.0::double from orders",
    ),
    "select qty + amount, qty * credit, amount * credit from orders, customers where customer = customers.id",
    (
        "select cast(amount as int), cast(amount as double), cast(qty as decimal(10,3)), cast(credit as "
        "decimal(10,2)) from orders, customers where customer = customers.id and amount * 2 = floor(amount) * 2",
        "select cast(floor(amount) as int), cast(amount as double), cast(qty as decimal(10,3)), cast(credit as "
        "decimal(10,2)) from orders, customers where customer = customers.id and amount * 2 = floor(amount) * 2",
    ),
    (
        "select pmod(qty - 5, 3), mod(qty - 5, 3) from orders",
        "select ((qty - 5) % 3 + 3) % 3, mod(qty - 5, 3) from orders",
    ),
    "select qty > 2.5, amount > 10, amount = 12.5, credit > 10 and credit < 100.5 from orders, customers where "
    "customers.id = customer",
    (
        "select greatest(1, 2.5, qty), least(qty, amount), coalesce(qty, 1.5), nullif(qty, 2.0), if(qty > 2, 1, "
        "2.5) from orders",
        "select greatest(1, 2.5, qty), least(qty, amount), coalesce(qty, 1.5), nullif(qty, 2.0), case when qty > "
        "2 then 1 else 2.5 end from orders",
    ),
    "select 'a' = 'A', 'a' < 'b', '10' < '9', 10 = 10.0, '1' = 1, true = true, not false from orders limit 1",
)

_views(
    "corners",
    "select a.x, b.x as y from (select count(*) x from orders) a, (select count(*) x from customers) b",
    "select status, n, n * 100.0 / t from (select status, count(*) n from orders group by status) a cross join "
    "(select count(*) t from orders) b",
    "select * from (select customer, sum(qty) s from orders group by customer) a where s >= (select max(s) from "
    "(select sum(qty) s from orders group by customer) b)",
    "select o.id, (select count(*) from orders p where p.amount > o.amount) + 1 as rank from orders o",
    "select o.id, (select sum(p.qty) from orders p where p.customer = o.customer and p.placed <= o.placed) "
    "running from orders o",
    "select c.id, (select count(*) from orders o join items i on i.order_id = o.id where o.customer = c.id) from "
    "customers c",
    "select c.id, (select avg(x.t) from (select sum(i.n) t from items i join orders o on o.id = i.order_id where "
    "o.customer = c.id group by o.id) x) from customers c",
    "select c.id from customers c where (select max(day) from orders o where o.customer = c.id) > c.since",
    "select c.id, (select status from orders o where o.customer = c.id group by status order by count(*) desc, "
    "status limit 1) from customers c",
    "select c.id, (select sum(qty) from orders o where o.customer = c.id having count(*) > 1) from customers c",
    "select c.id, (select count(*) from orders o where o.customer = c.id or o.qty = c.id) from customers c",
    "select c.id, (select max(o.qty) from orders o where o.customer = c.id and o.qty < (select avg(p.qty) from "
    "orders p where p.customer = c.id)) from customers c",
    "select c.id, (select o.qty from orders o where o.customer = c.id order by o.qty desc limit 1) mx, (select "
    "o.qty from orders o where o.customer = c.id order by o.qty limit 1) mn from customers c",
    "select c.id, (select o.qty from orders o where o.customer = c.id order by o.qty desc nulls last limit 1 "
    "offset 1) from customers c",
    "select c.id, (select count(*) from (select distinct status from orders o where o.customer = c.id) z) from "
    "customers c",
    "select c.id, (select sum(v) from (select qty v from orders where customer = c.id union all select n from "
    "items where order_id = c.id) z) from customers c",
    "select id from orders o where qty >= all (select qty from orders p where p.customer = o.customer and qty is "
    "not null)",
    "select id from orders o where exists (select 1 from orders p where p.customer = o.customer and p.id <> o.id "
    "group by p.status having count(*) > 1)",
    "select id from orders o where exists (select customer from orders p where p.customer = o.customer limit 1)",
    "select id from orders o where 1 in (select i.n from items i where i.order_id = o.id)",
    "select id from orders o where (select count(*) from items i where i.order_id = o.id) in (0, 2)",
    "select id from orders o where customer in (select c.id from customers c where c.region = o.status union select 1)",
    "select id from orders o where customer = (select min(c.id) from customers c where c.id > (select avg(e.src) "
    "from edges e where e.dst = o.qty))",
    "select status, count(*) from orders o where exists (select 1 from items i where i.order_id = o.id) group by "
    "status having count(*) > (select count(*) from edges where src = 1)",
    "select (select count(*) from orders where status = s.status) from (select distinct status from orders) s",
    "select case when (select count(*) from orders) > 5 then 'many' else 'few' end",
    "select coalesce((select max(qty) from orders where status = 'none'), -1)",
    "select (select sum(qty) from orders) / (select count(*) from customers)",
    "select max((select count(*) from items i where i.order_id = o.id)) from orders o",
    "select o.customer, max(o.qty - (select avg(qty) from orders)) from orders o group by o.customer",
    "select customer, sum(qty) from orders group by customer having sum(qty) > all (select avg(qty) from orders "
    "group by status)",
    "select a.id from orders a left join orders b on a.customer = b.customer and a.placed < b.placed where b.id "
    "is null",
    "select a.id, count(b.id) from orders a left join orders b on a.customer = b.customer and b.placed < a.placed"
    " group by a.id, a.placed, a.amount, a.qty",
    "select * from (select id, qty, rank() over (order by qty desc) r from orders) x join (select id, n from "
    "items i join orders o on o.id = i.order_id) y using (id) where r < 4",
    "select t.day, t.n, avg(t.n) over (order by t.day rows between 6 preceding and current row) from (select day,"
    " count(*) n from orders group by day) t",
    "with daily as (select day, sum(amount) s from orders group by day), ranked as (select *, row_number() over "
    "(order by s desc, day) rn from daily) select * from ranked where rn <= 3",
    (
        "with base as (select customer, status, qty from orders), a as (select customer, sum(qty) s from base "
        "group by customer), b as (select status, sum(qty) s from base group by status) select 'c' k, "
        "cast(customer as string) v, s from a union all select 's', status, s from b",
        "with base as (select customer, status, qty from orders), a as (select customer, sum(qty) s from base "
        "group by customer), b as (select status, sum(qty) s from base group by status) select 'c' k, "
        "cast(customer as varchar) v, s from a union all select 's', status, s from b",
    ),
    "select count(*) from orders o where exists (select 1 from customers c where c.id = o.customer) and not "
    "exists (select 1 from items i where i.order_id = o.id) and o.qty in (select n from items)",
    "select distinct on (status) status, id, qty from orders order by status, qty desc nulls last, id, amount limit 2",
    "select distinct on (customer, status) customer, status, max(qty) over (partition by customer, status) from "
    "orders order by customer, status, id",
    "select region, count(*) filter (where credit > 10) as rich, count(*) filter (where credit <= 10 or credit is"
    " null) as other from customers group by region order by rich desc, region limit 2",
    "select sum(amount) filter (where status = 'paid') - sum(amount) filter (where status = 'void') from orders",
    "select * from orders where id in (select max(id) from orders group by customer)",
    "select * from (select *, row_number() over (partition by id order by amount, qty, placed, day, status) rn "
    "from orders) z where rn = 1 and qty is not null",
    "select id, amount, sum(amount) over (order by id, amount, qty) - amount as before_ from orders",
    "select sym, ts, px, avg(px) over (partition by sym order by ts, px rows between 2 preceding and current row)"
    " ma, px - lag(px) over (partition by sym order by ts, px) d from quotes",
    "select t.sym, t.qty * q.px from trades t asof join quotes q on t.sym = q.sym and t.ts >= q.ts where q.px > 1",
    "select t.sym, t.ts, q.px from trades t asof left join (select sym, ts, max(px) px from quotes group by sym, "
    "ts) q on q.sym = t.sym and q.ts <= t.ts",
    "select t.sym, t.ts, q.ts from trades t asof join quotes q on t.sym = q.sym and t.ts < q.ts",
    "select t.sym, q.sym from trades t asof join quotes q on t.ts > q.ts",
    (
        "select g.id, count(o.id) from range(0, 7) g left join orders o on o.qty = g.id group by g.id",
        "select g.range, count(o.id) from range(0, 7) g left join orders o on o.qty = g.range group by g.range",
    ),
    "select d.m, coalesce(sum(o.amount), 0) from generate_series(date '2024-01-01', date '2024-03-01', interval "
    "'1 month') d(m) left join orders o on date_trunc('month', o.day) = d.m group by d.m",
    "select x, x % 2 = 0 from generate_series(5, 1, -2) g(x)",
    "select generate_series from generate_series(1, 3)",
    "select x from range(3) r(x) where x not in (select customer from orders where customer is not null)",
    (
        "select * from (select customer, status, year(day) y, qty from orders) pivot (sum(qty) for (status, y) in"
        " (('paid', 2024) as p, ('open', 2024) as o))",
        "select customer, sum(qty) filter (where status = 'paid' and year(day) = 2024), sum(qty) filter (where "
        "status = 'open' and year(day) = 2024) from orders group by customer",
    ),
    (
        "select p.customer, p.paid from (select customer, status, qty from orders) pivot (max(qty) for status in "
        "('paid' as paid)) as p where p.paid > 1",
        "select customer, max(qty) filter (where status = 'paid') paid from orders group by customer having "
        "max(qty) filter (where status = 'paid') > 1",
    ),
    (
        "select * from (select id, qty, customer from orders) unpivot include nulls (v for k in (qty as 'q', "
        "customer as 'c'))",
        "select id, 'q', qty from orders union all select id, 'c', customer from orders",
    ),
    "select k, sum(v) from (select id, qty, customer from orders) unpivot (v for k in (qty, customer)) group by k",
    "select c.id, x.k, x.v from customers c cross join lateral (values ('id', c.id), ('ref', c.referrer)) x(k, v)"
    " where x.v is not null",
    "select x.v, count(*) from customers c, lateral (select c.region as v union all select c.name) x group by x.v",
    "select c.id, t.* from customers c left join lateral (select o.status, count(*) n from orders o where "
    "o.customer = c.id group by o.status) t on t.n > 1",
    "select c.id, t.s, u.m from customers c left join lateral (select sum(qty) s from orders o where o.customer ="
    " c.id) t on true left join lateral (select max(n) m from items i where i.order_id < t.s) u on true",
    "select c.id, l.id from customers c, lateral (select o.id from orders o where o.customer = c.id order by "
    "o.placed desc nulls last, o.id, o.qty, o.amount limit 1 offset 1) l",
    "select id, sum(distinct qty) over (partition by status), avg(distinct qty) over () from orders",
    "select id from orders o where not exists (select 1 from customers c where c.id = o.customer and not exists "
    "(select 1 from items i where i.order_id = o.id and i.n = c.id))",
    "select c.id from customers c where not exists (select status from orders where status is not null and status"
    " not in (select o.status from orders o where o.customer = c.id and o.status is not null))",
    "select count(*) from (select * from orders where qty > 1 limit 1000) z",
    "select * from ((select id from orders) union all (select id from customers)) z where id > 2",
    (
        "select x.id from (orders o join customers c on o.customer = c.id) join (select 1 as id) x on true",
        "select x.id from (orders o join customers c on o.customer = c.id) join (select 1 as id) x on true",
    ),
    "select id, id + 1 as id2, id2 * 2 as id3, sum(id3) over (order by id2, qty, amount rows unbounded preceding)"
    " from orders",
    "select status as s, count(*) as n, n * 2 as m from orders group by s having n > 1 order by m desc, s limit 2",
    "select o.status s2, c.region r2, count(*) from orders o join customers c on c.id = o.customer group by s2, r2",
    "select extract(year from placed) y, extract(quarter from placed) q, count(*) from orders group by 1, 2",
    "select cast(date_trunc('week', placed) as date) w, count(*) from orders group by 1 order by 1 limit 3",
    "select date_trunc('minute', ts) m, count(*) from clicks group by m",
    "select id from orders where placed >= date '2024-02-01' and placed < date '2024-02-01' + interval 1 month",
    (
        "select customer, datediff(max(day), min(day)) span, count(*) from orders group by customer having "
        "datediff(max(day), min(day)) > 5",
        "select customer, max(day) - min(day) span, count(*) from orders group by customer having max(day) - "
        "min(day) > 5",
    ),
    "select a.uid from clicks a join clicks b on a.uid = b.uid and b.ts - a.ts between interval '0 seconds' and "
    "interval '10 days' and a.page = 'home' and b.page = 'cart'",
    "select uid, max(ts) - min(ts) > interval '5 days' from clicks group by uid",
    "select uid, extract(epoch from max(ts) - min(ts)) / 3600 from clicks group by uid",
    "select o.id, o.placed + interval 1 hour * o.qty, o.placed - interval 1 day * 2 from orders o",
    "select id, lag(amount, 2) over (partition by status order by id, qty, amount), amount - lag(amount) over "
    "(order by id, qty, amount) from orders",
    "select id, count(*) over (partition by customer, status), count(*) over (partition by customer) * 1.0 / "
    "count(*) over () from orders",
)

_views(
    "series of rows",
    (
        "select o.id, g.x from orders o, lateral generate_series(1, o.qty) as g(x)",
        "select o.id, g.x from orders o, lateral (select unnest(generate_series(1, o.qty))) as g(x)",
    ),
    (
        "select o.id, g from orders o cross join generate_series(o.qty, 0, -2) g",
        "select o.id, g from orders o, lateral (select unnest(generate_series(o.qty, 0, -2))) as t(g)",
    ),
    (
        "select o.id, g.x from orders o left join lateral generate_series(3, o.qty) as g(x) on g.x <> 4",
        "select o.id, g.x from orders o left join (select distinct qty, unnest(generate_series(3, qty)) x from "
        "(select distinct qty from orders)) g on g.qty = o.qty and g.x <> 4",
    ),
    (
        "select count(*), sum(x) from generate_series(1, (select max(qty) from orders)) as g(x)",
        "select count(*), sum(x) from (select unnest(generate_series(1, (select max(qty) from orders)))) as g(x)",
    ),
    (
        "select o.id, d.x from orders o, lateral generate_series(o.day, cast(o.day + interval 2 days as date), "
        "interval '1 day') d(x)",
        "select o.id, d.x from orders o, lateral (select unnest(generate_series(o.day::timestamp, o.day + "
        "interval 2 days, interval '1 day'))) d(x)",
    ),
    (
        "select d.x, count(o.id) from generate_series((select min(day) from orders), (select max(day) from "
        "orders), interval '1 month') d(x) left join orders o on o.day >= d.x group by d.x",
        "select d.x, count(o.id) from (select unnest(generate_series((select min(day) from orders)::timestamp, "
        "(select max(day) from orders)::timestamp, interval '1 month'))) d(x) left join orders o on o.day >= d.x "
        "group by d.x",
    ),
    (
        "select o.id, (select sum(g.x) from generate_series(1, o.qty) g(x)) from orders o",
        "select o.id, case when qty > 0 then qty * (qty + 1) / 2 end::bigint from orders o",
    ),
    (
        "select o.id, r.id as n from orders o, range(o.customer, o.qty) r",
        "select o.id, r.n from orders o, lateral (select unnest(range(o.customer, o.qty))) r(n)",
    ),
    "select x from generate_series(timestamp '2024-01-01 00:00:00', timestamp '2024-01-01 03:00:00', interval '90"
    " minutes') g(x)",
    (
        "select x from generate_series(date '2024-01-31', date '2024-06-01', interval '1 month') g(x)",
        "select x::date from (values ('2024-01-31'), ('2024-02-29'), ('2024-03-31'), ('2024-04-30'), "
        "('2024-05-31')) v(x)",
    ),
    "select x from generate_series(3, 1) g(x)",
    "select x from generate_series(1 + 1, 2 * 3) g(x)",
)

_views(
    "nested",
    (
        "select status, array_agg(id order by id, qty) filter (where id > 2) as ids from orders group by status",
        "select status, coalesce(array_agg(id order by id, qty) filter (where id > 2), []) as ids from orders"
        " group by status",
    ),
    (
        "select status, array_agg(qty order by id desc, qty) from orders group by status",
        "select status, coalesce(array_agg(qty order by id desc, qty) filter (where qty is not null), []) from orders"
        " group by status",
    ),
    "select string_agg(name, ', ' order by id desc, name) from customers",
    "select region, string_agg(distinct name, '|' order by name) from customers group by region",
    (
        "select customer, array_agg(distinct status order by status desc) from orders group by customer",
        "select customer, coalesce(array_agg(distinct status order by status desc) filter (where status is not "
        "null), [])"
        " from orders group by customer",
    ),
    (
        "select status, array_agg(distinct qty order by qty desc) filter (where qty > 2) from orders group by status",
        "select status, coalesce(array_agg(distinct qty order by qty desc) filter (where qty > 2), []) from orders"
        " group by status",
    ),
    (
        "select listagg(sku, '+') within group (order by sku desc) from items",
        "select string_agg(sku, '+' order by sku desc) from items",
    ),
    "select customer, first(amount order by day, amount) from orders where amount is not null group by customer",
    "select customer, last(qty order by day, qty) from orders where qty is not null and day is not null"
    " group by customer",
    (
        "select id, sku from orders join (select order_id, collect_list(sku) as skus from items group by order_id) i"
        " on i.order_id = id lateral view explode(skus) v as sku",
        "select id, sku from orders join items on order_id = id where sku is not null",
    ),
    (
        "select sku, n from (select explode(array(sku, 'z')) as sku, n from items)",
        "select unnest([sku, 'z']) as sku, n from items",
    ),
    (
        "select id, part from customers lateral view explode(split(name, 'n')) v as part",
        "select id, unnest(string_split(name, 'n')) as part from customers",
    ),
    (
        "select id, part from customers lateral view outer explode(split(name, 'n')) v as part",
        "select id, part from customers left join lateral (select unnest(string_split(name, 'n')) as part) v on true",
    ),
    (
        "select size(collect_set(status)), customer from orders group by customer",
        "select count(distinct status), customer from orders group by customer",
    ),
    (
        "select array_contains(collect_list(status), 'paid') as paid, customer from orders group by customer",
        "select coalesce(bool_or(status = 'paid'), false) as paid, customer from orders group by customer",
    ),
    (
        "select all_of.n, count(*) from (select customer, sort_array(collect_list(id)) as n from orders"
        " group by customer) all_of group by all_of.n",
        "select n, count(*) from (select customer, coalesce(array_agg(id order by id) filter (where id is not "
        "null), [])"
        " as n from orders group by customer) group by n",
    ),
    (
        "select a.customer, b.customer from (select customer, sort_array(collect_set(qty)) as s from orders"
        " group by customer) a join (select customer, sort_array(collect_set(qty)) as s from orders group by "
        "customer) b"
        " on a.s = b.s and a.customer < b.customer",
        "select a.customer, b.customer from (select customer, coalesce(list_sort(array_agg(distinct qty) filter"
        " (where qty is not null)), []) as s from orders group by customer) a join (select customer,"
        " coalesce(list_sort(array_agg(distinct qty) filter (where qty is not null)), []) as s from orders"
        " group by customer) b on a.s = b.s and a.customer < b.customer",
    ),
    (
        "select element_at(split(page, 'a'), 1) as head, count(*) from clicks group by 1",
        "select string_split(page, 'a')[1] as head, count(*) from clicks group by 1",
    ),
    (
        "select struct(sku, n) as pair, count(*) from items group by struct(sku, n)",
        "select {'sku': sku, 'n': n} as pair, count(*) from items group by {'sku': sku, 'n': n}",
    ),
    (
        "select id, x from orders, unnest(sequence(1, qty)) as v(x) where qty > 0",
        "select id, x from orders, unnest(generate_series(1, qty)) as v(x) where qty > 0",
    ),
    (
        "select max(size(skus)) from (select collect_list(sku) as skus from items group by order_id)",
        "select max(n) from (select count(sku) as n from items group by order_id)",
    ),
    "select count(*) from unnest(array[1, 2, 3]) as v(x) join orders on qty = x",
    (
        "select id, array_agg(qty order by id, qty) over (partition by status) from orders",
        "select o.id, q from orders o join (select status, coalesce(array_agg(qty order by id, qty)"
        " filter (where qty is not null), []) as q from orders group by status) g"
        " on g.status is not distinct from o.status",
    ),
    (
        "select id, listagg(status, '+') within group (order by status) over (partition by customer), count(*)"
        " over (partition by customer) from orders",
        "select o.id, q, n from orders o join (select customer, string_agg(status, '+' order by status) as q,"
        " count(*) as n from orders group by customer) g on g.customer is not distinct from o.customer",
    ),
)
_views(
    "windows of time and sets behind the keys",
    (
        "select window.start as s, window.end as e, count(*) as n from clicks group by window(ts, '1 day')",
        "select date_trunc('day', ts), date_trunc('day', ts) + interval 1 day, count(*) from clicks where ts is not "
        "null group by 1, 2",
    ),
    (
        "select page, window.start, sum(ms) from clicks group by page, window(ts, '2 days', '1 day') having "
        "count(*) > 1",
        "select page, s, sum(ms) from (select *, unnest([date_trunc('day', ts), date_trunc('day', ts) - interval 1 "
        "day]) as s from clicks where ts is not null) group by page, s having count(*) > 1",
    ),
    (
        "select window(c.ts, '36 hours', '1 day', '6 hours').end as e, uid from clicks c where uid > 2",
        "select s + interval 36 hours, uid from (select *, unnest([0, 1]) as i, date_trunc('day', ts - interval 6 "
        "hours) + interval 6 hours - interval (i) days as s from clicks where uid > 2) where ts < s + interval 36 "
        "hours",
    ),
    (
        "select w.start, count(*) from (select window(ts, interval 1 day) as w from clicks) group by w order by "
        "w.start",
        "select date_trunc('day', ts), count(*) from clicks where ts is not null group by 1",
    ),
    (
        "select window.start, region, sum(qty), rank() over (partition by window.start order by sum(qty) desc) from "
        "orders o join customers c on o.customer = c.id group by window(o.day, '1 week'), region",
        "select s, region, sum(qty), rank() over (partition by s order by sum(qty) desc nulls last) from (select *, "
        "timestamp '1970-01-01' + interval (cast(floor(date_diff('day', date '1970-01-01', day) / 7) as int) * 7) days "
        "as s from orders) o join customers c on o.customer = c.id where day is not null group by s, region",
    ),
    (
        "select region, sum(credit) from customers group by region with rollup",
        "select region, sum(credit) from customers group by rollup(region)",
    ),
    (
        "select status, customer % 2 as k, count(*) from orders group by status, customer % 2 with cube",
        "select status, customer % 2 as k, count(*) from orders group by cube(status, customer % 2)",
    ),
    (
        "select status, customer, sum(qty) from orders group by status, customer grouping sets ((status, "
        "customer), (status))",
        "select status, customer, sum(qty) from orders group by grouping sets ((status, customer), (status))",
    ),
    (
        "select status, customer, sum(qty) from orders group by status, customer grouping sets ((status), ())",
        "select status, null::int, sum(qty) from orders group by grouping sets ((status), ())",
    ),
    (
        "select status, customer, sum(qty) from orders group by status, grouping sets ((customer), ())",
        "select status, customer, sum(qty) from orders group by status, grouping sets ((customer), ())",
    ),
)

_views(
    "steps of time, and elements of what is written out",
    (
        "select array(1, 2, 3)[1], array(qty, customer)[0], array(10, 20)[1] + id from orders",
        "select 2, qty, 20 + id from orders",
    ),
    (
        "select list[0], array[1] from (select array(qty, id) as list, array(id, qty) as array from orders)",
        "select qty, qty from orders",
    ),
    (
        "select customer, collect_list(qty)[0] is null from orders group by customer",
        "select customer, max(qty) is null from orders group by customer",
    ),
    (
        "select d, count(o.id) from (select explode(sequence(date '2024-01-01', date '2024-02-10', interval 1 "
        "week)) as d) s "
        "left join orders o on o.day between s.d and date_add(s.d, 6) group by d",
        "select d, count(o.id) from (select unnest(generate_series(date '2024-01-01', date '2024-02-10', interval "
        "7 day))::date as d) s "
        "left join orders o on o.day between s.d and s.d + 6 group by d",
    ),
    (
        "select id, explode(sequence(day, date '2024-03-31', interval 1 month)) from orders where day < date "
        "'2024-03-29'",
        "select id, unnest(generate_series(day, date '2024-03-31', interval 1 month))::date from orders where day "
        "< date '2024-03-29'",
    ),
    (
        "select id, explode(sequence(placed, placed - interval 1 day, interval -8 hours)) from orders",
        "select id, unnest(generate_series(placed, placed - interval 1 day, interval (-8) hours)) from orders",
    ),
    (
        "select placed + interval 1 day 2 hours, day + interval 1 year 2 months, placed - interval 1 day 30 minutes, "
        "placed - placed > interval 1 day 2 hours from orders",
        "select placed + interval 26 hours, (day + interval 14 months)::date, placed - interval 1470 minutes, "
        "placed - placed > interval 26 hours from orders",
    ),
    ("select decimal(qty), decimal('7') from orders", "select qty::decimal(10, 0), 7::decimal(10, 0) from orders"),
)
