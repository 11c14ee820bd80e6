package object_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
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

// call is what a process does with the directory run.
type call func(ctx context.Context, st *object.Store) error

// meddled are the calls in whose middle another process makes a call of its own.
var meddled = map[string]call{
	"save":            func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/b", twoParts) },
	"overwrite":       func(ctx context.Context, st *object.Store) error { return overwrite(ctx, st, "run/a", "new") },
	"overwrite other": func(ctx context.Context, st *object.Store) error { return overwrite(ctx, st, "run/b", "new") },
	"links": func(ctx context.Context, st *object.Store) error {
		return write(ctx, st, "run/b", store.TxnOptions{}, []string{"run/a/d/0", "run/a/d/1"})
	},
	"replace":         replace,
	"remove":          func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") },
	"rename":          func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/b") },
	"rename freed":    func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/f") },
	"save freed":      func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/f", "new") },
	"save short":      func(ctx context.Context, st *object.Store) error { return short(ctx, st, "run/b") },
	"move the loose":  func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/loose", "run/l") },
	"remove the user": func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/u") },
	"clean": func(ctx context.Context, st *object.Store) error {
		_, err := st.CleanStaging(ctx, "run", nil)
		return err
	},
	"settle":       func(ctx context.Context, st *object.Store) error { return st.Settle(ctx, "run") },
	"lock":         lockOnce,
	"pin":          pinAndRead,
	"remove other": func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/b") },
	"put": func(ctx context.Context, st *object.Store) error {
		return st.Put(ctx, "run/note", []byte("new"), store.PutOptions{IfAbsent: true})
	},
}

// meddling is what the other process does.
var meddling = map[string]call{
	"nothing":         func(context.Context, *object.Store) error { return nil },
	"clean":           meddled["clean"],
	"settle":          meddled["settle"],
	"save":            func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/b", "other") },
	"save freed":      func(ctx context.Context, st *object.Store) error { return saveDir(ctx, st, "run/f", "other") },
	"overwrite":       func(ctx context.Context, st *object.Store) error { return overwrite(ctx, st, "run/a", "other") },
	"overwrite other": func(ctx context.Context, st *object.Store) error { return overwrite(ctx, st, "run/b", "other") },
	"remove":          func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/a") },
	"remove other":    func(ctx context.Context, st *object.Store) error { return st.RemoveTree(ctx, "run/b") },
	"rename":          func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/a", "run/z") },
	"rename other":    func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/b", "run/z") },
	"rename to it":    func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/c", "run/b") },
	"rename to freed": func(ctx context.Context, st *object.Store) error { return st.Rename(ctx, "run/c", "run/f") },
	"remove the user": meddled["remove the user"],
	"lock":            lockOnce,
	"put": func(ctx context.Context, st *object.Store) error {
		return st.Put(ctx, "run/note", []byte("other"), store.PutOptions{IfAbsent: true})
	},
}

// twoParts makes objects of two parts.
var twoParts = strings.Repeat("long ", 14)

// scene prepares what both find: the directory a, whose objects u uses, c beside it, the name f,
// which had a directory that moved to g, an object, and a lock that nobody has.
func scene(ctx context.Context, v *simulated.Server) error {
	st, _ := process(v)
	return errors.Join(saved("run/a", "run/c")(ctx, v), saveDir(ctx, st, "run/f", "freed"),
		st.Rename(ctx, "run/f", "run/g"),
		write(ctx, st, "run/u", store.TxnOptions{}, []string{"run/a/d/0"}), lockOnce(ctx, st))
}

func overwrite(ctx context.Context, st *object.Store, name, text string) error {
	t, err := st.Begin(ctx, name, store.TxnOptions{Overwrite: true})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // Commit says whether it succeeded
	if err := t.Put(ctx, "d/0", []byte("written")); err != nil {
		return err
	}
	return t.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(text)})
}

// short writes a directory of a manifest alone.
func short(ctx context.Context, st *object.Store, name string) error {
	t, err := st.Begin(ctx, name, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer t.Abort() //nolint:errcheck // Commit says whether it succeeded
	return t.Commit(ctx, store.Blob{Name: "manifest", Data: []byte("short")})
}

func replace(ctx context.Context, st *object.Store) error {
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // it has no lease
	return write(ctx, st, "run/a", store.TxnOptions{Replaces: p}, nil)
}

func lockOnce(ctx context.Context, st *object.Store) error {
	l, err := st.Lock(ctx, "run")
	if err != nil {
		return err
	}
	return l.Close()
}

// read is what a call has read, as an error.
type read string

func (r read) Error() string { return string(r) }

// pinAndRead reads all of a directory under a lease. Then all of it is there.
func pinAndRead(ctx context.Context, st *object.Store) error {
	p, err := st.Pin(ctx, "run/a")
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // the note expires
	if err := p.Lease(ctx); err != nil {
		if errors.Is(err, store.ErrReplaced) || errors.Is(err, store.ErrRemoved) {
			return &errs.Error{Kind: errs.Busy, Op: "read", Subject: "run/a", Err: err} // nothing was read
		}
		return err
	}
	var all []byte
	for _, name := range []string{"run/a/manifest", "run/a/d/0"} {
		b, err := store.ReadAll(ctx, p, name)
		if err != nil {
			return read("under a lease: " + err.Error())
		}
		all = append(all, b...)
	}
	return read(all)
}

// labels names requests by what they are, whatever nonces their keys have.
type labels map[string]int

func (l labels) of(r simulated.Request) string {
	what := r.Kind + " " + digits.ReplaceAllString(r.Key, "x")
	l[what]++
	return fmt.Sprint(what, " #", l[what])
}

// middle is a call in whose middle something happens.
type middle struct {
	server *simulated.Server
	lost   string // the request whose reply is lost; empty: none
	at     string // the request before which, or after which, the other process makes its call
	after  bool   // it is carried out, and its reply is lost
	other  call
	wait   time.Duration // that the first process stands still

	turn   chan struct{} // the requests come one by one
	labels labels
	sent   []simulated.Request
	names  []string // of sent
	met    bool
	err    error // of the other call
}

func (m *middle) fate(r simulated.Request) simulated.Fate {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	name := m.labels.of(r)
	m.sent, m.names = append(m.sent, r), append(m.names, name)
	if name == m.at && m.other != nil && !m.met {
		m.met = true
		other := func() {
			time.Sleep(m.wait)
			st, _ := process(m.server)
			m.err = m.other(context.Background(), st)
		}
		if m.after {
			return simulated.Fate{Lost: true, Then: other}
		}
		other()
	}
	return simulated.Fate{Lost: name == m.lost}
}

// run makes the call, and returns what became of it.
func (m *middle) run(ctx context.Context, do call) outcome {
	m.turn, m.labels = make(chan struct{}, 1), labels{}
	return m.result(ctx, do(ctx, object.New(m.server.Bucket(m.fate), "p/", quick)))
}

// result returns what became of the call, which has ended with err.
func (m *middle) result(ctx context.Context, err error) outcome {
	o := outcome{first: verdict(err), other: verdict(m.err), uncertain: errors.Is(err, store.ErrUncertain)}
	o.text = fmt.Sprintf("%v; %v", err, m.err)
	o.found = found(ctx, m.server)
	return o
}

// outcome is what two calls came to, and what is there afterwards.
type outcome struct {
	first, other string
	uncertain    bool
	text         string
	found        map[string]string
}

func (o outcome) same(p outcome) bool {
	return (o.first == p.first || o.uncertain) && o.other == p.other && maps.Equal(o.found, p.found)
}

func (o outcome) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.found)) {
		all = append(all, fmt.Sprintf("%s=%.12q", name, o.found[name]))
	}
	return fmt.Sprintf("%s, %s, %s", o.first, o.other, strings.Join(all, " "))
}

func verdict(err error) string {
	if err == nil {
		return "done"
	}
	if r := read(""); errors.As(err, &r) {
		return string(r)
	}
	return fmt.Sprint(errs.KindOf(err))
}

// found returns all objects by name, and what is wrong with them. Then it cleans up: what is left
// that belongs to no directory is wrong too.
func found(ctx context.Context, v *simulated.Server) map[string]string {
	st, _ := process(v)
	all := map[string]string{}
	var walk func(dir string)
	walk = func(dir string) {
		for info, err := range st.List(ctx, dir) {
			name := path.Join(dir, info.Name)
			switch {
			case err != nil:
				all[dir] = "cannot be listed: " + err.Error()
			case store.IsStaging(info.Name):
			case info.Dir:
				walk(name)
			default:
				b, err := store.ReadAll(ctx, st, name)
				if all[name] = string(b); err != nil {
					all[name] = "cannot be read: " + err.Error()
				}
			}
		}
	}
	walk("")
	time.Sleep(2 * quick.Lease)
	if _, err := st.CleanStaging(ctx, "run", nil); err != nil {
		all["cleaning"] = err.Error()
	}
	directories := map[string]string{}
	for name := range all {
		directories[path.Dir(name)] = ""
	}
	s := stop{server: v}
	s.nothingLeft(directories)
	if len(s.broken) > 0 {
		all["broken"] = digits.ReplaceAllString(strings.Join(s.broken, "; "), "x")
	}
	return all
}

// TestEveryMeddling: another process makes a call of its own before a request of a call, each in
// turn, or after it, and then the reply is lost. Both calls end as if one had come after the other.
// So they do if the reply to a request for a head was lost before. With -short the other process
// makes some of its calls only.
func TestEveryMeddling(t *testing.T) {
	var ready *simulated.Server
	synctest.Test(t, func(t *testing.T) {
		ready = simulated.NewServer(0, simulated.Lies{})
		if err := scene(t.Context(), ready); err != nil {
			t.Fatal(err)
		}
	})
	for name, do := range meddled {
		t.Run(name, func(t *testing.T) {
			for next, other := range meddling {
				if testing.Short() && !quiet[next] && next != "overwrite" && next != "rename to it" {
					continue
				}
				pair{t, ready, name + ", and " + next, next, do, other}.meddle()
			}
		})
	}
}

// quiet are calls that change no name. What another call came to is certain beside them.
var quiet = map[string]bool{"nothing": true, "clean": true, "lock": true}

// pair is a call, and another one that a process makes in its middle.
type pair struct {
	*testing.T
	ready     *simulated.Server
	what      string
	next      string // names other
	do, other call
}

// play makes a call in a bubble.
func (p pair) play(m *middle, do call) (o outcome) {
	synctest.Test(p.T, func(t *testing.T) {
		m.server = p.ready.Clone()
		o = m.run(t.Context(), do)
	})
	return o
}

// serial makes the calls one after the other. It returns the requests of both.
func (p pair) serial(first bool) (o outcome, m, other *middle) {
	m, other = &middle{}, &middle{turn: make(chan struct{}, 1), labels: labels{}}
	var err error
	o = p.play(m, func(ctx context.Context, st *object.Store) (result error) {
		other.turn = make(chan struct{}, 1)
		second := object.New(m.server.Bucket(other.fate), "p/", quick)
		if first {
			result = p.do(ctx, st)
		}
		err = p.other(ctx, second)
		if !first {
			result = p.do(ctx, st)
		}
		return result
	})
	o.other = verdict(err)
	return o, m, other
}

// meddle has the other process make its call at each request that has to do with it.
func (p pair) meddle() {
	p.Helper()
	o1, plain, other1 := p.serial(true)
	o2, _, other2 := p.serial(false)
	// A call that finds the other one at work may refuse to do anything.
	one, _, _ := pair{p.T, p.ready, p.what, "", p.do, meddling["nothing"]}.serial(true)
	two, _, _ := pair{p.T, p.ready, p.what, "", meddling["nothing"], p.other}.serial(true)
	one.other, two.first = fmt.Sprint(errs.Busy), fmt.Sprint(errs.Busy)
	allowed := []outcome{o1, o2, one, two}
	others := append(other1.sent, other2.sent...)
	check := func(m *middle) {
		m.other = p.other
		o := p.play(m, p.do)
		if !m.met {
			p.Errorf("%s: no request %s", p.what, m.at)
		}
		// A put on the condition that nothing is there writes bytes that anybody may write.
		o.uncertain = o.uncertain && (!quiet[p.next] || m.at == "Put p/run/note #1")
		if !slices.ContainsFunc(allowed, o.same) {
			p.Errorf("%s, at %s (after it: %t), the reply to %q lost: %s: %s\nwant %s\nor   %s", p.what, m.at, m.after, m.lost,
				o, o.text, o1, o2)
		}
	}
	each := func(m *middle, from int) {
		for i := from; i < len(m.sent); i++ {
			if i > 0 && depends(m.sent[i-1], others) {
				check(&middle{at: m.names[i], lost: m.lost})
			}
			if m.lost == "" && (m.sent[i].Changes && p.next == "nothing" || depends(m.sent[i], others)) {
				check(&middle{at: m.names[i], after: true})
			}
		}
	}
	each(plain, 0)
	for i, r := range plain.sent {
		if r.Changes && (is(r.Key, "heads") || r.Kind == "Complete") {
			m := &middle{lost: plain.names[i]}
			p.play(m, p.do)
			each(m, i+1)
		}
	}
}

// depends reports whether it may matter if a request comes before one of others or after it.
func depends(r simulated.Request, others []simulated.Request) bool {
	part := func(r simulated.Request) string { // what the request reads or changes
		key := digits.ReplaceAllString(r.Key, "x")
		if r.Kind == "DeleteAll" { // it names the first key only
			_, own, _ := strings.Cut(key, ".bivouac.objects/")
			kind, _, _ := strings.Cut(own, "/")
			return key[:len(key)-len(own)] + kind
		}
		return key
	}
	return slices.ContainsFunc(others, func(o simulated.Request) bool {
		a, b := part(r), part(o)
		return (r.Changes || o.Changes) && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
	})
}
