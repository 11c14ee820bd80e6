package pipeline

// schedule cuts the stream of positions into batches. Position p is sample
// p%samples of epoch p/samples; where positions are dropped they are passed over,
// so that an epoch always begins at a multiple of samples.
type schedule struct {
	samples int64 // of an epoch; 0: there are no epochs
	batch   int64
	last    LastBatch
}

// next returns the number of samples in the batch at position at, and where the
// batch after it begins.
func (s schedule) next(at int64) (n int, after int64) {
	if s.samples == 0 || s.last == Fill {
		return int(s.batch), at + s.batch
	}
	left := s.samples - at%s.samples
	after = at + min(s.batch, left)
	if s.last == Drop && s.samples-after%s.samples < s.batch {
		return int(s.batch), at + left
	}
	return int(after - at), after
}

// valid reports whether a batch begins at position at.
func (s schedule) valid(at int64) bool {
	switch {
	case at < 0:
		return false
	case s.samples == 0 || s.last == Fill:
		return at%s.batch == 0
	}
	in := at % s.samples
	return in%s.batch == 0 && (s.last == Partial || in+s.batch <= s.samples)
}

// epoch returns the epoch of the batch at position at, and its number among those
// that begin in it.
func (s schedule) epoch(at int64) (epoch, index int64) {
	if s.samples == 0 {
		return 0, at / s.batch
	}
	epoch = at / s.samples
	start := epoch * s.samples
	if s.last == Fill { // the first multiple of batch in the epoch
		start = (start + s.batch - 1) / s.batch * s.batch
	}
	return epoch, (at - start) / s.batch
}

// batches returns the number of batches of an epoch that begins at a batch.
func (s schedule) batches() int64 {
	if s.last == Drop {
		return s.samples / s.batch
	}
	return (s.samples + s.batch - 1) / s.batch
}

// delivered returns the number of samples of an epoch that are delivered.
func (s schedule) delivered() int64 {
	if s.last == Drop {
		return s.samples / s.batch * s.batch
	}
	return s.samples
}

// share returns the part of a batch of n samples that a rank gets.
func share(n, rank, world int) (lo, hi int) { return n * rank / world, n * (rank + 1) / world }
