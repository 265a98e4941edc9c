//! Symmetries of small networks whose groups are known.

use onebasin_graph::symmetry::{Segment, Symmetry, Tie};
use onebasin_graph::{Builder, Convolution, Result, ValueId};

/// Name and number of units of all groups, with the group that they come in blocks of.
fn groups(symmetry: &Symmetry) -> Vec<(String, usize, Option<String>)> {
    let parent = |within: usize| symmetry.groups[within].name.clone();
    symmetry.groups.iter().map(|group| (group.name.clone(), group.units, group.within.map(parent))).collect()
}

fn plain(name: &str, units: usize) -> (String, usize, Option<String>) {
    (name.to_owned(), units, None)
}

fn within(name: &str, units: usize, parent: &str) -> (String, usize, Option<String>) {
    (name.to_owned(), units, Some(parent.to_owned()))
}

/// The axes of a tensor in short: the name of the group or `-`, with `blocks*` before and `*repeat` behind it where they are not 1.
fn axes(symmetry: &Symmetry, tensor: &str) -> String {
    let tensor = symmetry.tensors.iter().find(|own| own.name == tensor).expect("the tensor is there");
    let segment = |segment: &Segment| {
        let units =
            segment.group.map_or_else(|| format!("-{}", segment.units), |group| symmetry.groups[group].name.clone());
        let before = if segment.blocks > 1 { format!("{}*", segment.blocks) } else { String::new() };
        let behind = if segment.repeat > 1 { format!("*{}", segment.repeat) } else { String::new() };
        format!("{before}{units}{behind}")
    };
    let axis = |segments: &Vec<Segment>| segments.iter().map(segment).collect::<Vec<_>>().join("+");
    tensor.axes.iter().map(axis).collect::<Vec<_>>().join(" ")
}

fn of(build: impl FnOnce(&mut Builder) -> Result<ValueId>) -> Symmetry {
    let mut builder = Builder::default();
    let output = build(&mut builder).expect("the network is sound");
    Symmetry::of(&builder.finish(vec![output]))
}

fn linear(b: &mut Builder, name: &str, x: ValueId, units: usize) -> Result<ValueId> {
    let inputs = *b.shape(x).last().expect("there are features");
    let weight = b.tensor(&format!("{name}.weight"), &[units, inputs])?;
    let bias = b.tensor(&format!("{name}.bias"), &[units])?;
    b.at(format!("Linear of {name}.weight"));
    b.linear(x, weight, Some(bias))
}

fn conv(b: &mut Builder, name: &str, x: ValueId, units: usize, groups: usize) -> Result<ValueId> {
    let shape = b.shape(x).to_vec();
    let weight = b.tensor(&format!("{name}.weight"), &[units, shape[1] / groups, 3, 3])?;
    b.at(format!("Conv of {name}.weight"));
    b.convolution(x, weight, None, Convolution { groups, transposed: false, spatial: &shape[2..] })
}

#[test]
fn hidden_layers_are_permuted_and_inputs_and_outputs_are_not() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 8])?;
        let x = linear(b, "first", x, 6)?;
        let x = b.elementwise(&[x])?;
        let x = linear(b, "second", x, 5)?;
        linear(b, "last", x, 3)
    });
    assert_eq!(groups(&symmetry), [plain("first", 6), plain("second", 5)]);
    assert_eq!(axes(&symmetry, "first.weight"), "first -8");
    assert_eq!(axes(&symmetry, "second.weight"), "second first");
    assert_eq!(axes(&symmetry, "second.bias"), "second");
    assert_eq!(axes(&symmetry, "last.weight"), "-3 second");
    let reason = symmetry.fixed.iter().find(|fixed| fixed.tensor == "last.weight").expect("classes are fixed");
    assert_eq!((reason.axis, reason.units, &*reason.reason), (0, 3, "the order of outputs is given"));
    assert!((symmetry.share() - 11.0 / 14.0).abs() < 1e-12);
}

#[test]
fn a_flattened_image_has_positions_of_each_channel() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 4, 4])?;
        let x = conv(b, "conv", x, 5, 1)?;
        let x = b.reshape(x, &[1, 80])?;
        linear(b, "last", x, 2)
    });
    assert_eq!(axes(&symmetry, "last.weight"), "-2 conv*16");
    assert_eq!(axes(&symmetry, "conv.weight"), "conv -3 -3 -3");
}

#[test]
fn residual_streams_are_one_group_and_padded_channels_another() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 4, 4])?;
        let x = conv(b, "stem", x, 4, 1)?;
        let y = conv(b, "a", x, 7, 1)?;
        let y = conv(b, "b", y, 4, 1)?;
        let x = b.elementwise(&[x, y])?;
        // Shortcut of option A: zeros in place of a projection.
        let y = conv(b, "c", x, 8, 1)?;
        let x = b.pad(x, 1, 2, 2)?;
        let x = b.elementwise(&[x, y])?;
        let x = b.reduce(x, &[2, 3], false)?;
        linear(b, "last", x, 2)
    });
    assert_eq!(groups(&symmetry), [plain("stem", 4), plain("a", 7), plain("c", 2), plain("c#2", 2)]);
    assert_eq!(axes(&symmetry, "b.weight"), "stem a -3 -3");
    assert_eq!(axes(&symmetry, "c.weight"), "c+stem+c#2 stem -3 -3");
    assert_eq!(axes(&symmetry, "last.weight"), "-2 c+stem+c#2");
}

#[test]
fn concatenated_channels_keep_their_groups_also_when_flattened() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 2, 2])?;
        let first = conv(b, "first", x, 4, 1)?;
        let second = conv(b, "second", first, 5, 1)?;
        let x = b.concat(&[first, second], 1)?;
        let x = b.reshape(x, &[1, 36])?;
        linear(b, "last", x, 2)
    });
    assert_eq!(axes(&symmetry, "last.weight"), "-2 first*4+second*4");
    assert_eq!(axes(&symmetry, "second.weight"), "second first -3 -3");
}

#[test]
fn depthwise_convolutions_follow_their_channels_and_grouped_ones_their_groups() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 2, 2])?;
        let x = conv(b, "expand", x, 6, 1)?;
        let x = conv(b, "depthwise", x, 6, 6)?;
        let x = conv(b, "into", x, 12, 1)?;
        let x = conv(b, "grouped", x, 8, 4)?;
        let x = b.reduce(x, &[2, 3], false)?;
        linear(b, "last", x, 2)
    });
    assert_eq!(axes(&symmetry, "depthwise.weight"), "expand -1 -3 -3");
    assert_eq!(axes(&symmetry, "into.weight"), "into.blocks*3 expand -3 -3");
    assert_eq!(axes(&symmetry, "grouped.weight"), "grouped -3 -3 -3");
    assert_eq!(axes(&symmetry, "last.weight"), "-2 grouped");
    assert!(groups(&symmetry).contains(&within("grouped", 8, "into.blocks")));
}

#[test]
fn groups_of_a_normalisation_are_blocks() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 2, 2])?;
        let x = conv(b, "conv", x, 12, 1)?;
        let scale = b.tensor("norm.weight", &[12])?;
        let x = b.normalise_groups(x, 4, &[scale])?;
        let x = b.reduce(x, &[2, 3], false)?;
        linear(b, "last", x, 2)
    });
    assert_eq!(groups(&symmetry), [plain("conv.blocks", 4), within("conv", 12, "conv.blocks")]);
    assert_eq!(axes(&symmetry, "norm.weight"), "conv");
    assert_eq!(axes(&symmetry, "last.weight"), "-2 conv");
}

/// Self-attention over (1, 5, width) with query, key and value of 3 heads of 4 dimensions.
fn attention(
    b: &mut Builder,
    x: ValueId,
    change: impl FnOnce(&mut Builder, ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let width = b.shape(x)[2];
    let mut heads = Vec::new();
    for name in ["q", "k", "v"] {
        let y = linear(b, name, x, 12)?;
        let y = b.reshape(y, &[1, 5, 3, 4])?;
        heads.push(b.swap_axes(y, 1, 2)?);
    }
    heads[0] = change(b, heads[0])?;
    let y = b.attention([heads[0], heads[1], heads[2]], None, false)?;
    let y = b.swap_axes(y, 1, 2)?;
    let y = b.reshape(y, &[1, 5, 12])?;
    linear(b, "out", y, width)
}

/// One block of a transformer around an attention.
fn transformer(change: impl FnOnce(&mut Builder, ValueId) -> Result<ValueId>) -> Symmetry {
    of(|b| {
        let x = b.input("x", &[1, 5, 7])?;
        let x = linear(b, "embed", x, 6)?;
        let positions = b.tensor("positions", &[1, 5, 6])?;
        let x = b.elementwise(&[x, positions])?;
        let scale = b.tensor("norm.weight", &[6])?;
        let y = b.normalise_last(x, &[scale])?;
        let y = attention(b, y, change)?;
        let x = b.elementwise(&[x, y])?;
        let y = linear(b, "up", x, 9)?;
        let y = linear(b, "down", y, 6)?;
        let x = b.elementwise(&[x, y])?;
        linear(b, "last", x, 2)
    })
}

#[test]
fn heads_are_permuted_and_dimensions_within_each_head() {
    let symmetry = transformer(|_, query| Ok(query));
    let expected = [
        plain("embed", 6),
        plain("q.blocks", 3),
        within("q", 12, "q.blocks"),
        within("v", 12, "q.blocks"),
        plain("up", 9),
    ];
    assert_eq!(groups(&symmetry), expected);
    assert_eq!(axes(&symmetry, "positions"), "-1 -5 embed");
    assert_eq!(axes(&symmetry, "q.weight"), "q embed");
    assert_eq!(axes(&symmetry, "k.bias"), "q");
    assert_eq!(axes(&symmetry, "out.weight"), "embed v");
    assert_eq!(axes(&symmetry, "down.weight"), "embed up");
}

/// Queries, keys and values of one layer, which are cut after it was reshaped.
#[test]
fn parts_of_one_layer_have_units_of_their_own_however_they_are_cut() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 5, 7])?;
        let y = linear(b, "qkv", x, 36)?;
        let y = b.reshape(y, &[1, 5, 3, 3, 4])?;
        let y = b.transpose(y, &[2, 0, 3, 1, 4])?;
        let [q, k, v] = [0, 1, 2].map(|part| b.select(y, 0, part));
        let y = b.attention([q?, k?, v?], None, false)?;
        let y = b.swap_axes(y, 1, 2)?;
        let y = b.reshape(y, &[1, 5, 12])?;
        linear(b, "out", y, 2)
    });
    let expected = [plain("qkv.blocks", 3), within("qkv", 12, "qkv.blocks"), within("qkv#2", 12, "qkv.blocks")];
    assert_eq!(groups(&symmetry), expected);
    assert_eq!(axes(&symmetry, "qkv.weight"), "qkv+qkv+qkv#2 -7");
    assert_eq!(axes(&symmetry, "out.weight"), "-2 qkv#2");
}

/// Of 2 heads of keys and values, each for 3 heads of queries, the queries' heads are permuted, whatever the order of the tensors is.
#[test]
fn heads_that_share_keys_are_permuted_among_themselves_in_any_order_of_tensors() {
    for out_first in [false, true] {
        let symmetry = of(|b| {
            let x = b.input("x", &[1, 5, 7])?;
            let first = if out_first { Some(b.tensor("out.weight", &[7, 24])?) } else { None };
            let mut heads = Vec::new();
            for (name, count) in [("q", 6), ("k", 2), ("v", 2)] {
                let y = linear(b, name, x, 4 * count)?;
                let y = b.reshape(y, &[1, 5, count, 4])?;
                heads.push(b.swap_axes(y, 1, 2)?);
            }
            // Positions differ along the dimensions of queries and keys.
            let rotation = b.constant("rotation", &[4], Some(vec![1.0, 2.0, 3.0, 4.0]))?;
            for turned in &mut heads[..2] {
                *turned = b.elementwise(&[*turned, rotation])?;
            }
            let y = b.attention([heads[0], heads[1], heads[2]], None, false)?;
            let y = b.swap_axes(y, 1, 2)?;
            let y = b.reshape(y, &[1, 5, 24])?;
            let weight = first.map_or_else(|| b.tensor("out.weight", &[7, 24]), Ok)?;
            b.linear(y, weight, None)
        });
        assert_eq!(groups(&symmetry), [plain("q.blocks", 2), within("q", 6, "q.blocks")], "{out_first}");
        assert_eq!(axes(&symmetry, "q.weight"), "q*4 -7");
        assert_eq!(axes(&symmetry, "v.weight"), "q.blocks*4 -7");
        assert_eq!(axes(&symmetry, "out.weight"), "-7 q*4");
    }
}

#[test]
fn dimensions_stay_fixed_where_they_differ_and_heads_do_not() {
    // As a rotary embedding: each dimension is multiplied by a number of its own.
    let symmetry = transformer(|b, query| {
        let angles = b.constant("angles", &[4], Some(vec![1.0, 2.0, 3.0, 4.0]))?;
        b.elementwise(&[query, angles])
    });
    assert_eq!(axes(&symmetry, "q.weight"), "q.blocks*4 embed");
    assert_eq!(axes(&symmetry, "v.weight"), "v embed");
}

#[test]
fn dimensions_that_heads_share_are_not_permuted_head_by_head() {
    // A scale of each dimension that all heads share: a permutation of dimensions would have to be the same in all heads.
    let shared = transformer(|b, query| {
        let scale = b.tensor("q.norm.weight", &[4])?;
        b.normalise_last(query, &[scale])
    });
    assert_eq!(axes(&shared, "q.weight"), "q.blocks*4 embed");
    // A softmax over heads compares the same dimension of different heads.
    let mixed = transformer(|b, query| b.mix(query, &[1]));
    assert_eq!(axes(&mixed, "q.weight"), "q.blocks*4 embed");
    // One over dimensions does not.
    let within_heads = transformer(|b, query| b.mix(query, &[3]));
    assert_eq!(axes(&within_heads, "q.weight"), "q embed");
}

#[test]
fn recurrent_weights_have_their_units_on_both_axes() {
    let symmetry = of(|b| {
        let x = b.input("x", &[5, 1, 3])?;
        let (input, state) = (b.tensor("ih", &[16, 3])?, b.tensor("hh", &[16, 4])?);
        let bias = b.tensor("b", &[16])?;
        b.at("LSTM of ih");
        let last = b.recurrent(x, [input, state], &[bias], &[], 4, 2)?[1];
        linear(b, "last", last, 2)
    });
    assert_eq!(groups(&symmetry), [plain("ih", 4)]);
    assert_eq!(axes(&symmetry, "hh"), "4*ih ih");
    assert_eq!(axes(&symmetry, "ih"), "4*ih -3");
    assert_eq!(axes(&symmetry, "b"), "4*ih");
    assert_eq!(axes(&symmetry, "last.weight"), "-2 ih");
}

#[test]
fn shuffled_channels_are_products() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 3, 2, 2])?;
        let x = conv(b, "conv", x, 6, 1)?;
        let x = b.reshape(x, &[1, 2, 3, 2, 2])?;
        let x = b.swap_axes(x, 1, 2)?;
        let x = b.reshape(x, &[1, 6, 2, 2])?;
        let x = b.reduce(x, &[2, 3], false)?;
        linear(b, "last", x, 2)
    });
    // (2, 3) on one side and (3, 2) on the other: only one of both factors can be written as units, blocks and repeats.
    assert_eq!(axes(&symmetry, "conv.weight"), "conv*3 -3 -3 -3");
    assert_eq!(axes(&symmetry, "last.weight"), "-2 3*conv");
}

#[test]
fn tied_tensors_have_one_group() {
    let symmetry = of(|b| {
        let ids = b.input("ids", &[1, 5])?;
        let table = b.tensor("table", &[11, 6])?;
        let x = b.embedding(table, ids)?;
        let y = linear(b, "up", x, 9)?;
        let y = linear(b, "down", y, 6)?;
        let x = b.elementwise(&[x, y])?;
        b.linear(x, table, None)
    });
    assert_eq!(groups(&symmetry), [plain("up", 9), plain("down", 6)]);
    assert_eq!(axes(&symmetry, "table"), "-11 down");
}

#[test]
fn what_is_not_known_fixes_what_it_reads() {
    let symmetry = of(|b| {
        let x = b.input("x", &[1, 8])?;
        let x = linear(b, "first", x, 6)?;
        b.at("Mystery");
        let x = b.opaque(&[x], &[vec![1, 6]])?[0];
        let x = linear(b, "second", x, 5)?;
        linear(b, "last", x, 3)
    });
    assert_eq!(groups(&symmetry), [plain("second", 5)]);
    let reason = symmetry.fixed.iter().find(|fixed| fixed.tensor == "first.weight" && fixed.axis == 0);
    assert_eq!(reason.expect("it is fixed").reason, "Mystery may depend on its order");
}

#[test]
fn tensors_that_are_one_tensor_of_the_checkpoint_have_one_group() {
    let mut b = Builder::default();
    let build = |b: &mut Builder| {
        let x = b.input("x", &[1, 4])?;
        let x = linear(b, "a", x, 6)?;
        let x = linear(b, "b", x, 6)?;
        linear(b, "c", x, 3)
    };
    let output = build(&mut b).expect("the network is sound");
    let graph = b.finish(vec![output]);
    let tie = |transposed| Tie { first: "b.weight".to_owned(), second: "b.weight".to_owned(), transposed };
    assert_eq!(Symmetry::of_tied(&graph, &[tie(false)]).groups.len(), 2);
    // A symmetric matrix has the same order on both sides.
    let symmetry = Symmetry::of_tied(&graph, &[tie(true)]);
    assert_eq!(groups(&symmetry), [plain("a", 6)]);
    assert_eq!(axes(&symmetry, "b.weight"), "a a");
}
