package zarr

import (
	"fmt"
	"strings"
	"testing"
)

// What was made of a document serves arrays of other stores, for the format that its key says, and
// documents that are too long or too many are forgotten.
func TestMemo(t *testing.T) {
	var m memo
	one, other := &common{meta: &Metadata{}}, &common{meta: &Metadata{}}
	if c := m.get(nil, V3, []byte("a")); c != nil {
		t.Fatal("an empty memo has a document")
	}
	m.put(V3, []byte("a"), one)
	m.put(V2, []byte("a"), other)
	for f, want := range map[Format]*common{V3: one, V2: other} {
		c := m.get(nil, f, []byte("a"))
		if c == nil || c.meta != want.meta {
			t.Errorf("format %v: %v", f, c)
		}
	}
	if m.get(nil, V3, []byte("b")) != nil {
		t.Error("another document is there")
	}
	long := []byte(strings.Repeat("x", memoBytes+1))
	m.put(V3, long, one)
	if m.get(nil, V3, long) != nil {
		t.Error("a long document is held")
	}
	for i := range 3 * memoMost {
		m.put(V3, fmt.Append(nil, i), one)
	}
	if n := len(m.made); n > memoMost {
		t.Errorf("%d documents are held", n)
	}
}
