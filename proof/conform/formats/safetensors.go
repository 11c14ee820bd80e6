package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

// compareSafetensors holds one file against the members accepted, tensors and
// safe_open of its entry.
func compareSafetensors(ctx context.Context, r *suite.Report, o *suite.Object, content []byte) {
	accepted, ok := o.Get("accepted").(bool)
	if !ok {
		r.Fail("no verdict")
	}
	refused := o.Has("error")
	if refused == accepted {
		r.Fail("accepted is %v beside the error %v", accepted, o.Get("error"))
	}
	file := safetensors.FromReader(bytes.NewReader(content), int64(len(content)))
	m, err := safetensors.Open(ctx, file, "file", safetensors.Options{})
	switch {
	case !accepted && err == nil:
		r.Fail("accepted, want it refused: %v", o.Get("error"))
		return
	case !accepted:
		return
	case err != nil:
		r.Fail("refused: %v", err)
		return
	}
	left := map[string]bool{}
	for _, e := range m.Entries() {
		left[e.Name] = true
	}
	for i, v := range o.List("tensors") {
		t := suite.NewObject(r, fmt.Sprintf("tensors[%d].", i), v)
		delete(left, compareTensor(ctx, r, t, m))
		t.Done()
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		r.Fail("tensor %q is not expected", name)
	}
	if o.Has("safe_open") {
		s := o.Child("safe_open")
		compareSafeOpen(r, s, m)
		s.Done()
	}
}

// compareTensor returns the name that it compared.
func compareTensor(ctx context.Context, r *suite.Report, t *suite.Object, m *safetensors.Model) string {
	name := t.Str("name")
	e, err := m.Lookup(name)
	if err != nil {
		r.Fail("%v", err)
		return name
	}
	if got, _ := e.DType.Safetensors(); got != t.Str("dtype") {
		r.Fail("%sdtype: got %s, want %s", t.Where, got, t.Str("dtype"))
	}
	compareNumbers(r, t, "shape", e.Shape)
	raw, err := m.Packed(ctx, name)
	if err != nil {
		r.Fail("%v", err)
		return name
	}
	compareHash(r, t, "sha256", raw)
	if t.Has("hex") && t.Str("hex") != hex.EncodeToString(raw) {
		r.Fail("%shex: got %x, want %s", t.Where, raw, t.Str("hex"))
	}
	// The tensor is the same bytes, packed again.
	if _, err := e.Spec(); err != nil {
		return name
	}
	if got, err := m.Tensor(ctx, name); err != nil || !bytes.Equal(tensor.Pack(nil, got.DType, got.Data), raw) {
		r.Fail("%sTensor: %v, or other bytes than Packed", t.Where, err)
	}
	return name
}

func compareSafeOpen(r *suite.Report, s *suite.Object, m *safetensors.Model) {
	var names []string
	begin := map[string]int64{}
	for _, e := range m.Entries() {
		names = append(names, e.Name)
		begin[e.Name] = e.Begin
	}
	if want := s.Strings("keys"); !slices.Equal(sorted(want), sorted(names)) {
		r.Fail("%skeys: got %q, want %q", s.Where, names, want)
	}
	if want := s.Strings("offset_keys"); s.Get("offset_keys") != nil {
		// Names with one offset come in any order.
		ascending := slices.IsSortedFunc(want, func(a, b string) int { return cmp.Compare(begin[a], begin[b]) })
		if !ascending || !slices.Equal(sorted(want), sorted(names)) {
			r.Fail("%soffset_keys: got %q, want %q", s.Where, names, want)
		}
	}
	want, isObject := s.Get("metadata").(map[string]any)
	got := m.Parts()[0].Header.Metadata
	if isObject != (got != nil) || len(want) != len(got) {
		r.Fail("%smetadata: got %v, want %v", s.Where, got, s.Get("metadata"))
		return
	}
	for k, v := range want {
		if text, ok := got[k]; !ok || text != v {
			r.Fail("%smetadata.%s: got %q, want %v", s.Where, k, text, v)
		}
	}
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}
