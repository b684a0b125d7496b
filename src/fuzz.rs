//! The harnesses of the fuzz targets (`make fuzz`); ordinary tests run them over their corpus. Each harness is in the
//! module that it tests; a finding is a panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// A harness: runs one input.
pub type Target = fn(&[u8]);

/// By the name of the target and of its corpus folder.
pub(crate) static TARGETS: &[(&str, Target)] = &[
    ("event_stream", crate::live::fuzz::event_stream),
    ("websocket", crate::live::fuzz::websocket),
    ("journal", crate::live::journal::fuzz::journal),
    ("resource", crate::resource::tests::fuzz::resource),
    ("error_body", crate::transport::fuzz::error_body),
    ("gzip", crate::transport::fuzz::gzip),
    ("address", crate::transport::fuzz::address),
];

pub fn target(name: &str) -> Target {
    TARGETS.iter().find(|(target, _)| *target == name).expect("a target").1
}

/// SplitMix64: deterministic by seed.
#[derive(Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.word() % n as u64) as usize
    }
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The seed itself and a few variants with bytes changed, removed and doubled.
    fn near(seed: &[u8], random: &mut Random) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len().max(1)).min(bytes.len());
            match random.below(3) {
                0 if at < bytes.len() => bytes[at] = random.word() as u8,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.pick(b"\"\\{}[]:,0-e \n\r\0\xFF%@/")),
            }
        }
        bytes
    }

    #[test]
    fn every_seed_and_its_mutations_pass() {
        for (name, target) in TARGETS {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
            let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
            files.sort();
            assert!(files.len() >= 8, "{name} has {} seeds", files.len());
            for (number, file) in files.iter().enumerate() {
                let seed = fs::read(file).unwrap();
                let mut random = Random(number as u64);
                for input in std::iter::once(seed.clone()).chain((0..16).map(|_| near(&seed, &mut random))) {
                    let run = std::panic::catch_unwind(|| target(&input));
                    assert!(run.is_ok(), "{} near {}", input.escape_ascii(), file.display());
                }
            }
        }
    }
}
