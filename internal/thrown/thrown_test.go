package thrown_test

import (
	"regexp"
	"testing"

	"github.com/bivouac-ml/bivouac/internal/thrown"
)

// recovered returns what At returns for a panic in f.
func recovered(f func()) (at string) {
	defer func() {
		if recover() != nil {
			at = thrown.At()
		}
	}()
	f()
	return ""
}

// write panics where there is no map.
func write(m map[string]int) { m["a"] = 1 }

func TestAt(t *testing.T) {
	line := regexp.MustCompile(`^ at thrown_test\.go:\d+$`)
	for name, f := range map[string]func(){
		"panic":         func() { panic("now") },
		"of the system": func() { m := map[string]int(nil); write(m) },
		"bounds":        func() { var s []int; s[len(t.Name())] = 1 },
	} {
		if at := recovered(f); !line.MatchString(at) {
			t.Errorf("%s: %q", name, at)
		}
	}
	if at := thrown.At(); at != "" {
		t.Errorf("without a panic: %q", at)
	}
}
