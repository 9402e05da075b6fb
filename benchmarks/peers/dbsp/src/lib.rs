//! The generator and the checksums, those of benchmarks/generator.py.
use std::sync::OnceLock;
#[inline]
pub fn seed() -> u64 {
    static GIVEN: OnceLock<u64> = OnceLock::new();
    *GIVEN.get_or_init(|| std::env::var("SEED").map(|s| s.parse().unwrap()).unwrap_or(42))
}
#[inline]
pub fn splitmix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D049BB133111EB);
    z ^ (z >> 31)
}
#[inline]
pub fn mix2(a: u64, b: u64) -> u64 {
    splitmix64(splitmix64(a).wrapping_add(b))
}
#[inline]
pub fn edge(i: u64, n: u64) -> (u32, u32) {
    ((splitmix64(seed() + 2 * i) % n) as u32, (splitmix64(seed() + 2 * i + 1) % n) as u32)
}
#[derive(Default)]
pub struct Tally {
    pub n: u64,
    pub later: u64,
    pub size: i64,
    pub fin: u64,
    pub tim: u64,
}
impl Tally {
    pub fn add(&mut self, h: u64, t: u64, d: i64) {
        self.n += 1;
        if t > 0 {
            self.later += 1;
        }
        self.size += d;
        self.fin = self.fin.wrapping_add((d as u64).wrapping_mul(h));
        self.tim = self.tim.wrapping_add((d as u64).wrapping_mul(mix2(h, t)));
    }
    pub fn json(&self) -> String {
        format!(
            "\"out_updates\":{},\"updates_after_load\":{},\"size\":{},\"check_final\":\"{:016x}\",\"check_times\":\"{:016x}\"",
            self.n, self.later, self.size, self.fin, self.tim
        )
    }
}
pub fn arg(i: usize, d: u64) -> u64 {
    std::env::args().nth(i).map(|s| s.parse().unwrap()).unwrap_or(d)
}
pub fn status(k: &str) -> f64 {
    for l in std::fs::read_to_string("/proc/self/status").unwrap().lines() {
        if l.starts_with(k) {
            return l.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0;
        }
    }
    0.0
}
pub fn pct(v: &[f64]) -> String {
    if v.is_empty() {
        return "[]".into();
    }
    let mut s = v.to_vec();
    s.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let g = |p: f64| s[((s.len() - 1) as f64 * p).round() as usize] * 1e3;
    format!("[{:.4},{:.4},{:.4},{:.4}]", g(0.5), g(0.95), g(0.99), g(1.0))
}
