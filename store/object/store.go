package object

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Options of a Store. The zero Options have the defaults.
type Options struct {
	// Deadline ends a request that gets no answer, all attempts together. The default is 2 minutes.
	Deadline time.Duration
	// Lease is how long a transaction, a lock or a lease of a reader lasts without a sign of life of
	// its process. The default is 10 minutes. All processes that use the bucket need the same Lease.
	Lease time.Duration
	// Grace is how long the bytes of a request that was given up may still arrive. It decides only
	// when the last leftovers are freed. The default is 24 hours.
	Grace time.Duration
	// Part is the number of bytes of a part of an upload, and of a request of a long read. The default
	// is 8 MiB.
	Part int64
	// UnsafeSingleWriter takes a server that does not keep the laws of conditions. It is sound only if
	// no two processes ever write to the bucket at once.
	UnsafeSingleWriter bool
	// SkipProbe trusts the server without asking.
	SkipProbe bool
	// Parallel is the number of requests for bytes that go on at once. The default is 16.
	Parallel int
	// Ahead is how many bytes all readers together may have read ahead. The default is 64 MiB;
	// negative: none.
	Ahead int64
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&o.Deadline, 2 * time.Minute}, {&o.Lease, 10 * time.Minute}, {&o.Grace, 24 * time.Hour}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if o.Part <= 0 {
		o.Part = 8 << 20
	}
	if o.Parallel <= 0 {
		o.Parallel = 16
	}
	if o.Ahead == 0 {
		o.Ahead = 64 << 20
	}
	return o
}

// Store is a store.Store in a bucket. Use New.
type Store struct {
	b      Bucket
	prefix string
	opt    Options
	turn   chan struct{} // one for each request for bytes
	memory memory        // that readers may read ahead
	parts  buffers       // of Options.Part bytes, of writers
	paces  [2]pace       // of short and of long requests for bytes

	probing  chan struct{} // has room for the one that probes
	ready    bool          // the server keeps the laws
	noDelete bool          // it cannot remove on a condition

	mu    sync.Mutex
	alive map[place]bool  // transactions and removals of this Store
	trees map[place]*tree // that were read lately
	order []place         // of trees, oldest first
}

// New returns the store of the keys of b that begin with prefix, which is empty or ends with "/".
// It sends no request.
func New(b Bucket, prefix string, o Options) *Store {
	o = o.withDefaults()
	return &Store{b: b, prefix: prefix, opt: o, turn: make(chan struct{}, o.Parallel), probing: make(chan struct{}, 1),
		memory: memory{left: o.Ahead, buffers: buffers{size: lastWindow}, readers: map[*ahead]bool{}},
		parts:  buffers{size: o.Part, least: o.Part / 2}, alive: map[place]bool{}, trees: map[place]*tree{}}
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Hider  = (*Store)(nil)
	_ store.Mover  = (*Store)(nil)
	_ store.Locker = (*Store)(nil)
	_ store.Pinner = (*Store)(nil)
)

// Properties implements store.Store.
func (s *Store) Properties() store.Properties {
	return store.Properties{Block: 1, Links: true, Parallel: min(s.opt.Parallel, readers),
		Name: store.JoinURL(s.b.Name(), strings.TrimSuffix(s.prefix, "/"))}
}

// state is what the key of a head holds.
type state struct {
	tag   string // empty if the key is absent
	head  *head  // nil unless the name is a directory
	short *short
	// fenced says that the key must not become absent.
	fenced bool
}

// dir reports whether the name is a directory.
func (h state) dir() bool { return h.head != nil }

// condition is what a request needs to change what was read.
func (h state) condition() Condition { return Condition{Absent: h.tag == "", Tag: h.tag} }

// look reads the head of a name. It finishes a move to this name or away from it that has happened.
func (s *Store) look(ctx context.Context, op, name string) (state, error) {
	for {
		h, err := s.lookOnce(ctx, op, name)
		switch {
		case err != nil || h.short == nil:
			return h, err
		case h.short.Moved != "":
			if err := s.leave(ctx, op, name, h); err != nil {
				return state{}, err
			}
			continue
		case h.short.Move == "":
			return h, nil
		}
		done, err := s.moved(ctx, op, name, h)
		if err != nil {
			return state{}, err
		}
		if !done {
			return h, nil
		}
	}
}

func (s *Store) lookOnce(ctx context.Context, op, name string) (state, error) {
	key := s.headKey(name)
	b, a, err := s.read(ctx, op, key)
	switch {
	case errs.KindOf(err) == errs.NotFound && !errors.Is(err, ErrNoBucket):
		return state{}, nil
	case err != nil:
		return state{}, err
	}
	if len(b) < headBytes {
		x := &short{}
		return state{tag: a.Tag, short: x, fenced: true}, decode(op, key, b, x)
	}
	x := &head{}
	if err := decode(op, key, b, x); err != nil {
		return state{}, err
	}
	return state{tag: a.Tag, head: x, fenced: x.Fenced}, newer(op, key, x.Version)
}

// leave finishes a move away from name, which has happened. Until the new name has its head, this
// one is all that says so.
func (s *Store) leave(ctx context.Context, op, name string, h state) error {
	if _, err := s.look(ctx, op, h.short.To); err != nil {
		return err
	}
	_, err := s.put(ctx, op, s.headKey(name), encode(short{Removed: nonce()}, 0), Condition{Tag: h.tag})
	if errors.Is(err, ErrCondition) {
		return nil
	}
	return err
}

// moved finishes a move to name that has happened, and returns whether there is one.
func (s *Store) moved(ctx context.Context, op, name string, h state) (bool, error) {
	from, err := s.lookOnce(ctx, op, h.short.From)
	if err != nil {
		return false, err
	}
	if from.short == nil || from.short.Moved != h.short.Move {
		// Either it has not happened, or somebody has finished it meanwhile.
		now, err := s.lookOnce(ctx, op, name)
		return now.tag != h.tag, err
	}
	return true, s.finishMove(ctx, op, name, h, from)
}

// at finds the directory that holds a name: the one with the longest name among name and the names
// above it. rel is the name in the directory. A nil tree says that none does.
func (s *Store) at(ctx context.Context, op, name string) (dir string, h *head, t *tree, rel string, err error) {
	var above []string
	for d := name; d != ""; d = parent(d) {
		above = append(above, d)
	}
	found := make([]state, len(above))
	err = each(len(above), func(i int) (err error) {
		found[i], err = s.look(ctx, op, above[i])
		return err
	})
	if err != nil {
		return "", nil, nil, "", err
	}
	for i, h := range found {
		if !h.dir() {
			continue
		}
		t, again, err := s.tree(ctx, op, above[i], h.head)
		if again {
			return s.at(ctx, op, name)
		}
		return above[i], h.head, t, strings.TrimPrefix(name[len(above[i]):], "/"), err
	}
	return "", nil, nil, "", nil
}

// rememberedTrees is the number of trees that a Store keeps.
const rememberedTrees = 16

// tree returns the tree of the head of name. again says that the name has another head now.
func (s *Store) tree(ctx context.Context, op, name string, h *head) (t *tree, again bool, err error) {
	s.mu.Lock()
	t = s.trees[h.At]
	s.mu.Unlock()
	if t != nil {
		return t, false, nil
	}
	t, err = s.loadTree(ctx, op, h.At, h.Sum)
	if errs.KindOf(err) == errs.NotFound {
		if now, lookErr := s.look(ctx, op, name); lookErr != nil {
			return nil, false, lookErr
		} else if !now.dir() || now.head.At != h.At {
			return nil, true, nil
		}
		return nil, false, s.noTree(op, name, h.At, ", or remove the directory")
	}
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trees[h.At] == nil {
		if len(s.order) == rememberedTrees {
			delete(s.trees, s.order[0])
			s.order = s.order[1:]
		}
		s.trees[h.At], s.order = t, append(s.order, h.At)
	}
	return t, false, nil
}

// noTree is the error of a directory whose tree is missing.
func (s *Store) noTree(op, name string, at place, remedy string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: name,
		Want: "the names of its objects under " + s.treeKey(at), Got: "no such key",
		Remedy: "something else removed it: restore the key from a version of the bucket" + remedy}
}

// owns reports whether a transaction or a removal is one of this Store that goes on.
func (s *Store) owns(p place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive[p]
}

func (s *Store) own1(p place, goesOn bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if goesOn {
		s.alive[p] = true
	} else {
		delete(s.alive, p)
	}
}

// each runs f for 0 to n-1 at once, and returns the first error by number.
func each(n int, f func(i int) error) error {
	if n == 1 {
		return f(0)
	}
	all := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { all[i] = f(i) })
	}
	wait.Wait()
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func alive(ctx context.Context, op, name string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &errs.Error{Kind: errs.Canceled, Op: op, Subject: name, Err: context.Cause(ctx)}
}

func notFound(op, name string) error {
	return &errs.Error{Kind: errs.NotFound, Op: op, Subject: name}
}

func invalid(op, name, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: want, Got: got}
}

func taken(op, name, got string) error {
	return &errs.Error{Kind: errs.Exists, Op: op, Subject: name, Got: got}
}

// uncertain is the error of a request that may have been carried out.
func uncertain(op, name string, err error) error {
	return &errs.Error{Kind: errs.IO, Op: op, Subject: name, Err: errors.Join(store.ErrUncertain, err),
		Remedy: "open the directory again: then it is decided whether the request was carried out"}
}

// sorted returns the elements of infos in ascending order of their names, each name once.
func sorted(infos []store.Info) []store.Info {
	slices.SortStableFunc(infos, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(infos, func(a, b store.Info) bool { return a.Name == b.Name })
}
