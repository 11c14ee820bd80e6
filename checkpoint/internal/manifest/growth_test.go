package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/growth"
)

// Parsing takes time and memory in proportion to the document, whatever its records
// are: many of one kind, in any order, or few with many checksums or runs.
func TestParseGrowth(t *testing.T) {
	h := HashOf([]byte("x"))
	for name, make := range map[string]func(m *Manifest, n int){
		"files":  func(*Manifest, int) {},
		"heads":  func(m *Manifest, _ int) { m.Heads = m.Files },
		"nodes":  func(m *Manifest, _ int) { m.Nodes = m.Files },
		"leaves": func(m *Manifest, n int) { m.Leaves = leavesOf(n, 0) },
		"chunks": func(m *Manifest, n int) { m.Leaves = leavesOf(1, n) },
		"runs": func(m *Manifest, n int) {
			m.Files[0].Size, m.Files[0].Runs = 0, nil
			for i := range n {
				m.Files[0].Runs = append(m.Files[0].Runs, Run{Off: int64(i), Size: 1})
				m.Files[0].Size++
			}
		},
	} {
		for _, reversed := range []bool{false, true} {
			growth.Check(t, growth.Op{Name: fmt.Sprintf("%s, reversed %v", name, reversed), N: 1000,
				Prepare: func(tb growth.TB, n int) func() error {
					m := &Manifest{}
					for i := range n {
						m.Files = append(m.Files, File{Name: fmt.Sprintf("file%07d", i), Size: 4, Hash: h})
					}
					make(m, n)
					doc := m.Append(nil)
					if reversed {
						doc = backwards(doc)
					}
					return func() error {
						m, err := Parse(doc)
						if err != nil {
							return err
						}
						for _, f := range m.Files {
							if _, ok := m.File(f.Name); !ok {
								return fmt.Errorf("%s is not found", f.Name)
							}
						}
						return nil
					}
				}})
		}
	}
}

func leavesOf(n, chunks int) []Leaf {
	out := make([]Leaf, n)
	for i := range out {
		out[i] = Leaf{Item: "state", Param: fmt.Sprintf("leaf%07d", i), Size: 4, Chunks: make([]uint32, chunks)}
	}
	return out
}

// backwards returns a document with its records in the opposite order.
func backwards(doc []byte) []byte {
	lines := strings.SplitAfter(string(doc), "\n")
	out := []byte(lines[0])
	for i := len(lines) - 3; i > 0; i-- { // the last one is empty, the one before is the end record
		out = append(out, lines[i]...)
	}
	sum := checksum(out)
	return append(appendCRC(append(out, "end "...), sum), '\n')
}

// A part of a file that is not listed, or that has fewer bytes, is damage: such a name
// must not pass for a file of the checkpoint.
func TestParseRefusesPartsOfNoFile(t *testing.T) {
	for name, m := range map[string]*Manifest{
		"a head":                    {Heads: []File{{Name: "none", Size: 1}}},
		"nodes":                     {Nodes: []File{{Name: "none", Size: 1, Hash: HashOf(nil)}}},
		"a head beyond the file":    {Heads: []File{{Name: "there", Size: 5}}},
		"nodes longer than a file":  {Nodes: []File{{Name: "there", Size: 5, Hash: HashOf(nil)}}},
		"two heads of one file":     {Heads: []File{{Name: "there", Size: 4}, {Name: "there", Size: 3}}},
		"two leaves of one name":    {Leaves: []Leaf{{Item: "a", Param: "b"}, {Item: "a", Param: "b"}}},
		"two files of one name":     {Files: []File{{Name: "x"}, {Name: "x"}}},
		"two nodes, another beside": {Nodes: []File{{Name: "there", Hash: HashOf(nil)}, {Name: "a", Hash: HashOf(nil)}, {Name: "there", Hash: HashOf(nil)}}},
	} {
		m.Files = append(m.Files, File{Name: "there", Size: 4}, File{Name: "a"})
		if _, err := Parse(m.Append(nil)); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v, want errs.Corrupt", name, err)
		}
	}
}
