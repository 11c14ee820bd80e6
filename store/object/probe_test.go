package object_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

func save(st store.Store, name string) error {
	ctx := context.Background()
	t, err := st.Begin(ctx, name, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // the test looks at Commit
	if err := t.Put(ctx, "x", bytes.Repeat([]byte("x"), 100)); err != nil {
		return err
	}
	return t.Commit(ctx, store.Blob{Name: "manifest"})
}

// TestProbe: a server that breaks a law is refused by the name of the law before anything is
// written, and read all the same.
func TestProbe(t *testing.T) {
	for want, lies := range map[string]simulated.Lies{
		"If-None-Match":      {IgnoresAbsent: true},
		"If-Match":           {IgnoresTag: true},
		"an upload in parts": {IgnoresComplete: true},
		"a wrong checksum":   {IgnoresSum: true},
	} {
		server := simulated.NewServer(0, lies)
		st := object.New(server.Bucket(nil), "", object.Options{})
		err := save(st, "run/1")
		if errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--unsafe-single-writer") {
			t.Errorf("%s: %v", want, err)
		}
		for op, err := range map[string]error{
			"Put":        st.Put(t.Context(), "x", nil, store.PutOptions{}),
			"RemoveTree": st.RemoveTree(t.Context(), "x"),
			"Rename":     st.Rename(t.Context(), "x", "y"),
			"Lock":       second(st.Lock(t.Context(), "x")),
		} {
			if errs.KindOf(err) != errs.Unsupported {
				t.Errorf("%s: %s: %v", want, op, err)
			}
		}
		for range st.List(t.Context(), "") {
			t.Errorf("%s: something was written", want)
		}
		if _, err := st.Stat(t.Context(), "run"); errs.KindOf(err) != errs.NotFound {
			t.Errorf("%s: %v", want, err)
		}
		alone := object.New(server.Bucket(nil), "", object.Options{UnsafeSingleWriter: true})
		if err := save(alone, "run/1"); err != nil {
			t.Errorf("%s, one writer: %v", want, err)
		}
	}
}

func second(_ any, err error) error { return err }

// TestProbeIsRemembered: another store asks nothing for a day.
func TestProbeIsRemembered(t *testing.T) {
	server := simulated.NewServer(0, simulated.Lies{})
	probes := 0
	network := func(r simulated.Request) simulated.Fate {
		if strings.Contains(r.Key, "/probes/") && r.Kind == "Put" {
			probes++
		}
		return simulated.Fate{}
	}
	for i := range 3 {
		if err := save(object.New(server.Bucket(network), "", object.Options{}), "run/"+string(rune('1'+i))); err != nil {
			t.Fatal(err)
		}
	}
	if probes == 0 || probes > 5 {
		t.Errorf("%d requests", probes)
	}
	for _, key := range server.Keys() {
		if strings.Contains(key, "/probes/") {
			t.Errorf("%s is left", key)
		}
	}
}

// TestNoConditionalRemoval: where a tag is not compared in removals, a small key stays in place of
// a name, and the name can be used again.
func TestNoConditionalRemoval(t *testing.T) {
	for _, lies := range []simulated.Lies{{NoDelete: true}, {IgnoresDelete: true}} {
		server := simulated.NewServer(0, lies)
		st := object.New(server.Bucket(nil), "", object.Options{})
		for range 2 {
			if err := save(st, "run/1"); err != nil {
				t.Fatal(err)
			}
			if err := st.RemoveTree(t.Context(), "run/1"); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Stat(t.Context(), "run/1"); errs.KindOf(err) != errs.NotFound {
				t.Fatal(err)
			}
		}
		if keys := server.Keys(); len(keys) != 2 || !strings.HasSuffix(keys[1], "heads/1") {
			t.Errorf("%+v: %q", lies, keys)
		}
	}
}

// TestDamagedKeys: keys that something else removed or changed are errors that say so.
func TestDamagedKeys(t *testing.T) {
	for part, want := range map[string]errs.Kind{"/tree": errs.Corrupt, "heads/": errs.Corrupt} {
		for name, change := range map[string]func(b object.Bucket, key string){
			"removed": func(b object.Bucket, key string) { b.DeleteAll(t.Context(), []string{key}) }, //nolint:errcheck // the server is honest
			"changed": func(b object.Bucket, key string) { //nolint:errcheck // the server is honest
				p := bytes.Repeat([]byte("garbage "), 50)
				b.Put(t.Context(), key, p, sum(p), object.Condition{})
			},
		} {
			server := simulated.NewServer(0, simulated.Lies{})
			b := server.Bucket(nil)
			if err := save(object.New(b, "", object.Options{}), "run/1"); err != nil {
				t.Fatal(err)
			}
			for _, key := range server.Keys() {
				if strings.Contains(key, part) {
					change(b, key)
				}
			}
			st := object.New(b, "", object.Options{})
			_, err := st.Stat(t.Context(), "run/1/x")
			if part == "heads/" && name == "removed" {
				want = errs.NotFound
			}
			if errs.KindOf(err) != want {
				t.Errorf("%s %s: %v", part, name, err)
			}
			if _, err := store.Pin(t.Context(), st, "run/1"); errs.KindOf(err) != want {
				t.Errorf("%s %s: Pin: %v", part, name, err)
			}
			want = errs.Corrupt
		}
	}
}

// TestDeadline: a server that never answers is an error at the deadline, and so is one that always
// refuses. A context that ends is one at once.
func TestDeadline(t *testing.T) {
	for name, fate := range map[string]simulated.Fate{
		"no answer": {Delay: time.Hour}, "busy": {Err: simulated.ErrSlow}, "500": {Err: simulated.ErrServer}, "lost": {Lost: true},
	} {
		b := simulated.NewServer(0, simulated.Lies{}).Bucket(func(simulated.Request) simulated.Fate { return fate })
		st := object.New(b, "", object.Options{Deadline: 300 * time.Millisecond})
		began := time.Now()
		_, err := st.Stat(t.Context(), "x")
		if errs.KindOf(err) != errs.IO || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err = st.Stat(ctx, "x")
		if cancel(); errs.KindOf(err) != errs.Canceled || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCombine: two sums of pieces give the sum of both pieces together.
func TestCombine(t *testing.T) {
	b := []byte(strings.Repeat("the sum of the whole ", 997))
	for _, n := range []int{0, 1, 7, 8, 1000, len(b) - 1, len(b)} {
		if got, want := object.Combine(sum(b[:n]), sum(b[n:]), int64(len(b)-n)), sum(b); got != want {
			t.Errorf("%d: %08x, want %08x", n, got, want)
		}
	}
}

// TestDamagedOnTheWay: bytes whose sum the server finds wrong are sent again, three times in all.
func TestDamagedOnTheWay(t *testing.T) {
	for failures, want := range map[int]errs.Kind{2: errs.Other, 3: errs.Corrupt} {
		left := failures
		b := &wrong{
			Bucket: simulated.NewServer(0, simulated.Lies{}).Bucket(nil),
			put: func(b object.Bucket, ctx context.Context, key string, p []byte, c object.Condition) (string, error) {
				if key == "note" && left > 0 {
					left--
					return "", &errs.Error{Kind: errs.Corrupt, Got: "another checksum"}
				}
				return send(b, ctx, key, p, c)
			},
		}
		st := object.New(b, "", object.Options{SkipProbe: true})
		if err := st.Put(t.Context(), "note", []byte("x"), store.PutOptions{}); errs.KindOf(err) != want {
			t.Errorf("%d failures: %v", failures, err)
		}
	}
}
