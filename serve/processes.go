package serve

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// processes describes the job of a client that saves together with other processes. Each process
// has its own client and its own server.
type processes struct {
	Index   *int   `json:"index"`
	Count   int    `json:"count"`
	Primary *int   `json:"primary"`
	Active  []int  `json:"active"`
	Prefix  string `json:"prefix"`
	// Timeout is how many seconds the client waits at a barrier. It travels back with the question.
	Timeout float64 `json:"timeout"`
}

// processes reads the argument processes into the options. Its barrier asks the client,
// which says when all processes have called it with the key.
func (k *call) processes(m *options.Multiprocessing) {
	if k.args.left["processes"] == nil {
		return
	}
	var p processes
	k.args.into("processes", &p)
	if k.args.err != nil || p.Count == 0 && p.Index == nil { // null
		return
	}
	if p.Index == nil || *p.Index < 0 || *p.Index >= p.Count {
		k.args.err = &errs.Error{Kind: errs.Invalid, Subject: "argument processes",
			Want: "an index from 0 to count - 1"}
		return
	}
	m.ProcessIndex, m.ProcessCount = new(options.Host(*p.Index)), p.Count
	if p.Primary != nil {
		m.PrimaryHost = new(options.Host(*p.Primary))
	}
	if p.Active != nil {
		m.ActiveProcesses = p.Active
	}
	m.BarrierSyncKeyPrefix += p.Prefix
	members := slices.Sorted(slices.Values(p.Active))
	if p.Active == nil {
		for i := range p.Count {
			members = append(members, i)
		}
	}
	m.Barrier = func(ctx context.Context, key string) error {
		question := map[string]any{"op": "barrier", "key": key, "processes": members}
		if p.Timeout > 0 {
			question["timeout"] = p.Timeout
		}
		_, err := k.askUntil(ctx, question)
		return err
	}
}
