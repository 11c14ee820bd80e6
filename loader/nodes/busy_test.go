package nodes_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/nodes"
)

// TestCallsAtTheSameTime makes calls while another goroutine is in Next. They fail with errs.Busy,
// and Next ends as if it were alone.
func TestCallsAtTheSameTime(t *testing.T) {
	entered, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := nodes.Map(nodes.FromSlice([]int{1, 2, 3}), func(_ context.Context, v int) (int, error) {
		once.Do(func() {
			close(entered)
			<-open
		})
		return v, nil
	})
	l := nodes.NewLoader(slow, nodes.LoaderOptions{})
	done := make(chan error)
	go func() {
		v, err := l.Next(context.Background())
		if err == nil && v != 1 {
			err = errors.New("another value")
		}
		done <- err
	}()
	<-entered
	for name, call := range map[string]func() error{
		"Next":        func() error { _, err := l.Next(t.Context()); return err },
		"Begin":       func() error { return l.Begin(t.Context()) },
		"AppendState": func() error { _, err := l.AppendState(nil); return err },
		"SetState":    func() error { return l.SetState([]byte("{}")) },
		"Close":       l.Close,
		"Epoch": func() (err error) {
			for _, err = range l.Epoch(t.Context()) {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, errs.Busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	close(open)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if v, err := l.Next(t.Context()); v != 2 || err != nil {
		t.Errorf("then %d, %v", v, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
