package object

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// CleanStaging implements store.Store. It ends transactions whose processes are dead, and frees
// what they and unfinished removals left.
func (s *Store) CleanStaging(ctx context.Context, dir string, keep func(store.Info) bool) ([]string, error) {
	const op = "store.CleanStaging"
	if err := s.directory(ctx, op, dir); err != nil {
		if errs.KindOf(err) == errs.NotFound { // uploads have no keys
			err = errors.Join(err, s.sweepUploads(ctx, op, dir))
		}
		return nil, err
	}
	var removed []string
	lives, err := s.list(ctx, op, s.own(dir, "live", ""), false)
	if err != nil {
		return nil, err
	}
	for _, a := range lives {
		p := place{dir, base(a.Key)}
		if s.owns(p) || !store.IsLeftover(p.Txn) {
			continue
		}
		info := store.Info{Name: p.Txn, Dir: true, ModTime: a.Modified}
		done, err := s.collect(ctx, op, p, func() bool { return keep != nil && keep(info) })
		if err != nil {
			return removed, err
		}
		if done {
			removed = append(removed, p.Txn)
		}
	}
	gones, err := s.list(ctx, op, s.own(dir, "gone", ""), false)
	if err != nil {
		return removed, err
	}
	for _, a := range gones {
		p := place{dir, base(a.Key)}
		if s.owns(p) {
			continue
		}
		if keep != nil && keep(store.Info{Name: p.Txn, Dir: true, ModTime: a.Modified}) {
			continue
		}
		freed, err := s.reclaim(ctx, op, p)
		if err != nil {
			return removed, err
		}
		if freed {
			removed = append(removed, p.Txn)
		}
	}
	if err := s.sweep(ctx, op, dir); err != nil {
		return removed, err
	}
	slices.Sort(removed)
	return slices.Compact(removed), nil
}

// directory returns an error unless dir is a directory.
func (s *Store) directory(ctx context.Context, op, dir string) error {
	if err := checkDir(op, dir); err != nil {
		return err
	}
	if err := alive(ctx, op, dir); err != nil {
		return err
	}
	if dir == "" {
		return nil
	}
	info, err := s.stat(ctx, op, dir)
	if err == nil && !info.Dir {
		err = invalid(op, dir, "a directory", "an object")
	}
	return err
}

// collect ends a transaction if its process is dead, and reports whether it removed something.
func (s *Store) collect(ctx context.Context, op string, p place, keep func() bool) (bool, error) {
	l, a, err := s.lease(ctx, op, p)
	if errs.KindOf(err) == errs.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if l.Phase != dead && !l.over() && !s.expired(a, s.opt.Lease) || keep() {
		return false, nil
	}
	return s.end(ctx, op, p, l, a)
}

// end ends a transaction of another process. If its head is there, only its lease is left.
// Otherwise the head is made impossible.
func (s *Store) end(ctx context.Context, op string, p place, l *lease, a Attrs) (bool, error) {
	if l.Phase == committing {
		published, err := s.fence(ctx, op, p, l)
		if err != nil {
			return false, err
		}
		if published {
			return false, s.drop(ctx, op, s.liveKey(p))
		}
	}
	over := *l
	over.Phase, over.Nonce = dead, nonce()
	_, err := s.put(ctx, op, s.liveKey(p), encode(over, 0), Condition{Tag: a.Tag})
	if errors.Is(err, ErrCondition) {
		return false, nil // it lives, or somebody else has ended it
	}
	if err != nil {
		return false, err
	}
	return true, s.bury(ctx, op, p)
}

// fence makes sure that the head of a transaction is there, or can never be put. The request for it
// depends on a tag, or on the absence of the key. So the tag is changed, or the key is occupied for
// ever. A move to the name that has not happened has replaced the tag already.
func (s *Store) fence(ctx context.Context, op string, p place, l *lease) (published bool, err error) {
	for {
		h, err := s.look(ctx, op, l.Final)
		if err != nil {
			return false, err
		}
		if h.dir() && h.head.At == p {
			return true, s.fenceHead(ctx, op, l.Final, h)
		}
		switch {
		case h.dir():
			err = s.retag(ctx, op, l.Final, h, h.fenced || l.Absent)
		case h.short == nil && l.Absent, h.short != nil && h.short.Removed != "":
			_, err = s.put(ctx, op, s.headKey(l.Final), encode(short{Removed: nonce()}, 0), h.condition())
		}
		if !errors.Is(err, ErrCondition) {
			return false, err
		}
	}
}

// fenceHead makes the head of a directory one whose key never becomes absent. A call that removed
// or replaced the directory meanwhile has seen the lease of its transaction, and did the same.
func (s *Store) fenceHead(ctx context.Context, op, name string, h state) error {
	for h.dir() && !h.fenced {
		err := s.retag(ctx, op, name, h, true)
		if !errors.Is(err, ErrCondition) {
			return err
		}
		if h, err = s.look(ctx, op, name); err != nil {
			return err
		}
	}
	return nil
}

// bury frees the data of a transaction that is dead, and its lease.
func (s *Store) bury(ctx context.Context, op string, p place) error {
	if _, err := s.reclaim(ctx, op, p); err != nil {
		return err
	}
	return s.drop(ctx, op, s.liveKey(p))
}

// sweep frees what requests left that arrived after their transaction was over. Such keys belong to
// a transaction without lease, note or name, and are older than Options.Grace.
func (s *Store) sweep(ctx context.Context, op, dir string) error {
	var lists [4][]Attrs
	err := each(len(lists), func(i int) (err error) {
		lists[i], err = s.list(ctx, op, s.own(dir, [...]string{"data", "heads", "live", "gone"}[i], ""), i == 0)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.sweepUploads(ctx, op, dir); err != nil {
		return err
	}
	data, heads := lists[0], 0
	for _, a := range lists[1] {
		if a.Size >= headBytes {
			heads++
		}
	}
	known := map[string]bool{}
	for _, a := range slices.Concat(lists[2], lists[3]) {
		known[base(a.Key)] = true
	}
	unknown := slices.DeleteFunc(data, func(a Attrs) bool { return known[base(strings.TrimSuffix(a.Key, "/"))] })
	if len(unknown) <= heads-len(known) {
		return nil // as many as there are names for them
	}
	for _, a := range lists[1] {
		h, err := s.lookOnce(ctx, op, path.Join(dir, base(a.Key)))
		if err != nil {
			return err
		}
		if h.dir() {
			known[h.head.At.Txn] = true
		}
	}
	for _, a := range unknown {
		p := place{dir, base(strings.TrimSuffix(a.Key, "/"))}
		if known[p.Txn] {
			continue
		}
		if err := s.sweepOne(ctx, op, p); err != nil {
			return err
		}
	}
	return nil
}

// sweepUploads aborts uploads in parts of transactions that are over.
func (s *Store) sweepUploads(ctx context.Context, op, dir string) error {
	prefix := s.own(dir, "data", "")
	_, err := s.retry(ctx, op, prefix, func(ctx context.Context) error {
		for u, err := range s.b.Uploads(ctx, prefix) {
			if err != nil {
				return err
			}
			txn, _, _ := strings.Cut(u.Key[len(prefix):], "/")
			if lives, err := s.exists(ctx, op, s.liveKey(place{dir, txn})); err != nil {
				return err
			} else if lives {
				continue
			}
			if err := u.Abort(ctx); err != nil && errs.KindOf(err) != errs.NotFound {
				return err
			}
		}
		return nil
	})
	return err
}

// sweepOne frees the keys of a transaction if they are old and belong to nothing.
func (s *Store) sweepOne(ctx context.Context, op string, p place) error {
	keys, err := s.list(ctx, op, s.dataKey(p), false)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return nil
	}
	newest, notes := keys[0], true
	for _, a := range keys {
		notes = notes && strings.HasPrefix(a.Key, s.usersKey(p))
		if a.Modified.After(newest.Modified) {
			newest = a
		}
	}
	a, err := s.head(ctx, op, newest.Key)
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !s.expired(a, s.opt.Grace) {
		return nil
	}
	if there, err := s.exists(ctx, op, s.liveKey(p), s.goneKey(p)); err != nil || there {
		return err
	}
	if notes { // of users of objects that are gone
		return s.dropAll(ctx, op, s.usersKey(p), nil)
	}
	_, err = s.reclaim(ctx, op, p)
	return err
}

// reclaim frees the data of a transaction, unless a name leads to it. Objects that other
// directories use stay, and so does the note of the removal. freed says that nothing is left.
func (s *Store) reclaim(ctx context.Context, op string, p place) (freed bool, err error) {
	if has, err := s.named(ctx, op, p); err != nil || has {
		return false, err
	}
	keep, err := s.used(ctx, op, p)
	if err != nil {
		return false, err
	}
	if keep[""] {
		return false, nil
	}
	if err := s.freeKeys(ctx, op, p); err != nil {
		return false, err
	}
	if err := s.unuse(ctx, op, p); err != nil {
		return false, err
	}
	if len(keep) > 0 {
		users, err := s.list(ctx, op, s.usersKey(p), false)
		if err != nil {
			return false, err
		}
		for _, a := range users {
			keep[a.Key] = true
		}
		return false, s.dropAll(ctx, op, s.dataKey(p), keep)
	}
	if err := s.dropUploads(ctx, op, p); err != nil {
		return false, err
	}
	if err := s.dropAll(ctx, op, s.dataKey(p), nil); err != nil {
		return false, err
	}
	return true, s.drop(ctx, op, s.goneKey(p))
}

// freeKeys removes the objects that were put into a removed directory later.
func (s *Store) freeKeys(ctx context.Context, op string, p place) error {
	key := s.goneKey(p)
	b, _, err := s.read(ctx, op, key)
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	g := gone{}
	if err := decode(op, key, b, &g); err != nil {
		return err
	}
	keys := make([]string, len(g.Keys))
	for i, k := range g.Keys {
		keys[i] = s.key(k)
	}
	return s.drop(ctx, op, keys...)
}

// named reports whether a name leads to the directory of a transaction. A directory without a name
// never gets one again, so false is final.
func (s *Store) named(ctx context.Context, op string, p place) (bool, error) {
	b, _, err := s.read(ctx, op, s.treeKey(p))
	if errs.KindOf(err) == errs.NotFound {
		return false, nil // its head was never put
	}
	if err != nil {
		return false, err
	}
	t := tree{}
	if err := decode(op, s.treeKey(p), b, &t); err != nil {
		return false, err
	}
	for before := -1; ; {
		names, err := s.list(ctx, op, s.namesKey(p), false)
		if err != nil {
			return false, err
		}
		if len(names) == before {
			return false, nil
		}
		before = len(names)
		// Names are noted before they are given, so one that was given meanwhile is in the next list.
		all := []string{t.Final}
		for _, a := range names {
			all = append(all, unescape(base(a.Key)))
		}
		for _, name := range all {
			h, err := s.look(ctx, op, name)
			if err != nil {
				return false, err
			}
			if h.dir() && h.head.At == p {
				return true, nil
			}
		}
	}
}

// used returns the keys of the objects that living directories and transactions use. The key ""
// stands for all.
func (s *Store) used(ctx context.Context, op string, p place) (map[string]bool, error) {
	users, err := s.list(ctx, op, s.usersKey(p), false)
	if err != nil {
		return nil, err
	}
	keep := map[string]bool{}
	for _, a := range users {
		name := base(a.Key)
		if strings.HasPrefix(name, readerMark) {
			h, err := s.head(ctx, op, a.Key)
			switch {
			case errs.KindOf(err) == errs.NotFound:
			case err != nil:
				return nil, err
			case !s.expired(h, s.opt.Lease):
				keep[""] = true
			}
			continue
		}
		by := placeOf(unescape(name))
		lives, err := s.exists(ctx, op, s.liveKey(by), s.treeKey(by))
		if err != nil {
			return nil, err
		}
		if !lives {
			if err := s.drop(ctx, op, a.Key); err != nil {
				return nil, err
			}
			continue
		}
		b, _, err := s.read(ctx, op, a.Key)
		if errs.KindOf(err) == errs.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		u := user{}
		if err := decode(op, a.Key, b, &u); err != nil {
			return nil, err
		}
		if u.Objects == nil {
			keep[""] = true
		}
		for _, name := range u.Objects {
			keep[s.objectKey(p)+name] = true
		}
	}
	return keep, nil
}

// exists reports whether one of the keys exists.
func (s *Store) exists(ctx context.Context, op string, keys ...string) (bool, error) {
	for _, key := range keys {
		if _, err := s.head(ctx, op, key); err == nil {
			return true, nil
		} else if errs.KindOf(err) != errs.NotFound {
			return false, err
		}
	}
	return false, nil
}

// unuse takes back the notes that a transaction uses objects of others, and frees those that wait
// for it.
func (s *Store) unuse(ctx context.Context, op string, p place) error {
	uses, err := s.list(ctx, op, s.usesKey(p), false)
	if err != nil {
		return err
	}
	for _, a := range uses {
		of := placeOf(unescape(base(a.Key)))
		if err := s.drop(ctx, op, s.userKey(of, p)); err != nil {
			return err
		}
		if waits, err := s.exists(ctx, op, s.goneKey(of)); err != nil {
			return err
		} else if waits && !s.owns(of) {
			if _, err := s.reclaim(ctx, op, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropUploads aborts the uploads of a transaction that were not completed.
func (s *Store) dropUploads(ctx context.Context, op string, p place) error {
	_, err := s.retry(ctx, op, p.String(), func(ctx context.Context) error {
		for u, err := range s.b.Uploads(ctx, s.dataKey(p)) {
			if err != nil {
				return err
			}
			if err := u.Abort(ctx); err != nil && errs.KindOf(err) != errs.NotFound {
				return err
			}
		}
		return nil
	})
	return err
}

// Settle implements store.Store: transactions of this process that nobody works on, and of dead
// processes, are finished or made impossible.
func (s *Store) Settle(ctx context.Context, dir string) error {
	const op = "store.Settle"
	if err := s.directory(ctx, op, dir); err != nil {
		return err
	}
	lives, err := s.list(ctx, op, s.own(dir, "live", ""), false)
	if err != nil {
		return uncertain(op, dir, err)
	}
	for _, a := range lives {
		p := place{dir, base(a.Key)}
		if s.owns(p) {
			continue
		}
		l, at, err := s.lease(ctx, op, p)
		if errs.KindOf(err) == errs.NotFound {
			continue
		}
		_, works := working.Load(p.Txn)
		idle := err == nil && (strings.HasPrefix(l.Holder, thisProcess()) && !works || l.over() || s.expired(at, s.opt.Lease))
		if idle && l.Phase == committing {
			_, err = s.end(ctx, op, p, l, at)
		}
		if err != nil {
			return uncertain(op, path.Join(dir, p.Txn), err)
		}
	}
	return nil
}
