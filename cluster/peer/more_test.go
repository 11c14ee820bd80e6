package peer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A member whose context ends gives up at once; the others learn who it was, soon.
func TestCancel(t *testing.T) {
	for _, who := range []int{0, 2} {
		j := newJob(t, 3)
		ctx, cancel := context.WithCancel(t.Context())
		var reads atomic.Int64
		j.ats[0] = func(name string, _, n int64) error {
			if n > 100<<10 && reads.Add(1) == 3 {
				cancel()
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}
		began := time.Now()
		for p, err := range j.each(func(p int) error {
			own := t.Context()
			if p == who {
				own = ctx
			}
			_, err := checkpoint.Load(own, "c", j.o[p])
			return err
		}) {
			if errs.KindOf(err) != errs.Canceled || p != who && !strings.Contains(fmt.Sprint(err),
				fmt.Sprint("process ", who)) {
				t.Errorf("canceled %d: process %d: %v", who, p, err)
			}
		}
		if took := time.Since(began); took > testSilence+5*time.Second {
			t.Errorf("canceled %d: it took %v", who, took)
		}
		cancel()
		j.ats[0] = nil
		j.mustLoad()
	}
}

// A primary whose store fails, or whose connections end, is the error of all.
func TestPrimaryFails(t *testing.T) {
	j := newJob(t, 3)
	for n := int64(1); n <= 40; n += 13 {
		var reads atomic.Int64
		j.ats[0] = func(string, int64, int64) error {
			if reads.Add(1) == n {
				return &errs.Error{Kind: errs.IO, Subject: "the disk", Got: "it is gone"}
			}
			return nil
		}
		for p, err := range j.load() {
			if errs.KindOf(err) != errs.IO || !strings.Contains(err.Error(), "the disk") || p > 0 &&
				!strings.Contains(err.Error(), "process 0") {
				t.Errorf("read %d, process %d: %v", n, p, err)
			}
		}
	}
	var reads atomic.Int64
	var closing sync.Once
	j.ats[0] = func(_ string, _, n int64) error {
		if n > 100<<10 && reads.Add(1) == 2 {
			closing.Do(func() {
				if err := j.peers[0].Close(); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}
	for p, err := range j.load() {
		if err == nil || p > 0 && !strings.Contains(err.Error(), "process 0") && !strings.Contains(err.Error(),
			"process 1") && !strings.Contains(err.Error(), "process 2") {
			t.Errorf("closed: process %d: %v", p, err)
		}
	}
}

// Nobody holds a copy: a broadcast into memory of the callers allocates little besides.
func TestMemoryOfBroadcast(t *testing.T) {
	const world, size = 3, 64 << 20
	j := newJob(t, world)
	if err := checkpoint.Save(t.Context(), j.dir+"/c", map[string]any{"w": tensor.New(tensor.Float32, size/4)},
		&checkpoint.SaveOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	into := make([]map[string]any, world)
	for p := range into {
		into[p] = map[string]any{"w": tensor.New(tensor.Float32, size/4)}
		j.o[p].Array.Loading.LoadAndBroadcast.BroadcastMemoryLimitBytes = 16 << 10
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for p, err := range j.each(func(p int) error { return checkpoint.LoadInto(t.Context(), "c", into[p], j.o[p]) }) {
		if err != nil {
			t.Errorf("process %d: %v", p, err)
		}
	}
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d processes allocated %d KiB besides %d MiB each", world, got>>10, size>>20)
	if got > size/4 {
		t.Errorf("%d bytes were allocated", got)
	}
}

// Final is called when nobody needs the memory any more: the caller may change it there.
func TestFinalAfterBroadcast(t *testing.T) {
	j := newJob(t, 3)
	for p, err := range j.each(func(p int) error {
		var mu sync.Mutex
		total := 0
		o := *j.o[p]
		o.Final = func(mem []byte) error {
			mu.Lock()
			defer mu.Unlock()
			total += len(mem)
			clear(mem)
			return nil
		}
		n, err := checkpoint.Load(t.Context(), "c", &o)
		if err != nil {
			return err
		}
		if total < 13<<20 {
			return fmt.Errorf("%d bytes were told of", total)
		}
		if x, _ := n.Get("big").Tensor(); x.Data[0] != 0 || x.Data[len(x.Data)-1] != 0 {
			return errors.New("the memory changed after Final")
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("process %d: %v", p, err)
		}
	}
	// An error of Final ends the load, on all processes.
	for p, err := range j.each(func(p int) error {
		o := *j.o[p]
		o.Final = func([]byte) error {
			if p == 1 {
				return &errs.Error{Kind: errs.Exhausted, Subject: "the place for arrays"}
			}
			return nil
		}
		_, err := checkpoint.Load(t.Context(), "c", &o)
		return err
	}) {
		if errs.KindOf(err) != errs.Exhausted || p != 1 && !strings.Contains(err.Error(), "process 1") {
			t.Errorf("process %d: %v", p, err)
		}
	}
	j.mustLoad()
}

// Checkpoints of all layouts, compressed or not, are broadcast.
func TestBroadcastLayouts(t *testing.T) {
	j := newJob(t, 2)
	for _, l := range []options.Layout{options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2,
		options.SafetensorsLayout} {
		for _, c := range []options.Compression{options.DefaultCompression, options.Zstd} {
			if l == options.SafetensorsLayout && c == options.Zstd {
				continue
			}
			o := checkpoint.SaveOptions{Overwrite: true}
			o.Layout, o.Compression = l, c
			if err := checkpoint.Save(t.Context(), j.dir+"/c", j.state, &o); err != nil {
				t.Fatal(err)
			}
			for p := range j.bytes {
				j.bytes[p].Store(0)
			}
			j.mustLoad()
			if a, b := j.bytes[0].Load(), j.bytes[1].Load(); b > a/20 {
				t.Errorf("%v, %v: process 1 has read %d bytes, process 0 %d", l, c, b, a)
			}
		}
	}
}
