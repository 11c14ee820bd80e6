package store_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

func TestStagingNames(t *testing.T) {
	for _, c := range []struct {
		name              string
		staging, leftover bool
	}{
		{"100", false, false},
		{"run/100", false, false},
		{store.StagingName("run/100", "0123456789abcdef"), true, true},
		{"100.orbax-checkpoint-tmp", true, true},
		{"100.orbax-checkpoint-tmp-1700000000", true, true},
		{"100.orbax-checkpoint-tmp-", true, false},
		{"100.orbax-checkpoint-tmp1", true, false},
		{"100.orbax-checkpoint-tmp-xyz", true, false},
		{"100.orbax-checkpoint-tmp-12.txt", true, false},
		{".orbax-checkpoint-tmp-12", true, false},
		{"100.partial_save.orbax-checkpoint-tmp", true, false},
		{"a.orbax-checkpoint-tmp-x.orbax-checkpoint-tmp-00", true, true},
		{"run.orbax-checkpoint-tmp-00/100", false, false},
		{"", false, false},
	} {
		if got := store.IsStaging(c.name); got != c.staging {
			t.Errorf("IsStaging(%q) = %v", c.name, got)
		}
		if got := store.IsLeftover(c.name); got != c.leftover {
			t.Errorf("IsLeftover(%q) = %v", c.name, got)
		}
	}
}

// FuzzCheckName: a legal name stays below the directory it is joined to, and
// names nothing twice.
func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"a", "a/b", "", ".", "..", "a//b", "/a", "a/", `a\b`, "a\x00", "a/../b", "\xff", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := store.CheckName("test", name)
		if err != nil {
			if !errors.Is(err, errs.Invalid) {
				t.Fatal(err)
			}
			return
		}
		if !fs.ValidPath(name) || strings.ContainsAny(name, "\x00\\") {
			t.Fatalf("%q passed", name)
		}
		for elem := range strings.SplitSeq(name, "/") {
			if elem == "" || elem == "." || elem == ".." {
				t.Fatalf("%q passed", name)
			}
		}
		if store.CheckFinalName("test", name) == nil && store.IsLeftover(name) {
			t.Fatalf("%q may be committed and cleaned up", name)
		}
	})
}
