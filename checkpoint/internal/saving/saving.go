// Package saving is the common frame of the saves of a checkpoint, a step and a part. It has four
// methods; package writer describes the stages behind them:
//
//	Resolve   the options of the call become the options of a writer.Writer
//	Collect   the values become items, each by its handler; the metadata is encoded
//	Snapshot  the files are planned; arrays are copied, if that is asked for and fits
//	Write     in the background: a transaction, written and committed, or nothing of it
//
// An engine (checkpoint, training, partial) does its own part between these calls. It admits the
// save before Collect. It reads Items and completes Options before Snapshot. In a Target it says
// where Write commits, and what happens just before and after. The methods are called one after
// the other, each once. A Save whose Snapshot has returned nil must end with Write. A Save that is
// abandoned before that owns nothing.
package saving

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/crew"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Call has the arguments of a save, for any engine.
type Call struct {
	Options    options.Options // the result of options.Resolve
	Background bool            // the caller does not wait for Write
	Custom     any             // the metadata, which encodes to a JSON object; may be nil
	Release    func()          // not nil in the background: nothing is copied, and it is called when the caller may change the arrays
	Watch      bool            // as in writer.Options
	Progress   func(done, total int64)
}

func (c Call) mode() writer.Mode {
	switch {
	case !c.Background:
		return writer.InPlace
	case c.Release != nil:
		return writer.HandOver
	}
	return writer.Copy
}

// Save is one save under way.
type Save struct {
	Items   []writer.Item  // of Collect; the engine may add its own
	Options writer.Options // of Resolve and Collect; the engine completes it
	Writer  *writer.Writer // of Snapshot

	call    Call
	until   time.Time // the time limit; zero for no limit
	role    role
	meeting *crew.Meeting // of a Joint save, from Meet on
	over    bool          // Meet has failed
	memory  *arena.Arena  // memory of this save alone; nil if the engine provides memory
}

// Target is where Write commits.
type Target struct {
	Store   store.Store
	Name    string // name of the directory that becomes visible
	Key     string // identifies the save among the processes of a Joint save
	Options store.TxnOptions
	// Before, when not nil, runs before the transaction. If it fails, the save fails with its error.
	Before func(context.Context) error
	// Committed, when not nil, is called with the recorded time when everything is durable and
	// visible.
	Committed func(at time.Time)
}

// Resolve begins a save: it turns the options of the call into the options of a Writer.
func Resolve(c Call) (*Save, error) {
	io, err := plan.Save(c.Options)
	if err != nil {
		return nil, err
	}
	io.Watch, io.OnRelease, io.Progress = c.Watch, c.Release, c.Progress
	s := &Save{call: c, Options: io, role: roleOf(c.Options.Multiprocessing)}
	if a := c.Options.Array.Saving; s.role.joint && a.UseReplicaParallel == options.On {
		if a.EnableReplicaParallelSeparateFolder == options.On {
			return nil, &errs.Error{Kind: errs.Unsupported, Subject: "array.saving.enable_replica_parallel_separate_folder",
				Want: "the data files of all processes in one folder", Got: "a folder for replicas",
				Remedy: "leave it unset: the processes write one database, and nothing is merged from folders"}
		}
		s.role.group.Replicas = crew.Replicas{Split: true, MinBytes: a.MinSliceBytesForReplicaParallel,
			Most: a.MaxReplicasForReplicaParallel}
	}
	return s, nil
}

// Collect turns values into items in the order of their names. It isolates values that are not
// trees before it returns. values is not changed. The time limit of the save begins here, so
// waiting for an earlier save does not count.
func (s *Save) Collect(ctx context.Context, values map[string]any) (err error) {
	o := s.call.Options
	if d := o.Asynchronous.SaveBound(s.call.Background); d > 0 {
		s.until = time.Now().Add(d)
	}
	s.Items, err = writer.Handlers{Items: o.Checkpointables.Registry, Leaves: o.PyTree.LeafHandlers}.Collect(ctx, values)
	if err != nil {
		return err
	}
	s.Options.Custom, err = orbax.Custom(s.call.Custom)
	return errs.Wrap("", "SaveOptions.Custom", err)
}

// Snapshot plans the files and copies the arrays, into memory of its own if the engine gave it
// none. In a Joint save the processes first agree who writes what. err, if not nil, is why the
// engine abandons the save. It is returned after the other processes were told.
func (s *Save) Snapshot(ctx context.Context, t Target, err error) (failed error) {
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Snapshot, Step: telemetry.NoStep})
	defer func() { told.End(telemetry.Outcome{Err: failed}) }()
	if err = s.agree(ctx, t, err); err != nil {
		return err
	}
	err = s.plan()
	if err != nil && s.meeting != nil {
		_, err = s.meeting.Write(ctx, nil, err)
	}
	return err
}

// plan plans the files and copies the arrays. If it fails, it frees the memory of the save.
func (s *Save) plan() (err error) {
	if s.Options.Memory == nil {
		if s.memory, err = arena.Open(0, arena.Options{Limit: int(s.Options.Budget)}); err != nil {
			return errs.Wrap("", "SaveOptions.MemoryBudget", err)
		}
		s.Options.Memory = s.memory
	}
	if s.Writer, err = writer.Plan(s.Items, s.call.mode(), s.Options); err != nil {
		return errors.Join(err, s.free())
	}
	s.Options.Custom = nil // the Writer has it, as long as it needs it
	if err := s.Writer.Snapshot(); err != nil {
		return errors.Join(err, s.free())
	}
	return nil
}

// Write writes and commits the checkpoint, or leaves nothing visible of it. If ctx ends, it fails
// with errs.Canceled. So it does if the save exceeds its time limit, with context.DeadlineExceeded
// in the chain. When it returns, the memory of the caller is not needed any more.
func (s *Save) Write(ctx context.Context, t Target) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	writing, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Write, Step: telemetry.NoStep})
	at, err := s.transact(writing, t)
	told.End(s.Outcome(err))
	s.Writer.Close()
	s.free() //nolint:errcheck // unmapping it twice is harmless
	if err != nil {
		return ended(ctx, err)
	}
	if t.Committed != nil {
		t.Committed(at)
	}
	if f := s.call.Options.Asynchronous.PostFinalizationCallback; f != nil && s.call.Background {
		f()
	}
	return nil
}

// Outcome returns what telemetry is told of a save that was written, or could not be.
func (s *Save) Outcome(err error) telemetry.Outcome {
	stats := s.Writer.Stats()
	return telemetry.Outcome{Err: err, Bytes: stats.Bytes, Files: stats.Files, Blocked: stats.Blocked}
}

// bound returns a context that ends at the time limit of the save.
func (s *Save) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.until.IsZero() {
		return ctx, func() {}
	}
	limit := s.call.Options.Asynchronous.SaveBound(s.call.Background)
	return context.WithDeadlineCause(ctx, s.until, &errs.Error{
		Kind: errs.Canceled, Want: "a save within " + limit.String(), Err: context.DeadlineExceeded,
		Remedy: "raise Options.Asynchronous.SaveTimeout, and Timeout for a save in the background",
	})
}

// ended returns err, or if a save failed because ctx ended and err does not say why ctx ended, an
// error that does.
func ended(ctx context.Context, err error) error {
	canceled := errors.Is(err, errs.Canceled)
	if ctx.Err() == nil || !canceled && !errors.Is(err, ctx.Err()) {
		return err
	}
	why := context.Cause(ctx)
	if canceled && errors.Is(err, why) {
		return err
	}
	return &errs.Error{Kind: errs.Canceled, Err: errors.Join(why, err)}
}

func (s *Save) transact(ctx context.Context, t Target) (at time.Time, err error) {
	if t.Before != nil {
		if err := t.Before(ctx); err != nil {
			return at, err
		}
	}
	if s.meeting != nil {
		return s.meeting.Write(ctx, s.Writer, nil)
	}
	txn, err := t.Store.Begin(ctx, t.Name, t.Options)
	if err != nil {
		return at, err
	}
	return s.Writer.Write(ctx, txn)
}

// free frees the memory of this save.
func (s *Save) free() error {
	if s.memory == nil {
		return nil
	}
	return s.memory.Close()
}

// role is the role of this process in a save.
type role struct {
	group  crew.Group
	joint  bool // saves together with processes that share a store
	absent bool // does not take part
}

func roleOf(m options.Multiprocessing) role {
	var r role
	if m.ProcessIndex != nil {
		r.group.Self = int(*m.ProcessIndex)
	}
	r.absent = m.ActiveProcesses != nil && !slices.Contains(m.ActiveProcesses, r.group.Self)
	if m.ProcessCount <= 1 || m.PrimaryHost == nil || *m.PrimaryHost == options.EveryHost {
		return r
	}
	r.group.Primary, r.group.Barrier = int(*m.PrimaryHost), m.Meet
	r.group.Active = slices.Sorted(slices.Values(m.ActiveProcesses))
	if m.ActiveProcesses == nil {
		for p := range m.ProcessCount {
			r.group.Active = append(r.group.Active, p)
		}
	}
	r.joint = len(r.group.Active) > 1
	return r
}

// Absent reports whether this process does not take part in saves.
func Absent(o options.Options) bool { return roleOf(o.Multiprocessing).absent }

// Follows reports whether another process admits, publishes and removes for this one.
func Follows(o options.Options) bool {
	r := roleOf(o.Multiprocessing)
	return r.joint && !r.group.Leads()
}

// Joint reports whether several processes make the save together.
func (s *Save) Joint() bool { return s.role.joint }

// Follows reports whether another process admits and publishes the save.
func (s *Save) Follows() bool { return s.role.joint && !s.role.group.Leads() }

// Meet lets the processes of a Joint save meet before Snapshot. The primary decides whether the
// save takes place: decline is its reason against the save, or "". The decline of other processes
// does not count. err, if not nil, is why this process cannot go on. Meet returns the decision of
// the primary. If that is a decline or an error, the save is over.
func (s *Save) Meet(ctx context.Context, t Target, decline string, err error) (declined string, _ error) {
	s.meeting, err = s.role.group.Meet(ctx, crew.Call{Store: t.Store, Name: t.Name, Key: t.Key, Txn: t.Options,
		Decline: decline, Err: err})
	if err != nil {
		s.over = true
		return "", err
	}
	return s.meeting.Declined, nil
}

// agree reduces Items and Image to the part that this process writes. err, if not nil, is why this
// process cannot go on; it is returned after the other processes were told.
func (s *Save) agree(ctx context.Context, t Target, err error) error {
	if !s.role.joint || s.over {
		return err
	}
	if s.meeting == nil {
		if _, err := s.Meet(ctx, t, "", err); err != nil {
			return err
		}
	} else if err != nil {
		s.meeting.Fail(err)
	}
	s.Items, err = s.meeting.Agree(ctx, s.Items, &s.Options)
	return err
}
