package checkpoint_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
)

// Whatever the text, there is an error or states that come back the same.
func FuzzDeserialize(f *testing.F) {
	for _, p := range []string{
		`{"version": 2, "states": {"x": {"state": "s", "type": null}, "y": {"state": 1e5, "type": "RNG"}}}`,
		`{"version": 2.0, "states": {"\ud83d\ude00": {"state": [1, {"a": null}], "type": ""}}} `,
		`{"version": 2, "states": {"x": {"state": "s"}, "x": {"state": "'\"\\"}}}`,
	} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := checkpoint.New()
		if c.Deserialize(text) != nil {
			return
		}
		first, err := c.Serialize()
		if err != nil {
			return // no states
		}
		if err := c.Deserialize(first); err != nil {
			t.Fatalf("%v of its own %s", err, first)
		}
		if second, err := c.Serialize(); err != nil || second != first {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}
