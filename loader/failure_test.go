package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

var errBad = errors.New("bad sample")

// failing is a data set of n samples in which one does what bad does when it is read.
func failing(n, at int64, bad func() error) loader.Map[int64] {
	return loader.Func(n, func(_ context.Context, id int64, _ loader.Random) (int64, error) {
		if id == at {
			return id, bad()
		}
		return id, nil
	})
}

func always() error { return errBad }

// S16: an error belongs to its batch, names worker and sample, and keeps the position: the batch
// itself follows, here or in another loader.
func TestErrorKeepsThePosition(t *testing.T) {
	for _, workers := range []int{0, 2} {
		broken := atomic.Bool{}
		broken.Store(true)
		l := open(t, failing(40, 13, func() error {
			if broken.Load() {
				return errBad
			}
			return nil
		}), options{BatchSize: 4, Workers: workers})
		got := take(t, l, 3)
		for range 2 {
			_, err := l.Next(context.Background())
			if !errors.Is(err, errBad) || !strings.Contains(err.Error(), "sample 13") ||
				!strings.Contains(err.Error(), "worker") {
				t.Fatalf("error %v", err)
			}
		}
		saved := snapshot(t, l)
		broken.Store(false)
		other := open(t, ids(40), options{BatchSize: 4})
		restoreAnyData(t, other, saved)
		rest := take(t, l, -1)
		if diff := cmp.Diff(rest, take(t, other, -1)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(ids(40), loader.Slice[int64](slices.Concat(append(got, rest...)...))); diff != "" {
			t.Error(diff)
		}
	}
}

// restoreAnyData sets a state of another kind of data set with the same samples.
func restoreAnyData(t *testing.T, l *loader.Loader[int64, tensor.Tensor], saved []byte) {
	t.Helper()
	mine, err := state.Unmarshal(snapshot(t, l))
	if err != nil {
		t.Fatal(err)
	}
	d, err := state.Unmarshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	d.Fingerprint = mine.Fingerprint
	b, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	restore(t, l, b)
}

// With PassOn the error comes at its position and the loader goes on behind it.
func TestPassOnGoesBehindTheBatch(t *testing.T) {
	for _, workers := range []int{0, 2} {
		l := open(t, failing(20, 5, always), options{BatchSize: 4, Workers: workers,
			OnError: faults.Policy{Action: faults.PassOn}})
		var got []string
		for b, err := range l.Epoch(context.Background()) {
			if err != nil {
				got = append(got, "error")
				continue
			}
			v, _ := tensor.Of[int64](b)
			got = append(got, fmt.Sprint(v[0]))
		}
		if diff := cmp.Diff([]string{"0", "error", "8", "12", "16"}, got); diff != "" {
			t.Errorf("workers %d: %s", workers, diff)
		}
	}
}

// With Skip the batch comes without the sample, and the state says so; a batch of
// which nothing is left does not come.
func TestSkipLeavesOutAndNotes(t *testing.T) {
	l := open(t, failing(9, 5, always), options{BatchSize: 2, OnError: faults.Policy{Action: faults.Skip}})
	want := [][]int64{{0, 1}, {2, 3}, {4}, {6, 7}, {8}}
	if diff := cmp.Diff(want, take(t, l, -1)); diff != "" {
		t.Error(diff)
	}
	d, err := state.Unmarshal(snapshot(t, l))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.Extra["ledger"]); !strings.HasPrefix(got, `{"count":1,"last":[[5,5]],"reason":"`) ||
		!strings.Contains(got, "bad sample") {
		t.Errorf("ledger %s", got)
	}
	l = open(t, failing(3, 1, always), options{OnError: faults.Policy{Action: faults.Skip}})
	if diff := cmp.Diff([][]int64{{0}, {2}}, take(t, l, -1)); diff != "" {
		t.Error(diff)
	}
}

func TestRetriesBeforeAnAction(t *testing.T) {
	var reads atomic.Int64
	l := open(t, failing(4, 2, func() error {
		if reads.Add(1) < 3 {
			return errBad
		}
		return nil
	}), options{BatchSize: 4, OnError: faults.Policy{Retries: 2}})
	take(t, l, -1)
	if reads.Load() != 3 {
		t.Errorf("read %d times", reads.Load())
	}
}

// An item of an Iterable that failed comes again when the loader tries again: the
// stream is brought back to where it was.
func TestIterableErrorKeepsThePosition(t *testing.T) {
	for _, workers := range []int{0, 1, 2} {
		var broken atomic.Bool
		broken.Store(true)
		ds := loader.IterFunc[int64](func(ctx context.Context) iter.Seq2[int64, error] {
			w, _ := loader.WorkerInfoOf(ctx)
			return func(yield func(int64, error) bool) {
				for i := int64(w.ID); i < 30; i += int64(w.N) {
					var err error
					if i == 11 && broken.Load() {
						err = errBad
					}
					if !yield(i, err) {
						return
					}
				}
			}
		})
		o := options{BatchSize: 3, Streams: 2, Workers: workers}
		l := openIterable(t, ds, o)
		got := take(t, l, 3)
		for range 2 {
			if _, err := l.Next(context.Background()); !errors.Is(err, errBad) {
				t.Fatalf("error %v", err)
			}
		}
		broken.Store(false)
		got = append(got, take(t, l, -1)...)
		if diff := cmp.Diff(epochs(t, openIterable(t, plain(30), o), 1)[0], got); diff != "" {
			t.Errorf("workers %d: %s", workers, diff)
		}
	}
}

func TestIterableSkipsItems(t *testing.T) {
	ds := loader.IterFunc[int64](func(context.Context) iter.Seq2[int64, error] {
		return func(yield func(int64, error) bool) {
			_ = yield(1, nil) && yield(2, errBad) && yield(3, nil)
		}
	})
	l := openIterable(t, ds, options{BatchSize: 2, OnError: faults.Policy{Action: faults.Skip}})
	if diff := cmp.Diff([][]int64{{1, 3}}, take(t, l, -1)); diff != "" {
		t.Error(diff)
	}
	endless := loader.NewIterable[int64, tensor.Tensor]
	bad, err := endless(broken{}, options{OnError: faults.Policy{Action: faults.Skip}})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if _, err := bad.Next(context.Background()); !errors.Is(err, errBad) {
		t.Errorf("an iterator that only fails: %v", err)
	}
}

// broken fails without end.
type broken struct{}

func (b broken) Open(context.Context) (loader.Iterator[int64], error) { return b, nil }
func (broken) Next(context.Context) (int64, error)                    { return 0, errBad }

// A data set that panics, or ends its goroutine, is an error of its batch, and the
// loop goes on when it is well again.
func TestDeadWorker(t *testing.T) {
	for name, die := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		for _, workers := range []int{0, 1, 3} {
			if workers == 0 && name == "goexit" {
				continue // it is the caller's own
			}
			var sick atomic.Bool
			sick.Store(true)
			l := open(t, failing(30, 7, func() error {
				if sick.Load() {
					die()
				}
				return nil
			}), options{BatchSize: 3, Workers: workers})
			got := take(t, l, 2)
			for range 2 {
				_, err := l.Next(context.Background())
				var dead *loader.Dead
				if !errors.As(err, &dead) || !strings.Contains(err.Error(), "worker ") ||
					!strings.Contains(err.Error(), "sample 7") {
					t.Fatalf("%s: error %v", name, err)
				}
				if name == "panic" && (dead.Value != "boom" || !strings.Contains(dead.Stack, "failure_test")) {
					t.Errorf("panic of %v at %s", dead.Value, dead.Stack)
				}
			}
			sick.Store(false)
			if rest := take(t, l, -1); len(got)+len(rest) != 10 {
				t.Errorf("%s: %d batches", name, len(got)+len(rest))
			}
		}
	}
}

// A data set that blocks is named after Timeout, and the position kept.
func TestHangingWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		l, err := loader.New(failing(12, 4, func() error { <-release; return nil }),
			options{BatchSize: 3, Workers: 2, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		take(t, l, 1)
		for range 2 {
			_, err := l.Next(context.Background())
			if !errors.Is(err, errs.Exhausted) || !strings.Contains(err.Error(), "worker 1") &&
				!strings.Contains(err.Error(), "worker 0") || !strings.Contains(err.Error(), "1s") {
				t.Fatalf("error %v", err)
			}
		}
		saved := snapshot(t, l)
		if err := l.Close(); !errors.Is(err, errs.Busy) || !strings.Contains(err.Error(), "worker") {
			t.Errorf("close: %v", err)
		}
		close(release)
		other := open(t, failing(12, -1, nil), options{BatchSize: 3})
		restore(t, other, saved)
		if n := len(take(t, other, -1)); n != 3 {
			t.Errorf("%d batches after the first", n)
		}
		synctest.Wait()
	})
}

// A hanging worker does not keep the loader from another state, or its end.
func TestHangingWorkerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		var hang atomic.Bool
		hang.Store(true)
		l, err := loader.New(failing(12, 4, func() error {
			if hang.Load() {
				<-release
			}
			return nil
		}), options{BatchSize: 3, Workers: 1, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		start := snapshot(t, l)
		take(t, l, 1)
		if _, err := l.Next(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		hang.Store(false)
		restore(t, l, start)
		if n := len(take(t, l, -1)); n != 4 {
			t.Errorf("%d batches", n)
		}
		close(release)
		synctest.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The end of a context loses nothing, wherever it comes.
func TestCanceledContextKeepsThePosition(t *testing.T) {
	for _, workers := range []int{0, 2} {
		var cancel context.CancelFunc
		ds := loader.Func(20, func(ctx context.Context, id int64, _ loader.Random) (int64, error) {
			if id == 9 && cancel != nil {
				cancel()
				cancel = nil
				if workers == 0 {
					return 0, ctx.Err()
				}
			}
			return id, nil
		})
		l := open(t, ds, options{BatchSize: 4, Workers: workers})
		ctx, stop := context.WithCancel(context.Background())
		cancel = stop
		var got [][]int64
		for {
			b, err := l.Next(ctx)
			if errors.Is(err, errs.Canceled) {
				ctx = context.Background()
				continue
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			v, _ := tensor.Of[int64](b)
			got = append(got, v)
		}
		if diff := cmp.Diff(ids(20), loader.Slice[int64](slices.Concat(got...))); diff != "" {
			t.Errorf("workers %d: %s", workers, diff)
		}
		stop()
	}
}

// S16: what fails when a worker starts is the error of the first Next.
func TestStartUpFailure(t *testing.T) {
	for _, workers := range []int{0, 2} {
		l := openIterable(t, unopened{}, options{Workers: workers})
		if _, err := l.Next(context.Background()); !errors.Is(err, errBad) || !strings.Contains(err.Error(), "worker 0") {
			t.Errorf("workers %d: %v", workers, err)
		}
		if err := l.Start(context.Background()); !errors.Is(err, errBad) {
			t.Errorf("workers %d: %v", workers, err)
		}
		m := open(t, ids(4), options{Workers: workers, WorkerInit: func(context.Context) error { return errBad }})
		if _, err := m.Next(context.Background()); !errors.Is(err, errBad) || !strings.Contains(err.Error(), "worker init") {
			t.Errorf("workers %d: %v", workers, err)
		}
	}
}

type unopened struct{}

func (unopened) Open(context.Context) (loader.Iterator[int64], error) { return nil, errBad }
