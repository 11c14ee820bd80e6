package order

// Sampler gives ids in an order of its own, like the samplers of torch.utils.data: each
// Open begins an iteration, that is an epoch. A Sampler or its Cursor that is a
// state.Stateful goes on from its state; any other is made to give again what it
// gave before, and must give the same.
//
// Optional: SetEpoch(int64), called with the number of the epoch before Open, and
// String() string, which enters the identity of states.
type Sampler interface {
	Open() Cursor[int64]
	// Len is the number of ids in an iteration, negative when it is not known.
	Len() int64
}

// BatchSampler is a Sampler that gives the ids of whole batches.
type BatchSampler interface {
	Open() Cursor[[]int64]
	// Len is the number of batches in an iteration, negative when it is not known.
	Len() int64
}

// Cursor is one iteration of a sampler. What Next returns is valid until the next call.
type Cursor[T any] interface {
	Next() (item T, ok bool, err error)
}

// EpochSetter is implemented by samplers whose order depends on the epoch.
type EpochSetter interface {
	SetEpoch(epoch int64)
}
