package broadcast

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// A header has, little-endian: the kind in 4 bytes, the array in 4, the offset in 8, the size of
// the payload in 4, and the CRC-32C of the first 20 bytes and the payload in 4.
const (
	headerBytes = 24
	mostData    = 1 << 20 // payload of a data frame
	mostText    = 1 << 20 // payload of another frame
)

// The kinds of frames. The first three bytes tell them from other bytes.
const (
	kindData = 0x44766942 + iota // "BivD"
	kindBeat
	kindFail
	kindEnd
)

// frame is a frame before it is sent.
type frame struct {
	header  [headerBytes]byte
	payload []byte
}

func newFrame(kind uint32, array int, off int64, payload []byte) frame {
	f := frame{payload: payload}
	h := f.header[:]
	binary.LittleEndian.PutUint32(h, kind)
	binary.LittleEndian.PutUint32(h[4:], uint32(array))         //nolint:gosec // below the number of arrays
	binary.LittleEndian.PutUint64(h[8:], uint64(off))           //nolint:gosec // not negative
	binary.LittleEndian.PutUint32(h[16:], uint32(len(payload))) //nolint:gosec // at most mostData
	binary.LittleEndian.PutUint32(h[20:], crc.Update(crc.Sum(h[:20]), payload))
	return f
}

// ending is the payload of the frames fail and end.
type ending struct {
	Failure *failure `json:"failure,omitempty"`
	Bytes   int64    `json:"bytes"`
	Note    []int    `json:"note,omitempty"`
}

func (e ending) frame() frame {
	b, _ := json.Marshal(e) //nolint:errcheck // strings and numbers
	if e.Failure != nil {
		return newFrame(kindFail, 0, 0, b)
	}
	return newFrame(kindEnd, 0, 0, b)
}

// span is a part of an array that has arrived.
type span struct{ from, to int64 }

// receiver takes the frames of a primary.
type receiver struct {
	memory   [][]byte
	primary  int
	deadline time.Duration // without data
	seen     [][]span
	bytes    int64
}

// receive reads a stream to its end and returns the note of the primary.
func (r *receiver) receive(in io.Reader) (note []int, err error) {
	r.seen = make([][]span, len(r.memory))
	last := time.Now()
	var h [headerBytes]byte
	for {
		if _, err := io.ReadFull(in, h[:]); err != nil {
			return nil, r.lost(err)
		}
		kind, array := binary.LittleEndian.Uint32(h[:]), int64(binary.LittleEndian.Uint32(h[4:]))
		off, n := binary.LittleEndian.Uint64(h[8:]), int64(binary.LittleEndian.Uint32(h[16:]))
		switch kind {
		case kindData:
			if array >= int64(len(r.memory)) || n == 0 || n > mostData || off > uint64(len(r.memory[array])) ||
				n > int64(len(r.memory[array]))-int64(off) { //nolint:gosec // within the array
				return nil, r.garbage("a part of one of "+fmt.Sprint(len(r.memory))+" arrays",
					fmt.Sprintf("%d bytes at %d of array %d", n, off, array))
			}
			at := int64(off) //nolint:gosec // within the array
			dst := r.memory[array][at:][:n]
			if err := r.payload(in, &h, dst); err != nil {
				return nil, err
			}
			r.seen[array] = append(r.seen[array], span{at, at + n})
			r.bytes += n
			last = time.Now()
		case kindBeat:
			if err := r.payload(in, &h, nil); err != nil {
				return nil, err
			}
			if idle := time.Since(last); idle > r.deadline {
				return nil, &errs.Error{Kind: errs.Canceled, Subject: name(r.primary),
					Want:   "bytes within " + r.deadline.String(),
					Got:    "only signs of life: it reads nothing from the store",
					Remedy: "see why the store does not answer there; a longer Deadline of the cluster waits longer"}
			}
		case kindFail, kindEnd:
			if n > mostText {
				return nil, r.garbage("a short last frame", fmt.Sprintf("%d bytes", n))
			}
			b := make([]byte, n)
			if err := r.payload(in, &h, b); err != nil {
				return nil, err
			}
			var e ending
			if err := json.Unmarshal(b, &e); err != nil {
				return nil, r.garbage("a last frame in JSON", err.Error())
			}
			if kind == kindFail {
				if e.Failure == nil {
					return nil, r.garbage("a reason", "a failure without one")
				}
				return nil, e.Failure.from(r.primary)
			}
			return e.Note, r.whole(e)
		default:
			return nil, r.garbage("a frame", fmt.Sprintf("the bytes % x", h[:8]))
		}
	}
}

// payload reads the payload of a frame and compares its checksum.
func (r *receiver) payload(in io.Reader, h *[headerBytes]byte, dst []byte) error {
	if n := binary.LittleEndian.Uint32(h[16:]); int(n) != len(dst) {
		return r.garbage("a frame without bytes", fmt.Sprintf("%d bytes", n))
	}
	if _, err := io.ReadFull(in, dst); err != nil {
		return r.lost(err)
	}
	want, got := binary.LittleEndian.Uint32(h[20:]), crc.Update(crc.Sum(h[:20]), dst)
	if want != got {
		return r.garbage(fmt.Sprintf("the CRC-32C %08x", want), fmt.Sprintf("%08x", got))
	}
	return nil
}

// whole returns an error unless each byte of each array has come once.
func (r *receiver) whole(e ending) error {
	for i, spans := range r.seen {
		slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
		end := int64(0)
		for _, s := range spans {
			if s.from != end {
				return r.garbage(fmt.Sprintf("each byte of array %d once", i), fmt.Sprintf("byte %d, then byte %d",
					end, s.from))
			}
			end = s.to
		}
		if end != int64(len(r.memory[i])) {
			return r.garbage(fmt.Sprintf("%d bytes of array %d", len(r.memory[i]), i), fmt.Sprintf("%d", end))
		}
	}
	if e.Bytes != r.bytes {
		return r.garbage(fmt.Sprintf("%d bytes", e.Bytes), fmt.Sprintf("%d", r.bytes))
	}
	return nil
}

// again is the remedy of errors of a stream.
const again = "load again; with UseLoadAndBroadcast Off each process reads for itself"

func (r *receiver) garbage(want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "broadcast", Subject: name(r.primary), Want: want, Got: got,
		Remedy: "see whether all processes run the same program; " + again}
}

// lost is the error of a stream that ends too early.
func (r *receiver) lost(err error) error {
	e := &errs.Error{Op: "broadcast", Subject: name(r.primary), Want: "its bytes to the end",
		Got: fmt.Sprintf("the end of its stream after %d bytes", r.bytes), Err: err,
		Remedy: "see whether that process has ended and why; " + again}
	if e.Kind = errs.KindOf(err); e.Kind == errs.Other {
		e.Kind = errs.IO
	}
	return e
}

// name names the primary of a group in errors.
func name(primary int) string { return fmt.Sprintf("process %d, which reads for this one", primary) }
