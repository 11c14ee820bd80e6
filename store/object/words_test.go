package object_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// Calls that are refused say on which name, why, and of which kind the error is.
func TestRefusedCalls(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, later)
	ok(t, st.Put(ctx, "run/a/more/x", []byte("x"), store.PutOptions{}))
	begin := func(name string, o store.TxnOptions) store.Txn {
		txn, err := st.Begin(ctx, name, o)
		ok(t, err)
		t.Cleanup(func() { txn.Abort() }) //nolint:errcheck // of a test
		return txn
	}
	txn, only := begin("run/b", store.TxnOptions{}), begin("run/d", store.TxnOptions{LinksOnly: true})
	put := func(name string) error { return st.Put(ctx, name, nil, store.PutOptions{}) }
	for what, c := range map[string]struct {
		err  error
		kind errs.Kind
		text string
	}{
		"put on a directory of a transaction": {put("run/a"), errs.Exists, "run/a: already exists: a directory"},
		"put on a directory in it":            {put("run/a/d"), errs.Exists, "run/a/d: already exists: a directory"},
		"put on an object of it":              {put("run/a/d/0"), errs.Exists, "an object of a committed directory, which does not change"},
		"put on a directory above":            {put("run"), errs.Exists, "run: already exists: a directory"},
		"put below an object":                 {put("run/loose/x"), errs.Invalid, "the object run/loose"},
		"put once more": {st.Put(ctx, "run/loose", nil, store.PutOptions{IfAbsent: true}), errs.Exists,
			"store.Put: run/loose: already exists: an object"},
		"remove an object of a directory":    {st.RemoveTree(ctx, "run/a/d/0"), errs.Unsupported, "a part of a committed directory"},
		"remove a directory in a directory":  {st.RemoveTree(ctx, "run/a/d"), errs.Unsupported, "a part of a committed directory"},
		"remove nothing":                     {st.RemoveTree(ctx, "run/none"), errs.NotFound, "run/none"},
		"rename into another directory":      {st.Rename(ctx, "run/a", "other/a"), errs.Invalid, "a name in the directory of run/a"},
		"move a bad name":                    {st.Move(ctx, "run//a", "run/z"), errs.Invalid, "run//a"},
		"move to a bad name":                 {st.Move(ctx, "run/a", "run//z"), errs.Invalid, "run//z"},
		"move nothing":                       {st.Move(ctx, "run/none", "run/z"), errs.NotFound, "run/none"},
		"move a directory of no transaction": {st.Move(ctx, "run/a/more", "run/z"), errs.Unsupported, "a directory that no transaction made"},
		"move an object onto another":        {st.Move(ctx, "run/loose", "run/a/later"), errs.Exists, "run/a/later"},
		"move a directory onto an object":    {st.Move(ctx, "run/a", "run/loose"), errs.Exists, "run/loose: already exists: an object"},
		"begin on an object":                 {second(st.Begin(ctx, "run/loose", store.TxnOptions{})), errs.Exists, "run/loose: already exists: an object"},
		"begin on a directory of no transaction": {second(st.Begin(ctx, "run", store.TxnOptions{Overwrite: true})), errs.Exists,
			"a directory that no transaction made"},
		"begin with a bad staging name": {second(st.Begin(ctx, "run/e", store.TxnOptions{Staging: "a.orbax-checkpoint-tmp"})), errs.Invalid, "run/a.orbax"},
		"pin a bad name":                {second(st.Pin(ctx, "run//a")), errs.Invalid, "run//a"},
		"pin an object":                 {second(st.Pin(ctx, "run/loose")), errs.Invalid, "run/loose"},
		"link a bad name":               {txn.Link(ctx, "l", "run//a"), errs.Invalid, "store.Link: run//a"},
		"link a directory":              {txn.Link(ctx, "l", "run/a/d"), errs.Invalid, "store.Link: run/a/d: invalid: want an object, got a directory"},
		"link a directory, no copies":   {only.Link(ctx, "l", "run/a/d"), errs.Invalid, "a directory"},
		"link nothing, no copies":       {only.Link(ctx, "l", "run/none"), errs.NotFound, "run/none"},
		"copy where copies are refused": {only.Link(ctx, "l", "run/loose"), errs.Unsupported, "an object of Put"},
		"lock an object":                {second(st.Lock(ctx, "run/loose")), errs.Exists, "run/loose: already exists: an object"},
		"clean an object":               {second(st.CleanStaging(ctx, "run/loose", nil)), errs.Invalid, "run/loose"},
	} {
		if errs.KindOf(c.err) != c.kind || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: %v\nwant %v and %q", what, c.err, c.kind, c.text)
		}
	}
	ok(t, txn.Put(ctx, "l", []byte("the name is free")), only.Put(ctx, "l", nil))
	staged := begin("run/f", store.TxnOptions{Staging: "x"})
	if !strings.HasPrefix(staged.Staging(), "run/x.") {
		t.Error(staged.Staging())
	}
}

// A missing bucket is told as one, by each call. No request names a key that is empty or that ends
// with "/", not even for the root.
func TestBucketsAndKeys(t *testing.T) {
	ctx := t.Context()
	calls := map[string]func(st *object.Store, dir string) error{
		"List":         func(st *object.Store, dir string) error { return second(list(st.List(ctx, dir))) },
		"CleanStaging": func(st *object.Store, dir string) error { return second(st.CleanStaging(ctx, dir, nil)) },
		"Settle":       func(st *object.Store, dir string) error { return st.Settle(ctx, dir) },
		"Lock": func(st *object.Store, dir string) error {
			l, err := st.Lock(ctx, dir)
			if err != nil {
				return err
			}
			return l.Close()
		},
		"Pin": func(st *object.Store, dir string) error {
			p, err := st.Pin(ctx, dir)
			if err != nil {
				return err
			}
			return errors.Join(second(list(p.List(ctx, dir))), p.Close())
		},
	}
	missing := func(simulated.Request) simulated.Fate { return simulated.Fate{Err: noBucket} }
	for name, call := range calls {
		server := simulated.NewServer(0, simulated.Lies{})
		b := &counted{Bucket: server.Bucket(nil), keys: func(key string) {
			if key == "" || strings.HasSuffix(key, "/") {
				t.Errorf("%s names the key %q", name, key)
			}
		}}
		ok(t, call(object.New(b, "", quick), ""))
		for _, dir := range []string{"", "run"} {
			err := call(object.New(server.Bucket(missing), "p/", quick), dir)
			// Pin of the root sends nothing before its List.
			if !errors.Is(err, store.ErrNoStore) {
				t.Errorf("%s of %q: %v", name, dir, err)
			}
		}
	}
	st := object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(missing), "p/", quick)
	for name, err := range map[string]error{
		"Stat": second(st.Stat(ctx, "run")), "Open": second(st.Open(ctx, "run/x")), "Put": st.Put(ctx, "run/x", nil, store.PutOptions{}),
		"RemoveTree": st.RemoveTree(ctx, "run"), "Move": st.Move(ctx, "run/a", "run/b"),
		"Begin": second(st.Begin(ctx, "run/a", store.TxnOptions{})),
	} {
		if !errors.Is(err, store.ErrNoStore) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var noBucket = &errs.Error{Kind: errs.NotFound, Err: object.ErrNoBucket}

// Long bytes are cut in messages, short ones are not. Attempts are counted.
func TestMessages(t *testing.T) {
	ctx := t.Context()
	for n, cut := range map[int]bool{5: false, 80: false, 81: true, 300: true} {
		server, st := fresh(t, none)
		raw(t, server, mine+"heads/x", strings.Repeat("?", n))
		_, err := st.Stat(ctx, "run/x")
		if errs.KindOf(err) != errs.Corrupt || strings.Contains(err.Error(), "…") != cut ||
			strings.Count(err.Error(), "?") != min(n, 80)+1 {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		n := 0
		st := object.New(simulated.NewServer(0, simulated.Lies{}).Bucket(one(func(simulated.Request) simulated.Fate {
			if n++; n == 1 {
				return simulated.Fate{Delay: time.Hour}
			}
			return simulated.Fate{Lost: true}
		})), "", quick)
		if _, err := st.Head(ctx, "x"); err == nil || !strings.Contains(err.Error(), "none in 1 attempt (") &&
			!strings.Contains(err.Error(), "none in 1 attempt:") {
			t.Error(err)
		}
		if _, err := st.Head(ctx, "x"); err == nil || !strings.Contains(err.Error(), " attempts") {
			t.Error(err)
		}
	})
}

// A tree has the checksum of its head, and is a document.
func TestChangedTrees(t *testing.T) {
	ctx := t.Context()
	for what, text := range map[string]string{"another tree": `{"version":1,"objects":[]}`, "no document": "?"} {
		server, st := fresh(t, saved("run/a"))
		txn := strings.TrimPrefix(object.Sources(st, "run/a")[0], "run/")
		raw(t, server, mine+"data/"+txn+"/tree", text)
		fresh, _ := process(server)
		_, err := fresh.Stat(ctx, "run/a/d/0")
		kind(t, what, err, errs.Corrupt)
		if what == "another tree" {
			continue
		}
		head := fmt.Sprintf(`{"version":1,"at":{"dir":"run","txn":%q},"sum":%d,"nonce":"1"}`, txn, sum([]byte(text)))
		raw(t, server, mine+"heads/a", head+strings.Repeat(" ", 256))
		_, err = fresh.Stat(ctx, "run/a/d/0")
		kind(t, what+" with its sum", err, errs.Corrupt)
	}
}

// What is pinned is one directory, whatever gets its name.
func TestPinnedStaysItself(t *testing.T) {
	ctx := t.Context()
	_, st := fresh(t, later)
	ok(t, st.Put(ctx, "run/a/more/x", []byte("x"), store.PutOptions{}))
	p, plain := pin(t, st, "run/a"), pin(t, st, "run/a/more")
	if got, err := list(p.List(ctx, "run/a/more")); err != nil || !slices.Equal(got, []string{"x"}) {
		t.Errorf("what was put later: %q, %v", got, err)
	}
	ok(t, write(ctx, st, "run/a", store.TxnOptions{Overwrite: true}, nil),
		st.Put(ctx, "run/a/later", nil, store.PutOptions{}))
	if got, err := list(p.List(ctx, "run/a")); err != nil || !slices.Equal(got, []string{"d", "manifest", "marker"}) {
		t.Errorf("%q, %v", got, err)
	}
	again := pin(t, p.(store.Pinner), "run/a") //nolint:forcetypeassert // the store's directories are pinners
	if err := again.Fate(ctx, "run/a"); !errors.Is(err, store.ErrReplaced) {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"Stat": second(p.Stat(ctx, "run/a/later")), "Open": second(p.Open(ctx, "run/a/later")),
		"Open of nothing": second(p.Open(ctx, "run/a/none")),
	} {
		e := (*errs.Error)(nil)
		if !errors.As(err, &e) || e.Kind != errs.NotFound || !strings.HasPrefix(e.Subject, "run/a/") ||
			errors.Is(err, store.ErrReplaced) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := plain.Fate(ctx, "run/a/more"); !errors.Is(err, store.ErrRemoved) {
		t.Error(err)
	}
}

// A whole run is removed with all its directories, at once and without leftovers. Transactions that
// go on stay.
func TestRemoveAll(t *testing.T) {
	ctx := t.Context()
	server, st := fresh(t, linked)
	txn, err := st.Begin(ctx, "run/t", store.TxnOptions{})
	ok(t, err, st.RemoveTree(ctx, "run"), txn.Commit(ctx, store.Blob{Name: "manifest"}))
	if names, err := list(st.List(ctx, "run")); err != nil || !slices.Equal(names, []string{"t"}) {
		t.Errorf("%q, %v", names, err)
	}
	for _, key := range left(server, "data", "gone", "live") {
		if !strings.HasPrefix(key, "data/t.") {
			t.Errorf("%s is left", key)
		}
	}
}

// limited is a bucket whose server takes parts of some size only.
type limited struct {
	object.Bucket
	l object.Limits
}

func (b limited) Limits() object.Limits { return b.l }

// Parts are as many and as long as the server takes.
func TestPartsFitTheServer(t *testing.T) {
	const mib = 1 << 20
	for what, c := range map[string]struct {
		part, size int64
		l          object.Limits
		want       int
	}{
		"few parts":           {mib, 5 * mib, object.Limits{MaxParts: 3}, 3},
		"just enough parts":   {mib, 3 * mib, object.Limits{MaxParts: 3}, 3},
		"any number of parts": {mib, 5 * mib, object.Limits{}, 5},
		"small parts":         {mib, 2 * mib, object.Limits{MaxPart: mib / 2}, 4},
		"large parts":         {mib, 4 * mib, object.Limits{MinPart: 2 * mib, MaxPart: 9 * mib}, 2},
	} {
		parts := 0
		server := simulated.NewServer(0, simulated.Lies{})
		st := object.New(limited{server.Bucket(one(func(r simulated.Request) simulated.Fate {
			if r.Kind == "Part" {
				parts++
			}
			return simulated.Fate{}
		})), c.l}, "", object.Options{Part: c.part, Parallel: 1, SkipProbe: true})
		txn, err := st.Begin(t.Context(), "run/a", store.TxnOptions{})
		ok(t, err)
		w, err := txn.Create(t.Context(), "x", c.size)
		ok(t, err)
		body := bytes.Repeat([]byte("0123456789abcdef"), int(c.size/16))
		for off := int64(0); off < c.size; off += mib / 4 {
			ok(t, w.WriteAt(t.Context(), body[off:off+mib/4], off))
		}
		ok(t, w.Seal(t.Context()), txn.Commit(t.Context(), store.Blob{Name: "manifest"}))
		if b, err := store.ReadAll(t.Context(), st, "run/a/x"); err != nil || !bytes.Equal(b, body) || parts != c.want {
			t.Errorf("%s: %d parts, want %d, %v", what, parts, c.want, err)
		}
	}
}
