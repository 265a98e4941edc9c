//! Reading of ONNX files: networks that PyTorch exported, single operators, damaged files.

mod exports;
mod files;
mod hostile;
mod operators;
mod write;
