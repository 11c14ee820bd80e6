// Package digits is a whole training run in small: the UCI handwritten digits,
// a convolutional network in plain Go, and everything that must survive a kill
// in one struct.
//
//   - WriteDataset turns the embedded table into JPEG files in class folders.
//   - TrainPipeline and TestPipeline feed them as float32 batches.
//   - State is model, optimizer, step and random state; a job commits it as one.
//   - Trainer does a step; Accuracy measures.
//
// A step is a pure function of State and batch, bit for bit: sums run in a
// fixed order, products are rounded before they are added (so that no compiler
// fuses them), and dropout draws from the generator in State. Run it twice, or
// kill it and carry on: the weights are the same bytes.
package digits
