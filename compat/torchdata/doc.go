// Package torchdata holds what makes Bivouac imitate PyTorch's data loading on
// CPUs, so that a job can move here in mid-epoch: the loader StatefulDataLoader
// with its states, its samplers, the generator with its state, the parts of
// random_split and the seeds of workers. It supplies values to the engines, which
// know nothing of it.
//
//	Generator      torch.Generator(): mt19937, with the 5,056 bytes of get_state
//	Randperm       torch.randperm
//	Random         RandomSampler, with and without replacement
//	SubsetRandom   SubsetRandomSampler
//	Weighted       WeightedRandomSampler, that is torch.multinomial
//	Distributed    DistributedSampler, StatefulDistributedSampler
//	RandomSplit    torch.utils.data.random_split
//	BaseSeed       _base_seed of a loader; WorkerSeed, NumpySeed what workers get
//	Loader         StatefulDataLoader; New, NewIterable, Options, FromConfig
//	…Sampler       the samplers as objects, for the options Sampler and BatchSampler
//	WorkerOf       the random numbers of torch, Python and numpy in a worker
//
// # Loader states
//
// A Loader does what StatefulDataLoader of torchdata 0.11 does: it takes the same random numbers
// from the same generators at the same times and yields the same batches. It shares its states with
// torchdata, so that one goes on where the other was saved. A state is the JSON of torchdata's
// dictionary in which
//
//	a tensor     is {"tensor":"uint8","shape":[5056],"hex":"…"}
//	an integer   is exact, also above 2^53: read it as an integer
//	a data set's or iterator's own state is itself where it is JSON, else {"bytes":"…"}
//
// tools/torchdata converts between that and files of torch.save. A state is for one
// number of workers, as there; Bivouac's own states are for any. What torchdata does
// wrong Bivouac does right; docs/compat/torchdata.md has the list.
//
// The samplers as objects go on with a shared Generator, as torch's do. The orders
// below are functions of the position instead, without anything that changes.
//
// # Orders
//
// Random, SubsetRandom, Weighted and Distributed are an order.Order without end: one epoch after
// the other. An epoch is one iteration of the sampler. Position epoch*EpochLen() + i is sample i of
// that epoch. A sampler that is given a generator goes on with it from epoch to epoch, as in torch
// where each iteration is consumed whole.
//
// An order is a function of the position, yet torch's algorithms are sequential.
// What an order has computed last it keeps, so that blocks one after the other
// cost what they cost in torch; going elsewhere costs
//
//	a leap     over the random numbers before, one or two nanoseconds each and
//	           never more than some 15 milliseconds
//	a shuffle  of the n samples where there is no replacement, 10 to 50 ns and 4
//	           bytes each, once for each permutation that is entered
//
// and never the samples themselves. Without shuffling or with replacement there
// is no memory that grows with n.
//
// # Exactness
//
// The results equal torch 2.15 and torchdata 0.11 to the bit. One class of them depends on the C
// library: Weighted without replacement orders samples by their weight over a logarithm, which
// package math may round differently in the last bit; two samples would be exchanged where they are
// that close.
package torchdata
