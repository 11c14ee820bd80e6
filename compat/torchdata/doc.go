// Package torchdata makes Bivouac imitate PyTorch's data loading on CPUs, so that a job can move to
// Bivouac within an epoch. It has the loader StatefulDataLoader with its states, its samplers, the
// generator with its state, the parts of random_split and the seeds of workers. The engines do not
// know it; it passes values to them.
//
//	Generator      torch.Generator(): mt19937, with the 5,056 bytes of get_state
//	Randperm       torch.randperm
//	Random         RandomSampler, with and without replacement
//	SubsetRandom   SubsetRandomSampler
//	Weighted       WeightedRandomSampler, which uses torch.multinomial
//	Distributed    DistributedSampler, StatefulDistributedSampler
//	RandomSplit    torch.utils.data.random_split
//	BaseSeed       _base_seed of a loader; WorkerSeed, NumpySeed the seeds of workers
//	Loader         StatefulDataLoader; New, NewIterable, Options, FromConfig
//	…Sampler       the samplers as objects, for the options Sampler and BatchSampler
//	WorkerOf       the random numbers of torch, Python and numpy in a worker
//
// # Loader states
//
// A Loader does the same as StatefulDataLoader of torchdata 0.11: it draws the same random numbers
// from the same generators at the same times and yields the same batches. It shares its states with
// torchdata, so that one continues where the other was saved. A state is the JSON of torchdata's
// dictionary with these values:
//
//	a tensor     {"tensor":"uint8","shape":[5056],"hex":"…"}
//	an integer   exact, also above 2^53: read it as an integer
//	a state      of a data set or iterator: unchanged if it is JSON, else {"bytes":"…"}
//
// tools/torchdata converts between such JSON and files of torch.save. A state is for one number of
// workers, as in torchdata; Bivouac's own states are for any number. Bivouac does not repeat
// torchdata's mistakes; docs/compat/torchdata.md has the list.
//
// The samplers as objects continue with a shared Generator, as torch's samplers do. The orders
// below are functions of the position, without anything that changes.
//
// # Orders
//
// Random, SubsetRandom, Weighted and Distributed are endless orders: one epoch after the other. An
// epoch is one iteration of the sampler. Position epoch*EpochLen() + i is sample i of that epoch. A
// sampler with a generator continues with it from epoch to epoch, as in torch if each iteration is
// consumed completely.
//
// An order is a function of the position, but torch's algorithms are sequential. An order keeps its
// latest result, so reading consecutive blocks costs the same as in torch. Seeking costs
//
//	a leap     over the random numbers before, one or two nanoseconds each and
//	           at most about 15 milliseconds
//	a shuffle  of the n samples without replacement, 10 to 50 ns and 4 bytes
//	           each, once for each permutation that is entered
//
// and never reads the samples themselves. With replacement, or without shuffling, no memory grows
// with n.
//
// # Exactness
//
// The results equal torch 2.15 and torchdata 0.11 to the bit, with one exception that depends on
// the C library. Weighted without replacement orders samples by their weight over a logarithm,
// which package math may round differently in the last bit. If the quotients of two samples are
// that close, the two may be exchanged.
package torchdata
