//! Which names of initializers look like those of parameters of modules, and which an exporter made up.

/// Whether a name looks like the path of a parameter or buffer of a module, such as `layer1.0.conv1.weight`.
///
/// Exporters name what they folded or copied themselves: `onnx::MatMul_45`, `val_12`, `/layer1/Constant_output_0`.
pub fn looks_like_parameter(name: &str) -> bool {
    let part =
        |part: &str| !part.is_empty() && part.chars().all(|char| char.is_alphanumeric() || char == '_' || char == '-');
    let made_up = |name: &str| {
        let numbered = |stem: &str| {
            name.strip_prefix(stem).is_some_and(|rest| rest.chars().all(|char| char.is_ascii_digit() || char == '_'))
        };
        let stems = [
            "val",
            "_val",
            "const",
            "_const",
            "Constant",
            "constant",
            "lifted_tensor",
            "tensor",
            "_tensor_constant",
            "arg",
        ];
        stems.into_iter().any(numbered)
            || ["c_lifted_tensor", "scalar_tensor_default", "_to_copy", "ortshared_", "anonymous"]
                .into_iter()
                .any(|stem| name.starts_with(stem))
            || name.chars().all(|char| char.is_ascii_digit())
    };
    name.split('.').all(part) && !made_up(name)
}

#[cfg(test)]
mod tests {
    use super::looks_like_parameter;

    #[test]
    fn names_of_modules_are_told_from_those_of_exporters() {
        for name in ["weight", "layer1.0.conv1.weight", "blocks.3.attn.qkv.bias", "class_token", "bn.running_mean"] {
            assert!(looks_like_parameter(name), "{name}");
        }
        let others = ["onnx::MatMul_45", "val_12", "/a/Constant_output_0", "34", "", "a..b", "_val_3", "const", "val"];
        for name in others {
            assert!(!looks_like_parameter(name), "{name}");
        }
    }
}
