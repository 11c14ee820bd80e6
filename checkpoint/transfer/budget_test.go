package transfer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Memory that was not taken is not given back.
func TestMemoryOfCancelledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0, smallestPiece)
		if err := b.take(t.Context(), smallestPiece); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		waiting := &Transfer{budget: b, sums: map[string][]uint32{}}
		if err := waiting.move(ctx, nil, nil, "x", 0, 0, 1); errs.KindOf(err) != errs.Canceled {
			t.Errorf("a copy: %v", err)
		}
		if now, _ := b.memory.Used(); now != smallestPiece {
			t.Errorf("%d bytes are taken, want %d", now, smallestPiece)
		}
		b.give(smallestPiece)
	})
}

// The rate holds over calls that come late, and a pause is no credit.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0)
		for i, c := range []struct{ sleep, n, want time.Duration }{
			{0, 100, time.Second}, {0, 50, 500 * time.Millisecond}, {time.Hour, 100, time.Second}, {0, 0, 0},
		} {
			time.Sleep(c.sleep)
			began := time.Now()
			if err := b.pace(t.Context(), int64(c.n)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != c.want {
				t.Errorf("call %d took %s, want %s", i, took, c.want)
			}
		}
	})
}
