package broadcast

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// sender sends what the primary has read to the others of its group.
type sender struct {
	memory [][]byte
	others []int
	buffer int // bytes for each receiver
	beat   time.Duration

	mu     sync.Mutex
	frames []frame
	seen   [][]span // that became frames
	bytes  int64
	last   *frame
	ready  chan struct{} // closed when frames or last change
	served map[int]bool  // receivers that came
	gone   chan struct{} // has an element for each receiver that was served
}

func newSender(memory [][]byte, others []int, buffer int, beat time.Duration) *sender {
	return &sender{memory: memory, others: others, buffer: buffer, beat: beat, seen: make([][]span, len(memory)),
		ready: make(chan struct{}), served: map[int]bool{}, gone: make(chan struct{}, len(others))}
}

// done makes frames of n bytes of an array, which will not change any more.
func (s *sender) done(array, from, n int) {
	var out []frame
	for at := from; at < from+n; at += mostData {
		k := min(mostData, from+n-at)
		out = append(out, newFrame(kindData, array, int64(at), s.memory[array][at:][:k:k]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return
	}
	s.frames = append(s.frames, out...)
	s.seen[array] = append(s.seen[array], span{int64(from), int64(from + n)})
	s.bytes += int64(n)
	s.wake()
}

// wake tells the receivers that there is more. The caller holds the lock.
func (s *sender) wake() {
	close(s.ready)
	s.ready = make(chan struct{})
}

// rest makes frames of all bytes that done was not told of.
func (s *sender) rest() {
	for i := range s.memory {
		spans := s.seen[i]
		slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
		end := int64(0)
		for _, p := range append(slices.Clone(spans), span{from: int64(len(s.memory[i]))}) {
			if p.from > end {
				s.done(i, int(end), int(p.from-end))
			}
			end = p.to
		}
	}
}

// end makes the last frame.
func (s *sender) end(note []int, err error) {
	if err == nil {
		s.rest()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := ending{Bytes: s.bytes, Note: note, Failure: fail(err)}
	f := e.frame()
	s.last = &f
	s.wake()
}

// next returns the frames from i on, the last frame if no others will come, and a channel that is
// closed when there is more.
func (s *sender) next(i int) ([]frame, *frame, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames[i:len(s.frames):len(s.frames)], s.last, s.ready
}

// send writes all frames to a receiver. flush, if w has it, is called when the receiver has to
// wait.
func (s *sender) send(ctx context.Context, rank int, w io.Writer) error {
	s.mu.Lock()
	known, twice := slices.Contains(s.others, rank), s.served[rank]
	s.served[rank] = s.served[rank] || known
	s.mu.Unlock()
	if !known || twice {
		return &errs.Error{Kind: errs.Sequence, Op: "broadcast", Subject: fmt.Sprintf("process %d", rank),
			Want: fmt.Sprintf("one stream for each of the processes %v", s.others), Got: "another one"}
	}
	defer func() { s.gone <- struct{}{} }()
	out := bufio.NewWriterSize(w, s.buffer)
	flusher, _ := w.(interface{ Flush() error })
	for i := 0; ; {
		frames, last, more := s.next(i)
		for _, f := range frames {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			emit(out, f)
		}
		if i += len(frames); last != nil {
			emit(out, *last)
		}
		if err := flush(out, flusher); err != nil || last != nil {
			return err
		}
		t := time.NewTimer(s.beat)
		select {
		case <-more:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-t.C:
			emit(out, newFrame(kindBeat, 0, 0, nil))
		}
		t.Stop()
	}
}

// emit writes a frame. The next flush returns its error.
func emit(out *bufio.Writer, f frame) {
	out.Write(f.header[:]) //nolint:errcheck // as above
	out.Write(f.payload)   //nolint:errcheck // as above
}

func flush(out *bufio.Writer, f interface{ Flush() error }) error {
	if err := out.Flush(); err != nil || f == nil {
		return err
	}
	return f.Flush()
}

// wait returns when all receivers were served. It waits for receivers that have not come no longer
// than patience: they have failed, and their next word says so. The peers bound the writes to those
// that came.
func (s *sender) wait(ctx context.Context, patience time.Duration) {
	t := time.NewTimer(patience)
	defer t.Stop()
	late := false
	for n := 0; n < len(s.others); {
		s.mu.Lock()
		came := len(s.served)
		s.mu.Unlock()
		if late && n >= came {
			return
		}
		select {
		case <-s.gone:
			n++
		case <-ctx.Done():
			return
		case <-t.C:
			late = true
		}
	}
}
