package orbax

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

// merges are the ways in which documents are joined.
var merges = map[string]func(a, b []byte) ([]byte, error){
	"checkpoints": MergeCheckpoints, "trees": MergeTrees, "strings": MergeStrings, "sharding": MergeSharding, "arrays": MergeArrays,
}

// Whatever two parts hold, joining them is an error that says what is wrong, or a
// document with the members of both, in memory in proportion; a part joined to
// itself is that part.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":"x"}`), []byte(`{"b":"y"}`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":{"c":[1, 2]}, "d":null}`))
	f.Add([]byte(`{"a":1}`), []byte(`{"a":1,"a":2}`))
	f.Add([]byte(`{"array_metadatas":[{"array_metadata":{"param_name":"k"}}]}`),
		[]byte(`{"array_metadatas":[{"array_metadata":{"param_name":"l"}}]}`))
	f.Add([]byte(`{"value_metadata_tree":"{\"a\":1}"}`), []byte(`{"value_metadata_tree":"{\"b\":{}}","tree_metadata":{}}`))
	f.Add([]byte(`{"item_handlers":{"a":"h"},"init_timestamp_nsecs":1}`),
		[]byte(`{"item_handlers":{"b":"h"},"init_timestamp_nsecs":2}`))
	for _, name := range []string{TreeFile, CheckpointFile, StringsFile, ShardingFile} {
		parts, err := filepath.Glob("../../../testdata/orbax/partial-*/pending.partial_save/*/" + name)
		more, err2 := filepath.Glob("../../../testdata/orbax/partial-*/pending.partial_save/*/*/" + name)
		parts = append(parts, more...)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		for i := 1; i < len(parts); i++ {
			a, err := os.ReadFile(parts[i-1])
			b, err2 := os.ReadFile(parts[i])
			if err != nil || err2 != nil {
				f.Fatal(err, err2)
			}
			f.Add(a, b)
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for name, merge := range merges {
			joined(t, name, merge, a, b)
			if first, err := merge(a, a); err == nil && json.Valid(a) && !sameJSON(a, first) && name != "trees" &&
				name != "arrays" {
				t.Errorf("%s: joined to itself:\n%s\nis\n%s", name, a, first)
			}
		}
	})
}

// joined checks what joining two documents comes to.
func joined(t *testing.T, name string, merge func(a, b []byte) ([]byte, error), a, b []byte) {
	out, err := merge(a, b)
	if err != nil {
		if k := errs.KindOf(err); k != errs.Mismatch && k != errs.Corrupt && k != errs.Unsupported {
			t.Errorf("%s: an error of kind %v: %v", name, k, err)
		}
		return
	}
	if len(out) > 12*(len(a)+len(b))+64 { // each byte may become an escape, in a string in a string
		t.Errorf("%s: %d and %d bytes became %d", name, len(a), len(b), len(out))
	}
	x, errA := members(a)
	y, errB := members(b)
	if errA != nil || errB != nil {
		return // values that are equal, or of which one counts
	}
	all, err := members(out)
	if err != nil {
		t.Fatalf("%s: not an object any more: %v\n%s", name, err, out)
	}
	has := map[string]bool{}
	for _, m := range all {
		has[m.key] = true
	}
	for _, m := range append(x, y...) {
		if !has[m.key] {
			t.Errorf("%s: lost %q", name, m.key)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}
