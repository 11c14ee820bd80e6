package object

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// locked is the document lock. It is never removed, so that Fence only grows.
type locked struct {
	Version int    `json:"version"`
	Holder  string `json:"holder,omitempty"` // empty if nobody has the lock
	process
	Fence int64  `json:"fence"` // how often the lock was taken
	Nonce string `json:"nonce"`
}

// Lock implements store.Locker. The lock is a lease: it ends when its process gives no sign of life
// for Options.Lease.
func (s *Store) Lock(ctx context.Context, dir string) (io.Closer, error) {
	const op = "store.Lock"
	if err := checkDir(op, dir); err != nil {
		return nil, err
	}
	if err := alive(ctx, op, dir); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, op); err != nil {
		return nil, err
	}
	if dir != "" {
		if info, err := s.stat(ctx, op, dir); err == nil && !info.Dir {
			return nil, taken(op, dir, "an object")
		} else if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
	}
	key := s.own(dir, "lock")
	for {
		old, c := locked{}, Condition{Absent: true}
		b, a, err := s.read(ctx, op, key)
		if err == nil {
			if err := decode(op, key, b, &old); err != nil {
				return nil, err
			}
			if err := newer(op, key, old.Version); err != nil {
				return nil, err
			}
			c = Condition{Tag: a.Tag}
		} else if errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		if old.Holder != "" && !old.over() && !s.expired(a, s.opt.Lease) {
			left := (s.opt.Lease - a.Now.Sub(a.Modified)).Round(time.Second)
			return nil, &errs.Error{Kind: errs.Busy, Op: op,
				Subject: store.JoinURL(s.Properties().Name, dir), Want: "no other writer",
				Got: "a lock held by " + old.Holder,
				Remedy: "stop the other process or let it finish; the lock of a process that has ended is free in " +
					left.String()}
		}
		l := &lock{s: s, key: key, doc: locked{version, holder(time.Now()), thisOne(), old.Fence + 1, nonce()},
			done: make(chan struct{}), turn: make(chan struct{}, 1)}
		l.tag, err = s.put(ctx, op, key, encode(l.doc, 0), c)
		if errors.Is(err, ErrCondition) {
			continue
		}
		if err != nil {
			return nil, err
		}
		live, stop := context.WithCancel(context.Background())
		l.stop = stop
		go l.run(live)
		return l, nil
	}
}

// lock is a lock that is held.
type lock struct {
	s    *Store
	key  string
	stop context.CancelFunc
	done chan struct{}

	turn chan struct{} // has room for the one that puts the document
	doc  locked
	tag  string
	lost error
	over bool
}

var _ store.HeldLock = (*lock)(nil)

func (l *lock) run(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.s.opt.Lease / 4):
		}
		l.change(ctx, func(*locked) {}) //nolint:errcheck // kept in l.lost if the lock is lost
	}
}

// change puts the document again.
func (l *lock) change(ctx context.Context, change func(*locked)) error {
	const op = "store.Lock"
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.lost != nil {
		return l.lost
	}
	doc := l.doc
	change(&doc)
	doc.Nonce = nonce()
	tag, err := l.s.put(ctx, op, l.key, encode(doc, 0), Condition{Tag: l.tag})
	switch {
	case err == nil:
		l.doc, l.tag = doc, tag
	case errors.Is(err, store.ErrUncertain):
		b, a, _ := l.s.read(ctx, op, l.key) //nolint:errcheck // no document has no nonce
		now := locked{}
		decode(op, l.key, b, &now) //nolint:errcheck // likewise
		if now.Nonce == doc.Nonce {
			l.doc, l.tag = now, a.Tag
			return nil
		}
	case errors.Is(err, ErrCondition):
		if there, err := l.s.exists(ctx, op, l.key); err == nil && !there {
			l.lost = &errs.Error{Kind: errs.NotFound, Op: op, Subject: l.key, Want: "the lock of this process",
				Got: "no lock (it was removed)", Remedy: "find out which program removes it, and open the run again"}
			return l.lost
		}
		l.lost = &errs.Error{Kind: errs.Busy, Op: op, Subject: l.key, Want: "the lock of this process",
			Got: "another process has taken the lock", Remedy: "find out which program saves there, and open the run again"}
		return l.lost
	}
	return err
}

// Check implements store.HeldLock. It renews the lock.
func (l *lock) Check(ctx context.Context) error {
	return l.change(ctx, func(*locked) {})
}

// Close implements io.Closer.
func (l *lock) Close() error {
	l.stop()
	<-l.done
	if l.over {
		return nil
	}
	l.over = true
	err := l.change(context.Background(), func(d *locked) { d.Holder = "" })
	if l.lost != nil {
		return nil // somebody else has it
	}
	return err
}

// thisProcess is how holder begins for this process.
func thisProcess() string {
	host, _ := os.Hostname() //nolint:errcheck // then it is empty
	return fmt.Sprintf("process %d on %s ", os.Getpid(), cmp.Or(host, "an unknown host"))
}
