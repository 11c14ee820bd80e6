package training_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
)

func TestNameFamilies(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string // family, its steps
	}{
		{nil, nil},
		{[]string{"notes", "7.damaged", "8.orbax-checkpoint-tmp", "-3", "+4", "best", "_", "ckpt_", "ckpt_x", "99999999999999999999"}, nil},
		{[]string{"10", "9", "0"}, []string{"N [0 9 10]"}},
		{[]string{"00000010", "00000020"}, []string{"00000020 [10 20]"}},
		{[]string{"0010", "12345"}, []string{"12345 [10 12345]"}}, // longer than the zeros pad
		{[]string{"ckpt_00000030", "ckpt_00000040"}, []string{"ckpt_00000040 [30 40]"}},
		{[]string{"ckpt_1", "20", "best_3", "a_b_4"}, []string{"N [20]", "a_b_N [4]", "best_N [3]", "ckpt_N [1]"}},
		{[]string{"_5"}, []string{"_N [5]"}},                            // of an empty prefix
		{[]string{"1", "0002", "000003", "4"}, []string{"N [1 2 3 4]"}}, // changed twice
	} {
		var got []string
		for _, f := range training.NameFamilies(c.names) {
			got = append(got, fmt.Sprint(f, " ", f.Steps))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: -want +got:\n%s", c.names, d)
		}
	}
}

// TestNameFamiliesFindsEveryStep: whatever standard format wrote the names, they are one
// family whose format reads all of them.
func TestNameFamiliesFindsEveryStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := training.StandardNames{FixedLength: rapid.IntRange(0, 12).Draw(t, "length")}
		if rapid.Bool().Draw(t, "prefixed") {
			p := rapid.StringMatching(`[a-z_]{0,6}[0-9]{0,2}`).Draw(t, "prefix")
			f.Prefix = &p
		}
		want := map[int64]string{}
		var names []string
		for _, step := range rapid.SliceOfNDistinct(rapid.Int64Range(0, 1<<40), 1, 8, rapid.ID).Draw(t, "steps") {
			want[step] = f.Name(step)
			names = append(names, f.Name(step))
		}
		families := training.NameFamilies(names)
		if len(families) != 1 {
			t.Fatalf("%q: %d families", names, len(families))
		}
		got := map[int64]string{}
		for i, step := range families[0].Steps {
			got[step] = families[0].Names[i]
			if s, ok := families[0].Format.Parse(families[0].Names[i]); !ok || s != step {
				t.Fatalf("%s is read as %d, %v", families[0].Names[i], s, ok)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("-want +got:\n%s", d)
		}
	})
}
