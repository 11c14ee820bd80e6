// Package streaming implements the order of MosaicML Streaming's StreamingDataset (0.13), sample
// for sample, so that a job can move to Bivouac in the middle of an epoch.
//
//	Shuffle    position in the epoch → sample     numpy's draws, all of an epoch at once
//	Partition  node, rank, worker, batch, place → position    arithmetic alone
//	Order      the samples of an epoch for one rank or all ranks, an order.Order
//	State      the dictionary of StreamingDataset.state_dict
//
// # What it costs to seek
//
// A Partition seeks in constant time and holds nothing. A Shuffle draws with rejection, each span
// of samples after the one before, so every part of an epoch needs the draws before it. Samples
// computes the whole epoch, in time linear in its samples and with 8 bytes for each (Py1e takes 32
// more for the samples of one canonical node). After that an Order seeks in constant time, for any
// ranks and workers.
//
// # What differs
//
// Py1e sorts by floating-point numbers. If two of them are equal, which needs about 10^8 samples to
// be likely, NumPy's order depends on the processor. Here they keep their order.
package streaming
