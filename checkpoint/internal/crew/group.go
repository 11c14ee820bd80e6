package crew

import (
	"context"
	"crypto/ed25519"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Group describes the processes of a save from the view of one of them.
type Group struct {
	Self    int
	Primary int   // one of Active
	Active  []int // ascending; Self is one of them
	// Barrier returns when all of Active have called it with the key, or fails.
	Barrier func(ctx context.Context, key string) error
	// Replicas says who writes a shard that several processes have. All processes need the same.
	Replicas Replicas
}

// Leads reports whether this process is the primary.
func (g Group) Leads() bool { return g.Self == g.Primary }

// Call has the arguments of Meet.
type Call struct {
	Store store.Store
	Name  string           // of the checkpoint in Store
	Key   string           // begins the keys of barriers; the same on all processes
	Txn   store.TxnOptions // of the checkpoint
	// Decline is why the primary does not want the save; "" means that it does. Only the Decline of
	// the primary counts.
	Decline string
	// Err is why this process cannot take part.
	Err error
}

// The barriers, in their order.
const (
	begin   = "begin"
	plan    = "plan"
	written = "written"
	end     = "end"
	leave   = "leave"
)

// farewell is how long a process that was told to stop waits to tell the others.
const farewell = time.Minute

// Meeting is one save of several processes, from the view of one of them. Its methods are called
// one after the other.
type Meeting struct {
	Declined string // why the primary does not want the save; then no other method is called

	group Group
	call  Call
	talk  store.Txn // of the meeting
	txn   store.Txn // of the checkpoint

	next writer.Join // on the primary: joins the output of all processes

	signing ed25519.PrivateKey
	report  report // on other processes
	broken  error  // of a barrier
	said    bool   // the barrier "written" was called
}

// Fail makes this process report in Agree that it cannot go on, and why.
func (m *Meeting) Fail(err error) {
	if m.call.Err == nil {
		m.call.Err = err
	}
}

// opening is the first message of the primary.
type opening struct {
	Txn     string   `json:"transaction,omitempty"`
	Decline string   `json:"declined,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

// Meet begins a save. On the others it returns when the primary has begun it. Call.Err of a process
// other than the primary is reported in Agree, which has to be called with it. Meet returns the
// error of the primary or of the barrier: the save is over then, as it is when the meeting is
// Declined.
func (g Group) Meet(ctx context.Context, c Call) (*Meeting, error) {
	m := &Meeting{group: g, call: c}
	if !g.Leads() {
		return m.find(ctx)
	}
	err := m.open(ctx)
	if c.Err != nil {
		err = c.Err
	}
	if m.talk == nil {
		m.barrier(ctx, begin) //nolint:errcheck // the other processes find nothing
		return nil, m.miss(ctx, err)
	}
	word := opening{Decline: c.Decline, Failure: fail(err)}
	if m.txn != nil {
		word.Txn = m.txn.Staging()
	}
	m.call.Err = m.say(ctx, "open", word) // the others may have read it all the same
	if e := m.barrier(ctx, begin); e != nil {
		return nil, errors.Join(e, m.close())
	}
	return m.opened(ctx, word, err)
}

// open removes the leftovers of earlier saves of the name and begins the two transactions.
func (m *Meeting) open(ctx context.Context) (err error) {
	c := m.call
	if err := m.clean(ctx); err != nil {
		return err
	}
	if m.talk, err = c.Store.Begin(ctx, meetingOf(c.Name), store.TxnOptions{Shared: true, Overwrite: true}); err != nil {
		return err
	}
	if c.Decline != "" || c.Err != nil {
		return nil
	}
	o := c.Txn
	o.Shared = true
	m.txn, err = c.Store.Begin(ctx, c.Name, o)
	return err
}

// meetingOf returns the name of the transaction of the meeting, which is never committed.
func meetingOf(name string) string { return name + ".meeting" }

// clean removes the leftovers of killed saves of the name.
func (m *Meeting) clean(ctx context.Context) error {
	_, err := m.call.Store.CleanStaging(ctx, parent(m.call.Name), func(in store.Info) bool {
		base := path.Base(m.call.Name)
		return !isStaging(in.Name, base) && !isStaging(in.Name, meetingOf(base))
	})
	if errs.KindOf(err) == errs.NotFound {
		return nil
	}
	return err
}

func isStaging(name, of string) bool {
	return strings.HasPrefix(name, store.StagingName(of, "")) && store.IsLeftover(name)
}

func parent(name string) string {
	if d := path.Dir(name); d != "." {
		return d
	}
	return ""
}

// find joins the meeting that the primary has opened.
func (m *Meeting) find(ctx context.Context) (*Meeting, error) {
	if err := m.barrier(ctx, begin); err != nil {
		return nil, err
	}
	word, err := m.join(ctx)
	if err != nil {
		return nil, m.miss(ctx, err)
	}
	return m.opened(ctx, word, word.Failure.from(m.group.Primary))
}

// miss ends a meeting that failed for this process, perhaps for it alone. The other processes wait
// for it at one more barrier, where it writes no message.
func (m *Meeting) miss(ctx context.Context, err error) error {
	m.barrier(ctx, plan) //nolint:errcheck // the reason is already being returned
	m.leave(ctx)         //nolint:errcheck // likewise
	return err
}

// join takes part in the transactions.
func (m *Meeting) join(ctx context.Context) (word opening, err error) {
	staging, err := m.search(ctx)
	if err != nil {
		return word, err
	}
	st := m.call.Store
	if m.talk, err = st.Begin(ctx, meetingOf(m.call.Name), store.TxnOptions{Join: staging}); err != nil {
		return word, err
	}
	if err = m.hear(ctx, "open", &word); err != nil || word.Txn == "" {
		return word, err
	}
	o := m.call.Txn
	o.Join = word.Txn
	if m.txn, err = st.Begin(ctx, m.call.Name, o); m.call.Err == nil {
		m.call.Err = err
	}
	return word, nil
}

// search finds the directory of the meeting.
func (m *Meeting) search(ctx context.Context) (string, error) {
	dir, found := parent(m.call.Name), ""
	for in, err := range m.call.Store.List(ctx, dir) {
		switch {
		case errs.KindOf(err) == errs.NotFound:
		case err != nil:
			return "", err
		case !in.Dir || !isStaging(in.Name, meetingOf(path.Base(m.call.Name))):
		case found != "":
			return "", &errs.Error{Kind: errs.Busy, Subject: m.call.Name, Want: "one save by several processes at a time",
				Got: found + " and " + in.Name}
		default:
			found = in.Name
		}
	}
	if found == "" {
		return "", &errs.Error{Kind: errs.NotFound, Subject: m.call.Name,
			Want: "a save that process " + strconv.Itoa(m.group.Primary) + ", the primary, has begun", Got: "no save",
			Remedy: "find out why it has not begun; or give all processes the same directory; " +
				"or set primary_host to null if each process has its own"}
	}
	return path.Join(dir, found), nil
}

// opened ends a meeting that leads to no save.
func (m *Meeting) opened(ctx context.Context, word opening, err error) (*Meeting, error) {
	m.Declined = word.Decline
	if err != nil || m.Declined != "" {
		m.leave(ctx) //nolint:errcheck // the next save removes what is left
	}
	return m, err
}

// barrier waits for all processes. After it has failed once it is not called again, because the
// other processes may be gone.
func (m *Meeting) barrier(ctx context.Context, op string) error {
	if m.broken != nil {
		return m.broken
	}
	long, cancel := patient(ctx)
	defer cancel()
	key := m.call.Key + ":" + op
	err := m.group.Barrier(long, key)
	if err == nil {
		return nil
	}
	broken := &errs.Error{Subject: "barrier " + key, Got: m.silent(ctx, op), Err: err}
	if errs.KindOf(err) == errs.Other && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		broken.Kind = errs.Canceled
	}
	m.broken = broken
	return m.broken
}

// patient returns a context that outlives ctx, so that the other processes can be told that ctx
// ended.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	long, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(farewell):
			cancel()
		case <-long.Done():
		}
	})
	return long, func() { stop(); cancel() }
}

// leave ends the meeting when all processes have read all messages.
func (m *Meeting) leave(ctx context.Context) error {
	m.barrier(ctx, leave) //nolint:errcheck // all messages were written
	return m.close()
}

// close aborts the transactions that were not committed; the primary removes them.
func (m *Meeting) close() error {
	var all []error
	for _, t := range []store.Txn{m.txn, m.talk} {
		if t != nil {
			all = append(all, t.Abort())
		}
	}
	return errors.Join(all...)
}

// others returns the processes except the primary.
func (g Group) others() []int {
	return slices.DeleteFunc(slices.Clone(g.Active), func(p int) bool { return p == g.Primary })
}
