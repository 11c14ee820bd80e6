package object_test

import (
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

// watched is an upload whose parts are seen before they are sent.
type watched struct {
	object.Upload
	see func(n int, b []byte) error
}

func (w watched) Part(ctx context.Context, n int, b []byte, sum uint32) error {
	if err := w.see(n, b); err != nil {
		return err
	}
	return w.Upload.Part(ctx, n, b, sum)
}

// uploading returns a transaction that begins, whose parts are seen.
func uploading(t *testing.T, b object.Bucket, see func(n int, b []byte) error) store.Txn {
	t.Helper()
	st := object.New(&wrong{Bucket: b, start: func(u object.Upload) object.Upload { return watched{u, see} }}, "p/", quick)
	return beginning(t, st, "run/a")
}

func beginning(t *testing.T, st *object.Store, name string) store.Txn {
	t.Helper()
	txn, err := st.Begin(t.Context(), name, store.TxnOptions{})
	ok(t, err)
	t.Cleanup(func() { txn.Abort() }) //nolint:errcheck // of a test
	return txn
}

// halves writes an object of two parts. The first is written in one call, the second in two.
func halves(t *testing.T, txn store.Txn, name string, body []byte) error {
	t.Helper()
	w, err := txn.Create(t.Context(), name, 128)
	ok(t, err)
	for _, at := range [][2]int64{{0, 64}, {64, 96}, {96, 128}} {
		if err := w.WriteAt(t.Context(), body[at[0]:at[1]], at[0]); err != nil {
			return err
		}
	}
	return w.Seal(t.Context())
}

// A part that one call has is sent from the memory of the caller. Memory for a part that several
// calls fill is used again, unless a request that failed may still read it.
func TestMemoryOfParts(t *testing.T) {
	bubble(t, "sent at once", func(t *testing.T) {
		var seen []*byte
		txn := uploading(t, simulated.NewServer(0, simulated.Lies{}).Bucket(nil), func(_ int, b []byte) error {
			seen = append(seen, &b[0])
			return nil
		})
		body := make([]byte, 128)
		ok(t, halves(t, txn, "x", body), halves(t, txn, "y", body))
		if len(seen) != 4 || seen[0] != &body[0] || seen[2] != &body[0] {
			t.Error("a part is copied that one call has")
		}
		if seen[1] == &body[64] || seen[3] != seen[1] {
			t.Error("the memory of a part is not used again")
		}
	})
	for what, c := range map[string]error{
		"sent again": &errs.Error{Kind: errs.IO, Err: object.ErrUnknown}, "refused": &errs.Error{Kind: errs.IO, Err: errRefused},
	} {
		bubble(t, what, func(t *testing.T) {
			var seen []*byte
			server := simulated.NewServer(0, simulated.Lies{})
			failed := false
			st := object.New(&wrong{Bucket: server.Bucket(nil), start: func(u object.Upload) object.Upload {
				return watched{u, func(n int, b []byte) error {
					if n != 2 {
						return nil
					}
					if seen = append(seen, &b[0]); !failed {
						failed = true
						return c
					}
					return nil
				}}
			}}, "p/", quick)
			err := halves(t, beginning(t, st, "run/a"), "x", make([]byte, 128))
			if refused := what == "refused"; errors.Is(err, errRefused) != refused || (err != nil) != refused {
				t.Error(err)
			}
			ok(t, halves(t, beginning(t, st, "run/b"), "x", make([]byte, 128)))
			if last := seen[len(seen)-1]; last == seen[0] {
				t.Error("memory is used again that a request may read")
			}
		})
	}
}

// The first of several errors of a writer is the one that is told, and no object is made after it.
func TestFirstErrorOfParts(t *testing.T) {
	bubble(t, "two parts fail", func(t *testing.T) {
		first, later := errors.New("the first"), errors.New("a later one")
		txn := uploading(t, simulated.NewServer(0, simulated.Lies{}).Bucket(nil), func(n int, _ []byte) error {
			if n == 2 {
				return &errs.Error{Kind: errs.IO, Err: first}
			}
			time.Sleep(time.Second)
			return &errs.Error{Kind: errs.IO, Err: later}
		})
		w, err := txn.Create(t.Context(), "x", 128)
		ok(t, err)
		for what, err := range map[string]error{
			"WriteAt": w.WriteAt(t.Context(), make([]byte, 128), 0), "Seal": w.Seal(t.Context()),
			"Commit": txn.Commit(t.Context(), store.Blob{Name: "manifest"}),
		} {
			if !errors.Is(err, first) || errors.Is(err, later) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	bubble(t, "all bytes are there", func(t *testing.T) {
		s := on(t, none)
		st, n := scripted(t, s.server)
		w, err := beginning(t, st, "run/a").Create(t.Context(), "x", 3)
		ok(t, err, w.WriteAt(t.Context(), []byte("abc"), 0))
		kind(t, "a byte too many", w.WriteAt(t.Context(), []byte("d"), 3), errs.Invalid)
		if kind(t, "a seal", w.Seal(t.Context()), errs.Invalid); n.count("Put data/") > 0 {
			t.Error("the object is made")
		}
	})
}

// A call without bytes changes nothing, also in a part that is whole and was sent.
func TestEmptyWrites(t *testing.T) {
	ctx := t.Context()
	server, _ := fresh(t, none)
	st, n := scripted(t, server)
	txn := beginning(t, st, "run/a")
	w, err := txn.Create(ctx, "x", 128)
	ok(t, err)
	body := []byte(strings.Repeat("0123456789abcdef", 8))
	for _, at := range [][2]int64{{0, 0}, {0, 32}, {32, 64}, {0, 0}, {64, 64}, {64, 128}, {64, 64}, {128, 128}} {
		ok(t, w.WriteAt(ctx, body[at[0]:at[1]], at[0]))
	}
	ok(t, w.Seal(ctx), txn.Commit(ctx, store.Blob{Name: "manifest"}))
	if got := content(t, st, "run/a/x"); got != string(body) || n.count("Part ") != 2 {
		t.Errorf("%q, sent in %d parts", got, n.count("Part "))
	}
}

// A small object is one part unless the options say otherwise.
func TestDefaultParts(t *testing.T) {
	server, begun := simulated.NewServer(0, simulated.Lies{}), 0
	st := object.New(server.Bucket(one(func(r simulated.Request) simulated.Fate {
		if r.Kind == "Begin" {
			begun++
		}
		return simulated.Fate{}
	})), "p/", object.Options{SkipProbe: true})
	w, err := beginning(t, st, "run/a").Create(t.Context(), "x", 5000)
	if ok(t, err, w.Abort()); begun > 0 {
		t.Error("it has several parts")
	}
}
