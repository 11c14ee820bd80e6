package object_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
	"github.com/bivouac-ml/bivouac/store/storetest"
)

// TestStore runs the conformance suite of stores, also with parts of a few bytes, and on a server
// that cannot remove on a condition.
func TestStore(t *testing.T) {
	for name, c := range map[string]struct {
		prefix string
		lies   simulated.Lies
		opt    object.Options
	}{
		"plain":       {"", simulated.Lies{}, object.Options{}},
		"prefix":      {"team/runs/", simulated.Lies{}, object.Options{Part: 1 << 20}},
		"small parts": {"", simulated.Lies{}, object.Options{Part: 999}},
		"no delete":   {"p/", simulated.Lies{NoDelete: true}, object.Options{Part: 999}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) store.Store {
				return object.New(simulated.NewServer(0, c.lies).Bucket(nil), c.prefix, c.opt)
			})
		})
	}
}
