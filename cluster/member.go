package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// Member is a process of a job. Its methods may be called concurrently.
type Member struct {
	desk
	o     Options
	self  who
	epoch string
	first who  // the member that began the job
	owns  bool // Close closes the board

	nudge    chan struct{} // wakes the loop; has room for one
	joined   chan struct{} // closed when all members have joined
	unjoined chan error    // why Join fails; has room for one
	ended    chan struct{} // closed when the member is fenced or closed
	stop     context.CancelFunc
	done     chan struct{} // closed when the loop has ended
	closing  sync.Once
	closed   error // of Close

	// Of the loop alone.
	seatVersion string
	beat        int64
	lastBeat    time.Time
	lastCheck   time.Time // of the job
	round       Document  // that was read or written last
	root        *root     // on rank 0
	isJoined    bool
	flushed     int64 // the change that the seat has

	mu      sync.Mutex
	calls   map[string]*call // by nonce
	keys    map[string]bool  // of calls that wait
	changes int64            // counts changes of calls that must be told now
	known   map[int]who      // the last process of each rank
	fenced  error
	trouble error // the last error of the board, nil after a success
	leases  map[*Lease]bool
}

// call is a call that waits for the other members.
type call struct {
	arrival
	gone   bool         // the seat need not list it any more
	answer chan release // has room for one
	done   chan struct{}
	failed chan error // has room for one
	isDone bool
}

func (m *Member) init() {
	m.nudge, m.done = make(chan struct{}, 1), make(chan struct{})
	m.joined, m.unjoined, m.ended = make(chan struct{}), make(chan error, 1), make(chan struct{})
	m.calls, m.keys, m.leases = map[string]*call{}, map[string]bool{}, map[*Lease]bool{}
	m.known = map[int]who{}
	if m.o.Rank == 0 {
		m.root = newRoot(m.o.World)
	}
}

// start begins to give signs of life.
func (m *Member) start() {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go m.run(ctx)
}

func (m *Member) run(ctx context.Context) {
	defer close(m.done)
	prefix := roundKey
	if m.root != nil {
		prefix = seatPrefix
	}
	var changes <-chan struct{}
	var again time.Time
	p := m.Board.Properties()
	wait, backoff := p.Poll, firstWait
	for ctx.Err() == nil {
		if w, ok := m.Board.(Watcher); ok && changes == nil && time.Now().After(again) {
			c, err := w.Changes(ctx, prefix)
			if err != nil {
				m.warn(err)
				again = time.Now().Add(m.o.beat())
			} else {
				changes = c
			}
		}
		busy, news, err := m.turn(ctx)
		listen := changes
		pause := m.untilBeat()
		switch {
		case err != nil:
			listen, pause = nil, backoff
			backoff = min(2*backoff, m.o.beat(), time.Second)
		case !busy: // rank 0 looks again soon enough for a process that joins
			listen, wait, backoff = nil, p.Poll, firstWait
			pause = min(pause, max(p.MaxPoll, m.o.beat()/8))
		case news:
			wait, backoff = p.Poll, firstWait
		default:
			wait, backoff = min(wait+wait/2, p.MaxPoll), firstWait
		}
		if busy && err == nil && changes == nil {
			pause = min(pause, wait)
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-m.nudge:
			wait = p.Poll
		case _, ok := <-listen:
			if !ok {
				changes, again = nil, time.Now().Add(m.o.beat())
			}
		}
		t.Stop()
	}
}

// untilBeat is the time until the next sign of life.
func (m *Member) untilBeat() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(time.Millisecond, time.Until(m.lastBeat.Add(m.o.beat())))
}

// turn does what there is to do. busy says that somebody waits for the board; news that something
// has changed.
func (m *Member) turn(ctx context.Context) (busy, news bool, err error) {
	err = m.giveSign(ctx)
	if err == nil && m.root != nil {
		busy, news, err = m.lead(ctx)
	} else if err == nil {
		busy, news, err = m.follow(ctx)
	}
	m.mu.Lock()
	m.trouble = err
	m.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		m.warn(err)
		if !transient(err) {
			m.fail(err)
		}
	}
	return busy, news, err
}

func (m *Member) warn(err error) {
	m.o.OnError(errs.Wrap("cluster", m.self.at(), err))
}

// fail ends the calls that wait: the board has answered something that time does not mend.
func (m *Member) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.calls {
		select {
		case c.failed <- err:
		default:
		}
	}
	select {
	case m.unjoined <- err:
	default:
	}
}

// fence ends the member.
func (m *Member) fence(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fenced != nil {
		return
	}
	m.fenced = err
	close(m.ended)
	for l := range m.leases {
		l.lose(err)
	}
	m.stop()
}

// why returns the reason for which the member ended, or nil.
func (m *Member) why() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fenced
}

// lastError returns the error with which the board answered last, or nil.
func (m *Member) lastError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.trouble
}

// seat returns what the seat has to say now, and which change that is.
func (m *Member) seat() (seat, int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := seat{Version: version, Epoch: m.epoch, who: m.self, Beat: m.beat + 1}
	for nonce, c := range m.calls {
		if c.gone {
			delete(m.calls, nonce)
			continue
		}
		s.Open = append(s.Open, c.arrival)
	}
	return s, m.changes
}

// giveSign writes the seat if there is something new to say, or if a sign of life is due.
func (m *Member) giveSign(ctx context.Context) error {
	m.mu.Lock()
	due, dirty := time.Since(m.lastBeat) >= m.o.beat(), m.changes != m.flushed
	m.mu.Unlock()
	if !due && !dirty {
		return nil
	}
	if time.Since(m.lastCheck) >= m.o.beat() {
		if err := m.checkJob(ctx); err != nil || m.why() != nil {
			return err
		}
		m.lastCheck = time.Now()
	}
	s, changes := m.seat()
	key, began := seatKey(m.o.Rank), time.Now()
	m.beat = s.Beat
	var v string
	err := m.once(ctx, func(ctx context.Context) (err error) {
		v, err = m.Put(ctx, key, encode(s), m.seatVersion)
		return err
	})
	if errors.Is(err, ErrChanged) {
		return m.lookAtSeat(ctx, key)
	}
	if err != nil {
		return err
	}
	m.seatVersion = v
	m.mu.Lock()
	m.lastBeat, m.flushed = began, changes
	m.mu.Unlock()
	return nil
}

// lookAtSeat decides whether the seat was changed by a request of this member whose reply was lost,
// or by another process. In the first case the next turn writes it again.
func (m *Member) lookAtSeat(ctx context.Context, key string) error {
	var doc Document
	err := m.once(ctx, func(ctx context.Context) (err error) {
		doc, err = m.Get(ctx, key)
		return err
	})
	now := seat{}
	switch {
	case errs.KindOf(err) == errs.NotFound:
		m.fence(m.fencedBy("nobody: the document of this member was removed"))
		return nil
	case err != nil:
		return err
	}
	if err := m.decode("cluster", doc, &now); err != nil {
		return err
	}
	if now.Incarnation != m.self.Incarnation {
		m.fence(m.fencedBy(now.since()))
		return nil
	}
	m.seatVersion = doc.Version
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++ // it has to be written again
	m.tell()
	return nil
}

func (m *Member) fencedBy(who string) error {
	return &errs.Error{Kind: errs.Closed, Op: "cluster", Subject: m.self.since(), Want: "the rank of this process",
		Got: "another owner: " + who, Err: ErrFenced,
		Remedy: "end this process; if it was stopped or cut off for a while, a larger Options.Lease keeps its rank"}
}

// checkJob fences the member if another job has taken the board.
func (m *Member) checkJob(ctx context.Context) error {
	var doc Document
	err := m.once(ctx, func(ctx context.Context) (err error) {
		doc, err = m.Get(ctx, jobKey)
		return err
	})
	if errs.KindOf(err) == errs.NotFound {
		m.fence(m.fencedBy("nobody: the document of the job was removed"))
		return nil
	}
	if err != nil {
		return err
	}
	j := job{}
	if err := m.decode("cluster", doc, &j); err != nil {
		return err
	}
	if j.Epoch != m.epoch {
		m.fence(m.fencedBy(fmt.Sprintf("the job %q, begun by %s", j.Name, j.First.since())))
		return nil
	}
	if !j.Closing {
		return nil
	}
	// A member that thought to be the last is leaving, or has died on its way out.
	j.Closing, j.Nonce = false, nonce()
	err = m.once(ctx, func(ctx context.Context) error {
		_, err := m.Put(ctx, jobKey, encode(j), doc.Version)
		return err
	})
	if errors.Is(err, ErrChanged) {
		return nil // the next sign of life looks again
	}
	return err
}

// follow reads the round, on the members other than rank 0.
func (m *Member) follow(ctx context.Context) (busy, news bool, err error) {
	m.mu.Lock()
	waits := !m.isJoined || len(m.keys) > 0
	m.mu.Unlock()
	if !waits {
		return false, false, nil
	}
	var doc Document
	err = m.once(ctx, func(ctx context.Context) (err error) {
		doc, err = m.Get(ctx, roundKey)
		return err
	})
	if errs.KindOf(err) == errs.NotFound {
		return true, false, nil
	}
	if err != nil {
		return true, false, err
	}
	if doc.Version == m.round.Version {
		return true, false, nil
	}
	r := round{}
	if err := m.decode("cluster", doc, &r); err != nil {
		return true, false, err
	}
	m.round = doc
	m.deliver(&r)
	return true, true, nil
}

// deliver tells the calls what a round says.
func (m *Member) deliver(r *round) {
	if r.Epoch != m.epoch || len(r.Roster) != m.o.World {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for rank, p := range r.Roster {
		if p.Incarnation != "" {
			m.known[rank] = p.who
		}
	}
	for _, e := range r.Open {
		if m.o.Rank >= len(e.Of) {
			continue
		}
		c := m.calls[e.Of[m.o.Rank]]
		if c == nil {
			continue
		}
		select {
		case c.answer <- e:
		default: // it has the answer already
		}
		if e.Done && !c.isDone {
			c.isDone = true
			close(c.done)
		}
	}
	if m.isJoined {
		return
	}
	all := r.Roster[m.o.Rank].Incarnation == m.self.Incarnation
	for _, p := range r.Roster {
		if p.Refused != "" {
			select {
			case m.unjoined <- &errs.Error{Kind: errs.Mismatch, Op: opJoin, Subject: p.since(), Want: "a member that fits",
				Got: "one that was refused: " + p.Refused}:
			default:
			}
			return
		}
		all = all && p.Incarnation != ""
	}
	if all {
		m.isJoined = true
		close(m.joined)
	}
}

// tell wakes the loop.
func (m *Member) tell() {
	select {
	case m.nudge <- struct{}{}:
	default:
	}
}

// Rank returns the number of this process.
func (m *Member) Rank() int { return m.o.Rank }

// World returns the number of processes.
func (m *Member) World() int { return m.o.World }

// Incarnation tells this process from others that had its rank.
func (m *Member) Incarnation() string { return m.self.Incarnation }

// Done returns a channel that is closed when the member has lost its rank, or was closed.
func (m *Member) Done() <-chan struct{} { return m.ended }

// Err returns why the member lost its rank: an error with ErrFenced in its chain, or one of kind
// errs.Closed after Close. It is nil while the member lives.
func (m *Member) Err() error { return m.why() }

// Multiprocessing returns the options with which sharded saves use the barriers of this member.
// Rank 0 is the primary host.
func (m *Member) Multiprocessing() options.Multiprocessing {
	return options.Multiprocessing{PrimaryHost: new(options.Host(0)), ProcessIndex: new(options.Host(m.o.Rank)),
		ProcessCount: m.o.World, Barrier: m.Barrier}
}

// closeLimit bounds Close.
const closeLimit = 10 * time.Second

// Close gives the rank and all leases back. The last member that leaves removes the documents of
// the job. Close may be called twice.
func (m *Member) Close() error {
	m.closing.Do(func() { m.closed = m.close() })
	return m.closed
}

func (m *Member) close() error {
	lost := m.why() != nil
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	m.mu.Lock()
	held := make([]*Lease, 0, len(m.leases))
	for l := range m.leases {
		held = append(held, l)
	}
	m.mu.Unlock()
	var all []error
	for _, l := range held {
		all = append(all, l.Release(ctx))
	}
	m.fence(&errs.Error{Kind: errs.Closed, Op: "cluster", Subject: m.self.at()})
	<-m.done
	if !lost {
		all = append(all, m.leave(ctx))
	}
	if m.owns {
		all = append(all, m.Board.Close())
	}
	return errors.Join(all...)
}

// leave removes the seat, and the job if nobody else is there.
func (m *Member) leave(ctx context.Context) error {
	const op = "cluster.Close"
	if err := m.dropParts(ctx, m.self.Incarnation); err != nil {
		return err
	}
	// The version may be unknown after a lost reply, and the last sign of life may come late.
	for {
		doc, err := m.get(ctx, op, seatKey(m.o.Rank))
		if errs.KindOf(err) == errs.NotFound {
			break
		}
		if err != nil {
			return err
		}
		s := seat{}
		if err := m.decode(op, doc, &s); err != nil {
			return err
		}
		if s.Incarnation != m.self.Incarnation {
			return nil
		}
		if err := m.drop(ctx, op, doc.Key, doc.Version); err != nil {
			return err
		}
	}
	alone, _, err := m.alone(ctx, op)
	if !alone {
		return err
	}
	doc, err := m.get(ctx, op, jobKey)
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	j := job{}
	if err := m.decode(op, doc, &j); err != nil {
		return err
	}
	if j.Epoch != m.epoch || j.Closing { // of another job, or another member is doing this
		return nil
	}
	// A process that joins now finds that the job is closing, and begins another one; or its seat is
	// found here, and the job stays.
	j.Closing, j.Nonce = true, nonce()
	v, err := m.put(ctx, op, jobKey, encode(j), doc.Version)
	if errors.Is(err, ErrChanged) {
		return nil
	}
	if err != nil {
		return err
	}
	alone, refused, err := m.alone(ctx, op)
	if err != nil {
		return err
	}
	if !alone {
		j.Closing, j.Nonce = false, nonce()
		_, err := m.put(ctx, op, jobKey, encode(j), v)
		if errors.Is(err, ErrChanged) {
			return nil
		}
		return err
	}
	for _, d := range refused {
		if err := m.drop(ctx, op, d.Key, d.Version); err != nil {
			return err
		}
	}
	if doc, err := m.get(ctx, op, roundKey); err == nil {
		r := round{}
		if err := m.decode(op, doc, &r); err != nil {
			return err
		}
		if r.Epoch == m.epoch { // not of the next job, which may have begun
			if err := m.drop(ctx, op, roundKey, doc.Version); err != nil {
				return err
			}
		}
	} else if errs.KindOf(err) != errs.NotFound {
		return err
	}
	return m.drop(ctx, op, jobKey, v)
}

// alone reports whether the job has no member, and which documents of refused members there are.
func (m *Member) alone(ctx context.Context, op string) (alone bool, refused []Document, err error) {
	docs, err := m.list(ctx, op, seatPrefix)
	if err != nil {
		return false, nil, err
	}
	for _, d := range docs {
		s, err := m.seatOf(ctx, d)
		switch {
		case err != nil:
			return false, nil, err
		case s == nil || s.Epoch != m.epoch:
		case s.Refused == "":
			return false, nil, nil
		default:
			refused = append(refused, d)
		}
	}
	return true, refused, nil
}
