package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/tensor"
)

// compareSafetensors holds one file against the members accepted, tensors and
// safe_open of its entry.
func compareSafetensors(ctx context.Context, r *report, o *object, content []byte) {
	accepted, ok := o.get("accepted").(bool)
	if !ok {
		r.fail("no verdict")
	}
	refused := o.has("error")
	if refused == accepted {
		r.fail("accepted is %v beside the error %v", accepted, o.get("error"))
	}
	m, err := safetensors.Open(ctx, safetensors.FromReader(bytes.NewReader(content), int64(len(content))), "file", nil)
	switch {
	case !accepted && err == nil:
		r.fail("accepted, want it refused: %v", o.get("error"))
		return
	case !accepted:
		return
	case err != nil:
		r.fail("refused: %v", err)
		return
	}
	left := map[string]bool{}
	for _, e := range m.Entries() {
		left[e.Name] = true
	}
	for i, v := range o.list("tensors") {
		t := newObject(r, fmt.Sprintf("tensors[%d].", i), v)
		delete(left, compareTensor(ctx, r, t, m))
		t.done()
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		r.fail("tensor %q is not expected", name)
	}
	if o.has("safe_open") {
		s := o.child("safe_open")
		compareSafeOpen(r, s, m)
		s.done()
	}
}

// compareTensor returns the name that it compared.
func compareTensor(ctx context.Context, r *report, t *object, m *safetensors.Model) string {
	name := t.str("name")
	e, err := m.Lookup(name)
	if err != nil {
		r.fail("%v", err)
		return name
	}
	if got, _ := e.DType.Safetensors(); got != t.str("dtype") {
		r.fail("%sdtype: got %s, want %s", t.where, got, t.str("dtype"))
	}
	compareNumbers(r, t, "shape", e.Shape)
	raw, err := m.Packed(ctx, name)
	if err != nil {
		r.fail("%v", err)
		return name
	}
	compareHash(r, t, "sha256", raw)
	if t.has("hex") && t.str("hex") != hex.EncodeToString(raw) {
		r.fail("%shex: got %x, want %s", t.where, raw, t.str("hex"))
	}
	// The tensor is the same bytes, packed again.
	if _, err := e.Spec(); err != nil {
		return name
	}
	if got, err := m.Tensor(ctx, name); err != nil || !bytes.Equal(tensor.Pack(nil, got.DType, got.Data), raw) {
		r.fail("%sTensor: %v, or other bytes than Packed", t.where, err)
	}
	return name
}

func compareSafeOpen(r *report, s *object, m *safetensors.Model) {
	var names []string
	begin := map[string]int64{}
	for _, e := range m.Entries() {
		names = append(names, e.Name)
		begin[e.Name] = e.Begin
	}
	if want := s.strings("keys"); !slices.Equal(sorted(want), sorted(names)) {
		r.fail("%skeys: got %q, want %q", s.where, names, want)
	}
	if want := s.strings("offset_keys"); s.get("offset_keys") != nil {
		// Names with one offset come in any order.
		ascending := slices.IsSortedFunc(want, func(a, b string) int { return cmp.Compare(begin[a], begin[b]) })
		if !ascending || !slices.Equal(sorted(want), sorted(names)) {
			r.fail("%soffset_keys: got %q, want %q", s.where, names, want)
		}
	}
	want, isObject := s.get("metadata").(map[string]any)
	got := m.Parts()[0].Header.Metadata
	if isObject != (got != nil) || len(want) != len(got) {
		r.fail("%smetadata: got %v, want %v", s.where, got, s.get("metadata"))
		return
	}
	for k, v := range want {
		if text, ok := got[k]; !ok || text != v {
			r.fail("%smetadata.%s: got %q, want %v", s.where, k, text, v)
		}
	}
}

func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return out
}
