package growth

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"runtime/coverage"
	"slices"
	"sync"
)

// Block is a basic block of the code, by its place in the tables of the build.
type Block struct{ Pkg, Func, Index uint32 }

// Steps is how often each block ran.
type Steps map[Block]uint64

// Counted says whether this build counts steps: a program built with -cover and -covermode=atomic
// does. A test does not, because its counters are read at its end only.
var Counted = sync.OnceValue(func() bool { return coverage.WriteCounters(io.Discard) == nil })

// Total returns the number of runs of all blocks.
func (s Steps) Total() uint64 {
	var n uint64
	for _, c := range s {
		n += c
	}
	return n
}

func (s Steps) minus(before Steps) Steps {
	for b, n := range before {
		s[b] -= n
	}
	return s
}

// most returns the blocks, those that ran most often first.
func (s Steps) most() []Block {
	return slices.SortedFunc(maps.Keys(s), func(a, b Block) int {
		return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a.Pkg, b.Pkg), cmp.Compare(a.Func, b.Func),
			cmp.Compare(a.Index, b.Index))
	})
}

// The counters of a build are written in the format of Go's internal/coverage:
// a header, then one segment of the process with a table of strings, the arguments
// of the process, and for each function its counters. Numbers are ULEB128.
const (
	counterMagic   = "\x00cwm"
	counterHeader  = 4 + 4 + 16 + 2 + 6
	segmentHeader  = 8 + 4 + 4
	counterVersion = 1
	uleb           = 2 // the flavor of the counters
)

// countSteps returns how often each block has run since the process began.
func countSteps() (Steps, error) {
	if !Counted() {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := coverage.WriteCounters(&buf); err != nil {
		return nil, fmt.Errorf("counters of the build: %w", err)
	}
	return parseCounters(buf.Bytes())
}

func parseCounters(b []byte) (Steps, error) {
	if len(b) < counterHeader+segmentHeader || string(b[:4]) != counterMagic ||
		binary.LittleEndian.Uint32(b[4:]) != counterVersion || b[24] != uleb {
		return nil, fmt.Errorf("counters of the build: want the format of Go 1.20 to 1.26")
	}
	r := reader{b: b[counterHeader:]}
	entries, strs, args := r.uint64(), r.uint32(), r.uint32()
	r.skip(int(strs) + int(args))
	steps := Steps{}
	for range entries {
		n, pkg, fn := r.uleb(), r.uleb(), r.uleb()
		for i := range n {
			if c := r.uleb(); c > 0 {
				steps[Block{uint32(pkg), uint32(fn), uint32(i)}] = c
			}
		}
		if r.err != nil {
			break
		}
	}
	return steps, r.err
}

// String returns the place of the block in the source.
func (b Block) String() string {
	if name, ok := places()[b]; ok {
		return name
	}
	return fmt.Sprintf("block %d of function %d of package %d", b.Index, b.Func, b.Pkg)
}

// The tables of the build: a header, the offsets and lengths of the packages, and for
// each package its functions with the lines of their blocks.
const (
	metaHeader    = 56
	packageHeader = 44
)

var places = sync.OnceValue(func() map[Block]string {
	var buf bytes.Buffer
	if err := coverage.WriteMeta(&buf); err != nil || buf.Len() < metaHeader {
		return nil
	}
	all := buf.Bytes()
	packages := binary.LittleEndian.Uint64(all[16:])
	out := map[Block]string{}
	for p := range packages {
		r := reader{b: all}
		r.skip(metaHeader + int(8*p))
		at := r.uint64()
		r.skip(int(8*packages) - 8)
		size := r.uint64()
		if r.err != nil || at+size > uint64(len(all)) {
			return out
		}
		placesOf(out, uint32(p), all[at:at+size])
	}
	return out
})

func placesOf(out map[Block]string, pkg uint32, b []byte) {
	r := reader{b: b}
	r.skip(packageHeader - 4)
	funcs := make([]uint32, r.uint32())
	for i := range funcs {
		funcs[i] = r.uint32()
	}
	names := make([]string, r.uleb())
	for i := range names {
		names[i] = string(r.take(int(r.uleb())))
	}
	for f, at := range funcs {
		r := reader{b: b}
		r.skip(int(at))
		units, name, file := r.uleb(), r.uleb(), r.uleb()
		for u := range units {
			line := r.uleb()
			for range 4 {
				r.uleb()
			}
			if r.err == nil && int(name) < len(names) && int(file) < len(names) {
				out[Block{pkg, uint32(f), uint32(u)}] = fmt.Sprintf("%s (%s:%d)", names[name], names[file], line)
			}
		}
	}
}

// reader reads numbers; after an error it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b, r.err = nil, io.ErrUnexpectedEOF
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) skip(n int) { r.take(n) }

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) uleb() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.b, r.err = nil, io.ErrUnexpectedEOF
		return 0
	}
	r.b = r.b[size:]
	return n
}
