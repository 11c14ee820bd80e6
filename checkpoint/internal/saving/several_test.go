package saving_test

import (
	"context"
	"errors"
	"testing"
	"testing/iotest"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/saving"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// half is what a process has of an array.
func half(p int) writer.Parts {
	const n = 5000
	return writer.Parts{DType: tensor.Float32, Shape: tensor.Shape{2 * n},
		Parts: []writer.Part{{Origin: []int{p * n}, Data: tensor.New(tensor.Float32, n)}}}
}

// A process that cannot lay out what it agreed to write tells the others, who fail
// instead of waiting for it.
func TestLayOutFailureIsTold(t *testing.T) {
	bad := errors.New("no randomness")
	for failing := range 2 {
		mem, barrier := vfstest.NewMem(), crewtest.NewBarrier(2, nil)
		var failures [2]error
		crewtest.Run(2, func(p int) error {
			to := saving.Target{Store: local.New(mem, "/", nil), Name: "c", Key: "k"}
			o, err := options.Resolve(t.Context(), options.Options{Multiprocessing: options.Multiprocessing{
				PrimaryHost: new(options.Host(0)), ProcessIndex: new(options.Host(p)), ProcessCount: 2, Barrier: barrier.Of(p),
			}}, options.Options{})
			if err != nil {
				return err
			}
			s, err := saving.Resolve(saving.Call{Options: o})
			if err == nil {
				err = s.Collect(t.Context(), map[string]any{"state": tree.NewDict().Set("w", tree.NewLeaf(half(p)))})
			}
			if err == nil {
				if p == failing {
					s.Options.Random = iotest.ErrReader(bad)
				}
				err = s.Snapshot(t.Context(), to, nil)
			}
			if err == nil {
				err = s.Write(context.WithoutCancel(t.Context()), to)
			}
			failures[p] = err
			return err
		})
		if !errors.Is(failures[failing], bad) || failures[1-failing] == nil {
			t.Errorf("process %d cannot: %v", failing, failures)
		}
		if in, err := mem.ReadDir("/"); err != nil || len(in) != 0 {
			t.Errorf("process %d cannot: left %v, %v", failing, in, err)
		}
	}
}
