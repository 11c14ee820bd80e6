package loader

import "context"

// WorkerInfo tells a data set for which of several workers it reads, like torch's get_worker_info.
// If the data set is read by streams, a worker is a stream.
type WorkerInfo struct {
	ID, N int    // number of this worker, and number of workers over all ranks
	Seed  uint64 // of this worker in this epoch
	// Dataset is the worker's data set, a Map or an Iterable. It is nil before the data set is made.
	Dataset any
}

// Random returns the random numbers of item index of this worker, for iterable data sets, which
// know the index of their items.
func (w WorkerInfo) Random(index int64) Random { return NewRandom(w.Seed, index) }

type infoKey struct{}

// WorkerInfoOf returns the worker for which a data set is cloned, opened or read. ok is false
// outside of such calls. Without workers there is one worker, number 0 of 1.
func WorkerInfoOf(ctx context.Context) (w WorkerInfo, ok bool) {
	p, ok := ctx.Value(infoKey{}).(*WorkerInfo)
	if !ok {
		return WorkerInfo{}, false
	}
	return *p, true
}

// BatchInfo describes a batch beyond its contents.
type BatchInfo struct {
	// Position is the position of the batch's first sample in the stream, over all ranks. For an
	// Iterable it is 0.
	Position int64
	// Samples is the number of samples that were collated.
	Samples int
	// Repeated is how many of the samples another rank delivers too, so that all ranks have the same
	// number of steps. Give them no weight if each sample must count once.
	Repeated int
}
