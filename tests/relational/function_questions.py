"""What is asked of every function of the table, as SQL: one list for Spark, for `flow.sql` and for `flow.dataframe`.

Rule: every function of the table is asked, on values at the edges of what it takes and on null.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal as D
from typing import Any

SCHEMA = (
    "s string, u string, w string, n long, i int, j int, x double, y double, p decimal(10,2), d date, e date, "
    "at timestamp, bt timestamp, b boolean, z binary"
)
NAN, INF = float("nan"), float("inf")
ROWS = [
    ("Hello World", "o", "l", -7, 5, 2, 2.5, 0.5, D("7.25"), date(2024, 2, 29), date(2023, 1, 31),
     datetime(2024, 2, 29, 13, 5, 7, 123456), datetime(2023, 1, 31, 23, 59, 59), True, b"abc"),
    ("", "", "", 0, 0, 0, 0.0, 0.0, D("0.00"), date(1970, 1, 1), date(1970, 1, 1), datetime(1970, 1, 1),
     datetime(1970, 1, 1), False, b""),
    ("aXbXc", "X", "--", 255, 1, 1, -1.5, 1.0, D("-0.05"), date(1969, 12, 31), date(2024, 12, 30),
     datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 3, 10, 2, 30), True, b"\xff\x00"),
    ("one,two,,three", ",", "é", 2**63 - 1, 2**31 - 1, 3, 1e10, -3.0, D("99999999.99"), date(2000, 2, 29),
     date(2001, 2, 28), datetime(2000, 2, 29, 12), datetime(2001, 2, 28, 11, 59, 59), None, b"12"),
    ("éa😀z ÄSS ß", "😀", "a", -(2**63) + 1, -(2**31), -1, NAN, 2.0, D("-99999999.99"), date(2021, 1, 3),
     date(2020, 12, 31), datetime(2021, 1, 3, 0, 0, 0, 1), datetime(2020, 6, 30, 23), False, "é".encode()),
    ("2024-02-29 13:05:07", "-", "0", 1709211907, 31, -2, -INF, 0.1, D("2.50"), date(2024, 12, 31), date(1900, 3, 1),
     datetime(2024, 12, 31, 23, 59, 59), datetime(1900, 3, 1), True, b"\x00"),
    ("29/02/2024", "/", "2", 86399, 7, 35, 0.1, -0.5, D("1.05"), date(1999, 12, 31), date(2000, 1, 1),
     datetime(1999, 12, 31, 12, 30), datetime(2000, 1, 1, 0, 0, 1), True, b" a "),
    ("  pad  ", " ", "x", -1, -5, 100, -0.25, 100.0, D("-2.50"), date(2023, 3, 31), date(2023, 2, 28),
     datetime(2023, 3, 31, 1, 2, 3), datetime(2023, 2, 28, 1, 2, 3), False, b"zz"),
    ("a1b22c333 tel 555-1234", "22", "b", 8, 64, 8, 1234567.891, -1.0, D("1234567.89"), date(2024, 1, 1),
     date(2024, 7, 4), datetime(2024, 1, 1, 0, 30), datetime(2024, 7, 4, 18, 45, 30, 500000), None, b"\x7f\x80"),
    ("x" * 40, "x", "xy", 42, 13, 4, 0.9999, 1.0, D("0.01"), date(2020, 2, 29), date(2019, 2, 28),
     datetime(2020, 2, 29, 23), datetime(2019, 2, 28, 22), True, b"q" * 40),
    # days on which the clocks of New York are changed, before and after they are
    ("spring", "p", "s", 1, 1, 1, 1.0, 1.0, D("1.00"), date(2024, 3, 10), date(2024, 11, 3),
     datetime(2024, 3, 10, 20, 15), datetime(2024, 3, 10, 5, 30), True, b"s"),
    ("autumn", "t", "u", 2, 2, 2, 2.0, 2.0, D("2.00"), date(2024, 11, 3), date(2024, 3, 10),
     datetime(2024, 11, 3, 6, 30), datetime(2024, 3, 31, 7, 30), True, b"a"),
    ("behind", "n", "o", 3, 3, -1, 3.0, 3.0, D("3.00"), date(2024, 11, 2), date(2024, 3, 9),
     datetime(2024, 11, 4, 6, 30), datetime(2024, 11, 2, 5, 30), True, b"n"),
    (None, None, None, None, None, None, None, None, None, None, None, None, None, None, None),
]  # fmt: skip

TEXT = """ascii(s); chr(n); chr(i); char(65); base64(s); base64(z); unbase64(base64(s)); hex(n); hex(s); hex(z); hex(i)
unhex(hex(s)); unhex(s); encode(s, 'UTF-8'); decode(encode(s, 'UTF-8'), 'UTF-8'); url_encode(s)
url_decode(url_encode(s)); initcap(s); instr(s, u); instr(s, 'X'); split_part(s, u, 1); split_part(s, ',', 2)
split_part(s, ' ', -1); split_part(s, 'X', 9); substring_index(s, u, 1); substring_index(s, u, 2)
substring_index(s, u, -1); substring_index(s, u, -2); substring_index(s, 'X', j); substring_index('aaaa', 'aa', -1)
substring_index('a.b.c.d', '.', -2)
overlay(s placing '_' from 2); overlay(s placing w from 3 for 2); overlay(s, 'abc', 1, 0); overlay(s, u, j)
find_in_set(u, s); find_in_set('two', s); lpad(s, 5, 'x'); lpad(s, 20, u); lpad(s, j, 'ab'); lpad(s, 15)
lpad(s, -1, 'x')
rpad(s, 5, 'x'); rpad(s, 20, u); rpad(s, j, 'ab'); rpad(s, 15); repeat(u, 3); repeat(u, j); space(j); reverse(s)
translate(s, 'lo', '01'); translate(s, 'lo', '0'); translate(s, u, w); levenshtein(s, u); levenshtein(s, w, 3)
levenshtein(s, 'Hello', 8); soundex(s); soundex('Robert'); soundex('Tymczak'); soundex('Ashcraft'); soundex('Pfister')
bit_length(s); octet_length(s); octet_length(z); bit_length(z); s rlike 'o'; s rlike '^[a-z]'; regexp_like(s, '\\\\d+')
s not rlike 'X'; regexp(s, 'b+'); s rlike '(?i)hello'; regexp_extract(s, '([a-z])([0-9]+)', 1)
regexp_extract(s, '([a-z])([0-9]+)', 2); regexp_extract(s, '[0-9]+', 0); regexp_extract(s, '(x)|(y)', 2)
regexp_substr(s, '[0-9]+'); regexp_count(s, '[a-z]'); regexp_instr(s, '[0-9]'); regexp_replace(s, '[0-9]+', '#')
regexp_replace(s, '([a-z])([0-9])', '$2-$1'); regexp_replace(s, 'X', '\\\\$'); regexp_replace(s, 'o', '0', 6)
regexp_replace(s, '(?<first>[a-z])', '<$1>'); regexp_replace(s, '\\\\s+', ' ')
format_number(x, 2); format_number(n, 0); format_number(p, 1); format_number(i, 3); format_number(y, 0)
locate(u, s); locate('o', s, 6); locate('o', s, 0); position(u in s); position('l', s, 4); elt(j, s, u, w); elt(1, s, u)
concat_ws('-', s, u, w); concat_ws(u, s, w); concat_ws(',', s); concat_ws('-'); format_string('%s|%s', s, u)
format_string('%d %5d %05d %-5d|', n, i, i, i); format_string('%.2f %8.1f %e', x, y, y)
format_string('%x %X %o', n, n, n)
format_string('%,d %+d', n, n); format_string('%b %s %%', b, x); printf('%s', p); format_string('%10s|%-10s|', w, w)
trim(s); trim(both 'He' from s); trim(leading ' ' from s); trim(trailing u from s); btrim(s); btrim(s, 'd H')
ltrim('x', s)
left(s, 3); right(s, 3); right(s, 0); right(s, -2); s || u; s || i; concat(s, i, d); s ilike 'HELLO%'; s not ilike '%x%'
substr(s, 2); substring(s from 2 for 3); char_length(s); lcase(s); ucase(s); replace(s, u, w)
md5(s); md5(z); sha1(s); sha(s); sha2(s, 0); sha2(s, 224); sha2(s, 256); sha2(s, 384); sha2(s, 512); sha2(s, 7)
crc32(s); crc32(z); hash(s); hash(n); hash(i); hash(x); hash(p); hash(d); hash(at); hash(b); hash(z); hash(s, i, n, x)
hash(cast(x as float)); hash(cast(p as decimal(20,2))); hash(cast(j as short)); xxhash64(s); xxhash64(n); xxhash64(i)
xxhash64(x); xxhash64(p); xxhash64(d); xxhash64(at); xxhash64(b); xxhash64(z); xxhash64(s, i, n)
xxhash64(s, u, w, x)"""

NUMBERS = """cbrt(x); acos(y); asin(y); atan(x); cosh(y); sinh(y); tanh(x); acosh(x); asinh(x); atanh(y); cot(y)
sec(y); csc(y)
degrees(x); radians(x); expm1(y); rint(x); rint(y); log1p(y); log1p(x); log(2, x); log(y, x); log(x); atan2(x, y)
hypot(x, y)
factorial(j); factorial(20); factorial(21); width_bucket(x, 0, 10, 5); width_bucket(y, 10, 0, 4); bround(x, 0)
bround(x, 1)
bround(p, 1); bround(p, 0); bround(i, -1); bround(n, -1); bround(p, -1); bround(2.5, 0); bround(3.5D, 0)
ceil(p, 1); floor(p, 1); ceil(p, 0); floor(p, -1); ceil(p, 5); ceil(i, -1); floor(i, -1); ceil(3.14159, 3)
floor(-3.15, 1)
conv(s, 36, 10); conv('ff', 16, 10); conv('-10', 16, -10); conv('-10', 16, 10); conv('zz9', 10, 2); conv('', 10, 2)
conv('18446744073709551616', 10, 16); conv(u, 10, 2); bin(n); bin(i); bin(-1)
i & j; n & 255; i | j; n | 1; i ^ j; n ^ i; ~i; ~n; bit_count(n); bit_count(i); bit_count(b); shiftleft(i, j)
shiftleft(n, 3); shiftleft(1, 33); shiftright(i, 1); shiftright(n, j); shiftrightunsigned(i, 1)
shiftrightunsigned(n, 4)
i << 2; i >> 2; getbit(i, 0); bit_get(n, 1); getbit(n, 63)
pmod(n, 3); pmod(n, -3); pmod(i, j); pmod(x, 3.5D); pmod(p, 3); mod(n, 5); mod(p, 2); mod(i, 0)
zeroifnull(n); zeroifnull(x); nullifzero(i); nullifzero(x); try_add(n, n); try_add(i, 1L); try_subtract(n, i)
try_multiply(n, 2L); try_divide(n, j); try_divide(p, 0); try_mod(n, j); try_add(x, y); try_add(p, p)
nvl(s, u); nvl2(s, 1, 2); nvl2(i, s, u); ifnull(i, j); nullif(i, 5); coalesce(i, j, 0); isnull(s); isnotnull(s)
equal_null(i, j); nanvl(x, y); decode(i, 5, 'five', 0, 'zero', 'other'); decode(i, 5, 'five'); decode(s, null, 'n', 'x')
pi(); e(); positive(i); negative(n); sign(x); signum(y); power(y, 2); sqrt(y); log10(x); log2(x); ln(x); exp(y)
greatest(i, j); least(n, i); if(b, s, u)"""

DATES = """quarter(d); quarter(at); dayofweek(d); dayofweek(at); dayofyear(d); dayofyear(at); weekofyear(d)
weekofyear(e)
weekofyear(at); dayname(d); monthname(d); dayname(at); weekday(d); year(d); month(at); day(s); dayofmonth(d); hour(at)
minute(at); second(at); add_months(d, 1); add_months(d, -1); add_months(d, j); add_months(e, 12)
last_day(d); last_day(e); last_day(at); next_day(d, 'Mon'); next_day(d, 'SUNDAY'); next_day(e, 'th'); next_day(e, 'x')
trunc(d, 'year'); trunc(d, 'YYYY'); trunc(d, 'quarter'); trunc(d, 'MM'); trunc(d, 'week'); trunc(d, 'day')
trunc(at, 'mon')
date_trunc('year', at); date_trunc('QUARTER', at); date_trunc('month', at); date_trunc('week', at); date_trunc('dd', at)
date_trunc('HOUR', at); date_trunc('minute', at); date_trunc('second', at); date_trunc('millisecond', at)
date_trunc('microsecond', at); date_trunc('day', d); date_trunc('nothing', at); date_trunc('month', bt)
make_date(2024, 2, i); make_date(2023, 2, 29); make_date(year(d), month(e), 1)
make_timestamp(2024, 2, 29, 13, 5, 7.5); make_timestamp(2024, 2, 30, 1, 1, 1); make_timestamp(2024, 1, 1, 0, 0, 60)
make_timestamp(2024, j, 1, 0, 0, 0)
months_between(at, bt); months_between(d, e); months_between(at, bt, false); months_between(d, at); months_between(d, d)
timestampadd(MONTH, 1, at); timestampadd(DAY, 1, bt); timestampadd(DAY, j, at); timestampadd(HOUR, -5, at)
timestampadd(WEEK, 1, d)
timestampadd(YEAR, 1, d); timestampadd(SECOND, i, bt); timestampadd(MICROSECOND, 1, at); timestampadd(QUARTER, -1, at)
dateadd(MONTH, 1, d); dateadd(DAY, 3, d); dateadd(d, 3); date_add(d, j); date_add(DAY, j, at); date_sub(d, 3)
timestampdiff(MONTH, bt, at); timestampdiff(YEAR, bt, at); timestampdiff(DAY, bt, at); timestampdiff(HOUR, at, bt)
timestampdiff(QUARTER, e, d); timestampdiff(WEEK, d, e); timestampdiff(MICROSECOND, bt, at)
timestampdiff(SECOND, at, bt)
datediff(d, e); datediff(MONTH, e, d); datediff(DAY, at, bt); date_diff(d, at)
date_format(at, 'yyyy-MM-dd HH:mm:ss'); date_format(at, 'yy/M/d h:m:s a'); date_format(d, 'EEE, dd MMM yyyy')
date_format(d, 'EEEE MMMM'); date_format(at, 'HH:mm:ss.SSS'); date_format(at, 'SSSSSS'); date_format(at, 'S')
date_format(d, 'D DDD'); date_format(d, 'Q QQ QQQ QQQQ'); date_format(at, 'k K kk KK'); date_format(d, "'day' d")
date_format(at, 'yyyyMMddHHmmss'); date_format(at, 'XXX'); date_format(at, 'xx Z VV'); date_format(d, 'G')
date_format(d, 'F')
date_format(d, "y 'o''clock'"); date_format(s, 'yyyy'); date_format(d, 'LLL LLLL L')
to_date(s); to_date(s, 'dd/MM/yyyy'); to_date(s, 'yyyy-MM-dd HH:mm:ss'); to_date('2024-02-30', 'yyyy-MM-dd')
to_date('20240229', 'yyyyMMdd'); to_date('Feb 9, 2024', 'MMM d, yyyy'); to_date('9 February 2024', 'd MMMM yyyy')
to_date('24-1-5', 'yy-M-d'); to_date('2024', 'yyyy'); to_date('2024-060', 'yyyy-DDD'); to_date(at, 'yyyy')
to_date('5', 'd')
to_timestamp(s); to_timestamp(s, 'yyyy-MM-dd HH:mm:ss'); to_timestamp('2024-02-29 01:05 PM', 'yyyy-MM-dd hh:mm a')
to_timestamp('2024-02-29 13:05:07.1', 'yyyy-MM-dd HH:mm:ss.SSS')
to_timestamp('2024-02-29T13:05:07Z', "yyyy-MM-dd'T'HH:mm:ssX")
to_timestamp('2024-02-29 13:05:07.123456', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
to_timestamp('2024-02-29 +01:00', 'yyyy-MM-dd XXX')
to_timestamp('12:30', 'HH:mm'); to_timestamp('2024-02-29 24:00', 'yyyy-MM-dd HH:mm'); to_timestamp('x', 'yyyy')
to_timestamp('2024-02-29 12:30 AM', 'yyyy-MM-dd hh:mm a'); to_timestamp('2024-02-29 24', 'yyyy-MM-dd kk')
to_timestamp_ntz(s, 'yyyy-MM-dd HH:mm:ss'); try_to_timestamp(s, 'dd/MM/yyyy'); try_to_timestamp(s); to_timestamp(d)
to_timestamp('2024-02-29 13:05:07 ', 'yyyy-MM-dd HH:mm:ss'); to_timestamp('2024-2-9', 'yyyy-M-d')
to_timestamp('24', 'yy')
unix_timestamp(at); unix_timestamp(d); unix_timestamp(s); unix_timestamp(s, 'dd/MM/yyyy'); to_unix_timestamp(bt)
from_unixtime(n % 10000000000); from_unixtime(i); from_unixtime(i, 'yyyy/MM/dd'); unix_seconds(at); unix_millis(at)
unix_micros(at)
timestamp_seconds(i); timestamp_millis(n % 10000000000000); timestamp_micros(n % 10000000000000000); unix_date(d)
date_from_unix_date(j); date_from_unix_date(n % 100000); from_utc_timestamp(at, 'America/New_York')
to_utc_timestamp(bt, 'America/New_York'); from_utc_timestamp(bt, 'Asia/Kolkata'); to_utc_timestamp(at, '+02:00')
d + interval 3 days; d - interval 1 month; d + interval '2' year; at + interval 3 hours; at - interval 90 minutes
at + interval '1 12:00:00' day to second; at + interval 1 month; d + interval 1 week; at + interval '1-2' year to month
interval 1 day + d; at - interval 2 days; d + interval 5 hours; d + 3; d - 3; bt + interval 1 second
bt + interval '10' millisecond; extract(year from d); extract(quarter from at); extract(month from d)
extract(week from d)
extract(dow from d); extract(doy from d); extract(day from at); extract(hour from at); extract(minute from at)
extract(dayofweek_iso from d); extract(yearofweek from d); date_part('year', d); date_part('week', at)
datepart('doy', d)
s::string; d::timestamp; at::date; cast(d as string); date'2024-02-29' + interval 1 year
timestamp'2024-01-31 10:00:00' + interval 1 month"""

CALLS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "acos": lambda F, r: F.acos(r["y"]),
    "acosh": lambda F, r: F.acosh(r["y"]),
    "add_months": lambda F, r: F.add_months(r["d"], r["j"]),
    "ascii": lambda F, r: F.ascii(r["s"]),
    "asin": lambda F, r: F.asin(r["y"]),
    "asinh": lambda F, r: F.asinh(r["y"]),
    "atan": lambda F, r: F.atan(r["y"]),
    "atan2": lambda F, r: F.atan2(r["x"], r["y"]),
    "atanh": lambda F, r: F.atanh(r["y"]),
    "base64": lambda F, r: F.base64(r["s"]),
    "bin": lambda F, r: F.bin(r["n"]),
    "bit_count": lambda F, r: F.bit_count(r["n"]),
    "bit_get": lambda F, r: F.bit_get(r["i"], F.lit(0)),
    "bit_length": lambda F, r: F.bit_length(r["s"]),
    "bitwiseNOT": lambda F, r: F.bitwiseNOT(r["i"]),
    "bitwise_not": lambda F, r: F.bitwise_not(r["i"]),
    "bround": lambda F, r: F.bround(r["p"], 1),
    "btrim": lambda F, r: F.btrim(r["s"]),
    "cbrt": lambda F, r: F.cbrt(r["y"]),
    "char": lambda F, r: F.char(r["n"]),
    "chr": lambda F, r: F.chr(r["n"]),
    "concat_ws": lambda F, r: F.concat_ws("-", r["s"], r["u"], r["w"]),
    "conv": lambda F, r: F.conv(r["s"], 36, 10),
    "cosh": lambda F, r: F.cosh(r["y"]),
    "cot": lambda F, r: F.cot(r["y"]),
    "crc32": lambda F, r: F.crc32(r["s"]),
    "csc": lambda F, r: F.csc(r["y"]),
    "date_format": lambda F, r: F.date_format(r["at"], "EEE d.M.yy HH:mm:ss.SSS"),
    "date_from_unix_date": lambda F, r: F.date_from_unix_date(r["j"]),
    "date_part": lambda F, r: F.date_part(F.lit("week"), r["d"]),
    "date_trunc": lambda F, r: F.date_trunc("week", r["at"]),
    "datepart": lambda F, r: F.datepart(F.lit("doy"), r["d"]),
    "dayname": lambda F, r: F.dayname(r["d"]),
    "dayofweek": lambda F, r: F.dayofweek(r["d"]),
    "dayofyear": lambda F, r: F.dayofyear(r["d"]),
    "decode": lambda F, r: F.decode(F.encode(r["s"], "UTF-8"), "UTF-8"),
    "degrees": lambda F, r: F.degrees(r["y"]),
    "e": lambda F, r: F.e(),
    "elt": lambda F, r: F.elt(r["j"], r["s"], r["u"]),
    "encode": lambda F, r: F.encode(r["s"], "UTF-8"),
    "expm1": lambda F, r: F.expm1(r["y"]),
    "extract": lambda F, r: F.extract(F.lit("quarter"), r["d"]),
    "factorial": lambda F, r: F.factorial(r["j"]),
    "find_in_set": lambda F, r: F.find_in_set(r["u"], r["s"]),
    "format_number": lambda F, r: F.format_number(r["x"], 2),
    "format_string": lambda F, r: F.format_string("%s: %05d", r["s"], r["i"]),
    "from_unixtime": lambda F, r: F.from_unixtime(r["i"]),
    "from_utc_timestamp": lambda F, r: F.from_utc_timestamp(r["at"], "Asia/Tokyo"),
    "getbit": lambda F, r: F.getbit(r["n"], F.lit(1)),
    "hash": lambda F, r: F.hash(r["s"], r["i"], r["n"]),
    "hex": lambda F, r: F.hex(r["s"]),
    "hypot": lambda F, r: F.hypot(r["x"], r["y"]),
    "initcap": lambda F, r: F.initcap(r["s"]),
    "instr": lambda F, r: F.instr(r["s"], "o"),
    "last_day": lambda F, r: F.last_day(r["d"]),
    "levenshtein": lambda F, r: F.levenshtein(r["s"], r["u"], 9),
    "locate": lambda F, r: F.locate("o", r["s"], 6),
    "log1p": lambda F, r: F.log1p(r["y"]),
    "lpad": lambda F, r: F.lpad(r["s"], 5, "x"),
    "make_date": lambda F, r: F.make_date(F.lit(2024), F.lit(2), r["i"]),
    "make_timestamp": lambda F, r: F.make_timestamp(F.lit(2024), F.lit(2), F.lit(29), F.lit(1), F.lit(2), F.lit(3.5)),
    "md5": lambda F, r: F.md5(r["s"]),
    "monthname": lambda F, r: F.monthname(r["d"]),
    "months_between": lambda F, r: F.months_between(r["at"], r["bt"]),
    "next_day": lambda F, r: F.next_day(r["d"], "Mon"),
    "nullifzero": lambda F, r: F.nullifzero(r["i"]),
    "octet_length": lambda F, r: F.octet_length(r["s"]),
    "overlay": lambda F, r: F.overlay(r["s"], r["u"], 3, 2),
    "pi": lambda F, r: F.pi(),
    "pmod": lambda F, r: F.pmod(r["n"], F.lit(3)),
    "position": lambda F, r: F.position(r["u"], r["s"], F.lit(2)),
    "positive": lambda F, r: F.positive(r["i"]),
    "printf": lambda F, r: F.printf(F.lit("%s: %d"), r["s"], r["i"]),
    "quarter": lambda F, r: F.quarter(r["d"]),
    "radians": lambda F, r: F.radians(r["y"]),
    "regexp": lambda F, r: F.regexp(r["s"], F.lit("o+")),
    "regexp_count": lambda F, r: F.regexp_count(r["s"], F.lit("[a-z]")),
    "regexp_extract": lambda F, r: F.regexp_extract(r["s"], "([a-z])([0-9]+)", 2),
    "regexp_instr": lambda F, r: F.regexp_instr(r["s"], F.lit("[0-9]")),
    "regexp_like": lambda F, r: F.regexp_like(r["s"], F.lit("[0-9]")),
    "regexp_replace": lambda F, r: F.regexp_replace(r["s"], "([a-z])([0-9])", "$2$1"),
    "regexp_substr": lambda F, r: F.regexp_substr(r["s"], F.lit("[0-9]+")),
    "repeat": lambda F, r: F.repeat(r["u"], 3),
    "reverse": lambda F, r: F.reverse(r["s"]),
    "rint": lambda F, r: F.rint(r["y"]),
    "rlike": lambda F, r: F.rlike(r["s"], F.lit("^[a-z]")),
    "rpad": lambda F, r: F.rpad(r["s"], 20, "xy"),
    "sec": lambda F, r: F.sec(r["y"]),
    "sha": lambda F, r: F.sha(r["s"]),
    "sha1": lambda F, r: F.sha1(r["s"]),
    "sha2": lambda F, r: F.sha2(r["s"], 256),
    "shiftLeft": lambda F, r: F.shiftLeft(r["n"], 3),
    "shiftRight": lambda F, r: F.shiftRight(r["n"], 3),
    "shiftRightUnsigned": lambda F, r: F.shiftRightUnsigned(r["n"], 3),
    "shiftleft": lambda F, r: F.shiftleft(r["n"], 3),
    "shiftright": lambda F, r: F.shiftright(r["n"], 3),
    "shiftrightunsigned": lambda F, r: F.shiftrightunsigned(r["n"], 3),
    "sinh": lambda F, r: F.sinh(r["y"]),
    "soundex": lambda F, r: F.soundex(r["s"]),
    "split_part": lambda F, r: F.split_part(r["s"], F.lit(","), F.lit(2)),
    "substring_index": lambda F, r: F.substring_index(r["s"], "X", -1),
    "tanh": lambda F, r: F.tanh(r["y"]),
    "timestamp_add": lambda F, r: F.timestamp_add("MONTH", r["j"], r["at"]),
    "timestamp_diff": lambda F, r: F.timestamp_diff("DAY", r["bt"], r["at"]),
    "timestamp_micros": lambda F, r: F.timestamp_micros(r["i"]),
    "timestamp_millis": lambda F, r: F.timestamp_millis(r["i"]),
    "timestamp_seconds": lambda F, r: F.timestamp_seconds(r["i"]),
    "toDegrees": lambda F, r: F.toDegrees(r["y"]),
    "toRadians": lambda F, r: F.toRadians(r["y"]),
    "to_date": lambda F, r: F.to_date(r["s"], "dd/MM/yyyy"),
    "to_timestamp": lambda F, r: F.to_timestamp(r["s"], "yyyy-MM-dd HH:mm:ss"),
    "to_unix_timestamp": lambda F, r: F.to_unix_timestamp(r["bt"]),
    "to_utc_timestamp": lambda F, r: F.to_utc_timestamp(r["at"], "Asia/Tokyo"),
    "translate": lambda F, r: F.translate(r["s"], "lo", "0"),
    "trunc": lambda F, r: F.trunc(r["d"], "quarter"),
    "try_add": lambda F, r: F.try_add(r["n"], r["i"]),
    "try_divide": lambda F, r: F.try_divide(r["n"], r["j"]),
    "try_mod": lambda F, r: F.try_mod(r["n"], r["j"]),
    "try_multiply": lambda F, r: F.try_multiply(r["x"], r["y"]),
    "try_subtract": lambda F, r: F.try_subtract(r["n"], r["i"]),
    "try_to_date": lambda F, r: F.try_to_date(r["s"], "dd/MM/yyyy"),
    "try_to_timestamp": lambda F, r: F.try_to_timestamp(r["s"], F.lit("yyyy-MM-dd HH:mm:ss")),
    "try_url_decode": lambda F, r: F.try_url_decode(F.url_encode(r["s"])),
    "unbase64": lambda F, r: F.unbase64(F.base64(r["s"])),
    "unhex": lambda F, r: F.unhex(r["s"]),
    "unix_date": lambda F, r: F.unix_date(r["d"]),
    "unix_micros": lambda F, r: F.unix_micros(r["at"]),
    "unix_millis": lambda F, r: F.unix_millis(r["at"]),
    "unix_seconds": lambda F, r: F.unix_seconds(r["at"]),
    "unix_timestamp": lambda F, r: F.unix_timestamp(r["at"]),
    "url_decode": lambda F, r: F.url_decode(F.url_encode(r["s"])),
    "url_encode": lambda F, r: F.url_encode(r["s"]),
    "weekofyear": lambda F, r: F.weekofyear(r["d"]),
    "width_bucket": lambda F, r: F.width_bucket(r["x"], F.lit(0.0), F.lit(10.0), F.lit(5)),
    "xxhash64": lambda F, r: F.xxhash64(r["s"], r["i"], r["x"]),
    "zeroifnull": lambda F, r: F.zeroifnull(r["n"]),
}
"""Every function of the table by PySpark's name, called by the same Python for PySpark's functions and for ours."""


def questions() -> list[str]:
    parts = (one.strip() for block in (TEXT, NUMBERS, DATES) for line in block.splitlines() for one in _split(line))
    return list(dict.fromkeys(part for part in parts if part))


def _split(line: str) -> list[str]:
    """By semicolons."""
    return line.split(";")
