//! Attention, and whole layers of transformers.

use super::Table;
use crate::build::Builder;
use crate::error::Result;
use crate::graph::ValueId;
use crate::pt2::call::{Call, Given};

pub(super) const TABLE: Table = &[
    ("_native_multi_head_attention", multi_head),
    ("_scaled_dot_product_attention_math", attention),
    ("_scaled_dot_product_cudnn_attention", attention),
    ("_scaled_dot_product_efficient_attention", attention),
    ("_scaled_dot_product_flash_attention", attention),
    ("_scaled_dot_product_flash_attention_for_cpu", attention),
    ("_scaled_dot_product_fused_attention_overrideable", attention),
    ("_transformer_encoder_layer_fwd", encoder_layer),
    ("scaled_dot_product_attention", attention),
];

fn attention(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let parts = [call.tensor("query")?, call.tensor("key")?, call.tensor("value")?];
    let mask = match call.optional("attn_mask")? {
        Some(mask) => Some(mask),
        None => call.optional("attn_bias")?,
    };
    let causal = call.truth("is_causal")?;
    let [q, k] = [parts[0], parts[1]].map(|part| builder.shape(part).to_vec());
    let heads = q.len().wrapping_sub(3);
    match (q.get(heads), k.get(heads)) {
        (Some(all), Some(shared)) if all != shared && mask.is_some() => grouped(builder, parts, mask, causal, heads),
        _ => Ok(vec![builder.attention(parts, mask, causal)?]),
    }
}

/// Several neighbouring heads of the query share a key and a value, and there is a mask.
fn grouped(
    builder: &mut Builder,
    [query, key, value]: [ValueId; 3],
    mask: Option<ValueId>,
    causal: bool,
    at: usize,
) -> Result<Vec<ValueId>> {
    let [q, k] = [query, key].map(|part| builder.shape(part).to_vec());
    let (heads, groups) = (q[at], k[at]);
    if groups == 0 || !heads.is_multiple_of(groups) {
        return Err(builder.error(format!("{heads} heads do not share {groups} keys and values")));
    }
    let each = heads / groups;
    let with = |shape: &[usize], groups: usize, each: usize| [&shape[..at], &[groups, each], &shape[at + 1..]].concat();
    let query = builder.reshape(query, &with(&q, groups, each))?;
    let mut shared = Vec::new();
    for part in [key, value] {
        let shape = builder.shape(part).to_vec();
        if shape.get(at) != Some(&groups) {
            return Err(builder.error(format!("{groups} keys do not fit values {shape:?}")));
        }
        let single = builder.reshape(part, &with(&shape, groups, 1))?;
        shared.push(builder.broadcast(&[single], &with(&shape, groups, each))?);
    }
    let mask = match mask {
        Some(mask) if builder.shape(mask).len() == q.len() => {
            let shape = builder.shape(mask).to_vec();
            let split = if shape[at] == 1 { with(&shape, 1, 1) } else { with(&shape, groups, each) };
            Some(builder.reshape(mask, &split)?)
        }
        Some(mask) if builder.shape(mask).len() == 3 => return Err(builder.error(format!("a mask {:?} of shared heads", builder.shape(mask)))),
        mask => mask,
    };
    let result = builder.attention([query, shared[0], shared[1]], mask, causal)?;
    let last = builder.shape(result).last().copied().unwrap_or(1);
    Ok(vec![builder.reshape(result, &[&q[..q.len() - 1], &[last]].concat())?])
}

/// Attention of (example, position, feature) with weights of queries, keys and values (3 · feature, feature) in one.
fn multi_head_of(builder: &mut Builder, call: &Call, parts: [ValueId; 3], heads: usize) -> Result<ValueId> {
    if matches!(call.given("mask"), Some(Given::Tensor(_))) {
        return Err(builder.error("attention with a mask in one operator"));
    }
    let (weight, bias) = (call.tensor("qkv_weight")?, call.optional("qkv_bias")?);
    let mut projected = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let shape = builder.shape(part).to_vec();
        let [examples, positions, features] = shape[..] else { return Err(builder.error(format!("attention of {shape:?}"))) };
        if heads == 0 || !features.is_multiple_of(heads) {
            return Err(builder.error(format!("{heads} heads of {features} features")));
        }
        let own = builder.slice(weight, 0, at * features, features)?;
        let bias = bias.map(|bias| builder.slice(bias, 0, at * features, features)).transpose()?;
        let value = builder.linear(part, own, bias)?;
        let value = builder.reshape(value, &[examples, positions, heads, features / heads])?;
        projected.push(builder.swap_axes(value, 1, 2)?);
    }
    let value = builder.attention([projected[0], projected[1], projected[2]], None, false)?;
    let value = builder.swap_axes(value, 1, 2)?;
    let shape = builder.shape(parts[0]).to_vec();
    let value = builder.reshape(value, &shape)?;
    builder.linear(value, call.tensor("proj_weight")?, call.optional("proj_bias")?)
}

fn multi_head(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let parts = [call.tensor("query")?, call.tensor("key")?, call.tensor("value")?];
    Ok(vec![multi_head_of(builder, call, parts, call.size("num_head", 0)?)?])
}

fn encoder_layer(builder: &mut Builder, call: &Call) -> Result<Vec<ValueId>> {
    let (source, first) = (call.tensor("src")?, call.truth("norm_first")?);
    let norms = [["norm_weight_1", "norm_bias_1"], ["norm_weight_2", "norm_bias_2"]].map(|names| call.some(&names));
    let [one, two] = norms;
    let (one, two) = (one?, two?);
    let inner = if first { builder.normalise_last(source, &one)? } else { source };
    let attended = multi_head_of(builder, call, [inner; 3], call.size("num_heads", 0)?)?;
    let sum = builder.elementwise(&[source, attended])?;
    let middle = if first { sum } else { builder.normalise_last(sum, &one)? };
    let inner = if first { builder.normalise_last(middle, &two)? } else { middle };
    let hidden = builder.linear(inner, call.tensor("ffn_weight_1")?, call.optional("ffn_bias_1")?)?;
    let hidden = builder.elementwise(&[hidden])?;
    let hidden = builder.linear(hidden, call.tensor("ffn_weight_2")?, call.optional("ffn_bias_2")?)?;
    let sum = builder.elementwise(&[middle, hidden])?;
    Ok(vec![if first { sum } else { builder.normalise_last(sum, &two)? }])
}
