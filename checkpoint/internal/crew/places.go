package crew

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
)

// places are the boxes of the shards of a process. After a message they are unsigned varints: for
// each leaf the number of its shards, and if there is one, the number of axes and then, for each
// shard, the origin and the shape.
type places struct {
	at    []int32 // where each leaf begins in boxes; one more at the end
	axes  []int32 // of each leaf
	boxes []int   // origin and shape of each shard
}

// add adds the shards of one more leaf, which may have none. Shards without elements do not count.
func (p *places) add(parts *writer.Parts) {
	axes := 0
	if parts != nil {
		for _, part := range parts.Parts {
			if part.Data.Len() > 0 {
				axes = len(part.Origin)
				p.boxes = append(append(p.boxes, part.Origin...), part.Data.Shape...)
				if axes == 0 {
					p.boxes = append(p.boxes, 0) // a shard without axes takes one number
				}
			}
		}
	}
	if p.at == nil {
		p.at = []int32{0}
	}
	p.at, p.axes = append(p.at, int32(len(p.boxes))), append(p.axes, int32(axes))
}

// width is how many numbers a shard takes.
func width(axes int) int { return max(1, 2*axes) }

// count returns the number of shards of leaf i.
func (p *places) count(i int) int {
	if i+1 >= len(p.at) {
		return 0
	}
	return int(p.at[i+1]-p.at[i]) / width(int(p.axes[i]))
}

// box returns shard k of leaf i.
func (p *places) box(i, k int) (origin, shape []int) {
	n := int(p.axes[i])
	b := p.boxes[int(p.at[i])+k*width(n):]
	return b[:n:n], b[n : 2*n : 2*n]
}

// append appends the places.
func (p *places) append(b []byte) []byte {
	for i := range p.axes {
		n := p.count(i)
		b = binary.AppendUvarint(b, uint64(n))
		if n == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(p.axes[i]))
		for _, v := range p.boxes[p.at[i]:p.at[i+1]] {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return b
}

// parse reads the places of a number of leaves, and returns false if b does not hold them.
func (p *places) parse(b []byte, leaves int) bool {
	*p = places{at: make([]int32, 1, leaves+1), axes: make([]int32, 0, leaves), boxes: make([]int, 0, len(b))}
	r := numbers{b: b}
	for len(p.axes) < leaves && r.err == nil {
		n, axes := r.next(), 0
		if n > 0 {
			axes = r.next()
		}
		// Each number has a byte, so no claim takes more memory than the message.
		if most := len(r.b); axes > most || n > most/width(axes) {
			return false
		}
		for range n * width(axes) {
			p.boxes = append(p.boxes, r.next())
		}
		p.at, p.axes = append(p.at, int32(len(p.boxes))), append(p.axes, int32(axes))
	}
	return r.err == nil && len(r.b) == 0
}

// numbers reads unsigned varints.
type numbers struct {
	b   []byte
	err error
}

// next returns the next number, or 0 after an error.
func (r *numbers) next() int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<62 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

// bytes returns the next n bytes, or nil after an error.
func (r *numbers) bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// packLeaves returns a list of leaves as compressed JSON, and the SHA-256 of the list.
func packLeaves(leaves []leafRoll) (packed, sum []byte, err error) {
	text, err := json.Marshal(leaves)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	s := sha256.Sum256(text)
	return out.Bytes(), s[:], err
}

// mostLeaves bounds the bytes of a list of leaves, which a few damaged bytes could claim.
const mostLeaves = 1 << 30

// unpackLeaves reads the list of leaves.
func (it *itemRoll) unpackLeaves() error {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(it.packed)), mostLeaves))
	if err == nil {
		err = json.Unmarshal(text, &it.leaves)
	}
	if err != nil {
		return damaged("leaves")
	}
	return nil
}
