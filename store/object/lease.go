package object

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// lease reads the lease of a transaction.
func (s *Store) lease(ctx context.Context, op string, p place) (*lease, Attrs, error) {
	key := s.liveKey(p)
	b, a, err := s.read(ctx, op, key)
	if err != nil {
		return nil, a, err
	}
	l := &lease{}
	if err := decode(op, key, b, l); err != nil {
		return nil, a, err
	}
	return l, a, newer(op, key, l.Version)
}

// keeper gives signs of life for a lease: it puts the document again, with another nonce, on the
// condition that nobody else has changed it.
type keeper struct {
	s    *Store
	at   place
	stop context.CancelFunc
	done chan struct{}

	turn chan struct{} // has room for the one that puts the document
	l    lease
	tag  string

	mu  sync.Mutex
	err error // the lease is lost
}

// working has the transactions that go on in this process, whichever Store they belong to. Their
// names have nonces.
var working sync.Map

func (s *Store) keepAlive(at place, l lease, tag string) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{s: s, at: at, l: l, tag: tag, stop: stop, done: make(chan struct{}), turn: make(chan struct{}, 1)}
	working.Store(at.Txn, true)
	go k.run(ctx)
	return k
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.s.opt.Lease / 4):
		}
		k.change(ctx, "store.Lease", func(*lease) {}) //nolint:errcheck // kept in k.err if the lease is lost
	}
}

// change puts the document with a change. An error says that the lease is lost, or that nobody
// knows.
func (k *keeper) change(ctx context.Context, op string, change func(l *lease)) error {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	if err := k.lost(); err != nil {
		return err
	}
	l := k.l
	change(&l)
	l.Nonce = nonce()
	tag, err := k.s.put(ctx, op, k.s.liveKey(k.at), encode(l, 0), Condition{Tag: k.tag})
	switch {
	case err == nil:
		k.l, k.tag = l, tag
	case errors.Is(err, ErrCondition):
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = &errs.Error{Kind: errs.NotFound, Op: op, Subject: k.at.String(), Want: "the lease of this transaction",
			Got: "another process ended the transaction, because it gave no sign of life", Err: err,
			Remedy: "save again; see whether this process was stopped, or could not reach the object store"}
		return k.err
	default:
		// The tag is not known any more. The document that is there decides.
		// The first document may come back by a late request of Begin, after another process has ended
		// the transaction; then it has another nonce.
		if now, a, readErr := k.s.lease(ctx, op, k.at); readErr == nil && now.Nonce == l.Nonce {
			k.l, k.tag = *now, a.Tag
			return nil
		}
	}
	return err
}

// lost returns an error if the lease is lost.
func (k *keeper) lost() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// end stops the signs of life. The document stays.
func (k *keeper) end() {
	working.Delete(k.at.Txn)
	k.stop()
	<-k.done
}

// expired reports whether the process of a document gave no sign of life for too long, by the clock
// of the server.
func (s *Store) expired(a Attrs, limit time.Duration) bool {
	return a.Now.Sub(a.Modified) > limit // not if a list does not know the time
}
