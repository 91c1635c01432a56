// SPDX-License-Identifier: GPL-2.0

//! A usual program in Rust, whose profile two profilers must agree on: it counts words in
//! maps, sorts them and joins them.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

struct Source(u32);

impl Source {
    #[inline(never)]
    fn draw(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        (self.0 >> 16) % below
    }
}

impl Iterator for Source {
    type Item = String;

    #[inline(never)]
    fn next(&mut self) -> Option<String> {
        let length = 3 + self.draw(8);

        Some((0..length).map(|_| (b'a' + self.draw(4) as u8) as char).collect())
    }
}

trait Counts<'a> {
    fn add(&mut self, word: &'a str);
}

impl<'a> Counts<'a> for BTreeMap<&'a str, u32> {
    #[inline(never)]
    fn add(&mut self, word: &'a str) {
        *self.entry(word).or_insert(0) += 1;
    }
}

// The same keys in each run: both profilers must see the same collisions.
type Table<'a> = HashMap<&'a str, u32, BuildHasherDefault<DefaultHasher>>;

impl<'a> Counts<'a> for Table<'a> {
    #[inline(never)]
    fn add(&mut self, word: &'a str) {
        *self.entry(word).or_insert(0) += 1;
    }
}

#[inline(never)]
fn count<'a, C: Counts<'a>>(counts: &mut C, all: &'a [String]) {
    for word in all {
        counts.add(word);
    }
}

#[inline(never)]
fn is_before(a: &&String, b: &&String) -> std::cmp::Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[inline(never)]
fn checksum(all: &[&String]) -> u64 {
    let mut sum = 0u64;

    for word in all {
        for c in word.bytes() {
            sum = sum.wrapping_mul(31).wrapping_add(c.into());
        }
    }
    sum
}

fn main() {
    let all: Vec<String> = Source(1).take(20000).collect();
    let mut tree = BTreeMap::new();
    let mut table = Table::default();

    count(&mut tree, &all);
    count(&mut table, &all);
    let mut sorted: Vec<&String> = all.iter().collect();
    sorted.sort_by(is_before);
    println!("{} {} {}", tree.len(), table.len(), checksum(&sorted));
}
