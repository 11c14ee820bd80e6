package ocdbt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object is an envelope in a database, with the body that our encoder makes of
// what was decoded from it.
type object struct {
	name    string
	magic   uint32
	stored  []byte
	encoded []byte
}

// objects decodes every manifest and every node that some version leads to.
func objects(t testing.TB, files mem) []object {
	t.Helper()
	ctx := t.Context()
	db, err := Open(ctx, files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out []object
	for name, b := range files {
		if !strings.HasPrefix(name, "manifest.") {
			continue
		}
		m, err := DecodeManifest(b, name)
		if err != nil {
			t.Fatal(err)
		}
		body, err := m.body()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, object{name, magicManifest, b, body})
	}
	seen := map[Node]bool{}
	var walk func(s step)
	walk = func(s step) {
		if seen[s.ref] {
			return
		}
		seen[s.ref] = true
		n, err := db.load(ctx, s.ref, s.bounds())
		if err != nil {
			t.Fatal(err)
		}
		b, err := db.files.readObject(ctx, s.ref.File.Path(), s.ref.Offset, s.ref.Length)
		if err != nil {
			t.Fatal(err)
		}
		name := location{s.ref.File.Path(), s.ref.Offset}.corrupt("").Error()
		out = append(out, object{name, magicNode, b, reencode(n, s.ref.File.Base)})
		for i := range n.inner {
			walk(s.down(n, i))
		}
	}
	var versions func(vs []Version, nodes []VersionNode)
	versions = func(vs []Version, nodes []VersionNode) {
		for _, v := range vs {
			if !v.Empty() {
				walk(step{ref: v.Root})
			}
		}
		for _, ref := range nodes {
			n, err := db.loadVersionNode(ctx, ref)
			if err != nil {
				t.Fatal(err)
			}
			b, err := db.files.readObject(ctx, ref.File.Path(), ref.Offset, ref.Length)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, object{ref.File.Path(), magicVersionNode, b, n.body(db.manifest.Config.VersionTreeArityLog2, ref.Height)})
			versions(n.versions, n.nodes)
		}
	}
	versions(db.manifest.Versions, db.manifest.Older)
	return out
}

func reencode(n *node, transitive string) []byte {
	local := func(f File) File {
		f.Base = strings.TrimPrefix(f.Base, transitive)
		return f
	}
	if n.height == 0 {
		entries := make([]Entry, n.len())
		for i := range entries {
			entries[i] = Entry{Key: n.keys.at(i), Value: n.value(i)}
			if !entries[i].Value.IsInline() {
				entries[i].Value.File = local(entries[i].Value.File)
			}
		}
		b, _ := leafBody(entries, 0)
		return b
	}
	children := make([]innerEntry, n.len())
	for i := range children {
		children[i] = innerEntry{key: n.keys.at(i), prefix: int(n.inner[i].prefix), node: n.child(i)}
		children[i].node.File = local(children[i].node.File)
	}
	b, _ := innerBody(children, 0, n.height)
	return b
}

// What TensorStore wrote, we write byte for byte.
func TestVectorsReencode(t *testing.T) {
	counts := map[uint32]int{}
	dirs := databases(t, vectorRoots(t)...)
	for _, dir := range dirs {
		for _, o := range objects(t, loadDir(t, dir)) {
			stored, err := openEnvelope(o.stored, o.magic, DefaultMaxNodeBytes, location{file: o.name})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(stored, o.encoded) {
				t.Errorf("%s: %s: encoded differs from stored:\n%x\n%x", dir, o.name, o.encoded, stored)
			}
			counts[o.magic]++
		}
	}
	t.Logf("%d databases: %d manifests, %d nodes, %d version nodes", len(dirs), counts[magicManifest], counts[magicNode], counts[magicVersionNode])
	if counts[magicManifest] == 0 || counts[magicNode] == 0 || counts[magicVersionNode] == 0 {
		t.Fatalf("some kind of object was not seen: %v", counts)
	}
}

// expectation is expect.json of the layout ocdbt.
type expectation struct {
	Layout   string
	Manifest struct {
		InlineVersions   int    `json:"inline_versions"`
		LatestGeneration uint64 `json:"latest_generation"`
		RootHeight       int    `json:"root_height"`
		NumKeys          uint64 `json:"num_keys"`
		IndirectBytes    uint64 `json:"num_indirect_value_bytes"`
		Nodes            []struct {
			Height         int
			Generation     uint64 `json:"generation_number"`
			NumGenerations uint64 `json:"num_generations"`
		} `json:"version_tree_nodes"`
		Config struct {
			Compression *struct {
				ID    string
				Level int32
			}
			MaxDecoded uint32 `json:"max_decoded_node_bytes"`
			MaxInline  uint32 `json:"max_inline_value_bytes"`
			Arity      uint8  `json:"version_tree_arity_log2"`
		}
	}
	Latest   []expectedKey
	Versions []struct {
		Generation uint64
		Keys       []expectedKey
		Error      string
	}
}

type expectedKey struct {
	Key    string `json:"key_b64"`
	Len    int64
	SHA256 string
	Hex    string
}

func TestVectorsExpectations(t *testing.T) {
	seen := 0
	for _, root := range vectorRoots(t) {
		cases, err := filepath.Glob(filepath.Join(root, "ocdbt-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range cases {
			seen++
			t.Run(filepath.Base(dir), func(t *testing.T) { testExpectation(t, dir) })
		}
	}
	if seen == 0 {
		t.Fatal("no cases")
	}
}

func testExpectation(t *testing.T, dir string) {
	var want expectation
	b, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	files := loadDir(t, filepath.Join(dir, "checkpoint"))
	db, err := Open(t.Context(), files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, w := db.Manifest(), want.Manifest
	check := func(what string, got, want any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	check("inline versions", len(m.Versions), w.InlineVersions)
	check("generation", db.Version().Generation, w.LatestGeneration)
	check("root height", db.Version().Root.Height, w.RootHeight)
	check("keys", db.Stats().Keys, w.NumKeys)
	check("indirect bytes", db.Stats().IndirectBytes, w.IndirectBytes)
	check("version nodes", len(m.Older), len(w.Nodes))
	for i, n := range w.Nodes {
		check("version node", []any{m.Older[i].Height, m.Older[i].Generation, m.Older[i].NumGenerations},
			[]any{n.Height, n.Generation, n.NumGenerations})
	}
	check("node limit", m.Config.MaxDecodedNodeBytes, w.Config.MaxDecoded)
	check("inline limit", m.Config.MaxInlineValueBytes, w.Config.MaxInline)
	check("arity", m.Config.VersionTreeArityLog2, w.Config.Arity)
	check("compression", m.Config.Compression == CompressionZstd, w.Config.Compression != nil && w.Config.Compression.ID == "zstd")
	if w.Config.Compression != nil {
		check("level", m.Config.ZstdLevel, w.Config.Compression.Level)
	}
	check("latest", listed(t, db), withoutHex(want.Latest))
	for _, v := range want.Versions {
		old, err := Open(t.Context(), files, Options{Generation: v.Generation})
		if v.Error != "" {
			if err == nil {
				t.Errorf("generation %d opened, TensorStore says %s", v.Generation, v.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("generation %d: %v", v.Generation, err)
			continue
		}
		check("version", listed(t, old), withoutHex(v.Keys))
		at, err := Open(t.Context(), files, Options{Time: old.Version().Time()})
		if err != nil || at.Version().Generation != v.Generation {
			t.Errorf("by time of generation %d: %v, %v", v.Generation, at, err)
		}
	}
}

func withoutHex(keys []expectedKey) []expectedKey {
	out := []expectedKey{}
	for _, k := range keys {
		k.Hex = ""
		out = append(out, k)
	}
	return out
}

// listed lists the database, and reads every value by List and by Get.
func listed(t testing.TB, db *DB) []expectedKey {
	t.Helper()
	out := []expectedKey{}
	for e, err := range db.List(t.Context(), Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := db.ReadValue(t.Context(), e.Value, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Values().Get(t.Context(), e.Key)
		if err != nil || !bytes.Equal(got, v) {
			t.Fatalf("Get(%q): %v", e.Key, err)
		}
		sum := sha256.Sum256(v)
		out = append(out, expectedKey{Key: base64.StdEncoding.EncodeToString([]byte(e.Key)), Len: int64(len(v)), SHA256: hex.EncodeToString(sum[:])})
	}
	return out
}

// Trees that TensorStore wrote in one commit are split where we split them.
func TestVectorsSplit(t *testing.T) {
	seen := 0
	for _, name := range []string{"ocdbt-tree2", "ocdbt-tree-nocompress"} {
		for _, root := range vectorRoots(t) {
			dir := filepath.Join(root, name, "checkpoint")
			if _, err := os.Stat(dir); err != nil {
				continue
			}
			seen++
			files := loadDir(t, dir)
			db, err := Open(t.Context(), files, Options{})
			if err != nil {
				t.Fatal(err)
			}
			// The length of the file name counts towards the size of an interior node.
			place := func(int) (File, int64) { return db.Version().Root.File, 0 }
			nodes, r, err := EncodeTree(entriesOf(t, db, Range{}), db.Manifest().Config, place)
			if err != nil {
				t.Fatal(err)
			}
			if r.Height != db.Version().Root.Height {
				t.Errorf("%s: height %d, want %d", dir, r.Height, db.Version().Root.Height)
			}
			leaves := map[string]bool{}
			for _, n := range nodes {
				body, err := openEnvelope(n.Bytes, magicNode, DefaultMaxNodeBytes, location{})
				if err != nil {
					t.Fatal(err)
				}
				if body[0] == 0 {
					leaves[string(body)] = true
				}
			}
			stored, inner := 0, 0
			var walk func(s step)
			walk = func(s step) {
				n, err := db.load(t.Context(), s.ref, s.bounds())
				if err != nil {
					t.Fatal(err)
				}
				if n.height == 0 {
					stored++
					if !leaves[string(reencode(n, ""))] {
						t.Errorf("%s: no leaf like the stored one that begins with %q", dir, n.keys.at(0))
					}
					return
				}
				inner++
				for i := range n.inner {
					walk(s.down(n, i))
				}
			}
			walk(step{ref: db.Version().Root})
			if stored != len(leaves) || inner != len(nodes)-len(leaves) {
				t.Errorf("%s: %d leaves and %d interior nodes, want %d and %d", dir, len(leaves), len(nodes)-len(leaves), stored, inner)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no cases")
	}
}

func entriesOf(t testing.TB, db *DB, r Range) []Entry {
	t.Helper()
	var out []Entry
	for e, err := range db.List(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}
