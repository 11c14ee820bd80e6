package object

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Commit implements store.Txn.
func (t *txn) Commit(ctx context.Context, manifest store.Blob, markers ...store.Blob) error {
	const op = "store.Commit"
	t.life.Lock()
	defer t.life.Unlock()
	if t.over {
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: t.final, Got: "a call after the transaction"}
	}
	err := t.commit(ctx, op, manifest, markers)
	t.over = true
	if err == nil {
		if t.keep != nil {
			t.keep.end()
			t.s.own1(t.at, false)
		}
		return nil
	}
	if t.published {
		// The head may be there, or may still come: Settle decides.
		t.keep.end()
		t.s.own1(t.at, false)
		return err
	}
	t.abort() //nolint:errcheck // what it leaves has no name, and CleanStaging frees it
	return err
}

func (t *txn) commit(ctx context.Context, op string, manifest store.Blob, markers []store.Blob) error {
	if err := t.usable(ctx, op); err != nil {
		return err
	}
	if err := t.closed(op); err != nil {
		return err
	}
	if t.opt.Join == "" || manifest.Name != "" {
		for _, b := range append(slices.Clone(markers), manifest) {
			if err := checkFinal(op, b.Name); err != nil {
				return err
			}
			if err := t.reserve(op, b.Name); err != nil {
				return err
			}
			if err := t.put(ctx, op, b.Name, b.Data); err != nil {
				return t.fail(err)
			}
		}
	}
	if t.opt.Join != "" {
		return t.hand(ctx, op)
	}
	all, err := t.gather(ctx, op)
	if err != nil {
		return err
	}
	if err := t.settleUses(ctx, op, all); err != nil {
		return err
	}
	sum, err := t.writeTree(ctx, op, all)
	if err != nil {
		return err
	}
	if t.opt.Publishing != nil {
		t.opt.Publishing.Lock()
		defer t.opt.Publishing.Unlock()
	}
	return t.publish(ctx, op, sum)
}

// closed returns an error if a writer is open.
func (t *txn) closed(op string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.writers {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: t.subject(w.name), Want: "sealed objects",
			Got: "an open writer"}
	}
	return nil
}

// settleUses notes which objects of other transactions the tree uses, whichever caller has linked
// them. Until now all of them were.
func (t *txn) settleUses(ctx context.Context, op string, all []entry) error {
	uses := map[place][]string{}
	for from := range t.uses {
		uses[from] = []string{}
	}
	for _, e := range all {
		if e.In != nil {
			uses[*e.In] = append(uses[*e.In], cmp.Or(e.As, e.Name))
		}
	}
	for from, names := range uses {
		if _, err := t.s.put(ctx, op, t.s.userKey(from, t.at), encode(user{names}, 0), Condition{}); err != nil {
			return err
		}
	}
	return nil
}

// user is the document users/TXN: the objects that another transaction uses. null means all.
type user struct {
	Objects []string `json:"objects"`
}

// sealed returns the objects of the transaction by name.
func (t *txn) sealed() []entry {
	var all []entry
	for _, e := range t.objects {
		if e != nil {
			all = append(all, *e)
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// hand gives the objects of a transaction that has joined to the one that publishes them.
func (t *txn) hand(ctx context.Context, op string) error {
	b := encode(tree{Version: version, Final: t.final, Objects: t.sealed()}, 0)
	if _, err := t.s.put(ctx, op, t.s.partsKey(t.at)+nonce(), b, Condition{}); err != nil {
		return err
	}
	return t.hosted(ctx, op)
}

// gather returns the objects of the transaction, with those that others have handed over.
func (t *txn) gather(ctx context.Context, op string) ([]entry, error) {
	all := t.sealed()
	if t.opt.Shared {
		parts, err := t.s.list(ctx, op, t.s.partsKey(t.at), false)
		if err != nil {
			return nil, err
		}
		for _, a := range parts {
			b, _, err := t.s.read(ctx, op, a.Key)
			if err != nil {
				return nil, err
			}
			part := tree{}
			if err := decode(op, a.Key, b, &part); err != nil {
				return nil, err
			}
			all = append(all, part.Objects...)
		}
		slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := 1; i < len(all); i++ {
		// "a", "a.b" and "a/c" lie in this order, so a name is compared with all that it begins.
		for k := i - 1; k >= 0 && strings.HasPrefix(all[i].Name, all[k].Name); k-- {
			if rest := all[i].Name[len(all[k].Name):]; rest == "" || rest[0] == '/' {
				return nil, taken(op, t.subject(all[i].Name), "two callers that made "+all[k].Name)
			}
		}
	}
	return all, nil
}

// writeTree writes the tree, and returns its sum.
func (t *txn) writeTree(ctx context.Context, op string, all []entry) (uint32, error) {
	b := encode(tree{Version: version, Final: t.final, Time: time.Now().UTC().Format(time.RFC3339Nano), Objects: all}, 0)
	_, err := t.s.put(ctx, op, t.s.treeKey(t.at), b, Condition{})
	return sumOf(b), err
}

// publish puts the head. First the lease says on which condition, so that a process that ends this
// transaction knows which request to make impossible.
func (t *txn) publish(ctx context.Context, op string, sum uint32) error {
	for {
		h, err := t.s.occupied(ctx, op, t.final, t.opt.Overwrite || t.opt.Replaces != nil)
		if err != nil {
			return err
		}
		if t.opt.Replaces != nil {
			// A directory that came back after the look has another tag than h: then the put of the head
			// fails, and the loop looks again.
			if err := store.Overtaken(ctx, t.s, t.opt.Replaces, t.final); err != nil {
				return err
			}
		}
		if h.short != nil && h.short.Move != "" {
			if err := t.s.stopMove(ctx, op, t.final, h); err != nil {
				return err
			}
			continue
		}
		c := h.condition()
		if err := t.keep.change(ctx, op, func(l *lease) {
			l.Phase, l.Absent, l.Tag = committing, c.Absent, c.Tag
		}); err != nil {
			return err
		}
		var old *removal
		if h.dir() {
			if h.fenced, err = t.s.stays(ctx, op, h); err != nil {
				return err
			}
			if old, err = t.s.announce(ctx, op, t.final, h.head.At); err != nil {
				return err
			}
		}
		if err := alive(ctx, op, t.final); err != nil {
			return err
		}
		won, err := t.putHead(context.WithoutCancel(ctx), op, sum, h)
		if err != nil {
			return err
		}
		if !won {
			if h.dir() {
				old.end()
			}
			continue
		}
		if h.dir() {
			// The new directory is there; CleanStaging frees the old one.
			old.free(context.WithoutCancel(ctx), op) //nolint:errcheck // see above
		}
		// Only leftovers are removed now.
		t.s.drop(context.WithoutCancel(ctx), op, t.s.liveKey(t.at)) //nolint:errcheck // CleanStaging does it
		return nil
	}
}

// putHead sends the one request that makes the directory visible. won is false if the name holds
// something else than h now.
func (t *txn) putHead(ctx context.Context, op string, sum uint32, h state) (won bool, err error) {
	key, b := t.s.headKey(t.final), newHead(t.at, sum, h.fenced)
	unknown, err := t.s.retry(ctx, op, t.final, func(ctx context.Context) error {
		_, err := t.s.b.Put(ctx, key, b, sumOf(b), h.condition())
		return err
	})
	if err == nil && !unknown {
		return true, nil
	}
	if !unknown && errors.Is(err, ErrCondition) {
		return false, nil
	}
	if !unknown {
		return false, err
	}
	// A request may have come through, or may still come.
	t.published = true
	now, lookErr := t.s.look(ctx, op, t.final)
	switch {
	case lookErr != nil:
		return false, uncertain(op, t.final, errors.Join(err, lookErr))
	case !now.dir() || now.head.At != t.at:
		// Another writer won, or this transaction won and was replaced since. Then its data may be gone.
		return false, uncertain(op, t.final, err)
	}
	if h.tag != "" {
		return true, nil // no request on this condition can succeed again
	}
	// One that comes late must not find the key absent: see head.Fenced.
	if err := t.s.fenceHead(ctx, op, t.final, now); err != nil {
		return false, uncertain(op, t.final, err)
	}
	return true, nil
}

// Abort implements store.Txn.
func (t *txn) Abort() error {
	t.life.Lock()
	defer t.life.Unlock()
	if t.over {
		return nil
	}
	t.over = true
	return t.abort()
}

// abort ends the lease, and removes what was written.
func (t *txn) abort() error {
	const op = "store.Abort"
	ctx := context.Background()
	t.mu.Lock()
	writers := t.writers
	t.writers = map[*writer]bool{}
	t.mu.Unlock()
	for w := range writers {
		w.mu.Lock()
		w.done = true
		w.mu.Unlock()
		w.active.Wait()
		w.drop(ctx) //nolint:errcheck // CleanStaging removes uploads that were not completed
	}
	if t.opt.Join != "" {
		return nil // the caller that began the transaction removes its objects
	}
	defer t.s.own1(t.at, false)
	t.keep.end()
	if err := t.keep.change(ctx, op, func(l *lease) { l.Phase = dead }); err != nil {
		return err
	}
	return t.s.bury(ctx, op, t.at)
}
