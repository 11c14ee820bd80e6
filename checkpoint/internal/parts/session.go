package parts

import (
	"context"
	"encoding/hex"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/store"
)

// Names of a session and of its files.
const (
	sessionMark = ".partial_save"
	pendingMark = ".partial_save.pending_"
	guard       = "0_guard"
	RemovalFile = "bivouac.partial" // in a part: a Removal
	Process     = "ocdbt.process_0" // in a part: its databases
)

// Session returns the name of the session of the checkpoint name.
func Session(name string) string { return name + sessionMark }

// Final returns the name of the checkpoint of a session. For the name of a checkpoint it returns
// that name.
func Final(name string) string { return strings.TrimSuffix(name, sessionMark) }

// IsSession reports whether name names a session.
func IsSession(name string) bool {
	return strings.HasSuffix(name, sessionMark) && !strings.HasSuffix(name, "/"+sessionMark) && name != sessionMark
}

// Part is one partial save.
type Part struct {
	Dir  string // in the store
	Time int64  // nanoseconds
	ID   string // 32 hexadecimal digits; "" for files that a failed finalization has moved out of their parts
}

// NewPart returns a new part of the session of the checkpoint name.
func NewPart(name string, now time.Time, id [16]byte) Part {
	p := Part{Time: now.UnixNano(), ID: hex.EncodeToString(id[:])}
	p.Dir = path.Join(Session(name), path.Base(name)+pendingMark+strconv.FormatInt(p.Time, 10)+"_"+p.ID)
	return p
}

// List lists the parts of a session in the order of their times. First come the files that a failed
// finalization has moved to the session itself.
func List(ctx context.Context, st store.Store, session string) ([]Part, error) {
	var parts []Part
	dissolved := false
	if _, err := st.Stat(ctx, session); err != nil {
		return nil, err
	}
	for e, err := range st.List(ctx, session) {
		if err != nil {
			return nil, err
		}
		if p, ok := parsePending(e); ok {
			p.Dir = path.Join(session, e.Name)
			parts = append(parts, p)
		} else if !store.IsStaging(e.Name) && !isGuard(e.Name) {
			dissolved = true
		}
	}
	slices.SortFunc(parts, func(a, b Part) int {
		if a.Time != b.Time {
			return int(min(max(a.Time-b.Time, -1), 1))
		}
		return strings.Compare(a.Dir, b.Dir)
	})
	if dissolved {
		parts = slices.Insert(parts, 0, Part{Dir: session})
	}
	return parts, nil
}

func parsePending(e store.Info) (Part, bool) {
	i := strings.LastIndex(e.Name, pendingMark)
	if !e.Dir || i < 0 || store.IsStaging(e.Name) {
		return Part{}, false
	}
	ns, id, ok := strings.Cut(e.Name[i+len(pendingMark):], "_")
	t, err := strconv.ParseInt(ns, 10, 64)
	ok = ok && err == nil && len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
	return Part{Time: t, ID: id}, ok
}

func isGuard(name string) bool { return strings.HasSuffix(name, pendingMark+guard) }

// Guard makes Orbax refuse to finalize the session of the checkpoint name. It may be called again.
func Guard(ctx context.Context, st store.Store, name string) error {
	at := path.Join(Session(name), path.Base(name)+pendingMark+guard, orbax.StateItem, orbax.TreeFile)
	const text = "This session replaces or removes leaves, or has strings in several parts, which orbax-checkpoint cannot finalize.\n" +
		"Finalize it with Bivouac: partial.Finalize, or bivouac repair --apply.\n"
	return st.Put(ctx, at, []byte(text), store.PutOptions{})
}
