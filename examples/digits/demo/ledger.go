package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// ledger holds what each step of a training was, and refuses a step that comes
// out differently when it is executed again.
type ledger struct {
	steps    []Event // of step i+1
	executed int64   // steps announced, those executed again included
}

// add enters a step.
func (l *ledger) add(e Event) error {
	l.executed++
	n := int64(len(l.steps))
	switch {
	case e.Step == n+1:
		l.steps = append(l.steps, e)
	case e.Step < 1 || e.Step > n:
		return &errs.Error{Kind: errs.Mismatch, Op: "demo", Subject: "sequence of steps",
			Want: fmt.Sprintf("step %d or one before it", n+1), Got: fmt.Sprint(e.Step)}
	case l.steps[e.Step-1] != e:
		return &errs.Error{Kind: errs.Mismatch, Op: "demo", Subject: fmt.Sprintf("step %d, executed again", e.Step),
			Want: fmt.Sprintf("%+v", l.steps[e.Step-1]), Got: fmt.Sprintf("%+v", e)}
	}
	return nil
}

// losses returns the loss of each step.
func (l *ledger) losses() []float32 {
	out := make([]float32, len(l.steps))
	for i, e := range l.steps {
		out[i] = e.Loss
	}
	return out
}

// digest hashes what part writes for each step.
func (l *ledger) digest(part func(w hash.Hash, e Event)) string {
	h := sha256.New()
	for _, e := range l.steps {
		part(h, e)
	}
	return short(h)
}

func hashOrder(w hash.Hash, e Event)  { io.WriteString(w, e.Order+"\n") }
func hashPixels(w hash.Hash, e Event) { io.WriteString(w, e.Pixels+"\n") }

func hashLoss(w hash.Hash, e Event) {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], math.Float32bits(e.Loss))
	w.Write(b[:])
}

// short returns the first 128 bits of h in hex.
func short(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)[:16]) }
