//! Whether two points are the same function: their logits on random images.

use onebasin::error::Error;
use onebasin::net::Net;
use onebasin::params::Params;
use onebasin::rng::Stream;
use onebasin::symmetry::relative_change;

/// Random images on which the function must stay what it was.
const IMAGES: usize = 64;

/// A network and what it is shown.
#[derive(Debug)]
pub(super) struct Comparison {
    net: Net,
    images: Vec<f32>,
}

impl Comparison {
    pub(super) fn new(net: Net, seed: u64) -> Self {
        let mut images = vec![0.0; IMAGES * net.arch().input().len()];
        Stream::new(seed, "align/images", 0).fill_normal(&mut images);
        Self { net, images }
    }

    /// The largest change of a logit, relative to the largest logit.
    pub(super) fn change(&mut self, before: &Params, after: &Params) -> Result<f64, Error> {
        let before = self.logits(before)?;
        Ok(relative_change(&before, &self.logits(after)?))
    }

    fn logits(&mut self, params: &Params) -> Result<Vec<f32>, Error> {
        let mut logits = vec![0.0; IMAGES * self.net.arch().classes()];
        self.net.logits(params, &self.images, &mut logits)?;
        Ok(logits)
    }
}
