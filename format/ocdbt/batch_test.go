package ocdbt

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// Changes and removals of ranges in any order leave what they leave one after the other.
func TestBatchIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%02d", rapid.IntRange(0, 30).Draw(t, "key")) })
		var b Batch
		want := map[string]string{} // "" is removed by its key
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				r := Range{Start: key.Draw(t, "start"), End: rapid.OneOf(key, rapid.Just("")).Draw(t, "end")}
				b.DeleteRange(r)
				maps.DeleteFunc(want, func(k, _ string) bool { return r.contains(k) })
			case 1:
				k := key.Draw(t, "removed")
				b.Delete(k)
				want[k] = ""
			case 2:
				b.Files() // looks at what is left so far
			default:
				k, v := key.Draw(t, "put"), rapid.StringN(1, 3, -1).Draw(t, "value")
				b.Put(k, []byte(v))
				want[k] = v
			}
		}
		b.settle()
		got := map[string]string{}
		for k, c := range b.changes {
			got[k] = string(c.data)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
