//! Runs the real binary and compares everything it prints with what it printed when last reviewed.

mod binary;

use binary::{command, onebasin};
use insta::assert_snapshot;
use std::process::Stdio;

#[test]
fn an_mlp_as_text() {
    assert_snapshot!(onebasin("arch mlp --input 8x8x1 --classes 3 --hidden 32,16"), @r"
        exit code: 0
        ----- stdout -----
        tensor          shape  values  role
        hidden1.weight  64x32    2048  weight
        hidden1.bias    32         32  bias
        hidden2.weight  32x16     512  weight
        hidden2.bias    16         16  bias
        head.weight     16x3       48  weight
        head.bias       3           3  bias

        hidden layer  shape   units
        hidden1.out   1x1x32     32
        hidden2.out   1x1x16     16

        total                     value
        parameters                 2659
        hidden layers                 2
        hidden units                 48
        MFLOP per image, forward  0.005
    ");
}

#[test]
fn a_cnn_as_markdown() {
    assert_snapshot!(onebasin("arch cnn --input 8x8x1 --stack 16/2,max --markdown"), @r"
        exit code: 0
        ----- stdout -----
        | tensor       | shape    | values | role   |
        |--------------|----------|-------:|--------|
        | conv1.weight | 3x3x1x16 |    144 | weight |
        | conv1.bias   | 16       |     16 | bias   |
        | head.weight  | 64x10    |    640 | weight |
        | head.bias    | 10       |     10 | bias   |

        | hidden layer | shape  | units |
        |--------------|--------|------:|
        | conv1.out    | 4x4x16 |    16 |

        | total                    | value |
        |--------------------------|------:|
        | parameters               |   810 |
        | hidden layers            |     1 |
        | hidden units             |    16 |
        | MFLOP per image, forward | 0.006 |
    ");
}

#[test]
fn a_linear_model_as_json() {
    assert_snapshot!(onebasin("arch mlp --input 2x2x1 --classes 3 --hidden none --json"), @r#"
        exit code: 0
        ----- stdout -----
        {
          "arch": {
            "preset": "mlp",
            "input": "2x2x1",
            "classes": 3,
            "hidden": [],
            "activation": "relu"
          },
          "parameters": 15,
          "flops_per_image": 24,
          "tensors": [
            {
              "name": "head.weight",
              "shape": [
                4,
                3
              ],
              "values": 12,
              "role": "weight"
            },
            {
              "name": "head.bias",
              "shape": [
                3
              ],
              "values": 3,
              "role": "bias"
            }
          ],
          "hidden": []
        }
    "#);
}

#[test]
fn a_zero_width_is_an_error() {
    assert_snapshot!(onebasin("arch mlp --hidden 512,0"), @r"
        exit code: 2
        ----- stderr -----
        error: the number of units of `hidden2` is 0; it must be at least 1

        For more information, try '--help'.
    ");
}

#[test]
fn a_depth_that_does_not_exist_is_an_error() {
    assert_snapshot!(onebasin("arch resnet --depth 21"), @r"
        exit code: 2
        ----- stderr -----
        error: a resnet has 6n + 2 layers (8, 14, 20, ..., 1202), not 21

        For more information, try '--help'.
    ");
}

#[test]
fn a_pool_that_does_not_fit_is_an_error() {
    assert_snapshot!(onebasin("arch cnn --input 2x2x1"), @r"
        exit code: 2
        ----- stderr -----
        error: layer `pool2` does not fit its input of 1x1x32: a 2x2 pool needs at least 2x2; leave it out or give larger images

        For more information, try '--help'.
    ");
}

#[test]
fn an_unreadable_value_is_an_error() {
    assert_snapshot!(onebasin("arch mlp --input 28x28"), @r"
        exit code: 2
        ----- stderr -----
        error: invalid value '28x28' for '--input <SHAPE>': `28x28` is not height x width x channels, such as 28x28x1

        For more information, try '--help'.
    ");
    assert_snapshot!(onebasin("arch mlp --hidden 512,many"), @r"
        exit code: 2
        ----- stderr -----
        error: invalid value '512,many' for '--hidden <UNITS>': `many`: invalid digit found in string

        For more information, try '--help'.
    ");
    assert_snapshot!(onebasin("arch cnn --stack 32/3"), @r"
        exit code: 2
        ----- stderr -----
        error: invalid value '32/3' for '--stack <STAGES>': `32/3`: `32/3` is not a stage: channels (32), channels/stride (32/2), max or average

        For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_name_is_an_error() {
    assert_snapshot!(onebasin("arch mlp --activation gelu"), @r"
        exit code: 2
        ----- stderr -----
        error: invalid value 'gelu' for '--activation <NAME>'
          [possible values: relu, tanh]

          tip: a similar value exists: 'relu'

        For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_option_is_an_error() {
    assert_snapshot!(onebasin("arch mlp --hiden 512"), @r"
        exit code: 2
        ----- stderr -----
        error: unexpected argument '--hiden' found

          tip: a similar argument exists: '--hidden'

        Usage: onebasin arch mlp --hidden <UNITS>

        For more information, try '--help'.
    ");
}

#[test]
fn a_flag_of_another_name_is_told_its_new_one() {
    assert_snapshot!(onebasin("barrier a b --channel w2"), @r"
        exit code: 2
        ----- stderr -----
        error: unexpected argument '--channel' found

          tip: `--channel` is called --criteria (`onebasin plane`: --criterion) now

        Usage: onebasin barrier <A> <B> [C]...

        For more information, try '--help'.
    ");
    for (line, tip) in [
        ("align a b -o c --channel=w2", "`--channel` is called --criteria"),
        ("align a b -o c --leave-out-prior 0.02", "`--leave-out-prior` is called --exclude-prior now"),
        ("align a b -o c --solver best", "`--solver` is called --solvers now"),
        ("barrier a b --images 9", "`--images` is called --train-examples"),
        ("barrier a b --no-alignment", "`--no-alignment` is called --no-criteria now"),
        ("barrier a b --path natural", "`--path` is called --paths now"),
        ("barrier a b --split test", "`--split` is called --splits now"),
        ("compact a -o c --rank 3", "`--rank` is called --ranks now"),
        ("compact a -o c --to first", "`--to` is called --relabellings now"),
        ("plane a b --test-images 9", "`--test-images` is called --test-examples now"),
    ] {
        let said = onebasin(line);
        assert!(said.starts_with("exit code: 2\n") && said.contains(&format!("tip: {tip}")), "{line}: {said}");
    }
}

#[test]
fn two_formats_at_once_are_an_error() {
    assert_snapshot!(onebasin("arch mlp --markdown --json"), @r"
        exit code: 2
        ----- stderr -----
        error: the argument '--markdown' cannot be used with '--json'

        Usage: onebasin arch mlp --markdown

        For more information, try '--help'.
    ");
}

#[test]
fn the_version_is_that_of_the_package() {
    let expected = format!("onebasin {}", env!("CARGO_PKG_VERSION"));
    assert!(onebasin("--version").contains(&expected));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let (reader, writer) = std::io::pipe().expect("pipes are available");
    drop(reader);
    let child = command("arch resnet").stdout(writer).stderr(Stdio::piped()).spawn();
    let output = child.and_then(std::process::Child::wait_with_output).expect("the binary runs");
    assert!(output.status.success(), "{}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
