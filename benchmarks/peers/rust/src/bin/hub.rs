// hub KIND VALUES TIMES   KIND: join | semijoin | distinct | min | top | median; benchmarks/hub.py is its twin
//  one key with VALUES values, all even; at each time one of them goes and an odd one comes
use differential_dataflow::input::Input;
use rust_dd::*;
use std::time::Instant;
use timely::dataflow::operators::probe::Handle;

const STRIDE: u64 = 7919;

/// The value in the middle, twice; of two in the middle their sum.
fn twice_the_middle(sorted: &[(&u64, isize)]) -> u64 {
    let all: isize = sorted.iter().map(|(_, many)| many).sum();
    let at = |place: isize| {
        let mut before = 0;
        *sorted.iter().find(|(_, many)| { before += many; before > place }).unwrap().0
    };
    at((all - 1) / 2) + at(all / 2)
}

fn main() {
    let kind = std::env::args().nth(1).unwrap();
    let (values, times) = (arg(2, 1000), arg(3, 300));
    let k = kind.clone();
    let res = timely::execute(config(1), move |worker| {
        let probe = Handle::new();
        let tally = Tally::default();
        let (kind, seen) = (k.clone(), tally.clone());
        let (mut edges, mut asked) = worker.dataflow::<u64, _, _>(|scope| {
            let (edges_in, edges) = scope.new_collection::<(u64, u64), isize>();
            let (asked_in, asked) = scope.new_collection::<(u64, u64), isize>();
            let hub = match kind.as_str() {
                "join" => edges.join_map(asked, |_, value, by| (*by, *value)),
                "distinct" => edges.distinct().join_map(asked, |_, value, by| (*by, *value)),
                "semijoin" => edges.semijoin(asked.map(|(key, _)| key)),
                "min" => edges.reduce(|_, sorted, least| least.push((*sorted[0].0, 1isize))),
                "top" => edges.reduce(|_, sorted, most| most.extend(sorted.iter().rev().take(3).map(|(v, d)| (**v, *d)))),
                "median" => edges.reduce(|_, sorted, middle| middle.push((twice_the_middle(sorted), 1isize))),
                _ => panic!("no such kind"),
            };
            hub.consolidate()
                .inspect(move |((a, b), t, d)| seen.add(mix2(*a, *b), *t, *d))
                .probe_with(&probe);
            (edges_in, asked_in)
        });
        let start = Instant::now();
        for i in 0..values { edges.insert((0, 2 * i)); }
        asked.insert((0, 7));
        edges.advance_to(1); edges.flush();
        asked.advance_to(1); asked.flush();
        worker.step_while(|| probe.less_than(edges.time()));
        let load = start.elapsed().as_secs_f64();
        let mut lat = Vec::with_capacity(times as usize);
        for t in 1..=times {
            let s = Instant::now();
            edges.remove((0, 2 * (t * STRIDE % values)));
            edges.insert((0, 2 * (t * STRIDE * 3 % values) + 1));
            edges.advance_to(t + 1); edges.flush();
            asked.advance_to(t + 1); asked.flush();
            worker.step_while(|| probe.less_than(edges.time()));
            lat.push(s.elapsed().as_nanos() as u64);
        }
        (load, lat, tally.get(), peak_mb())
    }).unwrap();
    let (load, lat, tally, peak) = res.join().into_iter().next().unwrap().unwrap();
    println!("{{\"prog\":\"hub\",\"kind\":\"{}\",\"values\":{},\"times\":{},\"alloc\":\"{}\",\"load_s\":{:.3},\"us_per_time\":{:.3},\"all\":{},\"peak_mb\":{:.0},{}}}",
        kind, values, times, alloc_name(), load, lat.iter().sum::<u64>() as f64 / 1e3 / times as f64, pct(&lat), peak, tally.json());
}
