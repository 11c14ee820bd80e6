package layout

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// countingFile is a file in memory that counts how often each byte is read.
type countingFile struct {
	b     []byte
	times []int
	reads int
	fail  error
}

func (f *countingFile) Size() int64  { return int64(len(f.b)) }
func (f *countingFile) Close() error { return nil }
func (f *countingFile) ReadAt(_ context.Context, p []byte, off int64) error {
	f.reads++
	for i := range p {
		f.times[int(off)+i]++
	}
	copy(p, f.b[off:])
	return f.fail
}

// spanOf returns the range of a file from off to end.
func spanOf(b []byte, off, end int) span { return span{int64(off), int64(end), crc.Sum(b[off:end])} }

// Whatever ranges of a file were read, in any order, the checksum is the checksum of the file, and
// what the ranges of the chain hold is not read again.
func TestSpansMakeTheChecksumOfTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "file")
		f := &countingFile{b: b, times: make([]int, len(b))}
		s := &spans{}
		for range rapid.IntRange(0, 100).Draw(t, "reads") {
			off := rapid.IntRange(0, len(b)).Draw(t, "off")
			n := rapid.IntRange(0, min(40, len(b)-off)).Draw(t, "length")
			s.add(spanOf(b, off, off+n))
		}
		chain := s.chain(int64(len(b)), int64(rapid.IntRange(0, 20).Draw(t, "least")))
		read, at := 0, int64(0)
		for _, c := range chain {
			if c.off < at || c.end <= c.off || c.sum != crc.Sum(b[c.off:c.end]) {
				t.Fatalf("the chain %v", chain)
			}
			at, read = c.end, read+int(c.end-c.off)
		}
		told := 0
		sum, err := complete(t.Context(), f, chain, func(n int) { told += n })
		if err != nil || sum != crc.Sum(b) || told != len(b)-read {
			t.Fatalf("checksum %08x, want %08x; %d bytes read, want %d; %v", sum, crc.Sum(b), told, len(b)-read, err)
		}
		for _, c := range chain {
			for i := c.off; i < c.end; i++ {
				if f.times[i] != 0 {
					t.Fatalf("byte %d of the chain was read again", i)
				}
			}
		}
	})
}

// Several workers that each read a part of a file from front to back leave a span each.
func TestSpansOfWorkersGrow(t *testing.T) {
	b := bytes.Repeat([]byte("0123456789abcdef"), 1<<10)
	s := &spans{}
	const workers, piece = 16, 64
	part := len(b) / workers
	for at := 0; at < part; at += piece {
		for w := range workers {
			off := w*part + at
			s.add(spanOf(b, off, off+piece))
		}
	}
	if len(s.list) != workers {
		t.Errorf("%d spans, want %d", len(s.list), workers)
	}
	s.add(spanOf(b, 100, 200))
	if len(s.list) != workers {
		t.Errorf("a range that was read before is noted again: %d spans", len(s.list))
	}
	if chain := s.chain(int64(len(b)), 0); len(chain) != 1 || chain[0] != (span{0, int64(len(b)), crc.Sum(b)}) {
		t.Errorf("the chain is %v", chain)
	}
}

// A failure between the spans is the failure of the file.
func TestCompleteTellsFailures(t *testing.T) {
	failure := errors.New("no bytes")
	f := &countingFile{b: make([]byte, 10), times: make([]int, 10), fail: failure}
	if _, err := complete(t.Context(), f, []span{{0, 9, crc.Zeros(9)}}, func(int) {}); !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if sum, err := complete(t.Context(), f, []span{{0, 10, 7}}, func(int) {}); err != nil || sum != 7 {
		t.Errorf("a file without gaps: %x, %v", sum, err)
	}
}

// Whatever was read, a far file takes no more requests than reading all of it, and one.
func TestCompleteTakesFewRequests(t *testing.T) {
	const size = 5*gapBytes + 100
	b := make([]byte, size)
	rapid.Check(t, func(t *rapid.T) {
		f := &countingFile{b: b, times: make([]int, size)}
		s := &spans{}
		for range rapid.IntRange(0, 30).Draw(t, "reads") {
			off := rapid.IntRange(0, size).Draw(t, "off")
			most := rapid.SampledFrom([]int{10, 1000, gapBytes * 3 / 2}).Draw(t, "most")
			n := rapid.IntRange(0, min(most, size-off)).Draw(t, "length")
			s.add(spanOf(b, off, off+n))
		}
		if _, err := complete(t.Context(), f, s.chain(size, gapBytes), func(int) {}); err != nil {
			t.Fatal(err)
		}
		if most := 6 + 1; f.reads > most {
			t.Fatalf("%d requests, want at most %d", f.reads, most)
		}
	})
}
