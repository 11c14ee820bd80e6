package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// lead is how many steps a child may be ahead of what its parent has read: it
// can neither run away from the hand that is to kill it, nor outlive its parent.
const lead = 3

// Serve is the child's side: it trains, writes events to w as JSON lines, and
// takes a byte from credits after each step; their end means that the parent is
// gone. The error, if any, is announced too.
func Serve(ctx context.Context, t Training, w io.Writer, credits io.Reader) error {
	var mu sync.Mutex
	send := func(e Event) error {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = w.Write(append(b, '\n'))
		return err
	}
	err := Train(ctx, t, func(e Event) error {
		if err := send(e); err != nil || e.Kind != StepDone {
			return err
		}
		var credit [1]byte
		if _, err := io.ReadFull(credits, credit[:]); err != nil {
			return &errs.Error{Kind: errs.Canceled, Op: "demo", Subject: "training", Got: "no parent any more", Err: err}
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, send(Event{Kind: Failed, Text: err.Error(), Error: errs.KindOf(err)}))
	}
	return nil
}
