package checkpoint_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestCallLists compares every file-system call of whole saves, in order, with
// testdata/save. Commands:
//
//	new                            an empty file system
//	save NAME [overwrite]          checkpoint.Save
//	open [clean]                   training.Open on /runs, keeping one step
//	step N                         a step with two items and a metric
//	close                          what training.Open opened
//	load NAME                      checkpoint.Load
//
// Names of data files are <data1>, <data2>, … in the order of their appearance.
// Sizes of files that hold compressed random names or times differ from run to
// run and are left out.
//
// Run with -rewrite to accept a change; the change is then to be reviewed as
// one of the protocol.
func TestCallLists(t *testing.T) {
	var (
		mem   *vfstest.Mem
		st    *local.Store
		steps *training.Checkpointer
		names *masks
		log   bytes.Buffer
		clock = func() time.Time { return time.Unix(1_700_000_000, 0) }
	)
	datadriven.RunTest(t, "testdata/save", func(t *testing.T, d *datadriven.TestData) string {
		log.Reset()
		ctx := t.Context()
		arg := func(i int) string {
			if i >= len(d.CmdArgs) {
				return ""
			}
			return d.CmdArgs[i].Key
		}
		var err error
		switch d.Cmd {
		case "new":
			mem, names = vfstest.NewMem(), &masks{data: map[string]string{}}
			st = local.New(vfstest.NewLog(mem, &log, nil), "/runs", nil)
		case "save":
			err = checkpoint.Save(ctx, arg(0), goldenState(1),
				&checkpoint.SaveOptions{Store: st, Overwrite: arg(1) == "overwrite"})
		case "open":
			steps, err = training.Open(ctx, "", &training.Options{Store: st, Clean: arg(0) == "clean",
				Preserve: training.LatestN{N: 1}, Now: clock})
		case "step":
			err = saveStep(ctx, steps, arg(0))
		case "close":
			err = steps.Close()
		case "load":
			_, err = checkpoint.Load(ctx, arg(0), &checkpoint.LoadOptions{Store: st})
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		if err != nil {
			fmt.Fprintln(&log, "error:", err)
		}
		if log.Len() == 0 {
			return "ok\n"
		}
		return names.mask(log.String())
	})
}

// goldenState has a leaf of each way of storing: beside the database, in it,
// and as text.
func goldenState(n int64) map[string]any {
	w := make([]float32, 300)
	for i := range w {
		w[i] = float32(n)
	}
	return map[string]any{"w": w, "step": n, "name": "golden"}
}

func saveStep(ctx context.Context, c *training.Checkpointer, step string) error {
	n, err := strconv.ParseInt(step, 10, 64)
	if err != nil {
		return err
	}
	items := map[string]any{"state": goldenState(n), "data": position(int(n))}
	if _, err = c.SaveCheckpointables(ctx, n, items, &training.SaveOptions{Force: true,
		Metrics: map[string]float64{"loss": 0.5}}); err != nil {
		return err
	}
	return c.Wait(ctx) // for the bytes of what was removed to go
}

// masks replaces what differs between runs.
type masks struct{ data map[string]string }

var (
	randomName = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	randomSize = regexp.MustCompile(`(?m)(/d/<data\d+> (?:off=\d+ )?|/manifest\.ocdbt off=0 |/bivouac\.manifest off=0 )(len|size)=\d+$`)
)

func (m *masks) mask(log string) string {
	log = randomName.ReplaceAllStringFunc(log, func(s string) string {
		if m.data[s] == "" {
			m.data[s] = fmt.Sprintf("<data%d>", len(m.data)+1)
		}
		return m.data[s]
	})
	return randomSize.ReplaceAllString(log, "${1}${2}=<n>")
}
