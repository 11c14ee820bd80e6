package orbax

import (
	"runtime"
	"strings"
	"testing"
)

// Large metadata of the user are copied once into the document, and not at all out of it.
func TestCustomMetadataIsNotCopied(t *testing.T) {
	const size = 16 << 20
	custom, err := Custom(map[string]any{"text": strings.Repeat("x", size), "more": []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var doc []byte
	if got := allocated(func() { doc = Checkpoint{Custom: custom}.Append(nil) }); got > size+1<<20 {
		t.Errorf("Append allocated %d bytes for %d", got, size)
	}
	var c Checkpoint
	if got := allocated(func() { c, err = ParseCheckpoint(doc) }); got > 1<<20 {
		t.Errorf("ParseCheckpoint allocated %d bytes for %d", got, size)
	}
	if err != nil || string(c.Custom) != string(custom) {
		t.Errorf("ParseCheckpoint gives %d bytes and %v, want the %d that were written", len(c.Custom), err, len(custom))
	}
}
