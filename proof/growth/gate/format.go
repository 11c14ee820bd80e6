package main

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/format/flax"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/growth"
)

// formatOps are parsers of what comes from outside, and batches of changes.
func formatOps() []growth.Op {
	parse := func(name string, n int, text func(n int) []byte, do func([]byte) error) growth.Op {
		return growth.Op{Name: "parse: " + name, N: n, Prepare: func(_ growth.TB, n int) func() error {
			b := text(n)
			return func() error { return do(b) }
		}}
	}
	several := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	header := func(n int) []byte {
		shape := strings.Repeat(" ", 8*n)
		text := "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }" + shape + "\n"
		return append([]byte("\x93NUMPY\x02\x00"+string([]byte{byte(len(text)), byte(len(text) >> 8), byte(len(text) >> 16), byte(len(text) >> 24)})), text...)
	}
	msgpack := func(tag byte, n int, values string) []byte {
		return append([]byte{tag, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, values...)
	}
	flaxes := func(b []byte) error { _, err := flax.Parse(b); return err }
	scripts := func(b []byte) error { _, err := surgery.Parse(b); return err }
	return []growth.Op{
		parse("npy header", 100, header, func(b []byte) error { _, err := npy.Decode(b); return err }),
		parse("npz", 50, npz, func(b []byte) error { _, err := npy.DecodeArchive(b); return err }),
		parse("flax list", 500, func(n int) []byte { return msgpack(0xdd, n, strings.Repeat("\x01", n)) }, flaxes),
		parse("flax map", 500, func(n int) []byte {
			return msgpack(0xdf, n, several(n, func(i int) string { return fmt.Sprintf("\xa6%06d\x01", i) }))
		}, flaxes),
		parse("surgery rules", 40, func(n int) []byte {
			return []byte("rules:\n" + several(n, func(i int) string { return fmt.Sprintf("- drop: {pattern: 'a%d'}\n", i) }))
		}, scripts),
		parse("surgery sources", 100, func(n int) []byte {
			return []byte("sources: [" + several(n, func(i int) string { return fmt.Sprintf("s%d, ", i) }) + "last]\nrules:\n- drop: {pattern: x}\n")
		}, func(b []byte) error { scripts(b); return nil }), //nolint:errcheck // that it is refused or not is for other tests
		parse("order that is not a permutation", 500, func(n int) []byte { return []byte("shuffled(" + strings.Repeat("shuffled(", n)) }, func(b []byte) error {
			_, err := order.Parse(string(b))
			if err == nil {
				return fmt.Errorf("%d nested orders were taken", strings.Count(string(b), "("))
			}
			return nil
		}),
		{Name: "ocdbt: ranges removed between changes", N: 200, Prepare: func(_ growth.TB, n int) func() error {
			return func() error {
				var b ocdbt.Batch
				for i := range n {
					b.Put(fmt.Sprintf("k%06d", i), []byte("v"))
					b.DeleteRange(ocdbt.Range{Start: fmt.Sprintf("k%06d", i/2), End: fmt.Sprintf("k%06d", i/2+1)})
				}
				b.Files()
				return nil
			}
		}},
	}
}

// npz is an archive of n arrays.
func npz(n int) []byte {
	var b strings.Builder
	w := npy.NewArchiveWriter(&b, false)
	for i := range n {
		if err := w.Write(name(i), vector(2)); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return []byte(b.String())
}
