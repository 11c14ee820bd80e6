package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Lease is a right that one member has, such as to lead. It ends when the member releases it, loses
// its rank, or could not renew it for Options.Lease.
//
// A process that was stopped does not know that its lease has ended. So what it changes must be
// guarded by the token: every later lease of the name has a greater one, and the receiver of a
// change refuses a token that is less than the greatest that it has seen.
type Lease struct {
	m     *Member
	name  string
	key   string
	token int64
	stop  context.CancelFunc
	ended chan struct{} // closed when the lease is lost or released
	done  chan struct{} // closed when no sign of life is given any more

	turn    chan struct{} // has room for the one that writes the document
	doc     hold
	version string
	renewed time.Time

	mu  sync.Mutex
	err error
}

// Holder is the member that has a lease.
type Holder struct {
	Rank  int
	Host  string
	Token int64
}

// leader is the name of the lease of Lead.
const leader = "leader"

// Lead makes this member the leader, and waits while another one is.
func (m *Member) Lead(ctx context.Context) (*Lease, error) { return m.Acquire(ctx, leader) }

// Leader returns who leads. The kind of the error is errs.NotFound if nobody does.
func (m *Member) Leader(ctx context.Context) (Holder, error) { return m.Holder(ctx, leader) }

// Holder returns the member that has a lease. It may be over by the time that Holder returns. The
// kind of the error is errs.NotFound if nobody has it.
func (m *Member) Holder(ctx context.Context, name string) (Holder, error) {
	const op = "cluster.Holder"
	if err := m.why(); err != nil {
		return Holder{}, errs.Wrap(op, name, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, m.o.Deadline, errDeadline)
	defer cancel()
	doc, err := m.get(limited, op, leasePrefix+name)
	if err != nil {
		return Holder{}, err
	}
	h := hold{}
	if err := m.decode(op, doc, &h); err != nil {
		return Holder{}, err
	}
	if !h.Held {
		return Holder{}, &errs.Error{Kind: errs.NotFound, Op: op, Subject: "lease " + name}
	}
	return Holder{h.Rank, h.Host, h.Token}, nil
}

// Acquire takes the lease of a name, and waits while another member has it. The lease of a process
// that gives no sign of life is taken from it after Options.Lease.
func (m *Member) Acquire(ctx context.Context, name string) (*Lease, error) {
	const op = "cluster.Acquire"
	limited, cancel := context.WithTimeoutCause(ctx, m.o.Deadline, errDeadline)
	defer cancel()
	key := leasePrefix + name
	for {
		if err := m.why(); err != nil {
			return nil, errs.Wrap(op, name, err)
		}
		old, doc := hold{}, Document{}
		got, err := m.get(limited, op, key)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		if err == nil {
			doc = got
			if err := m.decode(op, doc, &old); err != nil {
				return nil, err
			}
		}
		if old.Held {
			changed, err := m.observe(limited, op, key, doc.Version)
			if limited.Err() != nil {
				return nil, &errs.Error{Kind: errs.Canceled, Op: op, Subject: "lease " + name, Want: "a lease that is free",
					Got: "one that " + old.since() + " has", Err: context.Cause(limited)}
			}
			if err != nil {
				return nil, err
			}
			if changed {
				continue
			}
		}
		if err := m.why(); err != nil { // while it waited
			return nil, errs.Wrap(op, name, err)
		}
		l := &Lease{m: m, name: name, key: key, token: old.Token + 1, ended: make(chan struct{}), done: make(chan struct{}),
			turn: make(chan struct{}, 1), renewed: time.Now()}
		l.doc = hold{Version: version, Held: true, Token: l.token, who: m.self, Beat: 1, Nonce: nonce()}
		l.version, err = m.put(limited, op, key, encode(l.doc), doc.Version)
		if errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		live, cancel := context.WithCancel(context.Background())
		l.stop = cancel
		m.mu.Lock()
		m.leases[l] = true
		fenced := m.fenced
		m.mu.Unlock()
		if fenced != nil {
			close(l.done)
			l.lose(fenced)
			return nil, errs.Wrap(op, name, fenced)
		}
		go l.run(live)
		return l, nil
	}
}

// Token returns the fencing token. Each lease of the name has a greater one than those before.
func (l *Lease) Token() int64 { return l.token }

// Done returns a channel that is closed when the lease has ended.
func (l *Lease) Done() <-chan struct{} { return l.ended }

// Err returns why the lease has ended, or nil.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// lose ends the lease.
func (l *Lease) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	close(l.ended)
	l.stop()
}

func (l *Lease) run(ctx context.Context) {
	defer close(l.done)
	for sleep(ctx, l.m.o.beat()) {
		if err := l.change(ctx, func(*hold) {}); err != nil && ctx.Err() == nil {
			l.m.warn(err)
		}
	}
}

// change writes the document again.
func (l *Lease) change(ctx context.Context, change func(*hold)) error {
	const op = "cluster.Lease"
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if err := l.Err(); err != nil {
		return err
	}
	doc, began := l.doc, time.Now()
	change(&doc)
	doc.Beat, doc.Nonce = doc.Beat+1, nonce()
	left := time.Until(l.renewed.Add(l.m.o.Lease))
	limited, cancel := context.WithTimeout(ctx, max(left, time.Millisecond))
	defer cancel()
	v, err := l.m.put(limited, op, l.key, encode(doc), l.version)
	switch {
	case err == nil:
		l.doc, l.version, l.renewed = doc, v, began
		return nil
	case errors.Is(err, ErrChanged):
		err = &errs.Error{Kind: errs.Busy, Op: op, Subject: "lease " + l.name, Want: fmt.Sprintf("the token %d", l.token),
			Got: "another member has taken the lease", Err: ErrFenced}
		l.lose(err)
	case time.Until(l.renewed.Add(l.m.o.Lease)) <= 0:
		err = &errs.Error{Kind: errs.IO, Op: op, Subject: "lease " + l.name, Want: "an answer within " + l.m.o.Lease.String(),
			Got: "none: another member may have taken the lease", Err: err}
		l.lose(err)
	}
	return err
}

// Check renews the lease, and fails if it has ended.
func (l *Lease) Check(ctx context.Context) error {
	if err := alive(ctx, "cluster.Lease", l.name); err != nil {
		return err
	}
	return l.change(ctx, func(*hold) {})
}

// Release gives the lease back. It may be called twice.
func (l *Lease) Release(ctx context.Context) error {
	err := l.change(ctx, func(h *hold) { h.Held = false })
	ended := l.Err() != nil
	l.lose(&errs.Error{Kind: errs.Closed, Op: "cluster.Lease", Subject: "lease " + l.name})
	<-l.done
	l.m.mu.Lock()
	delete(l.m.leases, l)
	l.m.mu.Unlock()
	if ended {
		return nil // it is not this member's any more
	}
	return err
}
