package zarr

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// sharedVectors holds arrays written by TensorStore and zarr-python; a clone
// alone does not have it, and tests the copies in testdata.
const sharedVectors = "../../../shared/vectors/orbax"

func vectorCases(t testing.TB) []string {
	t.Helper()
	roots := []string{"testdata/vectors"}
	if _, err := os.Stat(sharedVectors); err == nil {
		roots = append(roots, sharedVectors)
	} else {
		t.Log("shared vectors are absent, testdata alone is tested")
	}
	var cases []string
	for _, root := range roots {
		for _, pattern := range []string{"z2-*", "zp2-*", "z3-*", "zp3-*"} {
			found, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil {
				t.Fatal(err)
			}
			cases = append(cases, found...)
		}
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	return cases
}

func TestVectors(t *testing.T) {
	for _, dir := range vectorCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want struct {
				Array struct {
					DType, SHA256 string
					Shape         tensor.Shape
				}
			}
			b, err := os.ReadFile(filepath.Join(dir, "expect.json"))
			if err == nil {
				err = json.Unmarshal(b, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			kv := loadDir(t, filepath.Join(dir, "checkpoint"))
			a, err := Open(t.Context(), kv, "")
			if err != nil {
				t.Fatal(err)
			}
			m := a.Metadata()
			if m.DType.String() != want.Array.DType || !m.Shape.Equal(want.Array.Shape) {
				t.Fatalf("%v %v, want %s %v", m.DType, m.Shape, want.Array.DType, want.Array.Shape)
			}
			data := readAll(t, a)
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want.Array.SHA256 {
				t.Errorf("contents differ: % x", data[:min(len(data), 64)])
			}
			checkBoxes(t, a, data)
			checkMetadata(t, kv.values[m.Format.MetadataKey()], m, strings.HasPrefix(filepath.Base(dir), "z"+[]string{"3", "2"}[m.Format]+"-"))
		})
	}
}

func readAll(t testing.TB, a *Array) []byte {
	t.Helper()
	box := WholeBox(a.Metadata().Shape)
	data := make([]byte, box.Len()*a.Metadata().DType.Size())
	if err := a.ReadBox(t.Context(), box, data, &ReadOptions{FillMissing: true}); err != nil {
		t.Fatal(err)
	}
	return data
}

// checkBoxes reads boxes of every kind and compares them with cuts of the whole.
func checkBoxes(t *testing.T, a *Array, data []byte) {
	t.Helper()
	m := a.Metadata()
	for step := 1; step <= 3; step++ {
		box := WholeBox(m.Shape)
		for i, n := range m.Shape {
			box.Origin[i] = min(n-1, step*(i+1)%max(n, 1))
			box.Shape[i] = max(1, (n-box.Origin[i]+step-1)/step)
		}
		got := make([]byte, box.Len()*m.DType.Size())
		if err := a.ReadBox(t.Context(), box, got, &ReadOptions{FillMissing: true}); err != nil {
			t.Fatalf("box %v: %v", box, err)
		}
		if want := cut(data, m.Shape, box, m.DType.Size()); !bytes.Equal(got, want) {
			t.Errorf("box %v: % x, want % x", box, got, want)
		}
	}
}

// cut returns the elements of box, the slow way.
func cut(data []byte, shape []int, box Box, size int) []byte {
	var out []byte
	at := make([]int, len(shape))
	for i := range box.Len() {
		flat := 0
		for k, rest := len(shape)-1, i; k >= 0; k-- {
			at[k] = box.Origin[k] + rest%box.Shape[k]
			rest /= box.Shape[k]
		}
		for k, n := range shape {
			flat = flat*n + at[k]
		}
		out = append(out, data[flat*size:(flat+1)*size]...)
	}
	return out
}

// checkMetadata writes the metadata again: what TensorStore wrote comes out byte
// for byte, anything else with the same meaning.
func checkMetadata(t *testing.T, stored []byte, m *Metadata, exact bool) {
	t.Helper()
	b, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if exact && !bytes.Equal(b, stored) {
		t.Errorf("metadata\n%s\nwant\n%s", b, stored)
	}
	again, err := parserOf(m.Format)(b, MetadataKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := again.JSON()
	if err != nil || !bytes.Equal(b, c) {
		t.Errorf("metadata written twice: %v\n%s\n%s", err, b, c)
	}
	if !slices.Equal(m.Fill, again.Fill) {
		t.Errorf("fill % x, again % x", m.Fill, again.Fill)
	}
}

func parserOf(f Format) func(b []byte, key string) (*Metadata, error) {
	if f == V2 {
		return ParseMetadataV2
	}
	return ParseMetadata
}
