package layout

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Each file gets its own verdict, whatever of it was read before, and whether it is kept, noted or
// neither. A failure that is not damage ends the comparison.
func TestCompareFiles(t *testing.T) {
	mem := vfstest.NewMem()
	text, half := []byte("text"), bytes.Repeat([]byte{7}, 5<<20)
	contents := map[string][]byte{"flipped": []byte("tExt"), "half": half, "longer": []byte("texts"), "small": text,
		"whole": bytes.Repeat(text, 40<<10)}
	st := local.New(mem, "/", nil)
	var m manifest.Manifest
	for _, f := range []struct {
		name    string
		written []byte
	}{{"flipped", text}, {"half", half}, {"lost", text}, {"longer", text}, {"small", text}, {"whole", contents["whole"]}} {
		m.Add(f.name, f.written)
	}
	for name, b := range contents {
		if err := st.Put(t.Context(), "c/"+name, b, store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{"flipped": "CRC-32C", "longer": "want 4 bytes, got 5", "lost": "not"}
	for _, kept := range []bool{false, true} {
		c := &Checkpoint{st: st, name: "c", Manifest: &m}
		if kept {
			c.once = newOnce(st, "c")
			c.once.manifest, c.st = &m, c.once
			r, err := c.st.Open(t.Context(), "c/half")
			if err == nil {
				err = r.ReadAt(t.Context(), make([]byte, 3<<20), 1<<20)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		read := int64(0)
		failed := c.CompareFiles(t.Context(), m.Files, func(n int64) { read += n })
		for i, f := range m.Files {
			word, bad := want[f.Name]
			err := failed[i]
			if bad != (err != nil) || bad && (!IsDamage(err) || !strings.Contains(err.Error(), word)) {
				t.Errorf("%s, kept %v: %v, want %q", f.Name, kept, err, word)
			}
		}
		if most := int64(3 << 20); kept && read > most {
			t.Errorf("%d bytes read, although most was read before", read)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for i, err := range c.CompareFiles(ctx, m.Files[:1], func(int64) {}) {
			if errs.KindOf(err) != errs.Canceled {
				t.Errorf("cancelled: %s: %v", m.Files[i].Name, err)
			}
		}
	}
	broken := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EACCES})
	c := &Checkpoint{st: local.New(broken, "/", nil), name: "c", Manifest: &m}
	failed := c.CompareFiles(t.Context(), m.Files[3:], func(int64) {})
	if !errors.Is(failed[0], syscall.EACCES) {
		t.Errorf("a file that may not be read: %v", failed)
	}
}
