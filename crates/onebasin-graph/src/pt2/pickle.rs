//! Where the tensors of a pickled state dict are stored.

use std::collections::BTreeMap;

use onebasin_checkpoint::pickle::{self, Id, Pickle, Value};

use super::place::Place;

/// Numbers that an exported program gives the types of storages, from 1 on.
const TYPES: [&str; 8] = ["Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"];

/// Names and places of the tensors of a dictionary, or what is wrong. A tensor whose place is not understood has none.
pub(super) fn places(bytes: &[u8]) -> Result<BTreeMap<String, Option<Place>>, String> {
    let pickle = pickle::read(bytes).map_err(|fault| fault.to_string())?;
    let members = match pickle.value(pickle.root) {
        Value::Dict(members) => members,
        Value::Call(call) if pickle.global(call.function).as_deref() == Some("collections.OrderedDict") => {
            &call.members
        }
        _ => return Err("the pickle holds no dictionary".to_owned()),
    };
    Ok(members.iter().filter_map(|(key, value)| Some((pickle.name(*key)?, place(&pickle, *value)))).collect())
}

/// Where a tensor, or the tensor of a parameter, is stored.
fn place(pickle: &Pickle<'_>, id: Id) -> Option<Place> {
    let (function, arguments) = call(pickle, id)?;
    if function.starts_with("torch._utils._rebuild_parameter") {
        return tensor(pickle, *arguments.first()?);
    }
    tensor(pickle, id)
}

fn tensor(pickle: &Pickle<'_>, id: Id) -> Option<Place> {
    let (function, arguments) = call(pickle, id)?;
    let ([storage, offset, sizes, strides, ..], "torch._utils._rebuild_tensor_v2" | "torch._utils._rebuild_tensor_v3") =
        (arguments, &*function)
    else {
        return None;
    };
    let Value::Persistent(storage) = pickle.value(*storage) else { return None };
    let [_, class, key, ..] = pickle.items(*storage)? else { return None };
    let integers = |tuple: Id| pickle.items(tuple)?.iter().map(|item| pickle.int(*item)).collect::<Option<Vec<i64>>>();
    Some(Place {
        storage: pickle.name(*key)?,
        dtype: dtype(&pickle.global(*class)?),
        offset: pickle.int(*offset)?,
        sizes: integers(*sizes)?,
        strides: integers(*strides)?,
    })
}

/// The name of the function that makes an object, and its arguments.
fn call<'a>(pickle: &'a Pickle<'_>, id: Id) -> Option<(String, &'a [Id])> {
    let Value::Call(call) = pickle.value(id) else { return None };
    Some((pickle.global(call.function)?, pickle.items(call.arguments)?))
}

/// The number of a type of storage; 0 of others.
fn dtype(class: &str) -> i64 {
    match class.strip_prefix("torch.").and_then(|class| class.strip_suffix("Storage")).unwrap_or_default() {
        "Bool" => 12,
        "BFloat16" => 13,
        class => TYPES.iter().position(|name| *name == class).map_or(0, |at| at as i64 + 1),
    }
}
