// components NODES EDGES STEP COUNT [workers] [plain|staged]: each node with the least it is connected to, edges read both ways
//  plain : every node sends its own number at once, and what is less goes on
//  staged: small numbers are sent first, by the library's propagate_at
use differential_dataflow::algorithms::graphs::propagate::propagate_at;
use differential_dataflow::operators::Iterate;
use rust_dd::*;

fn main() {
    let mode = std::env::args().nth(6).unwrap_or("plain".into());
    let label = format!("\"prog\":\"components\",\"mode\":\"{}\"", mode);
    drive(label, arg(1, 1000), arg(2, 2000), arg(3, 1), arg(4, 1000), arg(5, 1) as usize, move |graph, tally, probe| {
        let both = graph.clone().map(|(a, b)| (b, a)).concat(graph);
        let own = both.clone().map(|(a, _)| a).distinct().map(|a| (a, a));
        let least = if mode == "staged" {
            propagate_at(both, own, |label: &u32| *label as u64)
        } else {
            let edges = both.arrange_by_key();
            own.clone().iterate(|scope, inner| {
                let (edges, own) = (edges.enter(scope), own.enter(scope));
                inner
                    .join_core(edges, |_node, least, other| Some((*other, *least)))
                    .concat(own)
                    .reduce(|_node, labels, least| least.push((*labels[0].0, 1isize)))
            })
        };
        least
            .consolidate()
            .inspect(move |((n, c), t, d)| tally.add(mix2(*n as u64, *c as u64), *t, *d))
            .probe_with(probe);
    });
}
