package pipeline_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// counter counts down from the numbers that it is fed, two numbers a batch.
type counter struct {
	mu     sync.Mutex
	queue  []int32
	left   int32
	blocks bool
	fed    chan struct{}
}

func (c *counter) Feed(samples []tensor.Tensor) error {
	if len(samples) != 1 || samples[0].DType != tensor.Int32 {
		return &errs.Error{Kind: errs.Invalid, Op: "counter", Want: "a number"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, int32(binary.LittleEndian.Uint32(samples[0].Data)))
	select {
	case c.fed <- struct{}{}:
	default:
	}
	return nil
}

func (c *counter) Has() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left > 0 || len(c.queue) > 0
}

func (c *counter) Blocks() bool { return c.blocks }

func (c *counter) Next(ctx context.Context) ([]tensor.Tensor, error) {
	for !c.Has() {
		select {
		case <-c.fed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		c.left, c.queue = c.queue[0], c.queue[1:]
	}
	if c.left == 13 {
		c.left = 0
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "counter", Want: "another number", Got: "13"}
	}
	var out []tensor.Tensor
	for range 2 {
		if c.left > 0 {
			out = append(out, tensor.ScalarOf(c.left))
			c.left--
		}
	}
	return out, nil
}

func (c *counter) AppendState(dst []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return binary.LittleEndian.AppendUint32(dst, uint32(c.left)), nil
}

func (c *counter) SetState(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.queue = int32(binary.LittleEndian.Uint32(b)), nil
	return nil
}

func countdown(t *testing.T, c *counter, prefetch int) *pipeline.Pipeline {
	t.Helper()
	c.fed = make(chan struct{}, 1)
	return start(t, pipeline.Options{BatchSize: 2, Prefetch: prefetch}, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, pipeline.FromFed(c), pipeline.SourceOptions{Name: "in"})
	})
}

func feedNumber(t *testing.T, p *pipeline.Pipeline, n int32) {
	t.Helper()
	if err := p.Feed("in", []pipeline.Data{[]tensor.Tensor{tensor.ScalarOf(n)}}, nil); err != nil {
		t.Fatal(err)
	}
}

// numbers returns the numbers of a batch.
func numbers(t *testing.T, b *pipeline.Batch) (list []int32) {
	t.Helper()
	for s := range b.Outputs[0].NumSamples() {
		v, err := tensor.Of[int32](b.Outputs[0].Sample(s))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v[0])
	}
	return list
}

// TestFedReader feeds a reader whose data makes several batches, also ahead of their batches.
func TestFedReader(t *testing.T) {
	for prefetch := range 4 {
		p := countdown(t, &counter{}, prefetch)
		if _, err := p.Next(t.Context()); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "node in") {
			t.Errorf("nothing was fed: got %v", err)
		}
		feedNumber(t, p, 5)
		feedNumber(t, p, 2)
		for _, want := range [][]int32{{5, 4}, {3, 2}, {1}, {2, 1}} {
			if got := numbers(t, next(t, p)); !slices.Equal(got, want) {
				t.Errorf("prefetch %d: got %v, want %v", prefetch, got, want)
			}
		}
		if names, err := p.Unfed(1); err != nil || !slices.Equal(names, []string{"in"}) {
			t.Errorf("unfed: %v, %v", names, err)
		}
		if _, err := p.Next(t.Context()); !errors.Is(err, errs.Invalid) {
			t.Errorf("all was taken: got %v", err)
		}
		feedNumber(t, p, 1) // what was missing before does not count
		if got := numbers(t, next(t, p)); !slices.Equal(got, []int32{1}) {
			t.Errorf("prefetch %d: got %v", prefetch, got)
		}
		feedNumber(t, p, 13)
		feedNumber(t, p, 1)
		if _, err := p.Next(t.Context()); !errors.Is(err, errs.Corrupt) {
			t.Errorf("damaged data: got %v", err)
		}
		if got := numbers(t, next(t, p)); !slices.Equal(got, []int32{1}) {
			t.Errorf("after damaged data: got %v", got)
		}
	}
}

// TestFedReaderResumes goes back to a state within the data, which is fed again.
func TestFedReaderResumes(t *testing.T) {
	p := countdown(t, &counter{}, 2)
	feedNumber(t, p, 7)
	next(t, p)
	s, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]int32
	for range 3 {
		want = append(want, numbers(t, next(t, p)))
	}
	again := countdown(t, &counter{}, 3)
	if err := again.SetState(s); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got := numbers(t, next(t, again)); !slices.Equal(got, want[i]) {
			t.Errorf("batch %d after the state: got %v, want %v", i, got, want[i])
		}
	}
}

// TestFedReaderRefuses feeds data that the reader does not take.
func TestFedReaderRefuses(t *testing.T) {
	p := countdown(t, &counter{}, 1)
	one := tensor.ScalarOf(int32(1))
	for name, data := range map[string][]pipeline.Data{
		"nothing": nil, "two inputs": {ints(1), ints(2)}, "two samples": {[]tensor.Tensor{one, one}},
		"another type": {tensor.FromSlice([]uint8{1}, 1)}, "no data": {7},
	} {
		if err := p.Feed("in", data, nil); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "in") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestFedReaderBlocks waits for data that another goroutine feeds, and no longer than its context.
func TestFedReaderBlocks(t *testing.T) {
	c := &counter{blocks: true}
	p := countdown(t, c, 2)
	time.AfterFunc(20*time.Millisecond, func() { c.Feed([]tensor.Tensor{tensor.ScalarOf(int32(1))}) })
	if got := numbers(t, next(t, p)); !slices.Equal(got, []int32{1}) {
		t.Errorf("got %v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Next(ctx); !errors.Is(err, errs.Canceled) {
		t.Errorf("nothing was fed: got %v", err)
	}
	c.Feed([]tensor.Tensor{tensor.ScalarOf(int32(1))})
	if got := numbers(t, next(t, p)); !slices.Equal(got, []int32{1}) {
		t.Errorf("after waiting in vain: got %v", got)
	}
}

// closing counts how often it was closed.
type closing struct {
	counter
	closed *int
}

func (c *closing) Close() error {
	*c.closed++
	return nil
}

// TestOpenFed: each pipeline of a definition opens a reader of its own, and closes it once.
func TestOpenFed(t *testing.T) {
	opened, closed := 0, 0
	var failure error
	src := pipeline.OpenFed(func() (pipeline.FedReader, error) {
		if failure != nil {
			return nil, failure
		}
		opened++
		return &closing{counter{fed: make(chan struct{}, 1)}, &closed}, nil
	})
	d, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(b *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(b, src, pipeline.SourceOptions{Name: "in"})
	})
	if err != nil || opened != 0 {
		t.Fatal(opened, err)
	}
	var pipes []*pipeline.Pipeline
	for i := range 2 {
		p, err := d.New(t.Context(), nil)
		if err != nil || opened != i+1 {
			t.Fatal(opened, err)
		}
		pipes = append(pipes, p)
	}
	for i, p := range pipes {
		feedNumber(t, p, int32(10*i+2))
	}
	for i, p := range pipes {
		if got, n := numbers(t, next(t, p)), int32(10*i+2); !slices.Equal(got, []int32{n, n - 1}) {
			t.Errorf("pipeline %d: %v", i, got)
		}
	}
	for _, p := range append(pipes, pipes...) {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	failure = &errs.Error{Kind: errs.Exhausted, Op: "open", Want: "a reader"}
	if _, err := d.New(t.Context(), nil); !errors.Is(err, errs.Exhausted) || !strings.Contains(err.Error(), "node in") {
		t.Errorf("a reader that fails: got %v", err)
	}
	if opened != 2 || closed != 2 {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
}
