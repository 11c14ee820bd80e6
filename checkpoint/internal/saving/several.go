package saving

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/crew"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
)

// role is what this process does in a save.
type role struct {
	group  crew.Group
	joint  bool // with others, who have a store in common
	absent bool // nothing
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

// Absent reports whether this process does not take part in saves: it has nothing else to do then.
func Absent(o options.Options) bool { return roleOf(o.Multiprocessing).absent }

// Follows reports whether another process is the one that admits, publishes and
// removes.
func Follows(o options.Options) bool {
	r := roleOf(o.Multiprocessing)
	return r.joint && !r.group.Leads()
}

// Joint reports whether the save is one of several processes.
func (s *Save) Joint() bool { return s.role.joint }

// Follows reports whether another process admits and publishes it.
func (s *Save) Follows() bool { return s.role.joint && !s.role.group.Leads() }

// Meet has the processes of a Joint save meet before Snapshot, so that the primary says
// whether it wants the save: decline is why not, and "" that it does; what others say
// does not count. err is why this process cannot go on. What the primary says is
// returned; where that is no, or an error, the save is over.
func (s *Save) Meet(ctx context.Context, t Target, decline string, err error) (declined string, _ error) {
	s.meeting, err = s.role.group.Meet(ctx, crew.Call{Store: t.Store, Name: t.Name, Key: t.Key, Txn: t.Options,
		Decline: decline, Err: err})
	if err != nil {
		s.over = true
		return "", err
	}
	return s.meeting.Declined, nil
}

// agree reduces Items and Image to what this process writes. err is why it cannot go on, and is
// returned when the others know.
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
