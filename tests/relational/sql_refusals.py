"""Queries that are wrong, ambiguous, of another dialect or not supported: what each is told, word by word.

Rule: the tables are `t` (a long, b long, s string, d date, ts timestamp) and `u` (k long, b long).
"""

from __future__ import annotations

NAME_ONE = "Name one of these."
NAME_TABLE = "Name a table of the query's from."
ANOTHER_WAY = "Write it another way, or build that part with collections: map_rows(fn, schema) runs your own function."
WHICH = "Say which: table.column."
ADD_KEY = "Add it to group by, or say which value: any_value(a), min, max."
PLAIN_NUMBER = "Write the number itself."
COMPARE = "Compare it."
NUMBERS = "Cast text to a number: cast(s as double).  Days of dates: date_add(d, 1), datediff(a, b)."
CAST_ONE = "Cast one of them: cast(a as string)."
READ = "Spark's SQL is read."
A_CLOCK = "Give it as a column of an input: a result that changes by itself cannot be kept."
AS_MANY = "Give as many."
INSIDE = "Compute it in a query inside: select ... from (select ..., rank() over (...) as r from t)."
SELECT_AS_MANY = "Select as many."
BEGINS = "A query begins with select, with, values, table or from."
PUT_IN = "Put the value into the text."

REFUSED: list[tuple[str, str, str]] = [
    (
        "select q from t",
        'there is no column "q" in t, which has: a, b, s, d, ts, in q (line 1, column 8).',
        NAME_ONE,
    ),
    (
        "select t.q from t",
        'there is no column "q" in "t", which has: a, b, s, d, ts, in t.q (line 1, column 8).',
        NAME_ONE,
    ),
    (
        "select v.a from t",
        'there is no table "v" here; there are: t, in v.a (line 1, column 8).',
        NAME_TABLE,
    ),
    (
        "select a from tt",
        'there is no input or table "tt"; there are: t, u, in tt (line 1, column 15).',
        'Did you mean "t"?',
    ),
    (
        "select a from lake.t",
        'there is no input or table "lake.t"; there are: t, u, in lake.t (line 1, column 15).',
        'Write "t" alone.',
    ),
    (
        "select t.lake.a from t",
        'there is no table "lake" here; there are: t, in t.lake.a (line 1, column 8).',
        "Name a table of the query's from.",
    ),
    (
        "select b from t, u",
        'the column "b" could be any of: t.b, u.b, in b (line 1, column 8).',
        WHICH,
    ),
    (
        "select * from t join u on b = 1",
        'the column "b" could be any of: t.b, u.b, in b (line 1, column 27).',
        WHICH,
    ),
    (
        "select x.a from t as y",
        'there is no table "x" here; there are: y, in x.a (line 1, column 8).',
        NAME_TABLE,
    ),
    (
        "select t.a from t as y",
        'there is no table "t" here; there are: y, in t.a (line 1, column 8).',
        NAME_TABLE,
    ),
    (
        "select a, count(*) from t",
        '"a" is neither a key of group by nor inside an aggregate, in a (line 1, column 8).',
        ADD_KEY,
    ),
    (
        "select a, b from t group by a",
        '"b" is neither a key of group by nor inside an aggregate, in b (line 1, column 11).',
        "Add it to group by, or say which value: any_value(b), min, max.",
    ),
    (
        "select * from t group by a",
        '"t.b" is neither a key of group by nor inside an aggregate, in t.b (line 1, column 8).',
        "Add it to group by, or say which value: any_value(t.b), min, max.",
    ),
    (
        "select a + 1 from t group by b",
        '"a" is neither a key of group by nor inside an aggregate, in a (line 1, column 8).',
        ADD_KEY,
    ),
    (
        "select a from t having a > 1",
        '"a" is neither a key of group by nor inside an aggregate, in a (line 1, column 24).',
        ADD_KEY,
    ),
    (
        "select a from t where count(*) > 1",
        "an aggregate stands where each row has a value of its own, in COUNT(*) (line 1, column 23).",
        "Aggregates stand in select and having.",
    ),
    (
        "select a from t group by count(*)",
        "a key of group by is an aggregate, in COUNT(*) (line 1, column 26).",
        "Group by columns; aggregate in a query around it.",
    ),
    (
        "select sum(sum(a)) from t",
        "an aggregate stands where each row has a value of its own, in SUM(a) (line 1, column 12).",
        "Aggregates stand in select and having.",
    ),
    (
        "select sum(a) from t group by sum(a)",
        "a key of group by is an aggregate, in SUM(a) (line 1, column 31).",
        "Group by columns; aggregate in a query around it.",
    ),
    (
        "select a from t group by 5",
        "there is no column 5 in select, which has 1, in 5 (line 1, column 26).",
        "Count from 1.",
    ),
    (
        "select a from t group by 0",
        "there is no column 0 in select, which has 1, in 0 (line 1, column 26).",
        "Count from 1.",
    ),
    (
        "select a from t order by 3 limit 1",
        "there is no column 3 in select, which has 1, in 3 (line 1, column 26).",
        "Count from 1.",
    ),
    (
        "select a from t order by q limit 1",
        'there is no column "q" in t, which has: a, b, s, d, ts, in q (line 1, column 26).',
        NAME_ONE,
    ),
    (
        "select distinct a from t order by b limit 1",
        "order by needs a column of select distinct, in b (line 1, column 35).",
        "Select it too.",
    ),
    (
        "select a from t limit a",
        "limit takes a plain whole number, in a (line 1, column 23).",
        PLAIN_NUMBER,
    ),
    (
        "select a from t limit -1",
        "limit and offset are not below zero, in SELECT a FROM t LIMIT -1 (line 1, column 8).",
        "Write a number from 0.",
    ),
    (
        "select a from t limit 1.5",
        "limit takes a plain whole number, in 1.5 (line 1, column 23).",
        PLAIN_NUMBER,
    ),
    (
        "select a from t limit 'x'",
        "limit takes a plain whole number, in 'x' (line 1, column 23).",
        PLAIN_NUMBER,
    ),
    (
        "select a from t offset -2",
        "limit and offset are not below zero, in SELECT a FROM t OFFSET -2 (line 1, column 8).",
        "Write a number from 0.",
    ),
    (
        "select a from t fetch first 2 rows with ties",
        "fetch with ties is not supported, in ROWS WITH TIES.",
        ANOTHER_WAY,
    ),
    (
        "select a from t fetch first 10 percent rows only",
        "fetch of a part of the rows is not supported, in PERCENT ROWS ONLY.",
        ANOTHER_WAY,
    ),
    (
        "select top 2 a from t",
        'the query cannot be read: this does not fit here, near "2" (line 1, column 12).',
        "Write limit at the end: select ... limit 2.",
    ),
    (
        "select a as x from t where x > 1",
        '"x" is a name that select gives, which is computed later, in x (line 1, column 28).',
        "Repeat what it stands for, or select from a query inside: select ... from (select ...) where ...",
    ),
    (
        "select count(*) as n from t where n > 1",
        '"n" is a name that select gives, which is computed later, in n (line 1, column 35).',
        "Repeat what it stands for, or select from a query inside: select ... from (select ...) where ...",
    ),
    (
        "select a from t where s",
        "a condition is true or false, and this is a string, in s (line 1, column 23).",
        COMPARE,
    ),
    (
        "select a from t where a",
        "a condition is true or false, and this is a long, in a (line 1, column 23).",
        COMPARE,
    ),
    (
        "select a from t where a + 1",
        "a condition is true or false, and this is a long, in a + 1 (line 1, column 23).",
        COMPARE,
    ),
    (
        "select a from t join u on a",
        "a condition is true or false, and this is a long, in a (line 1, column 27).",
        COMPARE,
    ),
    (
        "select case when a then 1 end from t",
        "case takes conditions (booleans); one is a long, in CASE WHEN a THEN 1 END (line 1, column 18).",
        "Compare it: a <> 0.",
    ),
    (
        "select a + s from t",
        "+ takes numbers; one is a long, one is a string, in a + s (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select s * 2 from t",
        "* takes numbers; one is a string, one is a long, in s * 2 (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select a + d from t",
        "+ takes numbers; one is a long, one is a date, in a + d (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select d + d from t",
        "+ takes numbers; one is a date, one is a date, in d + d (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select d - s from t",
        "- takes numbers; one is a date, one is a string, in d - s (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select -s from t",
        "- takes numbers; one is a string, in -s (line 1, column 9).",
        NUMBERS,
    ),
    (
        "select not a from t",
        "not takes conditions (booleans); one is a long, in NOT a (line 1, column 12).",
        "Compare it: a <> 0.",
    ),
    (
        "select a and b from t",
        "and takes conditions (booleans); one is a long, one is a long, in a AND b (line 1, column 8).",
        "Compare it: a <> 0.",
    ),
    (
        "select a > d from t",
        "> takes two values of one type; one is a long, one is a date, in a > d (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select a = d from t",
        "= takes two values of one type; one is a long, one is a date, in a = d (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select a in ('x', d) from t",
        "= takes two values of one type; one is a long, one is a date, in a IN ('x', d) (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select a in (d) from t",
        "= takes two values of one type; one is a long, one is a date, in a IN (d) (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select case when a > 1 then a else s end from t",
        "case takes values of one type; one is a long, one is a string, in CASE WHEN a > 1 THEN a ELSE s END "
        "(line 1, column 18).",
        CAST_ONE,
    ),
    (
        "select coalesce(a, s, d) from t",
        "coalesce takes values of one type; one is a long, one is a string, one is a date, in COALESCE(a, s, d) "
        "(line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select if(a > 1, d, 2) from t",
        "case takes values of one type; one is a date, one is a long, in IF(a > 1, d, 2) (line 1, column 11).",
        CAST_ONE,
    ),
    (
        "select greatest(a, s) from t",
        "greatest takes values of one type; one is a long, one is a string, in GREATEST(a, s) (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select a between d and 2 from t",
        ">= takes two values of one type; one is a long, one is a date, in a BETWEEN d AND 2 (line 1, column 8).",
        CAST_ONE,
    ),
    (
        "select s like a from t",
        "like takes its pattern as plain text; got an expression, in s LIKE a (line 1, column 8).",
        "For text of a column: contains(s, x), startswith(s, x), endswith(s, x).",
    ),
    (
        "select s like b || '%' from t",
        "like takes its pattern as plain text; got an expression, in s LIKE b || '%' (line 1, column 8).",
        "For text of a column: contains(s, x), startswith(s, x), endswith(s, x).",
    ),
    (
        "select s like 'a/%' escape '/' from t",
        "like with an escape of its own is not supported, in s LIKE 'a/%' ESCAPE '/' (line 1, column 8).",
        "Escape with a backslash: like 'a\\\\_%'.",
    ),
    (
        "select s similar to 'a%' from t",
        "similar to is not supported, in s SIMILAR TO 'a%' (line 1, column 8).",
        "Use a regular expression: s rlike '^(a.*|b)$'.",
    ),
    (
        "select s ~ 'a' from t",
        'the query cannot be read: this does not fit here, near "~" (line 1, column 10).',
        "Write rlike: s rlike 'a'.",
    ),
    (
        "select regexp_extract(s, '(a') from t",
        "regexp_extract cannot read the regular expression \"(a\", in REGEXP_EXTRACT(s, '(a') (line 1, column 8).",
        "Letters of formats are Spark's: yyyy-MM-dd HH:mm:ss; regular expressions are Python's, groups $1.",
    ),
    (
        "select regexp_replace(s, '[', 'x') from t",
        "regexp_replace cannot read the regular expression \"[\", in REGEXP_REPLACE(s, '[', 'x') (line 1, column 8).",
        "Letters of formats are Spark's: yyyy-MM-dd HH:mm:ss; regular expressions are Python's, groups $1.",
    ),
    (
        "select length() from t",
        'the query cannot be read: something is missing, near ")" (line 1, column 15).',
        READ,
    ),
    (
        "select substring(s) from t",
        "substring takes 2 to 3 values, and is given 1, in SUBSTRING(s) (line 1, column 18).",
        "substring(s, start, length)",
    ),
    (
        "select round(s) from t",
        "round takes numbers; one is a string, one is a long, in ROUND(s) (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select abs(s) from t",
        "abs takes numbers; one is a string, in ABS(s) (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select sqrt(s) from t",
        "sqrt takes numbers; one is a string, in SQRT(s) (line 1, column 8).",
        NUMBERS,
    ),
    (
        "select year(a) from t",
        "year takes a date or a timestamp; one is a long, in YEAR(a) (line 1, column 8).",
        "Cast it: cast(s as date).",
    ),
    (
        "select extract(century from d) from t",
        "extract(century ...) is not supported, in EXTRACT(CENTURY FROM d) (line 1, column 29).",
        "There are: year, month, day, hour, minute, second, quarter, weekofyear, dayofyear, dayofweek, "
        "yearofweek, epoch.",
    ),
    (
        "select extract(foo from d) from t",
        "extract(foo ...) is not supported, in EXTRACT(FOO FROM d) (line 1, column 25).",
        "There are: year, month, day, hour, minute, second, quarter, weekofyear, dayofyear, dayofweek, "
        "yearofweek, epoch.",
    ),
    (
        "select datediff(fortnight, d, d) from t",
        '"fortnight" is no unit of time, in fortnight (line 1, column 17).',
        "Write year, month, day, hour, minute or second.",
    ),
    (
        "select date_add(a, 1) from t",
        "date_add takes dates; one is a long, in DATE_ADD(a, 1) (line 1, column 8).",
        "Cast it: cast(s as date).",
    ),
    (
        "select cast(a as date) from t",
        "cast cannot make a date of a long, in CAST(a AS DATE) (line 1, column 13).",
        "Through text: cast(cast(a as string) as date).  Of dates: year(d), datediff(end, start).",
    ),
    (
        "select cast(d as int) from t",
        "cast cannot make an int of a date, in CAST(d AS INT) (line 1, column 13).",
        "Through text: cast(cast(a as string) as date).  Of dates: year(d), datediff(end, start).",
    ),
    (
        "select cast(a as foo) from t",
        'the query cannot be read: this is no type, near "foo" (line 1, column 18).',
        READ,
    ),
    (
        "select interval '1 day' from t",
        "a length of time as a value is not supported, in INTERVAL '1' DAY.",
        "Add it to a date or a timestamp, or say in which unit: timestampdiff(second, start, end).",
    ),
    (
        "select d + interval '1 foo' from t",
        "an interval of this kind is not supported, in INTERVAL '1' FOO.",
        "Add it to a date or a timestamp, or say in which unit: timestampdiff(second, start, end).",
    ),
    (
        "select d + interval 'soon' from t",
        "\"soon\" is no length of time, in INTERVAL 'soon' (line 1, column 21).",
        "For example interval '1 day 2 hours'.",
    ),
    (
        "select ts - ts from t",
        "a length of time as a value is not supported, in ts - ts (line 1, column 8).",
        "Say in which unit: timestampdiff(second, start, end).",
    ),
    (
        "select sum(ts - ts) from t",
        "a length of time as a value is not supported, in ts - ts (line 1, column 12).",
        "Say in which unit: timestampdiff(second, start, end).",
    ),
    (
        "select ts - ts > interval '1 month' from t",
        "a length of months is compared with another, in INTERVAL '1' MONTH.",
        "Write it in days.",
    ),
    (
        "select a > interval '1 day' from t",
        "an interval is compared with what is no length of time, in a (line 1, column 8).",
        "For example b - a > interval 1 day.",
    ),
    (
        "select d + interval 1 day * 1.5 from t",
        "an interval times anything but a whole number is not supported, in INTERVAL '1' DAY * 1.5 (line 1, "
        "column 29).",
        "Multiply by a whole number.",
    ),
    (
        "select foo(a) from t",
        "the function foo is not supported, in FOO(a) (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select iff(a > 0, 1, 2) from t",
        "the function iff is not supported, in IFF(a > 0, 1, 2) (line 1, column 8).",
        "Write if(condition, a, b).",
    ),
    (
        "select parse_url(s, 'HOST') from t",
        "the function parse_url is not supported, in PARSE_URL(s, 'HOST') (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select strftime(d, '%Y') from t",
        "the function strftime is not supported, in STRFTIME(d, '%Y') (line 1, column 8).",
        "Write date_format(d, 'yyyy-MM').",
    ),
    (
        "select to_char(a, '999') from t",
        "to_char of anything but a date or a timestamp is not supported, in TO_CHAR(a, '999') (line 1, column 8).",
        "For numbers: format_number, cast.",
    ),
    (
        "select string_agg_(s) from t",
        "the function string_agg_ is not supported, in STRING_AGG_(s) (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select getdate() from t",
        "the function getdate is not supported, in GETDATE() (line 1, column 8).",
        A_CLOCK,
    ),
    (
        "select now() from t",
        "the function now is not supported, in NOW() (line 1, column 8).",
        A_CLOCK,
    ),
    (
        "select current_date from t",
        "the function current_date is not supported, in CURRENT_DATE.",
        A_CLOCK,
    ),
    (
        "select current_timestamp() from t",
        "the function current_timestamp is not supported, in CURRENT_TIMESTAMP() (line 1, column 8).",
        A_CLOCK,
    ),
    (
        "select rand() from t",
        "the function rand is not supported, in RAND() (line 1, column 8).",
        A_CLOCK,
    ),
    (
        "select uuid() from t",
        "the function uuid is not supported, in UUID() (line 1, column 8).",
        A_CLOCK,
    ),
    (
        "select nextval('s') from t",
        "the function nextval is not supported, in NEXTVAL('s') (line 1, column 8).",
        "Number rows by a column: row_number() over (order by ...).",
    ),
    (
        "select isnull(a, 0) from t",
        "isnull takes 1 value, and is given 2, in ISNULL(a, 0) (line 1, column 8).",
        AS_MANY,
    ),
    (
        "select nvl2(a) from t",
        "nvl2 takes 3 values, and is given 1, in NVL2(a) (line 1, column 8).",
        AS_MANY,
    ),
    (
        "select sum(s) from t",
        "sum adds up numbers, and this is a string, in SUM(s) (line 1, column 8).",
        "Cast it to a number.",
    ),
    (
        "select avg(d) from t",
        "avg adds up numbers, and this is a date, in AVG(d) (line 1, column 8).",
        "Cast it to a number.",
    ),
    (
        "select sum(*) from t",
        "* as a value is not supported, in * (line 1, column 12).",
        "count(*) counts rows; other aggregates are of a column.",
    ),
    (
        "select max(*) from t",
        "* as a value is not supported, in * (line 1, column 12).",
        "count(*) counts rows; other aggregates are of a column.",
    ),
    (
        "select count(a, distinct b) from t",
        "distinct behind a value is not supported, in DISTINCT b (line 1, column 26).",
        "Put it first: count(distinct a, b).",
    ),
    (
        "select min() from t",
        'the query cannot be read: something is missing, near ")" (line 1, column 12).',
        READ,
    ),
    (
        "select stddev(s) from t",
        "stddev_samp adds up numbers, and this is a string, in STDDEV(s) (line 1, column 8).",
        "Cast it to a number.",
    ),
    (
        "select corr(a, s) from t",
        "corr is of numbers, in CORR(a, s) (line 1, column 8).",
        "Cast them to numbers.",
    ),
    (
        "select corr(a) from t",
        "corr takes 2 values, and is given 1, in CORR(a) (line 1, column 8).",
        AS_MANY,
    ),
    (
        "select percentile(a, 2) from t",
        "percentile takes a part of the way as a plain number from 0 to 1, in PERCENTILE(a, 2) (line 1, column 8).",
        "Several are several columns.",
    ),
    (
        "select percentile_cont(0.5) within group (order by s) from t",
        "percentile_cont is of numbers, and this is a string, in PERCENTILE_CONT(0.5) (line 1, column 8).",
        "percentile_disc takes any type.",
    ),
    (
        "select median(s) from t",
        "percentile is of numbers, and this is a string, in MEDIAN(s) (line 1, column 8).",
        "percentile_disc takes any type.",
    ),
    (
        "select max_by(a) from t",
        "max_by takes 2 values, and is given 1, in MAX_BY(a) (line 1, column 8).",
        AS_MANY,
    ),
    (
        "select median(distinct a) from t",
        "median of distinct values is not supported, in MEDIAN(DISTINCT a) (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select bool_and(a) from t",
        "bool_and is of conditions, and this is a long, in BOOL_AND(a) (line 1, column 8).",
        COMPARE,
    ),
    (
        "select count(*) filter (where a) from t",
        "a condition is true or false, and this is a long, in a (line 1, column 31).",
        COMPARE,
    ),
    (
        "select upper(s) filter (where a > 1) from t",
        "a filter of what is no aggregate is not supported, in UPPER(s) FILTER(WHERE a > 1) (line 1, column 8).",
        "Filters stand behind aggregates: sum(x) filter (where ...).",
    ),
    (
        "select sum(a) filter (where sum(b) > 1) from t",
        "an aggregate stands where each row has a value of its own, in SUM(b) (line 1, column 29).",
        "Aggregates stand in select and having.",
    ),
    (
        "select grouping(a) from t group by a",
        "grouping is of keys by sets, in GROUPING(a) (line 1, column 8).",
        "Group by rollup (...), cube (...) or grouping sets.",
    ),
    (
        "select grouping(b) from t group by rollup (a)",
        "these are not the keys of group by, in GROUPING(b) (line 1, column 8).",
        "grouping(key), or grouping_id() of all of them.",
    ),
    (
        "select a, grouping_id(b, a) from t group by rollup (a, b)",
        "these are not the keys of group by, in GROUPING_ID(b, a) (line 1, column 11).",
        "grouping(key), or grouping_id() of all of them.",
    ),
    (
        "select a from t where row_number() over (order by a) = 1",
        "a window function stands in select, qualify and order by only, and not inside another one, in "
        "ROW_NUMBER() OVER (ORDER BY a) (line 1, column 23).",
        INSIDE,
    ),
    (
        "select a from t group by rank() over (order by a)",
        "a window function stands in select, qualify and order by only, and not inside another one, in RANK() "
        "OVER (ORDER BY a) (line 1, column 26).",
        INSIDE,
    ),
    (
        "select sum(a) from t having rank() over (order by sum(a)) = 1",
        "a window function stands in select, qualify and order by only, and not inside another one, in RANK() "
        "OVER (ORDER BY SUM(a)) (line 1, column 29).",
        INSIDE,
    ),
    (
        "select rank() over w from t",
        'there is no window "w"; there are: none, in RANK() OVER w (line 1, column 8).',
        "Say: window w as (...).",
    ),
    (
        "select rank() from t",
        "the function rank is not supported, in RANK() (line 1, column 8).",
        "Say over which rows: row_number() over (partition by k order by x).",
    ),
    (
        "select row_number() over (order by a) + sum(a) from t",
        '"a" is neither a key of group by nor inside an aggregate, in a (line 1, column 36).',
        ADD_KEY,
    ),
    (
        "select upper(s) over () from t",
        "the function upper over a window is not supported, in UPPER(s) OVER () (line 1, column 8).",
        "Ranks, lag, lead and aggregates stand there.",
    ),
    (
        "select foo(s) over () from t",
        "the function foo over a window is not supported, in FOO(s) OVER () (line 1, column 8).",
        "Ranks, lag, lead and aggregates stand there.",
    ),
    (
        "select lag(a, b) over (order by a) from t",
        "lag takes a plain whole number, in b (line 1, column 15).",
        PLAIN_NUMBER,
    ),
    (
        "select lag(a, 1, s) over (order by a) from t",
        "lag is of a long, and its default is a string, in LAG(a, 1, s) (line 1, column 8).",
        "Cast one of them.",
    ),
    (
        "select ntile(0) over (order by a) from t",
        "ntile has at least one tile, in NTILE(0) (line 1, column 8).",
        "Write a number from 1.",
    ),
    (
        "select ntile(a) over (order by a) from t",
        "ntile takes a plain whole number, in a (line 1, column 14).",
        PLAIN_NUMBER,
    ),
    (
        "select nth_value(a, 0) over (order by a) from t",
        "nth_value counts from 1, in NTH_VALUE(a, 0) (line 1, column 8).",
        "Write a number from 1.",
    ),
    (
        "select sum(rank() over (order by a)) over () from t",
        "a window function stands in select, qualify and order by only, and not inside another one, in RANK() "
        "OVER (ORDER BY a) (line 1, column 12).",
        INSIDE,
    ),
    (
        "select sum(a) over (order by a groups 1 preceding) from t",
        "a frame of groups is not supported, in groups BETWEEN 1 preceding AND CURRENT ROW (line 1, column 39).",
        "Frames are: rows between ... and ..., range between ... and ...",
    ),
    (
        "select sum(a) over (order by a, b range 1 preceding) from t",
        "a range with offsets measures one order column, and this window has 2, in range BETWEEN 1 preceding AND "
        "CURRENT ROW (line 1, column 41).",
        "Use rows between, or order by one column.",
    ),
    (
        "select sum(a) over (order by s range 1 preceding) from t",
        "a range of -1 does not measure an order column of type string, in range BETWEEN 1 preceding AND CURRENT "
        "ROW (line 1, column 38).",
        "Cast the order column, or give a number that fits string.",
    ),
    (
        "select sum(a) over (order by d range between interval 1 month preceding and current row) from t",
        "a frame measured in months is not supported, in INTERVAL '1' MONTH.",
        "Measure it in days: interval 30 days.",
    ),
    (
        "select sum(a) over (rows between current row and 1 preceding) from t",
        "a frame ends before it starts, in rows BETWEEN CURRENT ROW AND 1 preceding (line 1, column 50).",
        "Turn it around.",
    ),
    (
        "select sum(a) over (rows between unbounded following and current row) from t",
        "a frame does not start with unbounded following, in rows BETWEEN UNBOUNDED following AND CURRENT ROW.",
        "Turn it around.",
    ),
    (
        "select sum(a) over (order by a rows between b preceding and current row) from t",
        "how far a frame goes is a number in the text, in rows BETWEEN b preceding AND CURRENT ROW (line 1, "
        "column 45).",
        "For example: rows between 2 preceding and ...",
    ),
    (
        "select sum(a) over (order by a rows between 1 preceding and current row exclude current row) from t",
        "a frame with exclude is not supported, in rows BETWEEN 1 preceding AND CURRENT ROW (line 1, column 45).",
        "Frames are: rows between ... and ..., range between ... and ...",
    ),
    (
        "select rank() over (order by a rows between 1 preceding and current row) from t",
        "rank is about the whole partition, in rows BETWEEN 1 preceding AND CURRENT ROW (line 1, column 45).",
        "Leave the frame out.",
    ),
    (
        "select median(a) over (order by a) from t",
        "percentile(0.5) over a part of its window is not supported, in MEDIAN(a) OVER (ORDER BY a) (line 1, "
        "column 8).",
        ANOTHER_WAY,
    ),
    (
        "select count(distinct a) over (order by b) from t",
        "an aggregate of distinct values over a part of its window is not supported, in COUNT(DISTINCT a) OVER "
        "(ORDER BY b) (line 1, column 8).",
        "Leave its order and frame out.",
    ),
    (
        "select sum(a ignore nulls) over (order by a) from t",
        "sum with ignore nulls is not supported, in SUM(a) IGNORE NULLS OVER (ORDER BY a) (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select (select a, b from t) from u",
        "a subquery stands for one value, and has 2 columns, in (SELECT a, b FROM t) (line 1, column 16).",
        "Select one.",
    ),
    (
        "select a from t where a in (select k, b from u)",
        "in (...) compares 1 value, and the subquery has 2 columns, in a IN (SELECT k, b FROM u) (line 1, column 23).",
        SELECT_AS_MANY,
    ),
    (
        "select a from t where (a, b) in (select k from u)",
        "in (...) compares 2 values, and the subquery has 1 column, in (a, b) IN (SELECT k FROM u) (line 1, "
        "column 24).",
        SELECT_AS_MANY,
    ),
    (
        "select a from t where a > all (select k, b from u)",
        "it compares 1 value, and the subquery has 2 columns, in a > ALL (SELECT k, b FROM u) (line 1, column 23).",
        SELECT_AS_MANY,
    ),
    (
        "select a from t where (a, b) = (1, 2, 3)",
        "a row of 2 is compared with one of 3, in (a, b) = (1, 2, 3) (line 1, column 24).",
        "Compare as many values.",
    ),
    (
        "select a from t where (a, b) > (1, 2)",
        "which of two rows is less is not supported, in (a, b) > (1, 2) (line 1, column 24).",
        "Compare value by value: a > 1 or (a = 1 and b > 2).",
    ),
    (
        "select a from t where exists (select q from u)",
        'there is no column "q" in u, t, which has: k, b, a, b, s, d, ts, in q (line 1, column 38).',
        NAME_ONE,
    ),
    (
        "select a from t where a = (select k from u where u.q = t.a)",
        'there is no column "q" in "u", which has: k, b, in u.q (line 1, column 50).',
        NAME_ONE,
    ),
    (
        "select a from t where a in (select k from u where k = w.b)",
        'there is no table "w" here; there are: u, t, in w.b (line 1, column 55).',
        NAME_TABLE,
    ),
    (
        "select a from t union select k, b from u",
        "the two sides of union have 1 and 2 columns, in SELECT a FROM t UNION SELECT k, b FROM u (line 1, column 8).",
        SELECT_AS_MANY,
    ),
    (
        "select a from t union select d from t",
        'the two sides of union have different types in "a", in SELECT a FROM t UNION SELECT d FROM t (line 1, '
        "column 8).",
        "Cast one.",
    ),
    (
        "select a from t except select s from t",
        'the two sides of except have different types in "a", in SELECT a FROM t EXCEPT SELECT s FROM t (line 1, '
        "column 8).",
        "Cast one.",
    ),
    (
        "select a from t intersect select k, b from u",
        "the two sides of intersect have 1 and 2 columns, in SELECT a FROM t INTERSECT SELECT k, b FROM u (line "
        "1, column 8).",
        SELECT_AS_MANY,
    ),
    (
        "select a from t union all by name select k from u",
        "union with by name is not supported, in SELECT a FROM t UNION ALL BY NAME SELECT k FROM u (line 1, column 8).",
        ANOTHER_WAY,
    ),
    (
        "select * from t join u using (a)",
        'using (a) needs one column "a" on each side, in JOIN u USING (a) (line 1, column 22).',
        "Write on a.x = b.y.",
    ),
    (
        "select * from t join u using (q)",
        'using (q) needs one column "q" on each side, in JOIN u USING (q) (line 1, column 22).',
        "Write on a.x = b.y.",
    ),
    (
        "select * from t asof join u on t.a = u.k",
        "an asof join compares one value of each side by <, <=, > or >=, and others by equality, in ASOF JOIN u "
        "ON t.a = u.k (line 1, column 27).",
        "For example: t asof join q on t.k = q.k and t.ts >= q.ts.",
    ),
    (
        "select * from t asof join u on t.a >= u.k and t.b >= u.b",
        "an asof join compares one value of each side by <, <=, > or >=, and others by equality, in ASOF JOIN u "
        "ON t.a >= u.k AND t.b >= u.b (line 1, column 27).",
        "For example: t asof join q on t.k = q.k and t.ts >= q.ts.",
    ),
    (
        "select * from t asof full join u on t.b = u.b and t.a >= u.k",
        "an asof join keeps its left rows, or only those with a partner, in ASOF FULL JOIN u ON t.b = u.b AND t.a"
        " >= u.k (line 1, column 32).",
        "asof join, asof left join.",
    ),
    (
        "select * from t right join lateral (select k from u where u.b = t.b) x on true",
        "this lateral join is not supported, in RIGHT JOIN LATERAL (SELECT k FROM u WHERE u.b = t.b) AS x... "
        "(line 1, column 44).",
        "cross join lateral (...), left join lateral (...) on true.",
    ),
    (
        "select x.b from t x join u x on true",
        'the column "b" could be any of: x.b, x.b, in x.b (line 1, column 8).',
        WHICH,
    ),
    (
        "select * from (select a from t) x(p, q)",
        "2 names are given to 1 columns, in (SELECT a FROM t) AS x(p, q) (line 1, column 23).",
        "Name as many as there are.",
    ),
    (
        "select * from (select a, a from t) x where a > 1",
        'the column "a" could be any of: x.a, x.a, in a (line 1, column 44).',
        WHICH,
    ),
    (
        "select * except (q) from t",
        'there is no column "q" among those that * stands for: a, b, s, d, ts, in * EXCEPT (q) (line 1, column 8).',
        NAME_ONE,
    ),
    (
        "select * replace (1 as q) from t",
        'there is no column "q" among those that * stands for: a, b, s, d, ts, in * REPLACE (1 AS q) (line 1, '
        "column 8).",
        NAME_ONE,
    ),
    (
        "select * except (a, b, s, d, ts) from t",
        "nothing is left of *, in * EXCEPT (a, b, s, d, ts) (line 1, column 8).",
        "Leave some columns.",
    ),
    (
        "select v.* from t",
        'there is no table "v", in v.* (line 1, column 8).',
        "Name columns.",
    ),
    (
        "select *",
        "there is nothing for * to stand for, in * (line 1, column 8).",
        "Name columns.",
    ),
    (
        "select count(*), * from t",
        '"t.a" is neither a key of group by nor inside an aggregate, in t.a (line 1, column 18).',
        "Add it to group by, or say which value: any_value(t.a), min, max.",
    ),
    (
        "select * from t tablesample (10 percent)",
        "a random sample is not supported, in t TABLESAMPLE (10 PERCENT) (line 1, column 15).",
        "Keep rows by a column: where id % 10 = 0.",
    ),
    (
        "select * from t for system_time as of '2024-01-01'",
        "a table as of another time is not supported, in t TIMESTAMP AS OF '2024-01-01' (line 1, column 15).",
        "Ask for the time when you read: live.snapshot(name, at=time).",
    ),
    (
        "select * from t version as of 3",
        "a table as of another time is not supported, in t VERSION AS OF 3 (line 1, column 15).",
        "Ask for the time when you read: live.snapshot(name, at=time).",
    ),
    (
        "select * from foo(3)",
        "this function in from is not supported, in FOO(3) (line 1, column 15).",
        "range and generate_series stand there.",
    ),
    (
        "select * from range(1, 2, 3, 4)",
        "range takes 1 to 3 numbers, and is given 4, in RANGE(1, 2, 3, 4) (line 1, column 15).",
        "range(start, end, step)",
    ),
    (
        "select * from range('a')",
        "a series goes from a number to a number, or from a day to a day, in RANGE('a') (line 1, column 15).",
        "Cast its ends.",
    ),
    (
        "select * from generate_series(1, 5, 0)",
        "the step of a series is 0, in SEQUENCE(1, 5, 0) (line 1, column 15).",
        "Write another.",
    ),
    (
        "select * from generate_series(1, 100000000)",
        "a series in a query has at most 1,000,000 rows, and this one has more, in SEQUENCE(1, 100000000) (line "
        "1, column 15).",
        "Use an input.",
    ),
    (
        "select * from t pivot (a for s in ('x'))",
        'the query cannot be read: Expecting FOR, near ")" (line 1, column 40).',
        READ,
    ),
    (
        "select * from t pivot (sum(a) for s in ('x', ('y', 'z')))",
        "a value of the pivot has 2 parts, and it is by 1, in ('y', 'z') (line 1, column 47).",
        AS_MANY,
    ),
    (
        "select * from t unpivot (v for k in (a, s))",
        "the columns of an unpivot have types that do not fit together, in UNPIVOT(v FOR k IN (a, s)) (line 1, "
        "column 26).",
        "Cast them first.",
    ),
    (
        "select * from (values (1, 2), (3)) v",
        "the rows of values have different numbers of columns, in VALUES (1, 2), (3) AS v (line 1, column 24).",
        "Give each row as many.",
    ),
    (
        "select * from (values (1), ('a'), (date '2024-01-01')) v",
        "column 1 of values has values of different types, in VALUES (1), ('a'), (CAST('2024-01-01' AS DATE)) AS "
        "v (line 1, column 24).",
        "Cast them.",
    ),
    (
        "select * from (values (1)) v(a, b)",
        "2 names are given to 1 columns, in VALUES (1) AS v(a, b) (line 1, column 24).",
        "Name as many as there are.",
    ),
    (
        "with r as (select * from r) select * from r",
        'there is no input or table "r"; there are: t, u, in r (line 1, column 26).',
        "Inputs are declared with flow.input(name, schema).",
    ),
    (
        "with x as (select 1 as a) select b from x",
        'there is no column "b" in x, which has: a, in b (line 1, column 34).',
        NAME_ONE,
    ),
    (
        "with recursive r as (select * from r) select * from r",
        'the recursive table "r" is not a union of its start and its step, in SELECT * FROM r (line 1, column 29).',
        "Write: with recursive t as (select ... union select ... from t ...).",
    ),
    (
        "with recursive r as (select a from r union select a from t) select * from r",
        'the start of the recursive table "r" reads the table itself, in SELECT a FROM r (line 1, column 29).',
        "Start without it.",
    ),
    (
        "with recursive r as (select a from t union all select max(a) from r) select * from r",
        'the step of "r" (union all) groups or limits the rows of the table itself, in SELECT MAX(a) FROM r (line'
        " 1, column 55).",
        "Use union.",
    ),
    (
        "with recursive r as (select a from t union all select distinct a from r) select * from r",
        'the step of "r" (union all) groups or limits the rows of the table itself, in SELECT DISTINCT a FROM r '
        "(line 1, column 64).",
        "Use union.",
    ),
    (
        "with recursive r as (select a from t union all select x.a from r x join r y on x.a = y.a) select * from r",
        'the step of "r" (union all) needs the table itself twice, in SELECT x.a FROM r AS x JOIN r AS y ON x.a ='
        " y.a (line 1, column 55).",
        "Use union.",
    ),
    (
        "with recursive r as (select a from t union all select a from r union select a from r) select * from r",
        'the recursive table "r" has union beside union all, in SELECT a FROM t UNION ALL SELECT a FROM r UNION '
        "SELECT a ... (line 1, column 29).",
        "Use one of the two throughout.",
    ),
    (
        "with recursive r as (select a from t union select a, a from r) select * from r",
        'the step of "r" has 2 columns, its start 1, in SELECT a, a FROM r (line 1, column 51).',
        SELECT_AS_MANY,
    ),
    (
        "with recursive p as (select a from t union select q.a from q), q as (select a from t union select p.a "
        "from p) select * from p",
        '"p" reads "q", which comes later in with, in q (line 1, column 60).',
        "Put it first; tables that read each other are a loop of collections: flow.iterate(lambda a, b: ...).",
    ),
    (
        "select a from t; select b from t",
        "sql takes one query; the text has 2.",
        "Call it once for each.",
    ),
    (
        "delete from t",
        "this kind of statement is not supported, in DELETE FROM t (line 1, column 13).",
        BEGINS,
    ),
    (
        "insert into t values (1)",
        "this kind of statement is not supported, in INSERT INTO t VALUES (1) (line 1, column 13).",
        BEGINS,
    ),
    (
        "create view v as select a from t",
        "this kind of statement is not supported, in CREATE VIEW v AS SELECT a FROM t (line 1, column 13).",
        BEGINS,
    ),
    (
        "update t set a = 1",
        "this kind of statement is not supported, in UPDATE t SET a = 1 (line 1, column 8).",
        BEGINS,
    ),
    (
        "drop table t",
        "this kind of statement is not supported, in DROP TABLE t (line 1, column 12).",
        BEGINS,
    ),
    (
        "explain select a from t",
        "this kind of statement is not supported, in EXPLAIN select a from t (line 1, column 9).",
        BEGINS,
    ),
    (
        "show tables",
        "this kind of statement is not supported, in SHOW tables (line 1, column 6).",
        BEGINS,
    ),
    (
        "select",
        "select names no column, in SELECT.",
        "Name columns, or write select *.",
    ),
    (
        "select from t",
        "select names no column, in SELECT FROM t (line 1, column 13).",
        "Name columns, or write select *.",
    ),
    (
        "select a from",
        'the query cannot be read: the name of a table is missing, near "from" (line 1, column 10).',
        READ,
    ),
    (
        "select a from t where",
        'the query cannot be read: something is missing, near "where" (line 1, column 17).',
        READ,
    ),
    (
        "select a from t where a >",
        'the query cannot be read: something is missing, near ">" (line 1, column 25).',
        READ,
    ),
    (
        "select a from t where (a > 1",
        'the query cannot be read: Expecting ), near "1" (line 1, column 28).',
        READ,
    ),
    (
        "select a b c from t",
        'the query cannot be read: this does not fit here, near "c" (line 1, column 12).',
        READ,
    ),
    (
        "select a from t order a",
        'the query cannot be read: this does not fit here, near "a" (line 1, column 23).',
        READ,
    ),
    (
        "select 'a from t",
        "the query cannot be read: a text or a name is not closed (line 1, column 8).",
        READ,
    ),
    (
        "select a from t where a === 1",
        'the query cannot be read: something is missing, near "=" (line 1, column 27).',
        READ,
    ),
    (
        "select a from t where a = = 1",
        'the query cannot be read: something is missing, near "=" (line 1, column 27).',
        READ,
    ),
    (
        "select a !! b from t",
        'the query cannot be read: this does not fit here, near "!" (line 1, column 10).',
        READ,
    ),
    (
        "select a from t join on a = 1",
        'the query cannot be read: the name of a table is missing, near "on" (line 1, column 22).',
        READ,
    ),
    (
        "select case a when 1 from t",
        'the query cannot be read: something is missing, near "from" (line 1, column 22).',
        READ,
    ),
    (
        "select `a from t",
        "the query cannot be read: a text or a name is not closed (line 1, column 8).",
        READ,
    ),
    (
        "selec a from t",
        'the query cannot be read: this does not fit here, near "from" (line 1, column 9).',
        READ,
    ),
    (
        "select a from t where a is 3",
        "is with anything but null, true, false or unknown is not supported, in a IS 3 (line 1, column 23).",
        "Compare with =, or is not distinct from.",
    ),
    (
        "select a from t cluster by a",
        "cluster by is not supported, in SELECT a FROM t CLUSTER BY a (line 1, column 8).",
        "Leave it out: the rows of a result have no places.",
    ),
    (
        "select a from t distribute by a",
        "distribute by is not supported, in SELECT a FROM t DISTRIBUTE BY a (line 1, column 8).",
        "Leave it out: the rows of a result have no places.",
    ),
    (
        "select a from t sort by a",
        "sort by is not supported, in SELECT a FROM t SORT BY a (line 1, column 8).",
        "Leave it out: the rows of a result have no places.",
    ),
    (
        "select transform(a) using 'cat' from t",
        "a transform by another program is not supported, in TRANSFORM(a) USING 'cat' (line 1, column 18).",
        ANOTHER_WAY,
    ),
    (
        "select /*+ broadcast(u) */ a, q from t",
        'there is no column "q" in t, which has: a, b, s, d, ts, in q (line 1, column 31).',
        NAME_ONE,
    ),
    (
        "select :x from t",
        "a place for a value that comes later is not supported, in :x.",
        PUT_IN,
    ),
    (
        "select ? from t",
        "a place for a value that comes later is not supported, in ?.",
        PUT_IN,
    ),
    (
        "select @x from t",
        "a place for a value that comes later is not supported, in ${x}.",
        PUT_IN,
    ),
    (
        "select $1 from t",
        "a place for a value that comes later is not supported, in ${1} (line 1, column 9).",
        PUT_IN,
    ),
    (
        "select a from t where a = {{ x }}",
        "a place for a value that comes later is not supported, in {?} (line 1, column 30).",
        PUT_IN,
    ),
    (
        "select a from t where current_user = 'me'",
        "the function current_user is not supported, in CURRENT_USER().",
        A_CLOCK,
    ),
    (
        "select a collate utf8 from t",
        "the function collate is not supported, in a COLLATE utf8 (line 1, column 8).",
        "Compare lower(a) with lower(b).",
    ),
    (
        "select s at time zone 'UTC' from t",
        "at time zone is not supported, in FROM_UTC_TIMESTAMP(s, 'UTC') (line 1, column 8).",
        "from_utc_timestamp, to_utc_timestamp.",
    ),
    (
        "select a into x from t",
        "select into is not supported, in CREATE TABLE x AS SELECT a FROM t (line 1, column 8).",
        "Name the result: flow.output(name, flow.sql(...)).",
    ),
    (
        "select a from t for update",
        "for update is not supported, in SELECT a FROM t (line 1, column 8).",
        "Leave it out: a query reads a consistent time.",
    ),
    (
        "select md5() from t",
        "md5 takes 1 value, and is given 0, in MD5() (line 1, column 8).",
        AS_MANY,
    ),
]
