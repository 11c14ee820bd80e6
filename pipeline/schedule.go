package pipeline

import "github.com/bivouac-ml/bivouac/order"

// course says which samples a stream delivers, and where batches and epochs begin.
type course struct {
	schedule schedule
	orders   []order.Order
	newest   []order.Order // orders in their newest version; a state may name another version
	samples  int64         // of the first reader's data set
	counts   bool          // counts the epochs of external sources, each from one Reset to the next
}

// schedule cuts the stream of positions into batches. It skips positions that are dropped, so that
// every position belongs to an epoch, and an epoch always begins where its order begins it.
type schedule struct {
	epochs Epochs // nil: no epochs
	batch  int64
	tail   order.Tail
}

// next returns the number of samples in the batch at position at, and where the
// batch after it begins.
func (s schedule) next(at int64) (n int, after int64) {
	if s.epochs == nil || s.tail == order.Span {
		return int(s.batch), at + s.batch
	}
	epoch, in := s.epochs.Locate(at)
	left := s.epochs.EpochLength(epoch) - in
	after = at + min(s.batch, left)
	if s.tail == order.Drop && left < 2*s.batch {
		return int(s.batch), at + left
	}
	return int(after - at), after
}

// valid reports whether a batch begins at position at.
func (s schedule) valid(at int64) bool {
	switch {
	case at < 0:
		return false
	case s.epochs == nil || s.tail == order.Span:
		return at%s.batch == 0
	}
	epoch, in := s.epochs.Locate(at)
	return in%s.batch == 0 && (s.tail == order.Short || in+s.batch <= s.epochs.EpochLength(epoch))
}

// epoch returns the epoch of the batch at position at, and the batch's number among the batches
// that begin in this epoch.
func (s schedule) epoch(at int64) (epoch, index int64) {
	if s.epochs == nil {
		return 0, at / s.batch
	}
	epoch, in := s.epochs.Locate(at)
	start := at - in
	if s.tail == order.Span { // the first multiple of batch in the epoch
		start = (start + s.batch - 1) / s.batch * s.batch
	}
	return epoch, (at - start) / s.batch
}

// length returns the number of positions of the first epoch; 0 without epochs.
func (s schedule) length() int64 {
	if s.epochs == nil {
		return 0
	}
	return s.epochs.EpochLength(0)
}

// batches returns the number of batches of the first epoch.
func (s schedule) batches() int64 {
	if s.tail == order.Drop {
		return s.length() / s.batch
	}
	return (s.length() + s.batch - 1) / s.batch
}

// delivered returns the number of samples of the first epoch that are delivered.
func (s schedule) delivered() int64 {
	if s.tail == order.Drop {
		return s.length() / s.batch * s.batch
	}
	return s.length()
}
