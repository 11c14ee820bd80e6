package readers_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// Whatever the text, it is refused, or the reader begins there and says so.
func FuzzSetState(f *testing.F) {
	dir := tree(f, 7)
	args := opargs.ReadersFile{FileRoot: dir, NumShards: op.Const(2)}
	r := newReader(f, args, readers.Options{EnableCheckpointing: true})
	for range 3 {
		if _, err := take(f, r, 2, 1); err != nil {
			f.Fatal(err)
		}
		f.Add(stateOf(f, r).String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := newReader(t, args, readers.Options{})
		if r.SetState(text) != nil {
			return
		}
		if _, err := take(t, r, 2, 1); err != nil {
			return
		}
		s := stateOf(t, r)
		again := newReader(t, args, readers.Options{})
		if err := again.SetState(s); err != nil {
			t.Fatalf("%v of its own %s", err, s)
		}
		if _, err := take(t, again, 2, 1); err != nil {
			t.Fatalf("%v of its own %s", err, s)
		}
	})
}
