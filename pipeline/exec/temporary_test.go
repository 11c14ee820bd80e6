package exec

import (
	"bytes"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// Fetchers keep no more memory than the bytes that are read ahead, however large samples were, and
// large memory goes from one fetcher to the next.
func TestFetchersKeepTheirShare(t *testing.T) {
	const ahead, fetchers = 16 << 20, 4
	e := &Executor{config: Config{Fetchers: fetchers, ReadAhead: ahead}, budget: flow.NewBudget(ahead),
		plan: &plan{readers: []*graph.Node{{}}, first: []int{0}}}
	var list []*fetch
	for range fetchers {
		list = append(list, &newFetcher(e).reads[0])
	}
	for range 3 {
		for _, size := range []int{100, 3 << 20, 3 << 20, 12 << 20, 1 << 10, 4 << 20} {
			for i, r := range list {
				a, b := r.temporary(size), r.Scratch(size)
				for j := range a {
					a[j], b[j] = byte(i), 100
				}
				if len(a) != size || len(b) != size || bytes.Count(a, []byte{byte(i)}) != size {
					t.Fatalf("%d bytes: pieces of %d and %d bytes that overlap", size, len(a), len(b))
				}
				r.reset()
			}
		}
	}
	kept := e.memory.kept
	for _, r := range list {
		kept += int64(len(r.scratch.block))
		if n := len(r.scratch.block); n < 200 || n > ahead/fetchers {
			t.Errorf("a fetcher has %d bytes of its own", n)
		}
	}
	if kept > ahead+2*16<<20 { // what two samples of 12 MiB took at once, in classes
		t.Errorf("%d bytes are kept", kept)
	}
	// The large memory is the same for each fetcher.
	first := list[0].temporary(12 << 20)
	list[0].reset()
	if other := list[1].temporary(12 << 20); !same(first, other) {
		t.Error("each fetcher has large memory of its own")
	}
}
