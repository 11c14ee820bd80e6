package object

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// removal is the removal of one directory. Its document gone/TXN is put before the head is taken
// away, and removed after the data, so that a process that ends in between leaves a note.
type removal struct {
	s    *Store
	at   place
	name string
	keys []string // objects that were put into the directory later
}

// announce notes that the directory of a transaction is about to lose its name.
func (s *Store) announce(ctx context.Context, op, name string, at place) (*removal, error) {
	r := &removal{s: s, at: at, name: name}
	later, err := s.list(ctx, op, s.key(name)+"/", false)
	if err != nil {
		return nil, err
	}
	for _, a := range later {
		r.keys = append(r.keys, strings.TrimPrefix(a.Key, s.prefix))
	}
	s.own1(at, true)
	if _, err = s.put(ctx, op, s.goneKey(at), encode(gone{version, name, r.keys, nonce()}, 0), Condition{}); err != nil {
		s.own1(at, false)
		return nil, err
	}
	return r, nil
}

// end gives the removal up. Its note stays: it does no harm while the directory has a name.
func (r *removal) end() { r.s.own1(r.at, false) }

// free removes the data of a directory that has lost its name.
func (r *removal) free(ctx context.Context, op string) error {
	defer r.end()
	_, err := r.s.reclaim(ctx, op, r.at)
	return err
}

// unpublish takes the head away. won is false if the name holds something else than h now.
func (s *Store) unpublish(ctx context.Context, op, name string, h state) (won bool, err error) {
	key := s.headKey(name)
	stays, err := s.stays(ctx, op, h)
	if err != nil {
		return false, err
	}
	if !stays {
		unknown, err := s.retry(ctx, op, name, func(ctx context.Context) error {
			return s.b.Delete(ctx, key, Condition{Tag: h.tag})
		})
		switch {
		case err == nil:
			return true, nil
		case errs.KindOf(err) == errs.Unsupported:
		case errors.Is(err, ErrCondition):
			return unknown, nil // if it was sent twice, the first may have removed it
		case unknown:
			return false, uncertain(op, name, err)
		default:
			return false, err
		}
	}
	_, err = s.put(ctx, op, key, encode(short{Removed: nonce()}, 0), Condition{Tag: h.tag})
	if errors.Is(err, ErrCondition) {
		return false, nil
	}
	return err == nil, err
}

// stays reports whether the key of a directory must not become absent, also when another directory
// replaces this one: a transaction whose lease is still there may have sent its request twice.
func (s *Store) stays(ctx context.Context, op string, h state) (bool, error) {
	if h.fenced || s.noDelete {
		return true, nil
	}
	return s.exists(ctx, op, s.liveKey(h.head.At))
}

// RemoveTree implements store.Store.
func (s *Store) RemoveTree(ctx context.Context, name string) error {
	free, err := s.hide(ctx, "store.RemoveTree", name)
	if err != nil {
		return err
	}
	return free()
}

// Hide implements store.Hider.
func (s *Store) Hide(ctx context.Context, name string) (free func() error, err error) {
	return s.hide(ctx, "store.Hide", name)
}

func (s *Store) hide(ctx context.Context, op, name string) (free func() error, err error) {
	if err := checkFinal(op, name); err != nil {
		return nil, err
	}
	if err := alive(ctx, op, name); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, op); err != nil {
		return nil, err
	}
	for {
		h, err := s.look(ctx, op, name)
		if err != nil {
			return nil, err
		}
		if !h.dir() {
			free, again, err := s.hideLoose(ctx, op, name)
			if again {
				continue // it has become a directory
			}
			return free, err
		}
		r, err := s.announce(ctx, op, name, h.head.At)
		if err != nil {
			return nil, err
		}
		won, err := s.unpublish(ctx, op, name, h)
		if !won {
			r.end()
			if err != nil {
				return nil, err
			}
			continue
		}
		return func() error { return r.free(context.WithoutCancel(ctx), op) }, nil
	}
}

// hideLoose removes an object of Put, or a directory that no transaction made. The directories in
// it lose their names one by one.
func (s *Store) hideLoose(ctx context.Context, op, name string) (free func() error, again bool, err error) {
	nothing := func() error { return nil }
	if _, _, t, rel, err := s.at(ctx, op, name); err != nil {
		return nil, false, err
	} else if t != nil && rel == "" {
		return nil, true, nil
	} else if t != nil {
		if e, dir := t.find(rel); e != nil || dir {
			return nil, false, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: name,
				Want: "a committed directory or an object of its own",
				Got:  "a part of a committed directory", Remedy: "make a transaction that replaces the directory"}
		}
	}
	if _, err := s.head(ctx, op, s.key(name)); err == nil {
		return nothing, false, s.drop(ctx, op, s.key(name))
	} else if errs.KindOf(err) != errs.NotFound {
		return nil, false, err
	}
	infos, some, err := s.loose(ctx, op, name)
	if err != nil {
		return nil, false, err
	}
	if !some {
		return nil, false, notFound(op, name)
	}
	var frees []func() error
	for _, info := range infos {
		if store.IsStaging(info.Name) {
			continue // CleanStaging removes what nobody works on
		}
		f, err := s.hide(ctx, op, path.Join(name, info.Name))
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, false, err
		}
		if err == nil {
			frees = append(frees, f)
		}
	}
	return func() error {
		var all []error
		for _, f := range frees {
			all = append(all, f())
		}
		return errors.Join(all...)
	}, false, nil
}

// Rename implements store.Store.
func (s *Store) Rename(ctx context.Context, from, to string) error {
	const op = "store.Rename"
	if parent(from) != parent(to) {
		return invalid(op, to, "a name in the directory of "+from, "another directory")
	}
	return s.move(ctx, op, from, to)
}

// Move implements store.Mover.
func (s *Store) Move(ctx context.Context, from, to string) error {
	return s.move(ctx, "store.Move", from, to)
}

// move gives a directory another name. First the new head says that it waits for the old one. Then
// the old head says that the directory has moved: in this one request both names change. Then the
// new head becomes a head like any other, and the old one goes.
func (s *Store) move(ctx context.Context, op, from, to string) error {
	if err := check(op, from); err != nil {
		return err
	}
	if err := check(op, to); err != nil {
		return err
	}
	if err := alive(ctx, op, from); err != nil {
		return err
	}
	if err := s.prepare(ctx, op); err != nil {
		return err
	}
	if err := s.above(ctx, op, to); err != nil {
		return err
	}
	for {
		old, err := s.look(ctx, op, from)
		if err != nil {
			return err
		}
		if !old.dir() {
			return s.movePlain(ctx, op, from, to)
		}
		free, err := s.occupied(ctx, op, to, false)
		if err != nil {
			return err
		}
		if free.short != nil && free.short.Move != "" {
			if err := s.stopMove(ctx, op, to, free); err != nil {
				return err
			}
			continue
		}
		at := old.head.At
		if _, err := s.put(ctx, op, s.namesKey(at)+escape(to), encode(nil, 0), Condition{}); err != nil {
			return err
		}
		wait := short{Move: nonce(), From: from, At: &at}
		tag, err := s.put(ctx, op, s.headKey(to), encode(wait, 0), free.condition())
		if errors.Is(err, ErrCondition) {
			continue
		}
		if err != nil {
			return err
		}
		went := short{Moved: wait.Move, To: to}
		oldTag, twice, err := s.tryPut(ctx, op, s.headKey(from), encode(went, 0), Condition{Tag: old.tag})
		if err != nil {
			if twice { // it may have happened by the first request
				if done, err := s.movedSince(ctx, op, to, tag, at); err != nil {
					return err
				} else if done {
					return s.moveLater(ctx, op, from, to)
				}
			}
			if errors.Is(err, ErrCondition) {
				// Somebody removed, replaced or fenced it: this move did not happen, and cannot any more.
				free := encode(short{Removed: nonce()}, 0)
				s.put(ctx, op, s.headKey(to), free, Condition{Tag: tag}) //nolint:errcheck // it has no meaning now
				continue
			}
			return err
		}
		waits := state{tag: tag, short: &wait, fenced: true}
		if err := s.finishMove(ctx, op, to, waits, state{tag: oldTag, short: &went, fenced: old.fenced}); err != nil {
			return err
		}
		return s.moveLater(ctx, op, from, to)
	}
}

// movedSince reports whether a move to name has happened and was finished by somebody else. tag is
// the tag of the head that waited for it.
func (s *Store) movedSince(ctx context.Context, op, to, tag string, at place) (bool, error) {
	now, err := s.lookOnce(ctx, op, to)
	switch {
	case err != nil:
		return false, uncertain(op, to, err)
	case now.tag == tag: // a move is finished at the new name first
		return false, nil
	case now.dir() && now.head.At == at:
		return true, nil
	}
	return false, uncertain(op, to, errors.New("the name has changed since"))
}

// finishMove makes the head of the new name a head like any other, and takes the old one away.
func (s *Store) finishMove(ctx context.Context, op, to string, waits, from state) error {
	b, _, err := s.read(ctx, op, s.treeKey(*waits.short.At))
	if errs.KindOf(err) == errs.NotFound {
		now, err := s.lookOnce(ctx, op, to)
		if now.tag == waits.tag {
			return s.noTree(op, to, *waits.short.At, "")
		}
		return err // nil if somebody else has finished it, and removed the directory since
	}
	if err != nil {
		return err
	}
	if err := decode(op, s.treeKey(*waits.short.At), b, &tree{}); err != nil {
		return err
	}
	_, err = s.put(ctx, op, s.headKey(to), newHead(*waits.short.At, sumOf(b), true), Condition{Tag: waits.tag})
	if err != nil && !errors.Is(err, ErrCondition) {
		return err
	}
	// The old head stays as one of a name that is free: a late request must not find it absent.
	_, err = s.put(ctx, op, s.headKey(waits.short.From), encode(short{Removed: nonce()}, 0), Condition{Tag: from.tag})
	if errors.Is(err, ErrCondition) {
		return nil
	}
	return err
}

// stopMove ends a move to name that has not happened: it makes sure that it cannot happen any more,
// and frees the name.
func (s *Store) stopMove(ctx context.Context, op, name string, h state) error {
	from, err := s.lookOnce(ctx, op, h.short.From)
	if err != nil {
		return err
	}
	if from.short != nil && from.short.Moved == h.short.Move {
		return nil // it has happened: the next look finishes it
	}
	if from.dir() {
		// The move depends on the tag of this head.
		if err := s.retag(ctx, op, h.short.From, from, from.head.Fenced); errors.Is(err, ErrCondition) {
			return nil
		} else if err != nil {
			return err
		}
	}
	_, err = s.put(ctx, op, s.headKey(name), encode(short{Removed: nonce()}, 0), h.condition())
	if errors.Is(err, ErrCondition) {
		return nil
	}
	return err
}

// retag puts a head again, so that it has another tag.
func (s *Store) retag(ctx context.Context, op, name string, h state, fenced bool) error {
	_, err := s.put(ctx, op, s.headKey(name), newHead(h.head.At, h.head.Sum, fenced), Condition{Tag: h.tag})
	return err
}

// moveLater moves the objects that were put into a directory after it was committed.
func (s *Store) moveLater(ctx context.Context, op, from, to string) error {
	later, err := s.list(ctx, op, s.key(from)+"/", false)
	if err != nil {
		return err
	}
	for _, a := range later {
		name := strings.TrimPrefix(a.Key, s.key(from)+"/")
		if strings.Contains("/"+name, "/"+reserved+"/") {
			continue
		}
		if err := s.movePlain(ctx, op, from+"/"+name, to+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// movePlain moves an object of Put: it copies it, and removes the first.
func (s *Store) movePlain(ctx context.Context, op, from, to string) error {
	b, _, err := s.read(ctx, op, s.key(from))
	if errs.KindOf(err) == errs.NotFound {
		if there, err := s.any(ctx, op, s.key(from)+"/"); err != nil {
			return err
		} else if there {
			return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: from,
				Want: "a committed directory or an object",
				Got:  "a directory that no transaction made"}
		}
		return notFound(op, from)
	}
	if err != nil {
		return err
	}
	if _, err := s.occupied(ctx, op, to, false); err != nil {
		return err
	}
	if _, err := s.put(ctx, op, s.key(to), b, Condition{Absent: true}); errors.Is(err, ErrCondition) {
		return taken(op, to, "an object")
	} else if err != nil {
		return err
	}
	return s.drop(ctx, op, s.key(from))
}
