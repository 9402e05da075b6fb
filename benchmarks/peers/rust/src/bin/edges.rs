// edges NODES FIRST COUNT: edges of the stream as a list, to be compared with those of benchmarks/generator.py
use rust_dd::*;

fn main() {
    let (nodes, first, count) = (arg(1, 1000), arg(2, 0), arg(3, 10));
    println!("{:?}", (first..first + count).map(|i| edge(i, nodes)).collect::<Vec<_>>());
}
