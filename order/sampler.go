package order

// Sampler yields ids in an order of its own, like the samplers of torch.utils.data. Each Open
// begins an iteration (an epoch). A Sampler or Cursor that implements state.Stateful
// continues from its state. Any other sampler is read again from the start of the iteration, and
// must yield the same ids again.
//
// Three methods are optional. SetEpoch(int64) is called with the number of the epoch before Open.
// The result of String() string enters the identity of states. A Cursor's Skip(n int64) bool leaves
// the next n ids out, so that they are not read again; it returns false if there are fewer.
type Sampler interface {
	Open() Cursor[int64]
	// Len returns the number of ids in an iteration, or a negative number if it is not known.
	Len() int64
}

// BatchSampler is a Sampler that yields the ids of whole batches.
type BatchSampler interface {
	Open() Cursor[[]int64]
	// Len returns the number of batches in an iteration, or a negative number if it is not known.
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
