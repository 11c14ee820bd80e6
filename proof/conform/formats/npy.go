package formats

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/tensor"
)

// compareNpy holds an npy or npz file against its entry. A file that numpy reads
// may be refused only where the entry has unsupported_ok, and only as
// errs.Unsupported.
func compareNpy(_ context.Context, r *suite.Report, o *suite.Object, content []byte) {
	unsupportedOK := o.Boolean("unsupported_ok")
	var err error
	if bytes.HasPrefix(content, []byte("PK")) {
		err = compareNpz(r, o, content)
	} else {
		err = compareOneNpy(r, o, content)
	}
	if o.Has("error") {
		if err == nil {
			r.Fail("read, want it refused: %v", o.Get("error"))
		}
		return
	}
	if err == nil {
		return
	}
	for _, k := range []string{"dtype", "shape", "fortran", "c_order_hex", "arrays"} {
		o.Has(k) // there is nothing to compare them with
	}
	if !unsupportedOK || !errors.Is(err, errs.Unsupported) {
		r.Fail("refused: %v", err)
	}
}

func compareOneNpy(r *suite.Report, o *suite.Object, content []byte) error {
	h, err := npy.ReadHeader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	t, err := npy.Decode(content)
	if err != nil || o.Has("error") {
		return err
	}
	// numpy calls an array Fortran-ordered when it is not C-ordered as well.
	axes := 0
	for _, n := range h.Shape {
		if n != 1 {
			axes++
		}
	}
	fortran := h.Fortran && axes > 1 && h.Size() > 0
	if want, ok := o.Get("fortran").(bool); !ok || want != fortran {
		r.Fail("fortran: got %v, want %v", fortran, o.Get("fortran"))
	}
	const prefix = 200 // bytes that an entry has
	compareArray(r, o, h, t, prefix)
	return nil
}

func compareNpz(r *suite.Report, o *suite.Object, content []byte) error {
	a, err := npy.OpenArchive(bytes.NewReader(content), int64(len(content)), npy.Options{})
	if err != nil {
		return err
	}
	arrays := map[string]tensor.Tensor{}
	headers := map[string]npy.Header{}
	for _, name := range a.Names() {
		if headers[name], err = a.Header(name); err != nil {
			return err
		}
		if arrays[name], err = a.Read(name); err != nil {
			return err
		}
	}
	if o.Has("error") {
		return nil
	}
	want := o.Child("arrays")
	var names []string
	for name := range want.Members {
		names = append(names, name)
		e := want.Child(name)
		if t, ok := arrays[name]; ok {
			compareArray(r, e, headers[name], t, len(t.Data))
			e.Done()
		}
	}
	if !slices.Equal(sorted(names), sorted(a.Names())) {
		r.Fail("arrays: got %q, want %q", a.Names(), names)
	}
	return nil
}

// compareArray compares at most the first n bytes.
func compareArray(r *suite.Report, o *suite.Object, h npy.Header, t tensor.Tensor, n int) {
	dtype, _ := t.DType.ZarrV2() // numpy's spelling
	data := t.Data
	if h.BigEndian {
		dtype = strings.Replace(dtype, "<", ">", 1)
		data = swapped(data, t.DType)
	}
	if dtype != o.Str("dtype") {
		r.Fail("%sdtype: got %s, want %s", o.Where, dtype, o.Str("dtype"))
	}
	compareNumbers(r, o, "shape", t.Shape)
	if got, want := hex.EncodeToString(data[:min(n, len(data))]), o.Str("c_order_hex"); got != want {
		r.Fail("%sc_order_hex: got %s, want %s", o.Where, got, want)
	}
}

// swapped returns the numbers in data in the other byte order.
func swapped(data []byte, d tensor.DType) []byte {
	size := d.Size()
	if d.IsComplex() {
		size /= 2
	}
	out := slices.Clone(data)
	for i := 0; i < len(out); i += size {
		slices.Reverse(out[i : i+size])
	}
	return out
}
