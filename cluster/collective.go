package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// The kinds of calls to which all members come.
const (
	kindBarrier   = "Barrier"
	kindBroadcast = "Broadcast"
	kindAgree     = "Agree"
	kindGather    = "Gather"
)

// Barrier returns when all members have called it with this key. It may be called again with the
// same key, and concurrently with other keys. If ctx ends or Options.Deadline is over, the error is
// of kind errs.Canceled and names the members that have not come, by rank and host. Then this
// member has not come either, unless rank 0 does not answer.
func (m *Member) Barrier(ctx context.Context, key string) error {
	_, err := m.meet(ctx, arrival{Kind: kindBarrier, Key: key}, nil)
	return err
}

// Broadcast returns on all members the value that the member of rank from has given. Values of the
// others are not used. On that member it returns when all others have the value.
func (m *Member) Broadcast(ctx context.Context, key string, from int, given []byte) ([]byte, error) {
	if from < 0 || from >= m.o.World {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "cluster.Broadcast", Subject: "from",
			Want: fmt.Sprintf("0 to %d", m.o.World-1), Got: fmt.Sprint(from)}
	}
	a := arrival{Kind: kindBroadcast, Key: key, From: from}
	if m.o.Rank != from {
		given = nil
	} else if given == nil {
		given = []byte{}
	}
	all, err := m.meet(ctx, a, given)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Agree returns if all members give the same value. Otherwise the error is of kind errs.Mismatch on
// all members, and names one that differs from rank 0.
func (m *Member) Agree(ctx context.Context, key string, given []byte) error {
	sum := sha256.Sum256(given)
	short := given[:min(len(given), 60)] // for the error
	v := &value{Size: int64(len(given)), Sum: hex.EncodeToString(sum[:]), Inline: short}
	_, err := m.meet(ctx, arrival{Kind: kindAgree, Key: key, Value: v}, nil)
	return err
}

// Gather returns on all members the values that they have given, by rank.
func (m *Member) Gather(ctx context.Context, key string, given []byte) ([][]byte, error) {
	if given == nil {
		given = []byte{}
	}
	return m.meet(ctx, arrival{Kind: kindGather, Key: key}, given)
}

// String describes a value for errors.
func (v *value) String() string {
	switch {
	case v == nil:
		return "no value"
	case int64(len(v.Inline)) == v.Size:
		return quote(v.Inline)
	}
	return fmt.Sprintf("%d bytes with the SHA-256 %.16s…, %s", v.Size, v.Sum, quote(v.Inline))
}

// inline is the largest number of bytes that a value may have to be in the documents of member and
// round. All values of a round must fit into one document.
func (m *Member) inline() int {
	return min(4<<10, max(0, m.Board.Properties().MaxValue/8/m.o.World-512))
}

// partBytes is the largest number of bytes of a part of a value.
func (m *Member) partBytes() int { return min(1<<20, m.Board.Properties().MaxValue) }

// meet comes to a key and waits for the other members. payload is nil if this member gives no
// value.
func (m *Member) meet(ctx context.Context, a arrival, payload []byte) (all [][]byte, err error) {
	op := "cluster." + a.Kind
	if err := m.why(); err != nil {
		return nil, errs.Wrap(op, a.Key, err)
	}
	if err := alive(ctx, op, a.Key); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, m.o.Deadline, errDeadline)
	defer cancel()
	a.Nonce = nonce()
	c := &call{arrival: a, answer: make(chan release, 1), done: make(chan struct{}), failed: make(chan error, 1)}
	if payload != nil {
		if c.Value, err = m.store(limited, op, a.Nonce, payload); err != nil {
			return nil, err
		}
		defer func() {
			if e := m.unstore(c.Value); err == nil {
				err = e
			}
		}()
	}
	if err := m.arrive(op, c); err != nil {
		return nil, err
	}
	early := m.soon(limited)
	defer early.stop()
	e, err := m.await(limited, op, c, early)
	if err != nil {
		m.depart(c, true)
		return nil, err
	}
	if e.Failure != "" {
		m.depart(c, false)
		return nil, &errs.Error{Kind: errs.Mismatch, Op: op, Subject: a.Key, Want: "the same of all members", Got: e.Failure,
			Remedy: "all members must run the same program with the same options"}
	}
	all = make([][]byte, len(e.Values))
	parts := false
	for i := range e.Values {
		v := &e.Values[i]
		parts = parts || v.Parts > 0
		if v.Nonce == a.Nonce { // what this member has given
			all[i] = slices.Clone(payload)
		} else if all[i], err = m.fetch(limited, op, a.Key, v); err != nil {
			m.depart(c, true)
			return nil, err
		}
	}
	if c.Value != nil && c.Value.Parts > 0 {
		// The parts must stay until all members have read them.
		m.got(c)
		select {
		case <-c.done:
		case <-m.ended:
			return nil, errs.Wrap(op, a.Key, m.why())
		case err := <-c.failed:
			m.depart(c, true)
			return nil, err
		case <-limited.Done():
			err := m.late(limited, op, a.Key, early, m.lastError())
			m.depart(c, true)
			return nil, err
		}
	}
	m.depart(c, parts)
	return all, nil
}

// arrive lists a call in the seat.
func (m *Member) arrive(op string, c *call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys[c.Key] {
		return &errs.Error{Kind: errs.Sequence, Op: op, Subject: c.Key, Want: "one call of a member with a key at a time",
			Got: "a second one"}
	}
	m.keys[c.Key] = true
	m.calls[c.Nonce] = c
	m.changes++
	m.tell()
	return nil
}

// got says in the seat that this member has all values.
func (m *Member) got(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Got = true
	m.changes++
	m.tell()
}

// depart takes a call out of the seat. If now is false, the next sign of life says so, which is
// soon enough: the round keeps the release until then.
func (m *Member) depart(c *call, now bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.gone = true
	delete(m.keys, c.Key)
	if now {
		m.changes++
		m.tell()
	}
}

// await waits for the release of a call.
func (m *Member) await(ctx context.Context, op string, c *call, early *glance) (release, error) {
	select {
	case e := <-c.answer:
		return e, nil
	case <-m.ended:
		return release{}, errs.Wrap(op, c.Key, m.why())
	case err := <-c.failed:
		return release{}, errs.Wrap(op, c.Key, err)
	case <-ctx.Done():
	}
	select {
	case e := <-c.answer: // it came at the same time
		return e, nil
	default:
	}
	// The others may be released at this moment. So rank 0 is asked to count this member no more, and
	// answers whether it still could.
	m.withdraw(c)
	t := time.NewTimer(lookLimit)
	defer t.Stop()
	err := m.late(ctx, op, c.Key, early, m.lastError())
	select {
	case e := <-c.answer:
		if !e.Withdrawn {
			return e, nil
		}
	case <-m.ended:
	case <-t.C:
	}
	return release{}, err
}

// withdraw says in the seat that this member gives up.
func (m *Member) withdraw(c *call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Withdrawn = true
	m.changes++
	m.tell()
}

// store writes a value that is too large for the seat in parts.
func (m *Member) store(ctx context.Context, op, nonce string, b []byte) (*value, error) {
	sum := sha256.Sum256(b)
	v := &value{Size: int64(len(b)), Sum: hex.EncodeToString(sum[:]), Owner: m.self.Incarnation, Nonce: nonce}
	if len(b) <= m.inline() {
		v.Inline = slices.Clone(b)
		return v, nil
	}
	for part := range slices.Chunk(b, m.partBytes()) {
		err := m.retry(ctx, op, func(ctx context.Context) error {
			_, err := m.Put(ctx, partKey(v.Owner, nonce, v.Parts), part, "")
			if errors.Is(err, ErrChanged) {
				return nil // nobody else writes this key: an attempt whose reply was lost
			}
			return err
		})
		v.Parts++
		if err != nil {
			return nil, errors.Join(err, m.unstore(v))
		}
	}
	return v, nil
}

// unstore removes the parts of a value.
func (m *Member) unstore(v *value) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	for i := range v.Parts {
		if err := m.drop(ctx, "cluster", partKey(v.Owner, v.Nonce, i), ""); err != nil {
			return err
		}
	}
	return nil
}

// fetch reads a value.
func (m *Member) fetch(ctx context.Context, op, key string, v *value) ([]byte, error) {
	b := v.Inline
	if v.Parts > 0 {
		b = make([]byte, 0, max(0, min(v.Size, 64<<20)))
		for i := range v.Parts {
			doc, err := m.get(ctx, op, partKey(v.Owner, v.Nonce, i))
			if err != nil {
				return nil, errs.Wrap(op, fmt.Sprintf("%s: part %d of %d", key, i+1, v.Parts), err)
			}
			b = append(b, doc.Value...)
		}
	}
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != v.Sum {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: m.Board.Properties().Name + ": " + key,
			Want: fmt.Sprintf("%d bytes with the SHA-256 %.16s…", v.Size, v.Sum),
			Got:  fmt.Sprintf("%d bytes with the SHA-256 %.16s…", len(b), got), Remedy: "see which other program writes there"}
	}
	return b, nil
}

// glance is a look at the seats some time before the deadline. A seat that does not change from
// then to the deadline belongs to a member that gives no sign of life.
type glance struct {
	stop  context.CancelFunc
	mu    sync.Mutex
	seats map[int]*seat
	at    time.Time
}

// soon looks at the seats before the deadline of ctx.
func (m *Member) soon(ctx context.Context) *glance {
	g := &glance{}
	ctx, g.stop = context.WithCancel(ctx)
	deadline, _ := ctx.Deadline() // of the call, which has one
	t := time.AfterFunc(time.Until(deadline.Add(-m.o.Lease/2-m.o.beat())), func() {
		seats, _ := m.seats(ctx) //nolint:errcheck // without an answer there was no look
		g.mu.Lock()
		defer g.mu.Unlock()
		g.seats, g.at = seats, time.Now()
	})
	stop := g.stop
	g.stop = func() { t.Stop(); stop() }
	return g
}

// seats reads all seats of the job.
func (m *Member) seats(ctx context.Context) (map[int]*seat, error) {
	docs, err := m.list(ctx, "cluster", seatPrefix)
	if err != nil {
		return nil, err
	}
	out := map[int]*seat{}
	for _, d := range docs {
		rank, ok := rankOf(d.Key)
		s, _ := m.seatOf(ctx, d) //nolint:errcheck // who cannot be read has not come
		if ok && s != nil && s.Epoch == m.epoch {
			out[rank] = s
		}
	}
	return out, nil
}

// lookLimit bounds the search for missing members after a deadline.
const lookLimit = 2 * time.Second

// late is the error of a call whose time is over. It names the members that have not come.
func (m *Member) late(ctx context.Context, op, key string, early *glance, trouble error) error {
	cause := context.Cause(ctx)
	e := &errs.Error{Kind: errs.Canceled, Op: op, Subject: key, Want: fmt.Sprintf("all %d members", m.o.World),
		Err: errors.Join(cause, trouble), Remedy: "see what these processes do; if they need longer, raise Options.Deadline"}
	if key == "" {
		e.Subject = m.Board.Properties().Name
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	seats, err := m.seats(looking)
	if err != nil {
		e.Got = "the board does not answer"
		e.Err = errors.Join(cause, err)
		e.Remedy = "see whether " + m.Board.Properties().Name + " can be reached"
		return e
	}
	var missing []string
	more := 0
	for rank := range m.o.World {
		text, here := m.absent(rank, key, seats[rank], early)
		switch {
		case here:
		case len(missing) < 8:
			missing = append(missing, text)
		default:
			more++
		}
	}
	if more > 0 {
		missing = append(missing, fmt.Sprintf("%d more", more))
	}
	e.Got = "not all have come: " + strings.Join(missing, "; ")
	if len(missing) == 0 {
		e.Got = "all have come, but rank 0 has not answered: " + m.describe(0, seats[0], early)
	}
	return e
}

// absent says why a member has not come to a key.
func (m *Member) absent(rank int, key string, s *seat, early *glance) (text string, here bool) {
	if rank == m.o.Rank {
		return "", true
	}
	if s != nil && s.Refused == "" {
		if key == "" {
			return "", true
		}
		if s.waitsAt(key) || early.of(rank, s).waitsAt(key) { // the time of the other may be over as well
			return "", true
		}
	}
	return m.describe(rank, s, early), false
}

// waitsAt reports whether a seat lists a key.
func (s *seat) waitsAt(key string) bool {
	return s != nil && slices.ContainsFunc(s.Open, func(a arrival) bool { return a.Key == key })
}

// of returns the seat as it was some time before, if it had the same process.
func (g *glance) of(rank int, now *seat) *seat {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if old := g.seats[rank]; old != nil && old.Incarnation == now.Incarnation {
		return old
	}
	return nil
}

// describe says what is known of a member.
func (m *Member) describe(rank int, s *seat, early *glance) string {
	if s == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if w, ok := m.known[rank]; ok {
			return w.since() + " has left"
		}
		return fmt.Sprintf("rank %d has not joined", rank)
	}
	if s.Refused != "" {
		return s.since() + " was refused: " + s.Refused
	}
	text, old := s.since(), early.of(rank, s)
	if old != nil && old.Beat == s.Beat {
		return fmt.Sprintf("%s gives no sign of life (for %v at least)", text, time.Since(early.at).Round(time.Second/10))
	}
	open := s.Open
	if len(open) == 0 && old != nil {
		open = old.Open
	}
	if len(open) > 0 {
		return fmt.Sprintf("%s waits at %q", text, open[0].Key)
	}
	return text + " is at no barrier"
}
