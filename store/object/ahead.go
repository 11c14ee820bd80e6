package object

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Callers read long objects in short pieces, one after the other, and from several places at once.
// A request for each piece would take as long as the way to the server and back, many times. So a
// reader notices pieces that follow each other, as systems do for files: it requests a window ahead
// of them, twice as long each time, and the next window while the last one is read. Pieces that
// follow nothing are requested by themselves.

const (
	firstWindow = 512 << 10
	lastWindow  = 4 << 20
	gapBytes    = 16 << 10 // that may lie between two pieces that follow each other
	readers     = 8        // that suit the default of Options.Ahead: each has one window, and the next
	mostEnds    = 64       // places that are remembered for each reader
)

// window is a part of an object that is there, or on its way. Its fields are guarded by
// ahead.mu, except b.
type window struct {
	off, end int64
	b        []byte
	done     chan struct{}
	err      error // after done
	left     int64 // bytes that nobody has taken yet
	next     bool  // the window behind it was requested
	users    int   // of b
}

// ahead reads ahead for one reader.
type ahead struct {
	r    *reader
	ctx  context.Context // ends with the reader
	stop context.CancelFunc
	busy sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	windows []*window // the last used at the end
	ends    []int64   // where pieces and windows ended, the last at the end
}

func newAhead(r *reader) *ahead {
	a := &ahead{r: r}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// read fills the beginning of p from what was read ahead, and returns how much of p it filled.
func (a *ahead) read(ctx context.Context, p []byte, off int64) (n int, err error) {
	for n < len(p) {
		w := a.take(p[n:], off+int64(n))
		if w == nil {
			return n, nil
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			a.give(w, 0)
			return n, alive(ctx, "store.ReadAt", a.r.name)
		}
		if w.err != nil { // the caller asks for itself
			a.give(w, 0)
			return n, nil
		}
		from := off + int64(n) - w.off
		m := copy(p[n:], w.b[from:w.end-w.off])
		a.give(w, int64(m))
		n += m
	}
	return n, nil
}

// take returns the window that has the byte at off, or begins one if the piece follows another. It
// returns nil if the caller has to ask for itself.
func (a *ahead) take(p []byte, off int64) *window {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	if i := slices.IndexFunc(a.windows, func(w *window) bool { return w.off <= off && off < w.end }); i >= 0 {
		w := a.windows[i]
		a.windows = append(slices.Delete(a.windows, i, i+1), w)
		w.users++ // before others are dropped
		if off+int64(len(p)) > w.off+(w.end-w.off)/2 && !w.next && w.end < a.r.size {
			w.next = true
			a.begin(w.end, min(2*(w.end-w.off), lastWindow))
		}
		return w
	}
	i := slices.IndexFunc(a.ends, func(end int64) bool { return end <= off && off-end <= gapBytes })
	if i < 0 {
		return nil
	}
	a.ends = slices.Delete(a.ends, i, i+1)
	w := a.begin(off, max(firstWindow, int64(len(p))))
	if w != nil {
		w.users++
	}
	return w
}

// begin requests a window, unless there is no memory for it. The lock is held.
func (a *ahead) begin(off, size int64) *window {
	size = min(size, a.r.size-off)
	for !a.r.s.memory.take(a, lastWindow) { // as its buffer has, however short it is
		// The windows that nobody uses, and that were used longest ago, make room.
		i := slices.IndexFunc(a.windows, func(w *window) bool { return w.users == 0 && w.over() })
		if i >= 0 {
			a.drop(i)
		} else if !a.r.s.memory.reclaim(a) {
			return nil
		}
	}
	w := &window{off: off, end: off + size, done: make(chan struct{}), left: size}
	a.windows = append(a.windows, w)
	a.busy.Go(func() {
		b := a.r.s.memory.buffers.take(size)
		err := a.r.get(a.ctx, off, b)
		a.mu.Lock()
		defer a.mu.Unlock()
		w.b, w.err = b, err
		close(w.done)
		if i := slices.Index(a.windows, w); err != nil && i >= 0 {
			a.drop(i)
		}
	})
	return w
}

func (w *window) over() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// give ends the use of a window, of which a caller has taken n bytes. A window that was taken as a
// whole goes.
func (a *ahead) give(w *window, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.users--
	w.left -= n
	if i := slices.Index(a.windows, w); i >= 0 && w.left <= 0 && w.users == 0 {
		a.drop(i)
	}
}

// drop forgets a window. The lock is held.
func (a *ahead) drop(i int) {
	w := a.windows[i]
	a.windows = slices.Delete(a.windows, i, i+1)
	a.r.s.memory.buffers.give(w.b)
	a.r.s.memory.give(lastWindow)
	if w.err == nil && !w.next {
		a.note(w.end)
	}
}

// noted remembers that a caller has read up to end by itself.
func (a *ahead) noted(end int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.note(end)
}

// note remembers a place at which the next piece may begin. The lock is held.
func (a *ahead) note(end int64) {
	if len(a.ends) == mostEnds {
		a.ends = slices.Delete(a.ends, 0, 1)
	}
	a.ends = append(a.ends, end)
}

// close ends all requests, and frees the memory.
func (a *ahead) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.busy.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.windows) > 0 {
		a.drop(0)
	}
	a.r.s.memory.forget(a)
}

// idle drops the windows that nobody uses, unless somebody else has the lock. It reports whether
// there were some.
func (a *ahead) idle() (some bool) {
	if !a.mu.TryLock() {
		return false
	}
	defer a.mu.Unlock()
	for i := len(a.windows) - 1; i >= 0; i-- {
		if w := a.windows[i]; w.users == 0 && w.over() {
			a.drop(i)
			some = true
		}
	}
	return some
}

// memory is what windows may take, all readers of a store together.
type memory struct {
	mu      sync.Mutex
	left    int64
	readers map[*ahead]bool // that have windows
	buffers
}

// reclaim has other readers drop windows, and reports whether they did.
func (m *memory) reclaim(by *ahead) (some bool) {
	m.mu.Lock()
	others := slices.Collect(maps.Keys(m.readers))
	m.mu.Unlock()
	for _, a := range others {
		if a != by && a.idle() {
			some = true
		}
	}
	return some
}

// forget takes a reader out.
func (m *memory) forget(a *ahead) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.readers, a)
}

// take reports whether there were n bytes left, which are taken then.
func (m *memory) take(by *ahead, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > m.left {
		return false
	}
	m.readers[by] = true
	m.left -= n
	return true
}

func (m *memory) give(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left += n
}

// get fills the pieces from offset off of the object, by one request, or by two if the first one is
// slow: now and then a server takes seconds for what it does in milliseconds otherwise.
func (r *reader) get(ctx context.Context, off int64, into ...[]byte) error {
	const op = "store.ReadAt"
	select {
	case r.s.turn <- struct{}{}:
	case <-ctx.Done():
		return alive(ctx, op, r.name)
	}
	defer func() { <-r.s.turn }()
	_, err := r.s.retry(ctx, op, r.name, func(ctx context.Context) error {
		return r.s.hedged(ctx, into, func(ctx context.Context, into [][]byte) error {
			return r.s.b.Get(ctx, r.key, off, r.tag, into...)
		})
	})
	return err
}

// pace is how long requests for bytes took lately.
type pace struct {
	mu   sync.Mutex
	mean time.Duration
	n    int
}

const (
	paceRequests = 16                     // before which nothing is hedged
	leastHedge   = 500 * time.Millisecond // that a request may take at least
	shortRequest = 256 << 10              // bytes up to which times are compared with short ones
)

// add takes the time of a request.
func (a *pace) add(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.mean += (d - a.mean) / time.Duration(min(a.n, paceRequests))
}

// limit returns the time after which a request counts as slow; 0: not known yet.
func (a *pace) limit() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n < paceRequests {
		return 0
	}
	return max(leastHedge, 4*a.mean)
}

// hedged sends a request, and the same again if it is slow. The first answer counts.
func (s *Store) hedged(ctx context.Context, into [][]byte, get func(context.Context, [][]byte) error) error {
	began, pace, size := time.Now(), &s.paces[0], Size(into)
	if size > shortRequest {
		pace = &s.paces[1]
	}
	limit := pace.limit()
	if limit == 0 {
		err := get(ctx, into)
		if err == nil {
			pace.add(time.Since(began))
		}
		return err
	}
	both, stop := context.WithCancel(ctx)
	defer stop()
	first := make(chan error, 1)
	go func() { first <- get(both, into) }()
	slow := time.NewTimer(limit)
	defer slow.Stop()
	select {
	case err := <-first:
		if err == nil {
			pace.add(time.Since(began))
		}
		return err
	case <-slow.C:
	}
	other, second := make([]byte, size), make(chan error, 1)
	go func() { second <- get(both, [][]byte{other}) }()
	var err error
	select {
	case err = <-first:
		if err == nil {
			stop()
			<-second
		} else if err = <-second; err == nil {
			spread(into, other)
		}
	case err = <-second:
		if err == nil {
			stop()
			<-first // it writes no more
			spread(into, other)
		} else {
			err = <-first
		}
	}
	if err == nil {
		pace.add(time.Since(began))
	}
	return err
}
