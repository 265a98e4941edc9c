//! Which classes and functions of a pickle are interpreted, which are kept as names, and which are refused.

use std::collections::BTreeSet;

/// What a name in a pickle means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// `(storage, offset, shape, strides, ...)`.
    Tensor,
    /// The same, with the type of the elements as the seventh argument.
    TypedTensor,
    /// The first argument, with marks that do not matter here.
    Parameter,
    /// `(function, class, arguments, state)`: what the function makes of the arguments.
    Subclass,
    /// A dictionary.
    Dict,
    /// A list or tuple, which is the first argument.
    Sequence,
    /// Known, and of no interest.
    Plain,
    /// Not interpreted.
    Foreign,
    /// Would run code, open files or the like; no checkpoint needs it.
    Refused,
}

/// Functions of the built-in module that make plain values.
const PLAIN_BUILTINS: &[&str] = &[
    "bool",
    "bytearray",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "getattr",
    "int",
    "list",
    "object",
    "range",
    "set",
    "slice",
    "str",
    "tuple",
];

/// Modules whose functions reach outside of the process, or run what they are given.
const REFUSED_MODULES: &[&str] = &[
    "asyncio",
    "bdb",
    "cffi",
    "code",
    "codeop",
    "commands",
    "ctypes",
    "ftplib",
    "http",
    "httplib",
    "imp",
    "importlib",
    "marshal",
    "multiprocessing",
    "nt",
    "os",
    "pdb",
    "pip",
    "pkgutil",
    "platform",
    "popen2",
    "posix",
    "pty",
    "pydoc",
    "requests",
    "runpy",
    "shutil",
    "signal",
    "smtplib",
    "socket",
    "subprocess",
    "sys",
    "telnetlib",
    "tempfile",
    "threading",
    "timeit",
    "types",
    "urllib",
    "urllib2",
    "venv",
    "webbrowser",
    "zipimport",
];

/// The meaning of a name, which has its module before its last dot.
pub(super) fn meaning(global: &str) -> Meaning {
    match global {
        "torch._utils._rebuild_tensor" | "torch._utils._rebuild_tensor_v2" => Meaning::Tensor,
        "torch._utils._rebuild_tensor_v3" => Meaning::TypedTensor,
        "torch._utils._rebuild_parameter" | "torch._utils._rebuild_parameter_with_state" => Meaning::Parameter,
        "torch._tensor._rebuild_from_type" | "torch._tensor._rebuild_from_type_v2" => Meaning::Subclass,
        "collections.OrderedDict"
        | "collections.defaultdict"
        | "collections.Counter"
        | "builtins.dict"
        | "__builtin__.dict" => Meaning::Dict,
        "torch.Size" | "builtins.list" | "builtins.tuple" | "__builtin__.list" | "__builtin__.tuple" => {
            Meaning::Sequence
        }
        "types.SimpleNamespace" | "_codecs.encode" | "copyreg._reconstructor" | "copy_reg._reconstructor" => {
            Meaning::Plain
        }
        _ => by_module(global),
    }
}

fn by_module(global: &str) -> Meaning {
    let mut parts = global.split('.');
    let (top, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match top {
        "builtins" | "__builtin__" if PLAIN_BUILTINS.contains(&second) => Meaning::Plain,
        "builtins" | "__builtin__" => Meaning::Refused,
        module if REFUSED_MODULES.contains(&module) => Meaning::Refused,
        // Classes of storages and types of elements: `torch.FloatStorage`, `torch.float32`, `torch.storage.UntypedStorage`.
        "torch" if global.ends_with("Storage") || crate::dtype::DType::of_torch(second).is_some() => Meaning::Plain,
        "torch" if ["device", "serialization", "_utils"].contains(&second) && !global.contains("_rebuild") => {
            Meaning::Plain
        }
        _ => Meaning::Foreign,
    }
}

/// Names that are not interpreted, of all names of a pickle; or the first that is refused.
pub(super) fn sort(globals: impl Iterator<Item = String>) -> Result<BTreeSet<String>, String> {
    let mut foreign = BTreeSet::new();
    for global in globals {
        match meaning(&global) {
            Meaning::Refused => return Err(global),
            Meaning::Foreign => drop(foreign.insert(global)),
            _ => {}
        }
    }
    Ok(foreign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_code_is_refused_and_classes_are_foreign() {
        for global in
            ["os.system", "posix.system", "builtins.eval", "__builtin__.exec", "subprocess.Popen", "os.path.join"]
        {
            assert_eq!(meaning(global), Meaning::Refused, "{global}");
        }
        for global in
            ["torch.nn.modules.linear.Linear", "numpy.core.multiarray.scalar", "torch._utils._rebuild_qtensor"]
        {
            assert_eq!(meaning(global), Meaning::Foreign, "{global}");
        }
        for global in [
            "torch.FloatStorage",
            "torch.storage.UntypedStorage",
            "torch.float32",
            "torch.device",
            "builtins.set",
            "types.SimpleNamespace",
        ] {
            assert_eq!(meaning(global), Meaning::Plain, "{global}");
        }
        assert_eq!(sort(["a.B".to_owned(), "os.system".to_owned()].into_iter()), Err("os.system".to_owned()));
    }
}
