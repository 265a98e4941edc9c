//! After the first call a network allocates nothing more, on one thread or several.

use onebasin::arch::Activation;
use onebasin::arch::Arch;
use onebasin::arch::Cnn;
use onebasin::arch::Mlp;
use onebasin::arch::Normalisation;
use onebasin::arch::Preset;
use onebasin::arch::ResNet;
use onebasin::arch::Shortcut;
use onebasin::net::Batch;
use onebasin::net::Net;
use onebasin::params::Params;
use std::alloc::GlobalAlloc;
use std::alloc::Layout;
use std::alloc::System;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

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
        for threads in [1, 2] {
            let mut net = Net::new(&arch, threads).unwrap();
            let params = arch.initialise(0);
            let mut gradient = Params::zeros(arch.layout());
            let count = 300;
            let (images, labels) = (vec![0.5; count * arch.input().len()], vec![3; count]);
            let mut logits = vec![0.0; count * 10];
            let batch = Batch { images: &images, labels: &labels };
            let mut everything = || {
                net.logits(&params, &images, &mut logits).unwrap();
                net.gradient(&params, batch, &mut gradient).unwrap();
                net.log_likelihood(&params, batch).unwrap()
            };
            everything();
            // The test harness has threads of its own: what every one of several calls allocates is ours.
            let allocated = (0..3).map(|_| {
                let before = ALLOCATIONS.load(Ordering::SeqCst);
                everything();
                ALLOCATIONS.load(Ordering::SeqCst) - before
            });
            assert_eq!(allocated.min(), Some(0), "{:?} on {threads} threads", arch.preset());
        }
    }
}
