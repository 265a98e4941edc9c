//! What this program is: version, commit, features, instruction set and threads.

use onebasin::threads;

/// Several lines about the program and the machine.
pub(crate) fn details() -> String {
    let commit = option_env!("ONEBASIN_COMMIT").unwrap_or("unknown");
    let threads = std::thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |count| count.to_string());
    let features = if cfg!(feature = "rten") { "rten" } else { "none" };
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    format!(
        "onebasin {}\ncommit: {commit}\nfeatures: {features}\nprofile: {profile}\ntarget: {}-{}\ninstruction set: {}\nbf16 products: {}\nthreads: {threads}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH,
        std::env::consts::OS,
        threads::instruction_set(),
        threads::bf16_products(),
    )
}
