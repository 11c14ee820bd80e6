package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Options say which member of which job a process is.
type Options struct {
	// Rank is the number of this process, and World the number of processes. See FromEnvironment.
	Rank, World int
	// Job names the job. All its members have the same name, and a restarted job may keep it. Another
	// job is refused while members of this one live. Without a name, jobs are told apart only by their
	// ranks.
	Job string
	// Host names the machine in messages. The default is its host name.
	Host string
	// Terms are the options of the program that must be the same in all members, such as the size of a
	// batch. A member with another value is refused, and the error names it.
	Terms map[string]string
	// Deadline ends each wait for other members. The default is 10 minutes.
	Deadline time.Duration
	// Lease is how long a member that gives no sign of life keeps its rank. Members give signs four
	// times as often. All members need the same Lease. The default is 30 seconds.
	Lease time.Duration
	// OnError, if not nil, is told of errors of the board in the background. Members try again.
	OnError func(error)
}

// Defaults of Options.
const (
	defaultDeadline = 10 * time.Minute
	defaultLease    = 30 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "cluster.Join", Subject: "Options." + field, Want: want, Got: got}
	}
	if o.World == 0 && o.Rank == 0 {
		o.World = 1
	}
	switch {
	case o.World < 1:
		return o, bad("World", "at least 1 process", fmt.Sprint(o.World))
	case o.World > maxWorld:
		return o, bad("World", fmt.Sprintf("at most %d processes", maxWorld), fmt.Sprint(o.World))
	case o.Rank < 0 || o.Rank >= o.World:
		return o, bad("Rank", fmt.Sprintf("0 to %d", o.World-1), fmt.Sprint(o.Rank))
	case o.Deadline < 0:
		return o, bad("Deadline", "a time", o.Deadline.String())
	case o.Lease < 0:
		return o, bad("Lease", "a time", o.Lease.String())
	}
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Host == "" {
		o.Host = thisHost()
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o, nil
}

const maxWorld = 100_000 // a board may take fewer

// beat is the time between two signs of life.
func (o Options) beat() time.Duration { return o.Lease / 4 }

// patience is how long a document must not change before its writer counts as dead: its lease, and
// an eighth for clocks that run at different speeds. It is measured with the clock of the process
// that watches, and never compared with another clock.
func (o Options) patience() time.Duration { return o.Lease + o.Lease/8 }

// errDeadline is the cause of a context that Options.Deadline ended.
var errDeadline = fmt.Errorf("the deadline for other members is over: %w", context.DeadlineExceeded)

// ErrFenced says that a member lost its rank: another process has taken it, or another job has
// taken the board. All later calls of the member fail with it.
var ErrFenced = errors.New("this process is no member any more")

// Open opens the board of a URL or path, and joins the job on it. Member.Close closes the board. An
// empty url is a job of one process.
func Open(ctx context.Context, url string, o Options) (*Member, error) {
	if url == "" && o.World > 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "cluster.Open", Subject: "url",
			Want: fmt.Sprintf("the board of a job of %d processes", o.World), Got: "none",
			Remedy: "give the path of a directory that all share, s3://bucket/run/.cluster or etcd://host:2379/run"}
	}
	var b Board
	if url == "" {
		b = InProcess()
	} else {
		var err error
		if b, err = OpenBoard(ctx, url); err != nil {
			return nil, err
		}
	}
	m, err := Join(ctx, b, o)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	m.owns = true
	return m, nil
}
