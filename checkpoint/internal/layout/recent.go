package layout

import (
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
)

// recentBytes is how much a checkpoint keeps of the runs that were read last and
// of which only a part was wanted: the rest of them is wanted next, as a rule.
const recentBytes = 8 << 20

// recentCount is how many of them it keeps at most.
const recentCount = 64

// recentRuns are the runs that were read last, each of them verified. It is safe
// for concurrent use.
type recentRuns struct {
	mu    sync.Mutex
	used  int
	order []recentRun // oldest first
	free  [][]byte    // memory of runs that were forgotten
}

// runKey is a run of a file.
type runKey struct {
	file string
	off  int64
}

type recentRun struct {
	key   runKey
	bytes []byte
}

func newRecentRuns() *recentRuns { return &recentRuns{} }

// copy fills dst with the bytes of a run from off on, if it is there.
func (r *recentRuns) copy(key runKey, dst []byte, off int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.order) - 1; i >= 0; i-- {
		if run := r.order[i]; run.key == key {
			copy(dst, run.bytes[off:])
			r.order = append(slices.Delete(r.order, i, i+1), run)
			return true
		}
	}
	return false
}

// memory returns n bytes of any content for a run.
func (r *recentRuns) memory(n int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 && n > manifest.RunBytes/2 {
		b := r.free[last]
		r.free = r.free[:last]
		return b[:n]
	}
	if n > manifest.RunBytes/2 {
		return make([]byte, n, manifest.RunBytes)
	}
	return make([]byte, n)
}

// keep takes the memory of a run that was verified over; its bytes are not to
// change, nor be read by the caller any more.
func (r *recentRuns) keep(key runKey, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, recentRun{key, b})
	r.used += cap(b)
	for r.used > recentBytes || len(r.order) > recentCount {
		old := r.order[0]
		r.order = slices.Delete(r.order, 0, 1)
		r.used -= cap(old.bytes)
		if cap(old.bytes) == manifest.RunBytes {
			r.free = append(r.free, old.bytes)
		}
	}
}
