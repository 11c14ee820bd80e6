package video

import (
	"context"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
)

// pool keeps decoders, each with at most one process of ffmpeg, for the next clips of their files.
//
// A clip waits for a decoder that is at work on the clip before it, instead of decoding the same
// frames with a second process. Of several clips that wait, the first in the file goes on.
type pool struct {
	most int

	mu      sync.Mutex
	change  chan struct{} // closed when something changes
	slots   []*slot
	waiting []*waiter
	clock   int64
	closed  bool
}

// slot is a decoder of a file.
type slot struct {
	file    *file
	decoder *video.Decoder
	busy    bool
	until   int   // where it will be when it is no longer busy
	used    int64 // when it was used last
}

// waiter is a clip that waits for a decoder.
type waiter struct {
	file  *file
	first int
}

func newPool(most int) *pool { return &pool{most: most, change: make(chan struct{})} }

// take returns a decoder for the frames of a file from first up to end.
func (p *pool) take(ctx context.Context, f *file, first, end int) (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &waiter{f, first}
	p.waiting = append(p.waiting, w)
	defer func() { p.waiting = slices.DeleteFunc(p.waiting, func(o *waiter) bool { return o == w }) }()
	for {
		if p.closed {
			return nil, &errs.Error{Kind: errs.Closed, Op: readerName, Got: "a data set that was closed"}
		}
		if s := p.choose(w); s != nil {
			p.clock++
			s.busy, s.until, s.used = true, end, p.clock
			return s, nil
		}
		change := p.change
		p.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if err := ctx.Err(); err != nil {
			p.signal() // a clip may wait for this one to go first
			return nil, err
		}
	}
}

// choose returns the decoder for a clip, or nil if the clip waits.
func (p *pool) choose(w *waiter) *slot {
	anew := w.first - w.file.index.KeyBefore(w.first) // the frames that a new process decodes in vain
	var best *slot
	for _, s := range p.slots {
		if s.file != w.file {
			continue
		}
		if s.busy {
			if s.until <= w.first && w.first-s.until < anew {
				return nil // it comes there soon
			}
			continue
		}
		d := s.decoder.Distance(w.first) - 1
		if d < anew || d <= 0 {
			if p.overtakes(w, s) {
				return nil
			}
			if best == nil || d < best.decoder.Distance(w.first)-1 {
				best = s
			}
		}
	}
	if best != nil {
		return best
	}
	if len(p.slots) < p.most {
		s := &slot{file: w.file, decoder: open1(w.file)}
		p.slots = append(p.slots, s)
		return s
	}
	for _, s := range p.slots {
		if !s.busy && (best == nil || s.used < best.used) {
			best = s
		}
	}
	if best != nil {
		best.decoder.Close() //nolint:errcheck // nothing was written
		best.file, best.decoder = w.file, open1(w.file)
	}
	return best
}

// overtakes reports whether another clip waits that lies between where the decoder is and w.
func (p *pool) overtakes(w *waiter, s *slot) bool {
	for _, o := range p.waiting {
		if o.file == w.file && o.first < w.first && o.first >= s.decoder.Next() && s.decoder.Next() >= 0 {
			return true
		}
	}
	return false
}

// open1 returns a decoder of a file.
func open1(f *file) *video.Decoder {
	return video.OpenIndexed(f.path, f.index, video.Options{}).NewDecoder()
}

// give returns a decoder. After an error its process is not kept.
func (p *pool) give(s *slot, err error) {
	if err != nil {
		s.decoder.Close() //nolint:errcheck // nothing was written
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.busy = false
	if p.closed {
		s.decoder.Close() //nolint:errcheck // nothing was written
	}
	p.signal()
}

// signal wakes all clips that wait.
func (p *pool) signal() {
	close(p.change)
	p.change = make(chan struct{})
}

// close closes all decoders, which must not be busy.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.slots {
		if !s.busy {
			s.decoder.Close() //nolint:errcheck // nothing was written
		}
	}
	p.signal()
}
