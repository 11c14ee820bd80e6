package object

import (
	"context"
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// writer writes one object, in parts of equal size. A part is uploaded by the call that completes
// it: straight from the caller's memory if the call has all of it.
type writer struct {
	t    *txn
	name string
	size int64
	part int64

	mu     sync.Mutex
	up     Upload // nil for an object of one part
	parts  []part
	filled int64
	first  error // the first error, or Canceled
	done   bool  // sealed, aborted, or the transaction is over
	active sync.WaitGroup
}

// part is a part that is being filled.
type part struct {
	have []span // taken by calls, ascending and apart from each other
	full int64  // bytes that are in buf
	buf  []byte
	sum  uint32
}

type span struct{ from, to int64 }

var _ store.Writer = (*writer)(nil)

// Create implements store.Txn.
func (t *txn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	const op = "store.Create"
	if err := t.enter(ctx, op, name); err != nil {
		return nil, err
	}
	defer t.leave()
	if size < 0 {
		return nil, invalid(op, t.subject(name), "a size of at least 0", fmt.Sprint(size))
	}
	if err := t.reserve(op, name); err != nil {
		return nil, err
	}
	w := &writer{t: t, name: name, size: size, part: t.s.partFor(size)}
	w.parts = make([]part, max(1, (size+w.part-1)/w.part))
	if len(w.parts) > 1 {
		if _, err := t.s.retry(ctx, op, t.subject(name), func(ctx context.Context) (err error) {
			w.up, err = t.s.b.Begin(ctx, t.s.objectKey(t.at)+name)
			return err
		}); err != nil {
			t.release(name)
			return nil, t.fail(err)
		}
	}
	t.mu.Lock()
	t.writers[w] = true
	t.mu.Unlock()
	return w, nil
}

// partFor returns the bytes of a part of an object.
func (s *Store) partFor(size int64) int64 {
	l := s.b.Limits()
	n := max(s.opt.Part, l.MinPart)
	if most := int64(l.MaxParts); most > 0 && size > n*most {
		const mib = 1 << 20
		n = (size/most/mib + 1) * mib
	}
	if l.MaxPart > 0 {
		n = min(n, l.MaxPart)
	}
	return n
}

// WriteAt implements store.Writer.
func (w *writer) WriteAt(ctx context.Context, p []byte, off int64) error {
	const op = "store.WriteAt"
	w.mu.Lock()
	if w.done {
		w.mu.Unlock()
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: w.t.subject(w.name)}
	}
	if w.first != nil {
		defer w.mu.Unlock()
		return w.first
	}
	w.active.Add(1)
	w.mu.Unlock()
	defer w.active.Done()
	if err := alive(ctx, op, w.t.subject(w.name)); err != nil {
		return w.fail(err)
	}
	if off < 0 || int64(len(p)) > w.size-off {
		return w.fail(&errs.Error{Kind: errs.Invalid, Op: op, Subject: w.t.subject(w.name),
			Want: fmt.Sprintf("bytes within the %d of the object", w.size),
			Got:  fmt.Sprintf("%d bytes at offset %d", len(p), off)})
	}
	if len(p) == 0 {
		return nil
	}
	first, last := off/w.part, (off+int64(len(p))-1)/w.part
	return each(int(last-first+1), func(i int) error {
		n := first + int64(i)
		from, to := max(off, n*w.part), min(off+int64(len(p)), (n+1)*w.part)
		if err := w.fill(ctx, op, int(n), p[from-off:to-off], from-n*w.part); err != nil {
			return w.fail(err)
		}
		return nil
	})
}

// length returns the bytes of part n.
func (w *writer) length(n int) int64 { return min(w.part, w.size-int64(n)*w.part) }

// fill takes bytes of part n at an offset within it, and uploads the part if it is whole.
func (w *writer) fill(ctx context.Context, op string, n int, p []byte, off int64) error {
	w.mu.Lock()
	x := &w.parts[n]
	length := w.length(n)
	if !x.add(off, off+int64(len(p))) {
		w.mu.Unlock()
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: w.t.subject(w.name), Want: "each byte once",
			Got: fmt.Sprintf("bytes from %d on a second time", int64(n)*w.part+off)}
	}
	w.filled += int64(len(p))
	if int64(len(p)) == length && w.up != nil {
		w.mu.Unlock()
		return w.send(ctx, op, n, p)
	}
	if x.buf == nil {
		x.buf = w.t.s.parts.take(length)
	}
	b := x.buf
	w.mu.Unlock()
	copy(b[off:], p)
	w.mu.Lock()
	x.full += int64(len(p))
	whole := x.full == length // for the call whose copy was the last to end
	w.mu.Unlock()
	if w.up == nil || !whole { // the bytes of an object of one part wait for Seal
		return nil
	}
	return w.send(ctx, op, n, b)
}

// add takes the bytes from from to to for a call, and returns false if another call has some of
// them.
func (x *part) add(from, to int64) bool {
	at := 0
	for at < len(x.have) && x.have[at].to < from {
		at++
	}
	merged := span{from, to}
	end := at
	for end < len(x.have) && x.have[end].from <= to {
		if x.have[end].from < to && x.have[end].to > from {
			return false
		}
		merged = span{min(merged.from, x.have[end].from), max(merged.to, x.have[end].to)}
		end++
	}
	x.have = append(x.have[:at], append([]span{merged}, x.have[end:]...)...)
	return true
}

// send uploads part n.
func (w *writer) send(ctx context.Context, op string, n int, b []byte) error {
	w.t.s.turn <- struct{}{}
	defer func() { <-w.t.s.turn }()
	sum, tries := sumOf(b), 0
	_, err := w.t.s.retry(ctx, op, w.t.subject(w.name), func(ctx context.Context) error {
		tries++
		return w.up.Part(ctx, n+1, b, sum)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		if tries == 1 { // a client may still read what it sent in a request that was given up
			w.t.s.parts.give(w.parts[n].buf)
		}
		w.parts[n].sum, w.parts[n].buf = sum, nil
	}
	return err
}

// Seal implements store.Writer.
func (w *writer) Seal(ctx context.Context) error {
	const op = "store.Seal"
	w.active.Wait()
	w.mu.Lock()
	if w.first != nil {
		defer w.mu.Unlock()
		return w.first
	}
	if w.done {
		defer w.mu.Unlock()
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: w.t.subject(w.name)}
	}
	filled := w.filled
	w.mu.Unlock()
	if filled != w.size {
		return w.fail(&errs.Error{Kind: errs.Invalid, Op: op, Subject: w.t.subject(w.name),
			Want: fmt.Sprintf("all of %d bytes", w.size),
			Got:  fmt.Sprintf("%d bytes", filled)})
	}
	if err := w.finish(ctx, op); err != nil {
		return w.fail(err)
	}
	return nil
}

// finish makes the object.
func (w *writer) finish(ctx context.Context, op string) error {
	t := w.t
	if w.up == nil {
		if err := t.put(ctx, op, w.name, w.parts[0].buf); err != nil {
			return err
		}
		w.end()
		return nil
	}
	sum := w.parts[0].sum
	for n := 1; n < len(w.parts); n++ {
		sum = combine(sum, w.parts[n].sum, w.length(n))
	}
	c := t.condition()
	unknown, err := t.s.retry(ctx, op, t.subject(w.name), func(ctx context.Context) error {
		_, err := w.up.Complete(ctx, len(w.parts), sum, c)
		return err
	})
	if unknown && err != nil {
		// The upload may be complete already, and then it cannot be completed again.
		_, headErr := t.s.head(ctx, op, t.s.objectKey(t.at)+w.name)
		if headErr != nil || c.Absent {
			return uncertain(op, t.subject(w.name), err)
		}
		err = nil // nobody else writes there
	}
	if err != nil {
		return err
	}
	t.made(w.name, &entry{Name: w.name, Size: w.size, Sum: sum})
	t.mu.Lock()
	t.stats.Bytes += w.size
	t.mu.Unlock()
	w.end()
	return nil
}

// fail keeps the first error.
func (w *writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = err
	}
	w.t.fail(err)
	return w.first
}

// end takes the writer out of the transaction.
func (w *writer) end() {
	w.mu.Lock()
	w.done = true
	w.mu.Unlock()
	w.t.mu.Lock()
	delete(w.t.writers, w)
	w.t.mu.Unlock()
}

// Abort implements store.Writer.
func (w *writer) Abort() error {
	w.mu.Lock()
	if w.done {
		w.mu.Unlock()
		return nil
	}
	w.done = true
	w.mu.Unlock()
	w.active.Wait()
	w.end()
	w.t.release(w.name)
	return w.drop(context.Background())
}

// drop removes what was uploaded.
func (w *writer) drop(ctx context.Context) error {
	if w.up == nil {
		return nil
	}
	_, err := w.t.s.retry(ctx, "store.Abort", w.t.subject(w.name), w.up.Abort)
	return err
}
