package flow

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestTurn(t *testing.T) {
	var turn Turn
	if err := turn.Enter("first"); err != nil {
		t.Fatal(err)
	}
	for _, begin := range []func(string) error{turn.Take, turn.Enter} {
		if err := begin("second"); !errors.Is(err, errs.Busy) {
			t.Errorf("beside another call: %v", err)
		}
	}
	turn.Callback(func() {
		if err := turn.Enter("within"); err != nil {
			t.Error(err)
		}
		turn.Leave()
	})
	if !turn.Close() || turn.Close() {
		t.Error("Close does not tell the first call from the second")
	}
	turn.Leave()
	err := turn.Enter("later")
	if want := "later: closed"; err == nil || err.Error() != want || !errors.Is(err, errs.Closed) {
		t.Errorf("after Close: %v, want %s", err, want)
	}
	if err := turn.Take("last"); err != nil {
		t.Errorf("Take after Close: %v", err)
	}
}
