package crew

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// Any number of ranges gives the result of one range: the entries, or the first key that two lists
// have with different values, and the second of these lists.
func TestMergeInRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := make([]entries, rapid.IntRange(0, 6).Draw(t, "lists"))
		total := 0
		for i := range lists {
			for _, key := range rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, 30, rapid.ID).Draw(t, "keys") {
				e := ocdbt.Entry{Key: fmt.Sprintf("k%03d", key)}
				switch {
				case key%6 == 0: // metadata, which seldom differs
					e.Value.Inline = []byte{byte(key)}
					if key%12 == 0 && rapid.IntRange(0, 40).Draw(t, "other") == 0 {
						e.Value.Inline = []byte{255}
					}
				default: // a shard, which one list has
					e.Key += fmt.Sprintf("/%d", i)
					e.Value.File.Name, e.Value.Offset, e.Value.Length = "d", int64(i), int64(key)
				}
				lists[i] = append(lists[i], e)
			}
			slices.SortFunc(lists[i], compareKeys)
			total += len(lists[i])
		}
		want, wantN, wantErr := mergeInto(make(entries, 0, total), lists)
		for ranges := range 9 {
			got, n, err := mergeRanges(lists, total, ranges)
			if n != wantN || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%d ranges: list %d, %v; want list %d, %v", ranges, n, err, wantN, wantErr)
			}
			if wantErr == nil && !(len(got) == 0 && len(want) == 0) && !reflect.DeepEqual(got, want) {
				t.Fatalf("%d ranges: got %v, want %v", ranges, got, want)
			}
		}
	})
}

// The ranges have about as many entries each, also if one list has most of them or many lists have
// one each.
func TestCutKeys(t *testing.T) {
	const total, ranges = 10000, 4
	for name, listOf := range map[string]func(i int) int{
		"one list":            func(int) int { return 0 },
		"one list has most":   func(i int) int { return max(0, i%500-494) },
		"one entry in a list": func(i int) int { return i },
		"one after another":   func(i int) int { return i * 7 / total },
	} {
		t.Run(name, func(t *testing.T) {
			lists := make([]entries, total)
			for i := range total {
				k := listOf(i)
				lists[k] = append(lists[k], ocdbt.Entry{Key: fmt.Sprintf("k%05d", i)})
			}
			cuts := cutKeys(lists, total, ranges)
			if len(cuts) != ranges-1 {
				t.Fatal(cuts)
			}
			before := 0
			for _, key := range append(cuts, fmt.Sprintf("k%05d", total)) {
				var at int
				fmt.Sscanf(key, "k%d", &at) //nolint:errcheck // a wrong number fails below
				if size := at - before; size < total/ranges*9/10 || size > total/ranges*11/10 {
					t.Errorf("a range of %d entries, of %d", size, total)
				}
				before = at
			}
		})
	}
	for _, ranges := range []int{-1, 0, 1} {
		if got := cutKeys([]entries{{{Key: "a"}, {Key: "b"}}}, 2, ranges); got != nil {
			t.Errorf("%d ranges: %v", ranges, got)
		}
	}
	if got := cutKeys([]entries{nil, {{Key: "a"}}}, 1, 8); !slices.Equal(got, []string{"a"}) {
		t.Errorf("one key: %v", got)
	}
}
