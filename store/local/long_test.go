package local_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestLongPowerLoss saves random trees with concurrent writers and removes all
// but the last two, until 100,000 distinct states were checked.
func TestLongPowerLoss(t *testing.T) {
	want := 100_000
	if os.Getenv("BIVOUAC_LONG") == "" {
		want = 2_000
		if testing.Short() {
			want = 500
		}
	}
	states := 0
	for seed := uint64(1); states < want; seed++ {
		w := randomSteps(seed)
		report, err := crash.Run(w.work, w.check, &crash.Options{Seed: seed})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		t.Logf("seed %d: %v", seed, report)
		states += report.States
	}
	t.Logf("%d states", states)
}

// steps is a run of a few steps of random trees with retention.
type steps struct{ trees []map[string]string }

func randomSteps(seed uint64) *steps {
	r := rand.New(rand.NewPCG(seed, 0))
	s := new(steps)
	for n := range 3 {
		tree := map[string]string{"manifest": fmt.Sprint("manifest ", n)}
		for i := range 1 + r.IntN(4) {
			b := make([]byte, r.IntN(1500))
			for k := range b {
				b[k] = byte('a' + r.IntN(26))
			}
			tree[fmt.Sprintf("d%d/e%d/f%d", r.IntN(2), r.IntN(2), i)] = string(b)
		}
		s.trees = append(s.trees, tree)
	}
	return s
}

func (s *steps) work(fsys vfs.FS, ack func(string)) error {
	ctx := context.Background()
	st := local.New(fsys, root, nil)
	for n, tree := range s.trees {
		txn, err := st.Begin(ctx, fmt.Sprint(n), store.TxnOptions{})
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		for name, content := range tree {
			if name == "manifest" {
				continue
			}
			wg.Go(func() {
				w, err := txn.Create(ctx, name, int64(len(content)))
				if err != nil {
					return // and Commit reports it
				}
				w.WriteAt(ctx, []byte(content), 0) //nolint:errcheck // Commit reports it
				w.Seal(ctx)                        //nolint:errcheck // Commit reports it
			})
		}
		wg.Wait()
		if err := txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte(tree["manifest"])}); err != nil {
			return err
		}
		ack(fmt.Sprint("committed ", n))
		if n >= 2 {
			ack(fmt.Sprint("removing ", n-2))
			if err := st.RemoveTree(ctx, fmt.Sprint(n-2)); err != nil {
				return err
			}
			ack(fmt.Sprint("removed ", n-2))
		}
	}
	return nil
}

func (s *steps) check(fsys vfs.FS, acked []string) error {
	st := local.New(fsys, root, nil)
	if _, err := st.CleanStaging(context.Background(), "", nil); err != nil {
		return err
	}
	for n, tree := range s.trees {
		name := fmt.Sprint(n)
		got, err := walk(st, name)
		maps.DeleteFunc(got, func(k, _ string) bool { return k[len(k)-1] == '/' })
		switch {
		case errors.Is(err, errs.NotFound):
			if slices.Contains(acked, "committed "+name) && !slices.Contains(acked, "removing "+name) {
				return fmt.Errorf("step %s was lost", name)
			}
		case err != nil:
			return err
		case slices.Contains(acked, "removed "+name):
			return fmt.Errorf("step %s came back", name)
		case !maps.Equal(got, tree):
			return fmt.Errorf("step %s is torn: %q", name, slices.Sorted(maps.Keys(got)))
		}
	}
	return nil
}
