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
// gaps, so that a part of the file can be compared with the digests of the runs that it touches.
// Each run has at most RunBytes, because a run must be read as a whole. An empty file has one run
// without bytes.
//
// Checksums detect damage, but a forger can find other bytes with the same checksums. A signature
// of the bytes therefore needs digests.
type Run struct {
	Off, Size int64
	Sum       [sha256.Size]byte
}

// RunBytes is the largest size of a run, in bytes.
const RunBytes = 256 << 10

// shortRun is the size in bytes from which a part of a file has its own runs.
const shortRun = 64 << 10

// Runs returns the runs of the bytes b, which begin at off in their file. parts are, ascending, the
// places in b of data that may be read by itself. Data that is not short gets a run that begins
// with it, so that little else is read with it.
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

// DigestError returns the error for a run whose bytes differ from the signed ones.
func DigestError(file string, r Run) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: file,
		Want: "the bytes that were signed", Got: fmt.Sprintf("different bytes from %d to %d, by their SHA-256", r.Off, r.Off+r.Size),
		Remedy: "the file was changed after it was signed, or damaged: do not trust it"}
}

// Digested reports whether all files have runs, so that a signature of the document covers every
// byte of them.
func (m *Manifest) Digested() bool {
	return !slices.ContainsFunc(m.Files, func(f File) bool { return len(f.Runs) == 0 })
}

// Touched returns the runs with bytes in the range from off to end.
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

// runBytes is the largest number of bytes that one checksum of an array covers in a format without
// chunks.
const runBytes = 4 << 20

// RunShape returns the shape of the sub-chunks by which an array is checksummed that lies in one
// piece in its file, in C order. A sub-chunk is as many rows of the first axis as fit in 4 MiB. If
// one row is larger, the row is divided in the same way. Each sub-chunk is one run of bytes. An
// array of packed elements, of less than a byte, is one sub-chunk.
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
