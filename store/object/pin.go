package object

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// readerMark begins the notes of readers that have a lease.
const readerMark = "reader-"

// Pin implements store.Pinner. A directory of a transaction is read by its tree from then on. Other
// directories are read by their names.
func (s *Store) Pin(ctx context.Context, name string) (store.Pinned, error) {
	const op = "store.Pin"
	if err := alive(ctx, op, name); err != nil {
		return nil, err
	}
	for {
		h, err := s.lookDir(ctx, op, name)
		if err != nil {
			return nil, err
		}
		if h == nil {
			if err := s.directory(ctx, op, name); err != nil {
				return nil, err
			}
			if h, err = s.lookDir(ctx, op, name); err != nil {
				return nil, err
			}
		}
		if h == nil {
			return &named{s}, nil
		}
		t, again, err := s.tree(ctx, op, name, h)
		if again {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &pinned{Store: s, name: name, h: h, t: t, turn: make(chan struct{}, 1)}, nil
	}
}

// lookDir returns the head of a directory, and nil for other names.
func (s *Store) lookDir(ctx context.Context, op, name string) (*head, error) {
	if name == "" {
		return nil, nil
	}
	h, err := s.look(ctx, op, name)
	return h.head, err
}

// named is a pinned directory that is read by its name, because no transaction made it.
type named struct{ *Store }

// Fate implements store.Pinned.
func (n *named) Fate(ctx context.Context, name string) error {
	err := n.directory(ctx, "store.Fate", name)
	if errs.KindOf(err) == errs.NotFound {
		return store.Gone(name, store.ErrRemoved)
	}
	return err
}

// Lease implements store.Pinned.
func (n *named) Lease(context.Context) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "store.Lease", Subject: n.Properties().Name,
		Got: "a directory that no transaction made"}
}

// Leased implements store.Pinned.
func (n *named) Leased(context.Context) (bool, error) { return false, nil }

// Close implements store.Pinned.
func (n *named) Close() error { return nil }

// pinned is the store with one pinned directory.
type pinned struct {
	*Store
	name string
	h    *head
	t    *tree

	turn chan struct{} // has room for the one that takes or gives up the lease
	key  string        // of the lease
	stop context.CancelFunc
	done chan struct{}
}

// rel returns a name relative to the pinned directory.
func (p *pinned) rel(name string) (rel string, ok bool) {
	if name == p.name {
		return "", true
	}
	if inside(name, p.name) {
		return name[len(p.name)+1:], true
	}
	return "", false
}

// in checks a name, and returns it relative to the pinned directory if it is inside.
func (p *pinned) in(ctx context.Context, op, name string) (rel string, ok bool, err error) {
	rel, ok = p.rel(name)
	if !ok {
		return "", false, nil
	}
	if err := check(op, name); err != nil {
		return "", true, err
	}
	return rel, true, alive(ctx, op, name)
}

// Pin implements store.Pinner. For the name of the pinned directory it returns that directory.
func (p *pinned) Pin(ctx context.Context, name string) (store.Pinned, error) {
	if name != p.name {
		return p.Store.Pin(ctx, name)
	}
	return borrowed{p}, alive(ctx, "store.Pin", name)
}

// borrowed is a directory that another caller has pinned and closes.
type borrowed struct{ *pinned }

// Close implements store.Pinned. The directory stays with the caller that pinned it.
func (borrowed) Close() error { return nil }

// Open implements store.Store.
func (p *pinned) Open(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Open"
	rel, ok, err := p.in(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return p.Store.Open(ctx, name)
	}
	r, dir := p.openEntry(name, p.h.At, p.t, rel)
	if dir {
		return nil, invalid(op, name, "an object", "a directory")
	}
	if r != nil {
		r.gone = func(ctx context.Context) error { return p.Fate(ctx, p.name) }
		return r, nil
	}
	return p.later(ctx, op, name)
}

// later opens an object that was put into the directory after it was committed. It has a key of its
// own name, so that it is never an object of another directory that has the name now.
func (p *pinned) later(ctx context.Context, op, name string) (store.Reader, error) {
	a, err := p.head(ctx, op, p.Store.key(name))
	if errs.KindOf(err) == errs.NotFound {
		return nil, p.noObject(ctx, op, name)
	}
	if err != nil {
		return nil, err
	}
	if err := p.still(ctx, op, name); err != nil {
		return nil, err
	}
	return p.newReader(name, a.Key, a.Tag, a.Size), nil
}

// still returns nil while the directory has its name. Else an object that was put there later is
// not found: it may belong to another directory. An error of the look says nothing about it.
func (p *pinned) still(ctx context.Context, op, name string) error {
	err := p.Fate(ctx, p.name)
	if errs.KindOf(err) == errs.NotFound {
		return notFound(op, name)
	}
	return err
}

// Stat implements store.Store.
func (p *pinned) Stat(ctx context.Context, name string) (store.Info, error) {
	const op = "store.Stat"
	rel, ok, err := p.in(ctx, op, name)
	if err != nil {
		return store.Info{}, err
	}
	if !ok {
		return p.Store.Stat(ctx, name)
	}
	if info, ok := p.t.stat(name, rel); ok {
		return info, nil
	}
	info, err := p.statPlain(ctx, op, name)
	if err == nil {
		err = p.still(ctx, op, name)
	}
	return info, err
}

// List implements store.Store.
func (p *pinned) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	const op = "store.List"
	rel, ok, err := p.in(ctx, op, dir)
	if !ok {
		return p.Store.List(ctx, dir)
	}
	return func(yield func(store.Info, error) bool) {
		infos, err := p.below(ctx, op, dir, rel, err)
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Info{}, err)
		}
	}
}

// below returns what is directly below dir, which is rel in the pinned directory.
func (p *pinned) below(ctx context.Context, op, dir, rel string, err error) ([]store.Info, error) {
	if err != nil {
		return nil, err
	}
	e, isDir := p.t.find(rel)
	if e != nil {
		return nil, invalid(op, dir, "a directory", "an object")
	}
	infos := p.t.list(rel)
	more, some, err := p.loose(ctx, op, dir)
	if err != nil {
		return nil, err
	}
	switch err := p.still(ctx, op, dir); {
	case err == nil:
		infos = append(infos, more...)
	case errs.KindOf(err) != errs.NotFound:
		return nil, err
	default:
		some = false
	}
	if !isDir && !some {
		return nil, notFound(op, dir)
	}
	return sorted(infos), nil
}

// Fate implements store.Pinned.
func (p *pinned) Fate(ctx context.Context, name string) error {
	const op = "store.Fate"
	if err := alive(ctx, op, name); err != nil {
		return err
	}
	h, err := p.look(ctx, op, name)
	switch {
	case err != nil:
		return err
	case !h.dir():
		return store.Gone(name, store.ErrRemoved)
	case h.head.At != p.h.At:
		return store.Gone(name, store.ErrReplaced)
	}
	return nil
}

// Lease implements store.Pinned. The note is put before the head is looked at again, as in Link.
func (p *pinned) Lease(ctx context.Context) error {
	const op = "store.Lease"
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.key != "" {
		return nil
	}
	key := p.usersKey(p.h.At) + readerMark + nonce()
	note := func(ctx context.Context) error {
		_, err := p.put(ctx, op, key, encode(map[string]string{"holder": holder(time.Now()), "nonce": nonce()}, 0),
			Condition{})
		return err
	}
	if err := note(ctx); err != nil {
		return err
	}
	if err := p.Fate(ctx, p.name); err != nil {
		p.drop(context.WithoutCancel(ctx), op, key) //nolint:errcheck // it expires
		return err
	}
	live, stop := context.WithCancel(context.Background())
	p.key, p.stop, p.done = key, stop, make(chan struct{})
	go func() {
		defer close(p.done)
		for {
			select {
			case <-live.Done():
				return
			case <-time.After(p.opt.Lease / 4):
			}
			note(live) //nolint:errcheck // the next one may succeed
		}
	}()
	return nil
}

// Leased implements store.Pinned.
func (p *pinned) Leased(ctx context.Context) (bool, error) {
	const op = "store.Leased"
	users, err := p.list(ctx, op, p.usersKey(p.h.At)+readerMark, false)
	if err != nil {
		return false, err
	}
	for _, a := range users {
		if a.Key == p.key {
			continue
		}
		h, err := p.head(ctx, op, a.Key)
		switch {
		case errs.KindOf(err) == errs.NotFound:
		case err != nil:
			return false, err
		case !p.expired(h, p.opt.Lease):
			return true, nil
		}
	}
	return false, nil
}

// Close implements store.Pinned.
func (p *pinned) Close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if p.key == "" {
		return nil
	}
	p.stop()
	<-p.done
	key := p.key
	p.key = ""
	return p.drop(context.Background(), "store.Lease", key)
}

func (p *pinned) String() string { return fmt.Sprintf("%s of %s", p.name, p.h.At) }
