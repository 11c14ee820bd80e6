package loader

import "context"

// WorkerInfo tells a data set for which of several workers it reads, as torch's
// get_worker_info does. Where the data set is read by streams, a worker is a stream.
type WorkerInfo struct {
	ID, N int    // this one and how many there are, over all ranks
	Seed  uint64 // of this worker in this epoch
	// Dataset is the worker's data set: a Map or an Iterable, once there is one.
	Dataset any
}

// Random returns the random numbers of item index of this worker, for iterable
// data sets: they know where they stand.
func (w WorkerInfo) Random(index int64) Random { return NewRandom(w.Seed, index) }

type infoKey struct{}

// WorkerInfoOf returns the worker for which a data set is cloned, opened or read;
// ok is false outside of that. Without workers there is one, number 0 of 1.
func WorkerInfoOf(ctx context.Context) (w WorkerInfo, ok bool) {
	p, ok := ctx.Value(infoKey{}).(*WorkerInfo)
	if !ok {
		return WorkerInfo{}, false
	}
	return *p, true
}

// BatchInfo has facts about a batch that the batch itself does not have.
type BatchInfo struct {
	// Position is the position of the batch's first sample in the stream, over all ranks. For an
	// Iterable it is 0.
	Position int64
	// Samples is how many samples were collated.
	Samples int
	// Repeated is how many of them another rank delivers too, so that all ranks have the
	// same number of steps: give them no weight where each sample must count once.
	Repeated int
}
