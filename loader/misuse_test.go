package loader_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
)

// gated is a data set whose samples wait.
type gated struct{ entered, open chan struct{} }

func (g gated) Len() int64 { return 4 }

func (g gated) At(_ context.Context, i int64, _ loader.Random) (int64, error) {
	g.entered <- struct{}{}
	<-g.open
	return i, nil
}

// A call while another one is under way fails with errs.Busy. The call under way ends as if it were
// alone.
func TestCallsAtTheSameTime(t *testing.T) {
	g := gated{make(chan struct{}, 8), make(chan struct{})}
	l, err := loader.New(loader.Map[int64](g), loader.Options[int64, []int64]{BatchSize: 2,
		Collate: func(s []int64) ([]int64, error) { return s, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	done := make(chan error)
	go func() {
		_, err := l.Next(ctx)
		done <- err
	}()
	<-g.entered
	for name, call := range map[string]func() error{
		"Next":        func() error { _, err := l.Next(ctx); return err },
		"Start":       func() error { return l.Start(ctx) },
		"Restart":     func() error { return l.Restart(ctx) },
		"AppendState": func() error { _, err := l.AppendState(nil); return err },
		"SetState":    func() error { return l.SetState(nil) },
		"Close":       l.Close,
	} {
		if err := call(); !errors.Is(err, errs.Busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(g.open)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
