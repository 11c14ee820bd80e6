package main

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

// watcher looks at the heap while an operation runs.
type watcher struct {
	what        string
	live, taken uint64 // the most of each
	profile     []byte // of the heap when the most was live
	done, ended chan struct{}
}

func watch(what string) *watcher {
	w := &watcher{what: what, done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			w.look()
			select {
			case <-w.done:
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// look notes what is there now. With a profile it collects before, so that nothing
// that is live is missed; the operation then takes longer.
func (w *watcher) look() {
	if *heap != "" {
		runtime.GC()
	}
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	live := s[0].Value.Uint64()
	if *heap != "" && live > w.live+w.live/50 {
		var b bytes.Buffer
		if err := pprof.Lookup("heap").WriteTo(&b, 0); err == nil {
			w.profile = b.Bytes()
		}
	}
	w.live, w.taken = max(w.live, live), max(w.taken, s[1].Value.Uint64())
}

func (w *watcher) stop() {
	close(w.done)
	<-w.ended
	if w.profile != nil {
		if err := os.WriteFile(*heap+"."+w.what, w.profile, 0o666); err != nil {
			panic(err)
		}
	}
}
