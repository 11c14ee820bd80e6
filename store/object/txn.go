package object

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// txn is a transaction. Its objects lie under keys of its own from the start. Its lease says that
// it goes on.
type txn struct {
	s     *Store
	final string
	at    place
	opt   store.TxnOptions
	keep  *keeper // renews the lease; nil in a transaction that joins

	life sync.RWMutex // held for reading by Create, Put and Link, for writing by Commit and Abort
	over bool

	mu      sync.Mutex
	objects map[string]*entry // nil until sealed
	parents map[string]bool   // of objects
	writers map[*writer]bool
	uses    map[place]bool // transactions that know that this one uses objects of theirs
	stats   store.TxnStats
	err     error
	// published says that the request for the head may have been carried out, or may still be.
	published bool
}

var (
	_ store.Txn      = (*txn)(nil)
	_ store.Rereader = (*txn)(nil)
)

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	const op = "store.Begin"
	if err := checkFinal(op, final); err != nil {
		return nil, err
	}
	staging := base(final)
	if o.Staging != "" {
		staging = o.Staging
		if err := checkFinal(op, path.Join(parent(final), staging)); err != nil {
			return nil, err
		}
	}
	if err := alive(ctx, op, final); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, op); err != nil {
		return nil, err
	}
	t := &txn{s: s, final: final, opt: o, objects: map[string]*entry{}, parents: map[string]bool{},
		writers: map[*writer]bool{}, uses: map[place]bool{}}
	if o.Join != "" {
		return t, t.join(ctx, op)
	}
	if err := s.above(ctx, op, final); err != nil {
		return nil, err
	}
	if _, err := s.occupied(ctx, op, final, o.Overwrite || o.Replaces != nil); err != nil {
		return nil, err
	}
	t.at = place{parent(final), base(store.StagingName(staging, nonce()))}
	s.own1(t.at, true)
	l := lease{Version: version, Phase: writing, Final: final, Shared: o.Shared, Holder: holder(time.Now()),
		process: thisOne(), Nonce: nonce()}
	tag, twice, err := s.tryPut(ctx, op, s.liveKey(t.at), encode(l, 0), Condition{Absent: true})
	if err != nil {
		s.own1(t.at, false)
		return nil, err
	}
	t.keep = s.keepAlive(t.at, l, tag)
	if !twice {
		return t, nil
	}
	// A request that comes late brings this document back, with the same tag, after another process
	// has ended the transaction. So nothing may depend on this tag.
	if err := t.keep.change(ctx, op, func(*lease) {}); err != nil {
		t.keep.end()
		s.own1(t.at, false)
		return nil, err
	}
	return t, nil
}

// join takes part in a transaction that another caller has begun.
func (t *txn) join(ctx context.Context, op string) error {
	join := t.opt.Join
	if parent(join) != parent(t.final) || !store.IsLeftover(join) {
		return invalid(op, t.final, "the staging name of a transaction in the same directory", join)
	}
	t.at = place{parent(join), base(join)}
	return t.hosted(ctx, op)
}

// hosted returns an error unless the transaction that was joined goes on.
func (t *txn) hosted(ctx context.Context, op string) error {
	if t.opt.Join == "" {
		return nil
	}
	l, _, err := t.s.lease(ctx, op, t.at)
	switch {
	case err != nil:
		return err
	case l.Phase != writing || !l.Shared || l.Final != t.final:
		return notFound(op, t.at.String())
	}
	return nil
}

// above returns an error if a name above name is an object.
func (s *Store) above(ctx context.Context, op, name string) error {
	for d := parent(name); d != ""; d = parent(d) {
		if _, err := s.head(ctx, op, s.key(d)); err == nil {
			return invalid(op, name, "directories above it", "the object "+d)
		} else if errs.KindOf(err) != errs.NotFound {
			return err
		}
	}
	return nil
}

// occupied returns what final holds. It returns an error if that must not be replaced.
func (s *Store) occupied(ctx context.Context, op, final string, overwrite bool) (state, error) {
	for {
		h, err := s.look(ctx, op, final)
		if err != nil {
			return h, err
		}
		if h.dir() {
			if !overwrite {
				return h, taken(op, final, "a directory")
			}
			return h, nil
		}
		info, err := s.stat(ctx, op, final)
		switch {
		case errs.KindOf(err) == errs.NotFound:
			return h, nil
		case err != nil:
			return h, err
		case !info.Dir:
			return h, taken(op, final, "an object")
		}
		if now, err := s.look(ctx, op, final); err != nil {
			return h, err
		} else if !now.dir() {
			return h, taken(op, final, "a directory that no transaction made")
		}
	}
}

// Stats implements store.Txn.
func (t *txn) Stats() store.TxnStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// Staging implements store.Txn.
func (t *txn) Staging() string { return t.at.String() }

func (t *txn) subject(name string) string { return t.final + "/" + name }

// fail keeps the first error of the transaction.
func (t *txn) fail(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	return err
}

func (t *txn) sticky() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// enter checks a call for the object name and locks the transaction for reading. leave unlocks it.
func (t *txn) enter(ctx context.Context, op, name string) error {
	if err := checkFinal(op, name); err != nil {
		return err
	}
	t.life.RLock()
	err := t.usable(ctx, op)
	if err == nil {
		err = t.hosted(ctx, op)
	}
	if err != nil {
		t.life.RUnlock()
	}
	return err
}

func (t *txn) leave() { t.life.RUnlock() }

func (t *txn) usable(ctx context.Context, op string) error {
	if t.over {
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: t.final, Got: "a call after the transaction"}
	}
	if err := t.sticky(); err != nil {
		return err
	}
	if t.keep != nil {
		if err := t.keep.lost(); err != nil {
			return t.fail(err)
		}
	}
	return alive(ctx, op, t.final)
}

// reserve takes the name of an object.
func (t *txn) reserve(op, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.objects[name]; ok || t.parents[name] {
		return taken(op, t.subject(name), "the name in this transaction")
	}
	for d := parent(name); d != ""; d = parent(d) {
		if _, ok := t.objects[d]; ok {
			return taken(op, t.subject(name), "the object "+d+" in this transaction")
		}
	}
	t.objects[name] = nil
	for d := parent(name); d != ""; d = parent(d) {
		t.parents[d] = true
	}
	return nil
}

// release gives up the name of an object that was not made.
func (t *txn) release(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.objects, name)
	t.parents = map[string]bool{}
	for name := range t.objects {
		for d := parent(name); d != ""; d = parent(d) {
			t.parents[d] = true
		}
	}
}

func (t *txn) made(name string, e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.objects[name] = e
	if e.In == nil {
		t.stats.Files++
	}
}

// condition of the objects: in a shared transaction another caller may take the same name.
func (t *txn) condition() Condition { return Condition{Absent: t.opt.Shared || t.opt.Join != ""} }

// Put implements store.Txn.
func (t *txn) Put(ctx context.Context, name string, b []byte) error {
	const op = "store.Put"
	if err := t.enter(ctx, op, name); err != nil {
		return err
	}
	defer t.leave()
	if err := t.reserve(op, name); err != nil {
		return err
	}
	if err := t.put(ctx, op, name, b); err != nil {
		if errs.KindOf(err) == errs.Exists && t.opt.Join == "" {
			t.release(name)
			return err
		}
		return t.fail(err)
	}
	return nil
}

// put writes a small object whose name is reserved.
func (t *txn) put(ctx context.Context, op, name string, b []byte) error {
	key, sum := t.s.objectKey(t.at)+name, sumOf(b)
	c := t.condition()
	unknown, err := t.s.retry(ctx, op, t.subject(name), func(ctx context.Context) error {
		_, err := t.s.b.Put(ctx, key, b, sum, c)
		return err
	})
	if unknown && errors.Is(err, ErrCondition) {
		return uncertain(op, t.subject(name), err)
	}
	if errors.Is(err, ErrCondition) {
		return taken(op, t.subject(name), "an object of another caller in the shared transaction")
	}
	if err != nil {
		return err
	}
	t.made(name, &entry{Name: name, Size: int64(len(b)), Sum: sum})
	t.mu.Lock()
	t.stats.Bytes += int64(len(b))
	t.mu.Unlock()
	return nil
}

// Link implements store.Txn. The new directory uses the objects of another one. The use is noted
// before the other directory is looked at again. So a process that frees it afterwards sees the
// note, and one that freed it before has removed its head.
func (t *txn) Link(ctx context.Context, name, committed string) error {
	const op = "store.Link"
	if err := t.enter(ctx, op, name); err != nil {
		return err
	}
	defer t.leave()
	if err := check(op, committed); err != nil {
		return err
	}
	if err := t.reserve(op, name); err != nil {
		return err
	}
	e, err := t.link(ctx, op, name, committed)
	if err != nil {
		t.release(name)
		switch errs.KindOf(err) {
		case errs.NotFound, errs.Invalid, errs.Canceled, errs.Unsupported:
			return err
		}
		return t.fail(err)
	}
	t.made(name, e)
	return nil
}

func (t *txn) link(ctx context.Context, op, name, committed string) (*entry, error) {
	for {
		dir, h, tr, rel, err := t.s.at(ctx, op, committed)
		if err != nil {
			return nil, err
		}
		var e *entry
		isDir := false
		if tr != nil {
			e, isDir = tr.find(rel)
		}
		if e == nil {
			return t.copyPlain(ctx, op, name, committed, isDir)
		}
		from, key := t.s.source(h.At, e)
		if err := t.use(ctx, op, from); err != nil {
			return nil, err
		}
		now, err := t.s.look(ctx, op, dir)
		if err != nil {
			return nil, err
		}
		if !now.dir() || now.head.At != h.At {
			continue // it was removed or replaced: look again
		}
		as := strings.TrimPrefix(key, t.s.objectKey(from))
		linked := &entry{Name: name, Size: e.Size, Sum: e.Sum, In: &from}
		if as != name {
			linked.As = as
		}
		return linked, nil
	}
}

// copyPlain copies an object of Put, which may change.
func (t *txn) copyPlain(ctx context.Context, op, name, committed string, isDir bool) (*entry, error) {
	if isDir {
		return nil, invalid(op, committed, "an object", "a directory")
	}
	if t.opt.LinksOnly {
		if _, err := t.s.stat(ctx, op, committed); err != nil {
			return nil, err
		}
		return nil, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: committed,
			Want: "an object of a committed directory", Got: "an object of Put"}
	}
	b, err := store.ReadAll(ctx, t.s, committed)
	if err != nil {
		return nil, err
	}
	if err := t.put(ctx, op, name, b); err != nil {
		return nil, err
	}
	return &entry{Name: name, Size: int64(len(b)), Sum: sumOf(b)}, nil
}

// use notes that this transaction uses objects of another one: first with itself, so that the note
// is found when this one is freed, then with the other.
func (t *txn) use(ctx context.Context, op string, from place) error {
	t.mu.Lock()
	noted := t.uses[from]
	t.mu.Unlock()
	if noted {
		return nil
	}
	mine := t.s.usesKey(t.at) + escape(from.String())
	for _, key := range []string{mine, t.s.userKey(from, t.at)} {
		// A late one must not replace what the commit notes.
		if _, err := t.s.put(ctx, op, key, encode(nil, 0), Condition{Absent: true}); err != nil &&
			!errors.Is(err, ErrCondition) {
			return err
		}
	}
	t.mu.Lock()
	t.uses[from] = true
	t.mu.Unlock()
	return nil
}
