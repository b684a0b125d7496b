//! Lets lld lay functions that compress well together side by side, and fold equal ones: 7 % of a wheel.
//! Only where the toolchain has its own lld and nobody chose another linker.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let [rustc, host, system, profile] =
        ["RUSTC", "HOST", "CARGO_CFG_TARGET_OS", "PROFILE"].map(|name| env::var(name).unwrap_or_default());
    let sysroot =
        Command::new(rustc).args(["--print", "sysroot"]).output().map(|output| output.stdout).unwrap_or_default();
    let lld = Path::new(String::from_utf8_lossy(&sysroot).trim()).join("lib/rustlib").join(host).join("bin/gcc-ld");
    if system == "linux" && profile == "release" && env::var_os("RUSTC_LINKER").is_none() && lld.join("ld.lld").exists()
    {
        for argument in [&format!("-B{}", lld.display()), "-fuse-ld=lld", "-Wl,--icf=all,--bp-compression-sort=both"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
