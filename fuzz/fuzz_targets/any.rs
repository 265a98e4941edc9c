//! Gives what the fuzzer makes to the target that the environment variable `ONEBASIN_FUZZ` names.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onebasin_fuzz::Target;
use std::sync::LazyLock;

static TARGET: LazyLock<&'static Target> = LazyLock::new(|| {
    let name = std::env::var("ONEBASIN_FUZZ").expect("ONEBASIN_FUZZ names a target");
    onebasin_fuzz::find(&name).expect("there is a target of this name")
});

fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
