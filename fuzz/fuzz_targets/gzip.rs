#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sideline::fuzz::target("gzip")(bytes));
