package serve

import (
	"sync"
	"time"
)

// progressEvery is the least time between two events of progress.
const progressEvery = 100 * time.Millisecond

// progress returns a function that reports progress of a save, or nil if the call does not ask for
// it.
func (k *call) progress(asked bool) func(done, total int64) {
	if !asked {
		return nil
	}
	var mu sync.Mutex
	var last time.Time
	return func(done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if done < total && now.Sub(last) < progressEvery {
			return
		}
		last = now
		k.tell(struct {
			ID    int64  `json:"id"`
			Event string `json:"event"`
			Done  int64  `json:"done"`
			Total int64  `json:"total"`
		}{k.id, "progress", done, total})
	}
}
