// Package grain implements the order of Grain (0.2.18), index for index, as pure functions of the
// position, so that a job can move to Bivouac in the middle of an epoch.
//
//	IndexShuffle, Permutation    Grain's index_shuffle
//	Map                          MapDataset: Range, Shuffle, Repeat, Slice, Batch, Mix, Filter, …
//	Iter                         IterDataset's iterators with their states
//	FirstFitPackIter, …          packers of elements: PackOptions, SplitOptions, Packed
//	Sampler                      IndexSampler with its shards, an order.Order
//	Elastic                      ElasticIterator over a Map
//	LoaderIter                   DataLoader, with and without workers
//	LoaderState, NextIndex       states of DataLoader and of iterators
//
// # Seeking
//
// Every Map seeks in constant time at any position; Mix takes one step for each of its data sets.
// An Iter moves to a state in the time of a window that it shuffles or of bins that it fills. An
// index of a Permutation costs rounds of a cipher on 16 bits or more: one or a few from 2^16
// samples on, and 65536/n for fewer samples n.
//
// # Faults of the shuffle that are kept
//
// For n = 2^(2k)+1 from 65537 on, index_shuffle is not a permutation: its block is one bit too
// short, so one sample comes twice and one never ([Permutation.Bijective]). At n = 2^16, 2^18, 2^20
// its four rounds are far from random. The epoch is added to the seed, so runs with neighbouring
// seeds share their epochs, shifted by one. order.NewShuffled has none of these faults.
package grain
