//! Presets build the networks they name, survive serialisation, and refuse what does not fit.

use onebasin::arch::{Activation, Arch, Cnn, Mlp, Normalisation, Preset, ResNet, Shape, Shortcut, Stage};

fn mlp(input: &str, hidden: &[usize]) -> Mlp {
    let input = input.parse().unwrap();
    Mlp { input, classes: 10, hidden: hidden.to_vec(), activation: Activation::Relu }
}

fn cnn(input: &str, stack: &[&str]) -> Cnn {
    Cnn {
        input: input.parse().unwrap(),
        classes: 10,
        stack: stack.iter().map(|stage| stage.parse().unwrap()).collect(),
        hidden: vec![],
        activation: Activation::Relu,
    }
}

fn resnet(depth: usize, width: usize) -> ResNet {
    ResNet {
        input: "32x32x3".parse().unwrap(),
        classes: 10,
        depth,
        width,
        normalisation: Normalisation::None,
        shortcut: Shortcut::Projection,
    }
}

fn refused(preset: impl Into<Preset>) -> String {
    Arch::new(preset).unwrap_err().to_string()
}

#[test]
fn parameters_are_counted_as_in_the_literature() {
    // 784-512-512-512-10 and 784-512-10: the networks of Rossi et al. and of Xiao et al.
    assert_eq!(Arch::new(mlp("28x28x1", &[512; 3])).unwrap().layout().len(), 932_362);
    assert_eq!(Arch::new(mlp("28x28x1", &[512])).unwrap().layout().len(), 407_050);
    // He et al. (2016) give 0.27 million for ResNet20 with padded shortcuts and 0.85 for ResNet56.
    for (depth, millions) in [(20, 0.27), (56, 0.85)] {
        let arch = Arch::new(ResNet { shortcut: Shortcut::Padded, ..resnet(depth, 1) }).unwrap();
        assert!((arch.layout().len() as f64 / 1e6 - millions).abs() < 0.01, "{}", arch.layout().len());
    }
}

#[test]
fn twenty_layers_have_twenty_layers() {
    let arch = Arch::new(resnet(20, 1)).unwrap();
    let weights = arch.layout().tensors().iter().filter(|tensor| tensor.name().ends_with(".weight"));
    assert_eq!(weights.filter(|tensor| !tensor.name().contains("shortcut")).count(), 20);
    assert_eq!(arch.hidden().count(), 19);
    // 10.38 GFLOP in the 3x3 convolutions of a batch of 128, and a little in the shortcuts and the head.
    let flops = arch.flops() as f64 * 128.0 / 1e9;
    assert!((10.38..10.6).contains(&flops), "{flops}");
}

#[test]
fn shapes_shrink_as_they_should() {
    for (input, last) in
        [("32x32x3", (8, 8)), ("28x28x1", (7, 7)), ("8x8x1", (2, 2)), ("5x9x4", (2, 3)), ("1x1x1", (1, 1))]
    {
        let arch = Arch::new(ResNet { input: input.parse().unwrap(), ..resnet(8, 1) }).unwrap();
        let (_, node) = arch.hidden().last().unwrap();
        assert_eq!((node.shape.height, node.shape.width), last, "{input}");
    }
    let arch = Arch::new(cnn("9x7x3", &["5", "max", "18/2"])).unwrap();
    assert_eq!(arch.layout().tensor("head.weight").unwrap().shape(), [2 * 2 * 18, 10]);
}

#[test]
fn sizes_of_zero_are_refused() {
    assert_eq!(refused(mlp("28x28x1", &[512, 0])), "the number of units of `hidden2` is 0; it must be at least 1");
    assert_eq!(refused(mlp("28x0x1", &[5])), "the width of `input` is 0; it must be at least 1");
    assert_eq!(refused(cnn("8x8x1", &["0"])), "the number of units of `conv1` is 0; it must be at least 1");
    assert_eq!(refused(resnet(20, 0)), "the width multiplier of the resnet is 0; it must be at least 1");
}

#[test]
fn what_does_not_fit_is_refused() {
    assert_eq!(
        refused(cnn("5x8x1", &["4", "max", "max", "max"])),
        "layer `pool3` does not fit its input of 1x2x4: a 2x2 pool needs at least 2x2; leave it out or give larger images"
    );
    let stack = vec![Stage::Conv { channels: 4, stride: 3 }];
    assert_eq!(refused(Cnn { stack, ..cnn("8x8x1", &[]) }), "the stride of `conv1` is 3; it must be 1 or 2");
    for depth in [0, 2, 7, 21] {
        let expected = format!("a resnet has 6n + 2 layers (8, 14, 20, ..., 1202), not {depth}");
        assert_eq!(refused(resnet(depth, 1)), expected);
    }
    assert!(refused(resnet(600_000_002, 1)).contains("not 600000002"));
    assert_eq!(refused(Mlp { classes: 1, ..mlp("8x8x1", &[]) }), "a classifier needs at least 2 classes, not 1");
}

#[test]
fn giants_are_refused_rather_than_overflowing() {
    for preset in [
        Preset::from(mlp("28x28x1", &[usize::MAX])),
        mlp("100000x100000x100000", &[1]).into(),
        cnn("32x32x3", &["1000000000"]).into(),
        resnet(20, usize::MAX / 2).into(),
    ] {
        let message = refused(preset.clone());
        assert!(message.contains("too large"), "{preset:?}: {message}");
    }
}

#[test]
fn texts_that_are_no_shape_or_stage_are_refused() {
    for text in ["28x28", "28x28x1x1", "axbxc", "", "-1x2x3", "28 x 28"] {
        let error = text.parse::<Shape>().unwrap_err().to_string();
        assert_eq!(error, format!("`{text}` is not height x width x channels, such as 28x28x1"));
    }
    for text in ["", "32/3", "minimum", "/2", "32/"] {
        let error = text.parse::<Stage>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{text}` is not a stage")), "{error}");
    }
}

#[test]
fn presets_survive_json() {
    let presets: [Preset; 3] =
        [mlp("28x28x1", &[3]).into(), cnn("8x8x1", &["4/2", "average"]).into(), resnet(14, 2).into()];
    for preset in presets {
        let text = serde_json::to_string(&preset).unwrap();
        assert_eq!(serde_json::from_str::<Preset>(&text).unwrap(), preset, "{text}");
    }
    let error = serde_json::from_str::<Preset>(r#"{"preset":"mlp","input":"8x8x1","classes":10,"hiden":[3]}"#);
    assert!(error.unwrap_err().to_string().contains("unknown field `hiden`"));
}

#[test]
fn initial_values_follow_he_and_depend_on_seed_and_name_only() {
    let arch = Arch::new(mlp("28x28x1", &[512, 512])).unwrap();
    let params = arch.initialise(1);
    let std = |name: &str| {
        let values = params.view(name).unwrap();
        (values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    assert!((std("hidden1.weight") / (2.0f64 / 784.0).sqrt() - 1.0).abs() < 0.01);
    assert!((std("hidden2.weight") / (2.0f64 / 512.0).sqrt() - 1.0).abs() < 0.01);
    assert_eq!(std("hidden1.bias"), 0.0);
    assert!(params == arch.initialise(1) && params != arch.initialise(2));
    let deeper = Arch::new(mlp("28x28x1", &[512, 512, 7])).unwrap().initialise(1);
    assert_eq!(deeper.view("hidden2.weight").unwrap(), params.view("hidden2.weight").unwrap());
    assert_ne!(params.view("hidden1.weight").unwrap()[..10], params.view("hidden2.weight").unwrap()[..10]);
    let resnet = Arch::new(ResNet { normalisation: Normalisation::Frn, ..resnet(8, 1) }).unwrap();
    assert!(resnet.initialise(1).view("stem.norm.gamma").unwrap().iter().all(|value| *value == 1.0));
}
