//! After the first call a network allocates nothing more, on one thread or several; nor do Gaussian draws.

use onebasin::arch::{Activation, Arch, Cnn, Mlp, Normalisation, Preset, ResNet, Shortcut};
use onebasin::model::Batch;
use onebasin::net::{Net, Precision};
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::threads::pool;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what the whole process allocates.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test in this file, so that no other allocates at the same time.
#[test]
fn nothing_is_allocated_after_the_first_call() {
    let input = "12x12x1".parse().unwrap();
    let mlp = Mlp { input, classes: 10, hidden: vec![40, 30], activation: Activation::Tanh };
    let stack = ["8", "max", "8/2"].map(|stage| stage.parse().unwrap()).to_vec();
    let cnn = Cnn { input, classes: 10, stack, hidden: vec![20], activation: Activation::Relu };
    let mut presets: Vec<Preset> = vec![mlp.into(), cnn.into()];
    for normalisation in [Normalisation::None, Normalisation::Layer, Normalisation::Frn] {
        let shortcut = Shortcut::Padded;
        presets.push(ResNet { input, classes: 10, depth: 8, width: 1, normalisation, shortcut }.into());
    }
    for preset in presets {
        let arch = Arch::new(preset).unwrap();
        for (threads, precision) in
            [(1, Precision::F32), (2, Precision::F32), (1, Precision::Bf16), (2, Precision::Bf16)]
        {
            let mut net = Net::new(&arch, &pool(threads).unwrap()).unwrap().with_precision(precision);
            let params = arch.initialise(0);
            let mut gradient = Params::zeros(arch.layout());
            let count = 300;
            let (images, labels) = (vec![0.5; count * arch.input().len()], vec![3; count]);
            let mut logits = vec![0.0; count * 10];
            let batch = Batch { inputs: &images, labels: &labels };
            let mut everything = || {
                net.logits(&params, &images, &mut logits).unwrap();
                net.gradient(&params, batch, &mut gradient).unwrap();
                net.log_likelihood(&params, batch).unwrap()
            };
            everything();
            assert_eq!(allocated(everything), 0, "{:?} on {threads} threads, {precision}", arch.preset());
        }
    }
    let mut noise = vec![0.0; 1000];
    let stream = Stream::new(0, "noise", 0);
    stream.fill_normal(&mut noise);
    assert_eq!(allocated(|| stream.fill_normal(&mut noise)), 0, "a Gaussian draw");
}

/// How often a call allocates. The test harness has threads of its own: what every one of several calls allocates is ours.
fn allocated<T>(mut call: impl FnMut() -> T) -> usize {
    let counts = (0..3).map(|_| {
        let before = ALLOCATIONS.load(Ordering::SeqCst);
        call();
        ALLOCATIONS.load(Ordering::SeqCst) - before
    });
    counts.min().expect("three calls")
}
