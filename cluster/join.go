package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

const opJoin = "cluster.Join"

// Join makes this process the member Options.Rank of a job, and returns when all members have
// joined. It fails if the deadline comes first, and names the members that have not come.
//
// A job of another name, or with another world or other Terms, is refused while a member of the
// present job lives, and takes its place after. A second process of one rank is refused likewise:
// if the first gave no sign of life for Options.Lease, the second takes its place, and the calls of
// the first fail with ErrFenced.
//
// The caller closes b after the member.
func Join(ctx context.Context, b Board, o Options) (*Member, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if most := b.Properties().MaxValue / placeBytes; o.World > most {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: opJoin, Subject: b.Properties().Name,
			Want: fmt.Sprintf("at most %d members on this board", most), Got: strconv.Itoa(o.World),
			Remedy: "use a directory or a bucket"}
	}
	m := newMember(b, o)
	limited, cancel := context.WithTimeoutCause(ctx, o.Deadline, errDeadline)
	defer cancel()
	if err := m.enter(limited); err != nil {
		return nil, m.giveUp(limited, err)
	}
	m.start()
	select {
	case <-m.joined:
		return m, nil
	case err := <-m.unjoined:
		return nil, errors.Join(err, m.Close())
	case <-m.ended:
		return nil, errors.Join(m.why(), m.Close())
	case <-limited.Done():
	}
	err = m.late(limited, opJoin, "", nil, m.lastError())
	return nil, errors.Join(err, m.Close())
}

// giveUp takes back what a Join that fails has written. It returns the error of Join.
func (m *Member) giveUp(ctx context.Context, err error) error {
	if m.epoch == "" {
		return err
	}
	if ctx.Err() != nil {
		err = m.late(ctx, opJoin, "", nil, err)
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
	defer cancel()
	m.leave(leaving) //nolint:errcheck // the reason is already being returned; the next job sweeps
	return err
}

// placeBytes is the number of bytes that a member takes in the document of the round.
const placeBytes = 256

// attempts bounds one attempt of a request: a lease must outlive two of them.
func attempts(o Options) time.Duration { return max(o.Lease/4, 2*time.Second) }

func newMember(b Board, o Options) *Member {
	m := &Member{
		desk: desk{b, attempts(o)}, o: o,
		self: who{Incarnation: nonce(), Rank: o.Rank, Host: o.Host, Process: os.Getpid(), Since: time.Now().UTC().Round(time.Second)},
	}
	m.init()
	return m
}

// enter finds the job, or begins it, and takes the seat.
func (m *Member) enter(ctx context.Context) error {
	for {
		j, err := m.findJob(ctx)
		if err != nil {
			return err
		}
		m.epoch, m.first = j.Epoch, j.First
		if err := m.claim(ctx); errors.Is(err, errAnotherJob) {
			continue
		} else if err != nil {
			return err
		}
		// The last member of the job may have left between.
		now, err := m.job(ctx)
		if err != nil {
			return err
		}
		if now.Epoch == m.epoch && !now.Closing {
			return nil
		}
		if err := m.drop(ctx, opJoin, seatKey(m.o.Rank), m.seatVersion); err != nil {
			return err
		}
	}
}

// errAnotherJob says that the job has ended meanwhile.
var errAnotherJob = errors.New("another job has begun")

// job reads the document of the job. It is zero if there is no such document.
func (m *Member) job(ctx context.Context) (j job, err error) {
	doc, err := m.get(ctx, opJoin, jobKey)
	if errs.KindOf(err) == errs.NotFound {
		return j, nil
	}
	if err != nil {
		return j, err
	}
	return j, m.decode(opJoin, doc, &j)
}

// differs says in which way this process does not fit into a job.
func (m *Member) differs(j *job) error {
	e := &errs.Error{Kind: errs.Mismatch, Op: opJoin}
	switch {
	case j.Name != m.o.Job:
		return &errs.Error{Kind: errs.Busy, Op: opJoin, Subject: m.Board.Properties().Name,
			Want: "no other job there than " + strconv.Quote(m.o.Job),
			Got:  fmt.Sprintf("the job %q of %d processes, begun by %s", j.Name, j.World, j.First.since()),
			Remedy: fmt.Sprintf("let it finish or stop it; when its members give no sign of life for %v, "+
				"another job takes its place; or use another directory", m.o.Lease)}
	case j.World != m.o.World:
		e.Subject = m.self.at() + ": World"
		e.Want, e.Got = fmt.Sprintf("%d, as %s has", j.World, j.First.at()), strconv.Itoa(m.o.World)
		e.Remedy = "start all members with one number of processes; stop the processes of an earlier start"
		return e
	}
	for _, name := range slices.Sorted(maps.Keys(j.Terms)) {
		if got, ok := m.o.Terms[name]; !ok || got != j.Terms[name] {
			e.Want, e.Got = strconv.Quote(j.Terms[name])+", as "+j.First.at()+" has", strconv.Quote(got)
			if !ok {
				e.Got = "no such option"
			}
			e.Subject, e.Remedy = m.self.at()+": "+name, "start all members with the same options"
			return e
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.o.Terms)) {
		if _, ok := j.Terms[name]; !ok {
			e.Want, e.Got = "no such option, as "+j.First.at()+" has none", strconv.Quote(m.o.Terms[name])
			e.Subject, e.Remedy = m.self.at()+": "+name, "start all members with the same options"
			return e
		}
	}
	return nil
}

// findJob returns the job that this process belongs to. If it does not exist, or if there is
// another one whose members are dead, findJob begins the job.
func (m *Member) findJob(ctx context.Context) (*job, error) {
	for {
		doc, err := m.get(ctx, opJoin, jobKey)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return nil, err
		}
		if err == nil {
			j := &job{}
			if err := m.decode(opJoin, doc, j); err != nil {
				return nil, err
			}
			other := m.differs(j)
			if other == nil && !j.Closing {
				return j, nil
			}
			state, err := m.watch(ctx, doc, j)
			if err != nil {
				return nil, errors.Join(err, other)
			}
			switch {
			case state == living && other != nil:
				if errs.KindOf(other) == errs.Mismatch {
					m.refuse(ctx, j, other)
				}
				return nil, other
			case state != gone:
				continue
			}
		}
		j := &job{Version: version, Epoch: nonce(), Name: m.o.Job, World: m.o.World, Terms: m.o.Terms, First: m.self,
			Nonce: nonce()}
		_, err = m.put(ctx, opJoin, jobKey, encode(j), doc.Version)
		if errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m.epoch = j.Epoch // so that a Join that fails now takes the job back
		return j, m.sweep(ctx, j.Epoch)
	}
}

// What watch has seen of a job.
type life int

const (
	gone    life = iota // no member gave a sign of life
	living              // a member gave a sign of life
	another             // the job is not there any more, or has changed
)

// watch looks at a job until a member gives a sign of life, or until none has for the time of the
// lease. A job that is closing is gone as soon as it has no members.
func (m *Member) watch(ctx context.Context, at Document, j *job) (life, error) {
	first := map[string]string{} // key → version
	began := time.Now()
	for n := 0; ; n++ {
		docs, err := m.list(ctx, opJoin, seatPrefix)
		if err != nil {
			return gone, err
		}
		now, err := m.get(ctx, opJoin, jobKey)
		if errs.KindOf(err) == errs.NotFound {
			return another, nil
		}
		if err != nil {
			return gone, err
		}
		members := 0
		for _, d := range docs {
			if first[d.Key] == d.Version {
				members++
				continue
			}
			s, err := m.seatOf(ctx, d)
			if errs.KindOf(err) == errs.Corrupt {
				members++ // nobody knows whose it is
				first[d.Key] = d.Version
				continue
			}
			if err != nil {
				return gone, err
			}
			if s == nil || s.Epoch != j.Epoch || s.Refused != "" {
				continue
			}
			members++
			if n > 0 {
				return living, nil
			}
			first[d.Key] = d.Version
		}
		switch {
		case now.Version != at.Version:
			return another, nil
		case j.Closing && members == 0:
			return gone, nil
		case time.Since(began) >= m.o.patience():
			return gone, nil
		}
		sleep(ctx, m.pause()) // the next request fails once ctx has ended
	}
}

// pause is the time between two looks at a lease.
func (m *Member) pause() time.Duration {
	return min(max(m.o.Lease/16, m.Board.Properties().Poll), 2*time.Second)
}

// seatOf reads the seat that a list has named. It is nil if it was removed meanwhile.
func (m *Member) seatOf(ctx context.Context, d Document) (*seat, error) {
	if d.Value == nil {
		var err error
		if d, err = m.get(ctx, opJoin, d.Key); errs.KindOf(err) == errs.NotFound {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	s := &seat{}
	if err := m.decode(opJoin, d, s); err != nil {
		return nil, err
	}
	return s, nil
}

// refuse tells the members that wait in Join why this process does not join. It takes a seat only
// where nobody sits.
func (m *Member) refuse(ctx context.Context, j *job, why error) {
	if m.o.Rank >= j.World {
		return
	}
	s := seat{Version: version, Epoch: j.Epoch, who: m.self, Beat: 1, Refused: why.Error()}
	m.put(ctx, opJoin, seatKey(m.o.Rank), encode(s), "") //nolint:errcheck // the others have their deadline
}

// sweep removes what the members of earlier jobs have left.
func (m *Member) sweep(ctx context.Context, epoch string) error {
	docs, err := m.list(ctx, opJoin, seatPrefix)
	if err != nil {
		return err
	}
	var old []Document
	for _, d := range docs {
		s, err := m.seatOf(ctx, d)
		if err != nil && errs.KindOf(err) != errs.Corrupt {
			return err
		}
		if err != nil || s != nil && s.Epoch != epoch {
			old = append(old, d)
		}
	}
	parts, err := m.list(ctx, opJoin, partPrefix)
	if err != nil {
		return err
	}
	// If the job is still this one, what was read before belongs to jobs before it, not after it.
	if now, err := m.job(ctx); err != nil {
		return err
	} else if now.Epoch != epoch {
		return nil
	}
	for _, d := range old {
		if err := m.drop(ctx, opJoin, d.Key, d.Version); err != nil {
			return err
		}
	}
	for _, d := range parts {
		if err := m.drop(ctx, opJoin, d.Key, ""); err != nil {
			return err
		}
	}
	return nil
}

// claim takes the seat of the rank.
func (m *Member) claim(ctx context.Context) error {
	key := seatKey(m.o.Rank)
	for {
		doc, err := m.get(ctx, opJoin, key)
		if err != nil && errs.KindOf(err) != errs.NotFound {
			return err
		}
		old := &seat{}
		if err == nil {
			if err := m.decode(opJoin, doc, old); err != nil {
				return err
			}
			// Only a seat of this job, or of a job before it, may be taken.
			if now, err := m.job(ctx); err != nil {
				return err
			} else if now.Epoch != m.epoch {
				return errAnotherJob
			}
			if old.Epoch == m.epoch && old.Refused == "" {
				changed, err := m.observe(ctx, opJoin, key, doc.Version)
				if err != nil {
					return err
				}
				if changed {
					again, err := m.sameHolder(ctx, key, old)
					if err != nil {
						return err
					}
					if !again {
						continue
					}
					return &errs.Error{Kind: errs.Busy, Op: opJoin, Subject: fmt.Sprintf("rank %d", m.o.Rank),
						Want: "no other process of this rank", Got: "one that lives: " + old.since(),
						Remedy: fmt.Sprintf("stop it, or give each process its own rank; a process that gives no sign of "+
							"life for %v loses its rank", m.o.Lease)}
				}
			}
		}
		s := seat{Version: version, Epoch: m.epoch, who: m.self, Beat: 1}
		v, err := m.put(ctx, opJoin, key, encode(s), doc.Version)
		if errors.Is(err, ErrChanged) {
			continue
		}
		if err != nil {
			return err
		}
		m.seatVersion, m.beat = v, 1
		if old.Incarnation != "" {
			return m.dropParts(ctx, old.Incarnation)
		}
		return nil
	}
}

// sameHolder reports whether the seat still has the process that it had.
func (m *Member) sameHolder(ctx context.Context, key string, old *seat) (bool, error) {
	doc, err := m.get(ctx, opJoin, key)
	if errs.KindOf(err) == errs.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now := &seat{}
	err = m.decode(opJoin, doc, now)
	return now.Incarnation == old.Incarnation && now.Epoch == old.Epoch, err
}

// observe watches a document for as long as its writer may be silent, and reports whether it
// changed or went.
func (m *Member) observe(ctx context.Context, op, key, version string) (changed bool, err error) {
	for began := time.Now(); time.Since(began) < m.o.patience(); {
		sleep(ctx, m.pause()) // the next request fails once ctx has ended
		doc, err := m.get(ctx, op, key)
		if errs.KindOf(err) == errs.NotFound {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if doc.Version != version {
			return true, nil
		}
	}
	return false, nil
}

// dropParts removes the parts of values that a process has left.
func (m *Member) dropParts(ctx context.Context, incarnation string) error {
	docs, err := m.list(ctx, opJoin, partPrefix+incarnation+"/")
	if err != nil {
		return err
	}
	for _, d := range docs {
		if err := m.drop(ctx, opJoin, d.Key, ""); err != nil {
			return err
		}
	}
	return nil
}

// rankOf returns the rank of the key of a seat.
func rankOf(key string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(key, seatPrefix))
	return n, err == nil && n >= 0
}
