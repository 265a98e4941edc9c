//! All data sets there are: what they hold, which files they are made of, and where those can be had.

use super::Split;
use crate::arch::Shape;
use crate::error::{Error, Result};

/// A data set that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name it is loaded by.
    pub name: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// Shape of one image.
    pub shape: Shape,
    /// Number of classes.
    pub classes: usize,
    /// Number of training images.
    pub train: usize,
    /// Number of test images.
    pub test: usize,
    /// Where it comes from.
    pub source: Source,
}

impl Entry {
    /// Number of images in one part.
    pub fn images(&self, split: Split) -> usize {
        match split {
            Split::Train => self.train,
            Split::Test => self.test,
        }
    }
}

/// Where a data set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is a part of this library.
    BuiltIn,
    /// It is read from files.
    Files(Files),
}

/// The files of a data set, and where they can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// Where they lie in the data directory.
    pub folder: &'static str,
    /// How they are written.
    pub format: Format,
    /// The files. Of a part in IDX files, the images come before the labels.
    pub files: &'static [File],
    /// Addresses that become those of a file, or of the archive, by adding its name.
    pub mirrors: &'static [&'static str],
    /// The archive that the mirrors keep the files in, if they do.
    pub archive: Option<Archive>,
}

/// How the files of a data set are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Images and labels in two files, each with a header; perhaps compressed.
    Idx,
    /// Records of a label and an image, channel after channel.
    Cifar10,
    /// Records of a coarse label, a fine label and an image, channel after channel.
    Cifar100,
}

/// One file of a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// The part it belongs to.
    pub split: Split,
    /// Its bytes.
    pub digest: Digest,
    /// If its name ends in `.gz`: what it contains. The file without that ending is as good.
    pub unpacked: Option<Digest>,
}

/// What the bytes of a file are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    /// How many there are.
    pub bytes: u64,
    /// Their SHA-256, in lower-case hexadecimal digits.
    pub sha256: &'static str,
}

/// A `.tar.gz` that holds the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Its name.
    pub name: &'static str,
    /// Its size. What counts are the digests of the files in it.
    pub bytes: u64,
    /// The folder inside of it that the files are in.
    pub folder: &'static str,
}

impl Files {
    /// How much has to be downloaded.
    pub fn bytes(&self) -> u64 {
        self.archive.map_or_else(|| self.files.iter().map(|file| file.digest.bytes).sum(), |archive| archive.bytes)
    }
}

/// All data sets.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The data set of this name; if there is none, the error lists those there are.
pub fn find(name: &str) -> Result<&'static Entry> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.ok_or_else(|| Error::unknown("data set", name, ENTRIES.iter().map(|entry| entry.name)))
}

static ENTRIES: [Entry; 6] = [
    entry("digits", "small handwritten digits", [8, 8, 1], 10, [1437, 360], Source::BuiltIn),
    entry("synthetic", "noisy patterns, for tests", [6, 6, 1], 4, [400, 100], Source::BuiltIn),
    // LeCun, Cortes and Burges 1998.
    entry("mnist", "handwritten digits", [28, 28, 1], 10, [60_000, 10_000], MNIST),
    // Xiao, Rasul and Vollgraf 2017.
    entry("fashion-mnist", "articles of clothing", [28, 28, 1], 10, [60_000, 10_000], FASHION_MNIST),
    // Krizhevsky 2009, as the next.
    entry("cifar10", "animals and vehicles", [32, 32, 3], 10, [50_000, 10_000], CIFAR10),
    entry("cifar100", "animals, plants and things", [32, 32, 3], 100, [50_000, 10_000], CIFAR100),
];

const fn entry(
    name: &'static str,
    description: &'static str,
    [height, width, channels]: [usize; 3],
    classes: usize,
    [train, test]: [usize; 2],
    source: Source,
) -> Entry {
    Entry { name, description, shape: Shape { height, width, channels }, classes, train, test, source }
}

/// Compressed files with the names of MNIST; each has its own digest and that of what it contains.
const fn idx(digests: [Digest; 8]) -> [File; 4] {
    const fn packed(name: &'static str, split: Split, digest: Digest, unpacked: Digest) -> File {
        File { name, split, digest, unpacked: Some(unpacked) }
    }
    [
        packed("train-images-idx3-ubyte.gz", Split::Train, digests[0], digests[1]),
        packed("train-labels-idx1-ubyte.gz", Split::Train, digests[2], digests[3]),
        packed("t10k-images-idx3-ubyte.gz", Split::Test, digests[4], digests[5]),
        packed("t10k-labels-idx1-ubyte.gz", Split::Test, digests[6], digests[7]),
    ]
}

/// A file that is read as it is.
const fn plain(name: &'static str, split: Split, bytes: u64, sha256: &'static str) -> File {
    File { name, split, digest: Digest { bytes, sha256 }, unpacked: None }
}

const MNIST: Source = Source::Files(Files {
    folder: "mnist",
    format: Format::Idx,
    mirrors: &["https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"],
    archive: None,
    files: &idx([
        Digest { bytes: 9_912_422, sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609" },
        Digest { bytes: 47_040_016, sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db" },
        Digest { bytes: 28_881, sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c" },
        Digest { bytes: 60_008, sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5" },
        Digest { bytes: 1_648_877, sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6" },
        Digest { bytes: 7_840_016, sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7" },
        Digest { bytes: 4_542, sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6" },
        Digest { bytes: 10_008, sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2" },
    ]),
});

const FASHION_MNIST: Source = Source::Files(Files {
    folder: "fashion-mnist",
    format: Format::Idx,
    mirrors: &[
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ],
    archive: None,
    files: &idx([
        Digest { bytes: 26_421_880, sha256: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84" },
        Digest { bytes: 47_040_016, sha256: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888" },
        Digest { bytes: 29_515, sha256: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845" },
        Digest { bytes: 60_008, sha256: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9" },
        Digest { bytes: 4_422_102, sha256: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073" },
        Digest { bytes: 7_840_016, sha256: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b" },
        Digest { bytes: 5_148, sha256: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5" },
        Digest { bytes: 10_008, sha256: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34" },
    ]),
});

#[rustfmt::skip]
const CIFAR10: Source = Source::Files(Files {
    folder: "cifar10/cifar-10-batches-bin",
    format: Format::Cifar10,
    mirrors: &["https://www.cs.toronto.edu/~kriz/"],
    archive: Some(Archive { name: "cifar-10-binary.tar.gz", bytes: 170_052_171, folder: "cifar-10-batches-bin" }),
    files: &[
        plain("data_batch_1.bin", Split::Train, 30_730_000, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        plain("data_batch_2.bin", Split::Train, 30_730_000, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        plain("data_batch_3.bin", Split::Train, 30_730_000, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        plain("data_batch_4.bin", Split::Train, 30_730_000, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        plain("data_batch_5.bin", Split::Train, 30_730_000, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        plain("test_batch.bin", Split::Test, 30_730_000, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ],
});

#[rustfmt::skip]
const CIFAR100: Source = Source::Files(Files {
    folder: "cifar100/cifar-100-binary",
    format: Format::Cifar100,
    mirrors: &["https://www.cs.toronto.edu/~kriz/"],
    archive: Some(Archive { name: "cifar-100-binary.tar.gz", bytes: 168_513_733, folder: "cifar-100-binary" }),
    files: &[
        plain("train.bin", Split::Train, 153_700_000, "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"),
        plain("test.bin", Split::Test, 30_740_000, "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"),
    ],
});

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn sizes_are_those_of_the_images_and_labels() {
        for entry in entries() {
            let Source::Files(files) = entry.source else { continue };
            for split in [Split::Train, Split::Test] {
                let count = entry.images(split) as u64;
                let expected = match files.format {
                    Format::Idx => 16 + 8 + count * (1 + entry.shape.len() as u64),
                    Format::Cifar10 => count * (1 + entry.shape.len() as u64),
                    Format::Cifar100 => count * (2 + entry.shape.len() as u64),
                };
                let of_split = files.files.iter().filter(|file| file.split == split);
                let bytes: u64 = of_split.map(|file| file.unpacked.unwrap_or(file.digest).bytes).sum();
                assert_eq!(bytes, expected, "{} {split:?}", entry.name);
            }
        }
    }

    #[test]
    fn every_file_has_a_digest_and_every_mirror_ends_in_a_slash() {
        for entry in entries() {
            let Source::Files(files) = entry.source else { continue };
            assert!(!files.mirrors.is_empty() && files.mirrors.iter().all(|mirror| mirror.ends_with('/')));
            for file in files.files {
                assert_eq!(file.unpacked.is_some(), Path::new(file.name).extension() == Some("gz".as_ref()));
                for digest in [Some(file.digest), file.unpacked].into_iter().flatten() {
                    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
                    assert!(digest.sha256.len() == 64 && digest.sha256.chars().all(is_digit), "{}", file.name);
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_is_told_the_known_ones() {
        let said =
            "there is no data set `minst`; there are: digits, synthetic, mnist, fashion-mnist, cifar10, cifar100";
        assert_eq!(find("minst").unwrap_err().to_string(), said);
    }
}
