// dbench degrees|reach NODES EDGES ROOTS STEP COUNT WORKERS   (env SEED)
// A step hands over STEP changes and reads what changed; making the changes is outside the clock, as it is in ours.
use dbsp::{mimalloc::MiMalloc, typed_batch::IndexedZSetReader, utils::Tup2, OrdZSet, Runtime, Stream};
use dbsp_bench::*;
use std::time::Instant;

#[global_allocator]
static ALLOC: MiMalloc = MiMalloc;

type E = Tup2<u32, u32>;

fn main() {
    let prog = std::env::args().nth(1).unwrap();
    let (nodes, edges, roots, step, count, workers) = (arg(2, 1000), arg(3, 2000), arg(4, 10), arg(5, 1), arg(6, 1000), arg(7, 1) as usize);
    let t00 = Instant::now();
    let mut tally = Tally::default();
    macro_rules! drive {
        ($h:expr, $input:expr, $tally_fn:expr) => {{
            let startup = t00.elapsed().as_secs_f64();
            let s = Instant::now();
            let mut v: Vec<Tup2<E, i64>> = (0..edges).map(|i| { let (a, b) = edge(i, nodes); Tup2(Tup2(a, b), 1) }).collect();
            $input.append(&mut v);
            $h.transaction().unwrap();
            $tally_fn(&mut tally, 0u64);
            let load = s.elapsed().as_secs_f64();
            let rss = status("VmRSS");
            let mut lat: Vec<f64> = Vec::new();
            let mut t = 1u64; let mut k = 0u64;
            while k < count {
                let mut v: Vec<Tup2<E, i64>> = Vec::with_capacity(2 * step as usize);
                for _ in 0..step.min(count - k) {
                    let (x, y) = edge(k, nodes); v.push(Tup2(Tup2(x, y), -1));
                    let (x, y) = edge(edges + k, nodes); v.push(Tup2(Tup2(x, y), 1));
                    k += 1;
                }
                let a = Instant::now();
                $input.append(&mut v);
                $h.transaction().unwrap();
                $tally_fn(&mut tally, t);
                t += 1;
                lat.push(a.elapsed().as_secs_f64());
            }
            let secs: f64 = lat.iter().sum();
            println!("{{\"peer\":\"dbsp 0.349.0\",\"prog\":\"{}\",\"nodes\":{},\"edges\":{},\"step\":{},\"count\":{},\"workers\":{},\"startup_s\":{:.4},\"load_s\":{:.4},\"us_per_change\":{:.3},\"step_ms_p50_p95_p99_max\":{},\"rss_load_mb\":{:.0},\"rss_mb\":{:.0},\"peak_mb\":{:.0},{}}}",
                prog, nodes, edges, step, k, workers, startup, load, secs * 1e6 / k as f64, pct(&lat), rss, status("VmRSS"), status("VmHWM"), tally.json());
        }};
    }
    if prog == "degrees" {
        let (mut h, (input, out)) = Runtime::init_circuit(workers, |circuit| {
            let (edges, input) = circuit.add_input_zset::<E>();
            let out = edges.map(|Tup2(s, _)| *s).weighted_count().map(|(_, c)| *c).weighted_count();
            Ok((input, out.output()))
        })
        .unwrap();
        drive!(h, input, |tally: &mut Tally, t: u64| {
            for (c, n, d) in out.consolidate().iter() {
                tally.add(mix2(c as u64, n as u64), t, d);
            }
        });
        h.kill().unwrap();
    } else {
        let (mut h, (input, rootin, out)) = Runtime::init_circuit(workers, |circuit| {
            let (edges, input) = circuit.add_input_zset::<E>();
            let (start, rootin) = circuit.add_input_zset::<E>(); // (node, root)
            let edges = edges.map_index(|Tup2(s, d)| (*s, *d));
            let out = circuit.recursive(|child, inner: Stream<_, OrdZSet<E>>| {
                let edges = edges.delta0(child);
                let start = start.delta0(child);
                Ok(inner
                    .map_index(|Tup2(n, r)| (*n, *r))
                    .join(&edges, |_n, r, d| Tup2(*d, *r))
                    .plus(&start))
            })?;
            Ok((input, rootin, out.output()))
        })
        .unwrap();
        for r in 0..roots {
            rootin.push(Tup2(r as u32, r as u32), 1);
        }
        drive!(h, input, |tally: &mut Tally, t: u64| {
            for (Tup2(n, r), _, d) in out.consolidate().iter() {
                tally.add(mix2(r as u64, n as u64), t, d);
            }
        });
        h.kill().unwrap();
    }
}
