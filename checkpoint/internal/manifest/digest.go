package manifest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Run is a run of bytes of a file with their SHA-256. The runs of a file follow each other without
// gaps, so that a part of the file can be compared with the digests of the runs that it touches,
// and each has at most RunBytes: that much must be read of each of them. An empty file has one run
// without bytes.
//
// Checksums notice damage; anybody finds other bytes with the same ones. Digests
// are what a signature needs to speak for the bytes.
type Run struct {
	Off, Size int64
	Sum       [sha256.Size]byte
}

// RunBytes is how many bytes a run has at most.
const RunBytes = 256 << 10

// shortRun is from how many bytes on a part of a file has runs of its own.
const shortRun = 64 << 10

// Runs returns the runs of the bytes b, which begin at off in their file. Parts,
// ascending, are the places in b where something begins that may be read by
// itself: where that is not short a run begins there too, so that little else is
// read with it.
func Runs(b []byte, off int64, parts ...int) []Run {
	var runs []Run
	add := func(from, to int) {
		runs = append(runs, Run{Off: off + int64(from), Size: int64(to - from), Sum: sha256.Sum256(b[from:to])})
	}
	at, ends := 0, append(slices.Clip(parts), len(b))
	for i, end := range ends {
		for end-at > RunBytes {
			add(at, at+RunBytes)
			at += RunBytes
		}
		last := i == len(ends)-1
		if end > at && (last || end-at >= shortRun || ends[i+1]-end >= shortRun) {
			add(at, end)
			at = end
		}
	}
	if len(runs) == 0 {
		add(0, 0)
	}
	return runs
}

// Check reports whether b are the bytes of the run.
func (r Run) Check(b []byte) bool { return int64(len(b)) == r.Size && sha256.Sum256(b) == r.Sum }

// DigestError says that the bytes of a run of a file are not the ones that were
// signed.
func DigestError(file string, r Run) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: file,
		Want: "the bytes that were signed", Got: fmt.Sprintf("different bytes from %d to %d, by their SHA-256", r.Off, r.Off+r.Size),
		Remedy: "the file was changed after it was signed, or damaged: do not trust it"}
}

// Digested reports whether all files have their runs, so that a signature of the
// document speaks for every byte of them.
func (m *Manifest) Digested() bool {
	return !slices.ContainsFunc(m.Files, func(f File) bool { return len(f.Runs) == 0 })
}

// Touched returns the runs that have bytes from off up to end.
func (f File) Touched(off, end int64) []Run {
	first, _ := slices.BinarySearchFunc(f.Runs, off, func(r Run, off int64) int {
		if r.Off+r.Size <= off {
			return -1
		}
		return 1
	})
	last := first
	for last < len(f.Runs) && f.Runs[last].Off < end {
		last++
	}
	return f.Runs[first:last]
}

func appendRuns(dst []byte, runs []Run) []byte {
	for _, r := range runs {
		dst = append(strconv.AppendInt(append(dst, ' '), r.Size, 10), ':')
		dst = base64.RawStdEncoding.AppendEncode(dst, r.Sum[:])
	}
	return dst
}

// parseRuns reads the runs of a file, which must have exactly its bytes.
func (f *File) parseRuns(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	f.Runs = make([]Run, len(fields))
	at := int64(0)
	for i, s := range fields {
		size, digest, _ := strings.Cut(s, ":")
		n, err := strconv.ParseInt(size, 10, 64)
		if err != nil || n < 0 || n > RunBytes || n == 0 && f.Size > 0 ||
			len(digest) != base64.RawStdEncoding.EncodedLen(sha256.Size) {
			return fmt.Errorf("run %.60q", s)
		}
		r := &f.Runs[i]
		if _, err := base64.RawStdEncoding.Strict().Decode(r.Sum[:], []byte(digest)); err != nil {
			return fmt.Errorf("run %.60q", s)
		}
		r.Off, r.Size = at, n
		at += n
	}
	if at != f.Size {
		return fmt.Errorf("runs of %d bytes in a file of %d", at, f.Size)
	}
	return nil
}

// runBytes is up to how many bytes one checksum covers of an array in a format
// that has no chunks.
const runBytes = 4 << 20

// RunShape returns the sub-chunks by which an array is summed that lies in one
// piece in its file, in C order: as many rows of the first axis as have 4 MiB, or
// where one row has more, the same of that row. Each is one run of the bytes.
// Elements of less than a byte, which are packed, are summed as a whole.
func RunShape(shape []int, d tensor.DType) []int {
	sub := slices.Clone(shape)
	if d.Bits()%8 != 0 {
		return sub
	}
	bytes := tensor.Shape(shape).Len() * d.Size()
	for axis, n := range shape {
		if bytes <= runBytes {
			break
		}
		bytes /= n
		sub[axis] = min(n, max(1, runBytes/bytes))
	}
	return sub
}

// Place returns the index in Leaf.Chunks, the grid of sub-chunks in C order, of the
// sub-chunk of shape sub that holds the element at origin.
func Place(grid, sub, origin []int) int {
	n := 0
	for axis, g := range grid {
		n = n*g + origin[axis]/sub[axis]
	}
	return n
}
