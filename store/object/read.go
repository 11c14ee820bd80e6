package object

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Open implements store.Store.
func (s *Store) Open(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Open"
	if err := check(op, name); err != nil {
		return nil, err
	}
	if err := alive(ctx, op, name); err != nil {
		return nil, err
	}
	if a, ok, err := s.staged(ctx, op, name); err != nil {
		return nil, err
	} else if ok {
		return s.newReader(name, a.Key, a.Tag, a.Size), nil
	}
	_, h, t, rel, err := s.at(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if r, dir := s.openEntry(name, h.At, t, rel); r != nil {
			return r, nil
		} else if dir {
			return nil, invalid(op, name, "an object", "a directory")
		}
	}
	a, err := s.head(ctx, op, s.key(name))
	if errs.KindOf(err) == errs.NotFound {
		return nil, s.noObject(ctx, op, name)
	}
	if err != nil {
		return nil, err
	}
	return s.newReader(name, a.Key, a.Tag, a.Size), nil
}

// staged describes an object of a transaction that goes on: name begins with its staging name. The
// callers of a shared transaction read there what the others have written.
func (s *Store) staged(ctx context.Context, op, name string) (a Attrs, ok bool, err error) {
	for i := range len(name) {
		if name[i] != '/' || !store.IsLeftover(name[:i]) {
			continue
		}
		p := placeOf(name[:i])
		_, _, err := s.lease(ctx, op, p)
		if err == nil {
			a, err = s.head(ctx, op, s.objectKey(p)+name[i+1:])
		}
		if errs.KindOf(err) == errs.NotFound {
			continue
		}
		return a, err == nil, err
	}
	return a, false, nil
}

// Reread implements store.Rereader.
func (t *txn) Reread(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Reread"
	if err := t.enter(ctx, op, name); err != nil {
		return nil, err
	}
	defer t.leave()
	t.mu.Lock()
	e := t.objects[name]
	t.mu.Unlock()
	if e == nil {
		return nil, notFound(op, t.subject(name))
	}
	_, key := t.s.source(t.at, e)
	return t.s.newReader(t.subject(name), key, "", e.Size), nil
}

// openEntry opens an object of a tree.
func (s *Store) openEntry(name string, at place, t *tree, rel string) (r *reader, dir bool) {
	e, dir := t.find(rel)
	if e == nil {
		return nil, dir
	}
	_, key := s.source(at, e)
	return s.newReader(name, key, "", e.Size), false
}

// noObject returns the error for a name that is not an object.
func (s *Store) noObject(ctx context.Context, op, name string) error {
	if there, err := s.any(ctx, op, s.key(name)+"/"); err != nil {
		return err
	} else if there {
		return invalid(op, name, "an object", "a directory")
	}
	return notFound(op, name)
}

// reader reads one object.
type reader struct {
	s         *Store
	name, key string
	tag       string // not empty if the object may be replaced
	size      int64
	closed    atomic.Bool
	ahead     *ahead
	gone      func(ctx context.Context) error // says why the object is gone; may be nil
}

// newReader returns the reader of an object. tag is not empty if the object may be replaced.
func (s *Store) newReader(name, key, tag string, size int64) *reader {
	r := &reader{s: s, name: name, key: key, tag: tag, size: size}
	r.ahead = newAhead(r)
	return r
}

// ReadAt implements store.Reader. It reads long pieces by several requests at once, and ahead of
// short pieces that follow each other.
func (r *reader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := r.check(ctx, "store.ReadAt", off, int64(len(p))); err != nil || len(p) == 0 {
		return err
	}
	n, err := r.ahead.read(ctx, p, off)
	if n == len(p) || err != nil {
		return err
	}
	p, off = p[n:], off+int64(n)
	err = r.fill(ctx, off, p)
	r.ahead.noted(off + int64(len(p)))
	return err
}

// Scatter implements store.Scatterer. It reads nothing ahead.
func (r *reader) Scatter(ctx context.Context, off int64, into ...[]byte) error {
	if err := r.check(ctx, "store.Scatter", off, Size(into)); err != nil {
		return err
	}
	return r.fill(ctx, off, into...)
}

// check returns an error unless n bytes from off can be read.
func (r *reader) check(ctx context.Context, op string, off, n int64) error {
	if r.closed.Load() {
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: r.name}
	}
	if off < 0 {
		return invalid(op, r.name, "an offset of at least 0", fmt.Sprint(off))
	}
	if err := alive(ctx, op, r.name); err != nil {
		return err
	}
	if off > r.size || n > r.size-off {
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: r.name,
			Want: fmt.Sprintf("bytes %d to %d", off, off+n), Got: fmt.Sprintf("an object of %d bytes", r.size)}
	}
	return nil
}

// fill fills the pieces by requests of at most Options.Part bytes, all at once.
func (r *reader) fill(ctx context.Context, off int64, into ...[]byte) error {
	lists := split(into, r.s.opt.Part)
	err := each(len(lists), func(i int) error {
		return r.get(ctx, off+int64(i)*r.s.opt.Part, lists[i]...)
	})
	if err != nil && r.gone != nil && errs.KindOf(err) == errs.NotFound {
		if why := r.gone(ctx); why != nil {
			return why
		}
	}
	return err
}

// Size implements store.Reader.
func (r *reader) Size() int64 { return r.size }

// Close implements store.Reader.
func (r *reader) Close() error {
	r.closed.Store(true)
	r.ahead.close()
	return nil
}

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, name string) (store.Info, error) {
	const op = "store.Stat"
	if err := check(op, name); err != nil {
		return store.Info{}, err
	}
	if err := alive(ctx, op, name); err != nil {
		return store.Info{}, err
	}
	return s.stat(ctx, op, name)
}

func (s *Store) stat(ctx context.Context, op, name string) (store.Info, error) {
	if a, ok, err := s.staged(ctx, op, name); err != nil || ok {
		return store.Info{Name: name, Size: a.Size, ModTime: a.Modified}, err
	}
	_, _, t, rel, err := s.at(ctx, op, name)
	if err != nil {
		return store.Info{}, err
	}
	if t != nil {
		if info, ok := t.stat(name, rel); ok {
			return info, nil
		}
	}
	return s.statPlain(ctx, op, name)
}

// statPlain describes an object of Put, or a directory that no transaction made.
func (s *Store) statPlain(ctx context.Context, op, name string) (store.Info, error) {
	var a Attrs
	var there bool
	var headErr, anyErr error
	_ = each(2, func(i int) error { // at once: most names that are asked for are missing
		if i == 0 {
			a, headErr = s.head(ctx, op, s.key(name))
		} else {
			there, anyErr = s.any(ctx, op, s.key(name)+"/")
		}
		return nil
	})
	switch {
	case headErr == nil:
		return store.Info{Name: name, Size: a.Size, ModTime: a.Modified}, nil
	case errs.KindOf(headErr) != errs.NotFound:
		return store.Info{}, headErr
	case anyErr != nil:
		return store.Info{}, anyErr
	case there:
		return store.Info{Name: name, Dir: true}, nil
	}
	return store.Info{}, notFound(op, name)
}

// stat describes a name of a tree.
func (t *tree) stat(name, rel string) (info store.Info, ok bool) {
	e, dir := t.find(rel)
	if e != nil {
		return store.Info{Name: name, Size: e.Size, ModTime: t.time()}, true
	}
	return store.Info{Name: name, Dir: true, ModTime: t.time()}, dir
}

// list returns what is directly below rel.
func (t *tree) list(rel string) (infos []store.Info) {
	if rel != "" {
		rel += "/"
	}
	last := ""
	for _, e := range t.Objects {
		below, ok := strings.CutPrefix(e.Name, rel)
		if !ok {
			continue
		}
		if name, _, deep := strings.Cut(below, "/"); !deep {
			infos = append(infos, store.Info{Name: name, Size: e.Size, ModTime: t.time()})
		} else if name != last {
			infos = append(infos, store.Info{Name: name, Dir: true, ModTime: t.time()})
			last = name
		}
	}
	return infos
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		infos, err := s.names(ctx, "store.List", dir)
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

// names returns what is directly below dir.
func (s *Store) names(ctx context.Context, op, dir string) ([]store.Info, error) {
	if err := checkDir(op, dir); err != nil {
		return nil, err
	}
	if err := alive(ctx, op, dir); err != nil {
		return nil, err
	}
	_, _, t, rel, err := s.at(ctx, op, dir)
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	there := dir == ""
	if t != nil {
		e, isDir := t.find(rel)
		if e != nil {
			return nil, invalid(op, dir, "a directory", "an object")
		}
		there = there || isDir
		infos = t.list(rel)
	}
	more, some, err := s.loose(ctx, op, dir)
	if err != nil {
		return nil, err
	}
	if infos = append(infos, more...); len(infos) > 0 || there || some {
		return sorted(infos), nil
	}
	if _, err := s.head(ctx, op, s.key(dir)); err == nil {
		return nil, invalid(op, dir, "a directory", "an object")
	} else if errs.KindOf(err) != errs.NotFound {
		return nil, err
	}
	return nil, notFound(op, dir)
}

// loose returns what is directly below dir and belongs to no directory above: directories, objects
// of Put, and transactions that go on. some says that there is a key below dir.
func (s *Store) loose(ctx context.Context, op, dir string) (infos []store.Info, some bool, err error) {
	below := s.key(dir)
	if dir != "" {
		below += "/"
	}
	var plain, heads, lives []Attrs
	err = each(3, func(i int) (err error) {
		switch i {
		case 0:
			plain, err = s.list(ctx, op, below, true)
		case 1:
			heads, err = s.list(ctx, op, s.own(dir, "heads", ""), false)
		default:
			lives, err = s.list(ctx, op, s.own(dir, "live", ""), false)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	for _, a := range heads {
		name := base(a.Key)
		if a.Size < headBytes {
			if h, err := s.look(ctx, op, path.Join(dir, name)); err != nil {
				return nil, false, err
			} else if !h.dir() {
				continue
			}
		}
		infos = append(infos, store.Info{Name: name, Dir: true, ModTime: a.Modified})
	}
	for _, a := range lives {
		l, _, err := s.lease(ctx, op, place{dir, base(a.Key)})
		if errs.KindOf(err) == errs.NotFound {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if l.Phase == writing {
			infos = append(infos, store.Info{Name: base(a.Key), Dir: true, ModTime: a.Modified})
		}
	}
	for _, a := range plain {
		name := strings.TrimSuffix(a.Key[len(below):], "/")
		if name == reserved || name == "" {
			continue
		}
		infos = append(infos, store.Info{Name: name, Size: a.Size, Dir: a.Prefix, ModTime: a.Modified})
	}
	return infos, len(plain) > 0, nil
}
