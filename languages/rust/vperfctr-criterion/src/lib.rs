// SPDX-License-Identifier: LGPL-2.1-or-later
//! A measurement for Criterion that counts events instead of time.
//!
//! ```no_run
//! use criterion::{criterion_group, criterion_main, Criterion};
//! use vperfctr_criterion::Events;
//!
//! fn parse(c: &mut Criterion<Events>) {
//!     c.bench_function("parse", |b| b.iter(|| "17".parse::<u32>()));
//! }
//!
//! criterion_group! {
//!     name = benches;
//!     config = Criterion::default().with_measurement(Events::new_or_time("instructions:u"));
//!     targets = parse
//! }
//! criterion_main!(benches);
//! ```

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::Throughput;
use std::time::Instant;
use vperfctr::{Error, Group};

/// Counts one event for the thread that made it, which must run the benchmarks.
pub struct Events {
    source: Source,
    format: Format,
    // The count of two reads with nothing between them.
    cost: u64,
}

enum Source {
    Counter(Group),
    Time(Instant),
}

impl Events {
    /// Count the event of this name: one event, which a counter counts.
    pub fn new(name: &str) -> Result<Self, Error> {
        const EINVAL: i32 = 22;
        let group = Group::new(name)?;
        // Software events have no counter, and one may be among several events.
        if group.len() != 1 || group.name(0) != Some(name) {
            let reason = format!("'{}': a benchmark needs one event that a counter counts", name);
            return Err(Error::with_reason(EINVAL, reason));
        }
        // Later errors can only panic: Criterion's functions return none.
        group.read::<1>()?;
        let format = Format { unit: name.into(), scaled: "events" };
        Ok(Events::of(Source::Counter(group), format))
    }

    /// Count the event of this name.  Where it cannot be counted, say why on standard error, and
    /// measure nanoseconds instead.
    pub fn new_or_time(name: &str) -> Self {
        Events::new(name).unwrap_or_else(|e| {
            eprintln!("vperfctr: {}", e);
            Events::of(Source::Time(Instant::now()), Format { unit: "ns".into(), scaled: "ns" })
        })
    }

    fn of(source: Source, format: Format) -> Self {
        let mut events = Events { source, format, cost: 0 };
        // The first pass also finds functions for the dynamic linker.
        events.end(events.start());
        events.cost = events.end(events.start());
        events
    }

    #[inline(always)]
    fn now(&self) -> u64 {
        match &self.source {
            Source::Counter(group) => group.read::<1>().expect("cannot read the counter")[0],
            Source::Time(began) => began.elapsed().as_nanos() as u64,
        }
    }
}

impl Measurement for Events {
    type Intermediate = u64;
    type Value = u64;

    #[inline(never)]
    fn start(&self) -> u64 {
        self.now()
    }

    #[inline(never)]
    fn end(&self, start: u64) -> u64 {
        (self.now() - start).saturating_sub(self.cost)
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &self.format
    }
}

struct Format {
    unit: String,
    scaled: &'static str,
}

impl ValueFormatter for Format {
    fn format_value(&self, value: f64) -> String {
        format!("{:.2} {}", value, self.unit)
    }

    fn format_throughput(&self, throughput: &Throughput, value: f64) -> String {
        match *throughput {
            Throughput::Bytes(n) => format!("{:.4} {}/byte", value / n as f64, self.unit),
            Throughput::Elements(n) => format!("{:.4} {}/element", value / n as f64, self.unit),
        }
    }

    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        self.scaled
    }

    fn scale_throughputs(&self, _typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let is_time = self.scaled == "ns";
        let (n, unit) = match *throughput {
            Throughput::Bytes(n) => (n, if is_time { "ns/byte" } else { "events/byte" }),
            Throughput::Elements(n) => (n, if is_time { "ns/element" } else { "events/element" }),
        };
        for value in values {
            *value /= n as f64;
        }
        unit
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        self.scaled
    }
}

#[cfg(test)]
mod tests {
    use super::Events;

    #[test]
    fn one_counter() {
        for name in ["page-faults", "page-faults,task-clock", "instructions:u,page-faults"] {
            assert!(Events::new(name).is_err());
            // Nanoseconds, instead of a panic.
            Events::new_or_time(name);
        }
    }
}
