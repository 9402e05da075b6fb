// tpch QUERY(1|3|13|18|22) TABLES CHANGES TRIED SHARES
// A query of TPC-H is kept while rows of one table go and come back, one step each; what was found is printed as JSON.
//
// TABLES has a file of each table, CHANGES the rows that change: singles.txt one at a time, share.txt all at once. A
// file's first line names its columns; decimals are whole numbers of hundredths, dates are days since 1970.
// Of a table only what the query reads is given to dbsp. The clock runs from pushing the rows to having what changed in
// the answer; reading files and copying the rows that will be pushed is outside. The answer is kept up outside, too.
use dbsp::{
    mimalloc::MiMalloc,
    operator::OutputHandle,
    typed_batch::{IndexedZSetReader, OrdIndexedZSet, SpineSnapshot, TypedBox},
    utils::{Tup2, Tup3, Tup4, Tup6, Tup7},
    DBData, DBSPHandle, OrdZSet, RootCircuit, Runtime, Stream, ZSetHandle, ZWeight,
};
use std::collections::{BTreeMap, HashMap};
use std::fs::read_to_string;
use std::path::Path;
use std::time::Instant;

#[global_allocator]
static ALLOC: MiMalloc = MiMalloc;

type Key = i64;
type Hundredths = i64;
type Day = i32;

const fn day(year: i64, month: i64, day: i64) -> Day {
    // days since 1970-01-01, years from March on
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    (365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468) as Day
}

// ---- the queries

/// The tables that a query reads, of which the first changes, and the changes of its answer.
struct Kept<K: DBData, V: DBData> {
    tables: Vec<Box<dyn Table>>,
    answer: OutputHandle<SpineSnapshot<OrdIndexedZSet<K, V>>>,
}

/// A sum over a group for each measure: linear, so that dbsp keeps no rows of the group.
type Sums = Tup6<i64, i64, i64, i64, i64, i64>;

fn q1(circuit: &mut RootCircuit) -> Kept<Tup2<u8, u8>, Sums> {
    type Item = Tup7<u8, u8, Day, Hundredths, Hundredths, Hundredths, Hundredths>;
    let (items, lineitem) = table(circuit, "lineitem", |l| -> Item {
        let (flag, status) = (l.byte("l_returnflag"), l.byte("l_linestatus"));
        let (price, discount, tax) = (l.int("l_extendedprice"), l.int("l_discount"), l.int("l_tax"));
        Tup7(flag, status, l.day("l_shipdate"), l.int("l_quantity"), price, discount, tax)
    });
    let answer = items
        .flat_map_index(|Tup7(flag, status, shipped, quantity, price, discount, tax)| {
            (*shipped <= day(1998, 9, 2)).then_some((Tup2(*flag, *status), Tup4(*quantity, *price, *discount, *tax)))
        })
        .aggregate_linear(|Tup4(quantity, price, discount, tax)| {
            let reduced = price * (100 - discount);
            Tup6(*quantity, *price, reduced, reduced * (100 + tax), *discount, 1)
        });
    Kept { tables: vec![lineitem], answer: answer.accumulate_output() }
}

fn q3(circuit: &mut RootCircuit) -> Kept<(), Tup4<i64, Day, Key, i64>> {
    let (items, lineitem) = table(circuit, "lineitem", |l| {
        Tup4(l.int("l_orderkey"), l.day("l_shipdate"), l.int("l_extendedprice"), l.int("l_discount"))
    });
    let (orders, all_orders) = table(circuit, "orders", |l| {
        Tup4(l.int("o_orderkey"), l.int("o_custkey"), l.day("o_orderdate"), l.int("o_shippriority"))
    });
    let (customers, customer) = table(circuit, "customer", |l| Tup2(l.int("c_custkey"), l.text("c_mktsegment")));
    let customers = customers.flat_map_index(|Tup2(key, segment)| (segment == "BUILDING").then_some((*key, ())));
    let orders = orders.flat_map_index(|Tup4(key, customer, ordered, priority)| {
        (*ordered < day(1995, 3, 15)).then_some((*customer, Tup3(*key, *ordered, *priority)))
    });
    let items = items.flat_map_index(|Tup4(order, shipped, price, discount)| {
        (*shipped > day(1995, 3, 15)).then_some((*order, price * (100 - discount)))
    });
    let answer = customers
        .join_index(&orders, |_, _, Tup3(key, ordered, priority)| Some((*key, Tup2(*ordered, *priority))))
        .join_index(&items, |key, Tup2(ordered, priority), part| Some((Tup3(*key, *ordered, *priority), *part)))
        .aggregate_linear(|part| *part)
        .map_index(|(Tup3(key, ordered, priority), revenue)| ((), Tup4(-*revenue, *ordered, *key, *priority)))
        .topk_asc(10); // the largest revenue first, then the earliest day
    Kept { tables: vec![lineitem, all_orders, customer], answer: answer.accumulate_output() }
}

fn q13(circuit: &mut RootCircuit) -> Kept<i64, ZWeight> {
    let (orders, all_orders) = table(circuit, "orders", |l| Tup2(l.int("o_custkey"), l.text("o_comment")));
    let (customers, customer) = table(circuit, "customer", |l| l.int("c_custkey"));
    let special = |comment: &str| comment.find("special").is_some_and(|at| comment[at + 7..].contains("requests"));
    let counts = orders
        .flat_map_index(move |Tup2(customer, comment)| (!special(comment)).then_some((*customer, ())))
        .aggregate_linear_postprocess(|_| 1i64, Some);
    let answer = customers
        .map_index(|key| (*key, ()))
        .left_join_index(&counts, |_, _, count| Some((count.unwrap_or(0), ())))
        .weighted_count();
    Kept { tables: vec![all_orders, customer], answer: answer.accumulate_output() }
}

fn q18(circuit: &mut RootCircuit) -> Kept<(), Tup6<Hundredths, Day, Key, Key, String, Hundredths>> {
    let (items, lineitem) = table(circuit, "lineitem", |l| Tup2(l.int("l_orderkey"), l.int("l_quantity")));
    let (orders, all_orders) = table(circuit, "orders", |l| {
        Tup4(l.int("o_orderkey"), l.int("o_custkey"), l.day("o_orderdate"), l.int("o_totalprice"))
    });
    let (customers, customer) = table(circuit, "customer", |l| Tup2(l.int("c_custkey"), l.text("c_name")));
    let orders = orders.map_index(|Tup4(key, customer, ordered, total)| (*key, Tup3(*customer, *ordered, *total)));
    let customers = customers.map_index(|Tup2(key, name)| (*key, name.clone()));
    let answer = items
        .map_index(|Tup2(order, quantity)| (*order, *quantity))
        .aggregate_linear(|quantity| *quantity) // what is asked of an order, and what is told of it: once
        .filter(|(_, quantity)| *quantity > 300_00)
        .join_index(&orders, |order, quantity, Tup3(customer, ordered, total)| {
            Some((*customer, Tup4(-*total, *ordered, *order, *quantity)))
        })
        .join_index(&customers, |customer, Tup4(total, ordered, order, quantity), name| {
            Some(((), Tup6(*total, *ordered, *order, *customer, name.clone(), *quantity)))
        })
        .topk_asc(100); // the largest total first, then the earliest day
    Kept { tables: vec![lineitem, all_orders, customer], answer: answer.accumulate_output() }
}

fn q22(circuit: &mut RootCircuit) -> Kept<String, Tup2<i64, Hundredths>> {
    const CODES: [&str; 7] = ["13", "31", "23", "29", "30", "18", "17"];
    let (customers, customer) =
        table(circuit, "customer", |l| Tup3(l.int("c_custkey"), l.int("c_acctbal"), l.text("c_phone")));
    let (orders, all_orders) = table(circuit, "orders", |l| l.int("o_custkey"));
    // What is above an average of positive numbers is positive: both halves read the same customers.
    let customers = customers.flat_map_index(|Tup3(key, balance, phone)| {
        (*balance > 0 && CODES.contains(&&phone[..2])).then(|| (*key, Tup2(*balance, phone[..2].to_string())))
    });
    // A whole number is above the average just where it is above the average rounded down.
    let average = customers
        .map_index(|(_, Tup2(balance, _))| ((), *balance))
        .aggregate_linear_postprocess(|balance| Tup2(*balance, 1i64), |Tup2(sum, count)| sum.div_euclid(count));
    // Balances stand in descending order, so that the end of the window moves, as it may, and its start does not.
    let bounds = average.integrate().apply(|one| {
        let end = one.iter().next().map_or(i64::MIN, |(_, average, _)| -average);
        (TypedBox::new(i64::MIN), TypedBox::new(end))
    });
    let answer = customers
        .antijoin(&orders.map_index(|customer| (*customer, ())))
        .map_index(|(_, Tup2(balance, code))| (-*balance, code.clone()))
        .window((true, false), &bounds)
        .map_index(|(balance, code)| (code.clone(), -*balance))
        .aggregate_linear(|balance| Tup2(1i64, *balance));
    Kept { tables: vec![customer, all_orders], answer: answer.accumulate_output() }
}

// ---- the tables

#[derive(Clone, Copy)]
enum Part {
    All,
    Single(usize),
    Share,
}

trait Table: Send {
    fn read(&mut self, tables: &Path);
    fn read_changes(&mut self, changes: &Path) -> (usize, usize);
    /// Make rows ready to be pushed, so many times each.
    fn stage(&mut self, part: Part, times: ZWeight) -> usize;
    fn push(&mut self);
}

struct Rows<R: DBData> {
    name: &'static str,
    of_line: fn(&Line) -> R,
    handle: ZSetHandle<R>,
    all: Vec<R>,
    singles: Vec<R>,
    share: Vec<R>,
    staged: Vec<Tup2<R, ZWeight>>,
}

/// An input and its rows; `of_line` says which columns the query reads.
fn table<R: DBData>(
    circuit: &mut RootCircuit,
    name: &'static str,
    of_line: fn(&Line) -> R,
) -> (Stream<RootCircuit, OrdZSet<R>>, Box<dyn Table>) {
    let (stream, handle) = circuit.add_input_zset::<R>();
    let rows = Rows { name, of_line, handle, all: vec![], singles: vec![], share: vec![], staged: vec![] };
    (stream, Box::new(rows))
}

impl<R: DBData> Table for Rows<R> {
    fn read(&mut self, tables: &Path) {
        self.all = lines(&tables.join(format!("{}.txt", self.name)), self.of_line);
    }
    fn read_changes(&mut self, changes: &Path) -> (usize, usize) {
        self.singles = lines(&changes.join("singles.txt"), self.of_line);
        self.share = lines(&changes.join("share.txt"), self.of_line);
        (self.singles.len(), self.share.len())
    }
    fn stage(&mut self, part: Part, times: ZWeight) -> usize {
        self.staged = match part {
            Part::All => std::mem::take(&mut self.all).into_iter().map(|row| Tup2(row, times)).collect(),
            Part::Single(i) => vec![Tup2(self.singles[i].clone(), times)],
            Part::Share => self.share.iter().map(|row| Tup2(row.clone(), times)).collect(),
        };
        self.staged.len()
    }
    fn push(&mut self) {
        self.handle.append(&mut self.staged);
    }
}

struct Line<'a> {
    places: &'a HashMap<&'a str, usize>,
    fields: Vec<&'a str>,
}

impl Line<'_> {
    fn field(&self, column: &str) -> &str {
        self.fields[*self.places.get(column).unwrap_or_else(|| panic!("no column {column}"))]
    }
    fn int(&self, column: &str) -> i64 {
        self.field(column).parse().unwrap()
    }
    fn day(&self, column: &str) -> Day {
        self.field(column).parse().unwrap()
    }
    fn byte(&self, column: &str) -> u8 {
        self.field(column).as_bytes()[0]
    }
    fn text(&self, column: &str) -> String {
        self.field(column).to_string()
    }
}

fn lines<R>(file: &Path, of_line: fn(&Line) -> R) -> Vec<R> {
    let text = read_to_string(file).unwrap_or_else(|trouble| panic!("{}: {trouble}", file.display()));
    let mut found = text.lines();
    let places = found.next().unwrap().split('|').enumerate().map(|(i, name)| (name, i)).collect();
    found.map(|line| of_line(&Line { places: &places, fields: line.split('|').collect() })).collect()
}

// ---- the steps

struct Steps<K: DBData, V: DBData> {
    circuit: DBSPHandle,
    kept: Kept<K, V>,
    rows: BTreeMap<(K, V), ZWeight>,
}

impl<K: DBData, V: DBData> Steps<K, V> {
    /// Rows of the first table, or of all of them: the seconds that it took, and whether the answer changed.
    fn step(&mut self, part: Part, times: ZWeight) -> (f64, bool) {
        let tables = if let Part::All = part { self.kept.tables.len() } else { 1 };
        for table in &mut self.kept.tables[..tables] {
            table.stage(part, times);
        }
        let began = Instant::now();
        for table in &mut self.kept.tables[..tables] {
            table.push();
        }
        self.circuit.transaction().unwrap();
        let changes: Vec<(K, V, ZWeight)> = self.kept.answer.concat().iter().collect();
        let took = began.elapsed().as_secs_f64();
        let altered = !changes.is_empty();
        for (key, value, times) in changes {
            let row = (key, value);
            let count = self.rows.get(&row).copied().unwrap_or(0) + times;
            if count == 0 {
                self.rows.remove(&row);
            } else {
                self.rows.insert(row, count);
            }
        }
        (took, altered)
    }

    fn told(&self, show: fn(&K, &V) -> String) -> String {
        let rows = self.rows.iter().flat_map(|((key, value), count)| {
            assert!(*count > 0, "a row stands in the answer {count} times");
            vec![format!("[{}]", show(key, value)); *count as usize]
        });
        format!("[{}]", rows.collect::<Vec<_>>().join(","))
    }
}

fn run<K: DBData, V: DBData>(query: fn(&mut RootCircuit) -> Kept<K, V>, show: fn(&K, &V) -> String) {
    let argument = |i: usize| std::env::args().nth(i).expect("QUERY TABLES CHANGES TRIED SHARES");
    let (tables, changes) = (argument(2), argument(3));
    let (tried, shares): (usize, usize) = (argument(4).parse().unwrap(), argument(5).parse().unwrap());
    let (circuit, mut kept) = Runtime::init_circuit(1, move |circuit| Ok(query(circuit))).unwrap();
    for table in &mut kept.tables {
        table.read(Path::new(&tables));
    }
    let (singles, share_rows) = kept.tables[0].read_changes(Path::new(&changes));
    let mut steps = Steps { circuit, kept, rows: BTreeMap::new() };

    let (load, _) = steps.step(Part::All, 1);
    let loaded = steps.told(show);
    let mut altering = Vec::new();
    for i in 0..if singles > 0 { tried } else { 0 } {
        for times in [-1, 1] {
            let (took, altered) = steps.step(Part::Single(i % singles), times);
            if altered && i >= 3 {
                altering.push(took); // the first are passed over, as ours are
            }
        }
    }
    let (mut took, mut without) = (Vec::new(), String::new());
    for i in 0..shares {
        took.push(steps.step(Part::Share, -1).0);
        if i == 0 {
            without = steps.told(show);
        }
        took.push(steps.step(Part::Share, 1).0);
    }
    println!(
        "{{\"peer\":\"dbsp 0.349.0\",\"load_s\":{load:.6},\"share_rows\":{share_rows},\"altering\":{:?},\"shares\":{took:?},\
         \"answers\":{{\"loaded\":{loaded},\"without\":{without},\"end\":{}}}}}",
        altering,
        steps.told(show)
    );
    steps.circuit.kill().unwrap();
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("1") => run(q1, |Tup2(flag, status), Tup6(quantity, price, reduced, charge, discount, count)| {
            let average = |sum: &i64| *sum as f64 / *count as f64 / 100.0;
            let (q, p, d) = (average(quantity), average(price), average(discount));
            let (flag, status) = (*flag as char, *status as char);
            format!("\"{flag}\",\"{status}\",{quantity},{price},{reduced},{charge},{q:?},{p:?},{d:?},{count}")
        }),
        Some("3") => run(q3, |_, Tup4(revenue, ordered, key, priority)| {
            format!("{key},{},{ordered},{priority}", -revenue)
        }),
        Some("13") => run(q13, |orders, customers| format!("{orders},{customers}")),
        Some("18") => run(q18, |_, Tup6(total, ordered, order, customer, name, quantity)| {
            format!("{name:?},{customer},{order},{ordered},{},{quantity}", -total)
        }),
        Some("22") => run(q22, |code, Tup2(count, sum)| format!("{code:?},{count},{sum}")),
        other => panic!("no query {other:?}"),
    }
}
