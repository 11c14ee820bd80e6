package orbax

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// folder reads the files below a directory for the format packages.
type folder string

// ReadFile implements ocdbt.Files.
func (f folder) ReadFile(_ context.Context, name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(string(f), filepath.FromSlash(name)))
	return b, missing(name, err)
}

// Get implements zarr.KV.
func (f folder) Get(ctx context.Context, key string) ([]byte, error) { return f.ReadFile(ctx, key) }

// ReadAt implements ocdbt.Files and zarr.KV.
func (f folder) ReadAt(_ context.Context, name string, p []byte, off int64) error {
	file, err := os.Open(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return missing(name, err)
	}
	defer file.Close()
	_, err = file.ReadAt(p, off)
	return err
}

// Size implements ocdbt.Files and zarr.KV.
func (f folder) Size(_ context.Context, name string) (int64, error) {
	info, err := os.Stat(filepath.Join(string(f), filepath.FromSlash(name)))
	if err != nil {
		return 0, missing(name, err)
	}
	return info.Size(), nil
}

// Names implements ocdbt.Lister.
func (f folder) Names(context.Context) ([]string, error) {
	entries, err := os.ReadDir(string(f))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &errs.Error{Kind: errs.NotFound, Subject: name, Err: err}
	}
	return err
}

// compareDatabase compares a bare OCDBT database.
func compareDatabase(ctx context.Context, r *suite.Report, o *suite.Object, at string) {
	db, err := ocdbt.Open(ctx, folder(at), ocdbt.Options{})
	if err != nil {
		r.Fail("Open: %v", err)
		return
	}
	commits := o.Integer("commits")
	v := db.Version()
	// Generation 1 is the empty database that opening made.
	if uint64(commits+1) != v.Generation {
		r.Fail("commits: got generation %d, want %d commits", v.Generation, commits)
	}
	compareManifest(r, o.Child("manifest"), db)
	compareEntries(ctx, r, "latest", o.List("latest"), db)
	for _, w := range o.List("versions") {
		want := suite.NewObject(r, "versions ", w)
		g := want.Integer("generation")
		want.Where = fmt.Sprintf("generation %d: ", g)
		old, err := ocdbt.Open(ctx, folder(at), ocdbt.Options{Generation: uint64(g)})
		switch {
		case want.Has("error"):
			if err == nil {
				r.Fail("%sopened", want.Where)
			}
		case err != nil:
			r.Fail("%s%v", want.Where, err)
		default:
			compareEntries(ctx, r, want.Where+"keys", want.List("keys"), old)
		}
		want.Done()
	}
}

func compareManifest(r *suite.Report, m *suite.Object, db *ocdbt.DB) {
	got, v, stats := db.Manifest(), db.Version(), db.Stats()
	for key, n := range map[string]uint64{
		"inline_versions": uint64(len(got.Versions)), "latest_generation": v.Generation, "root_height": uint64(v.Root.Height),
		"num_keys": stats.Keys, "num_indirect_value_bytes": stats.IndirectBytes,
	} {
		if want := uint64(m.Integer(key)); n != want {
			r.Fail("manifest.%s: got %d, want %d", key, n, want)
		}
	}
	nodes := m.List("version_tree_nodes")
	if len(nodes) != len(got.Older) {
		r.Fail("manifest.version_tree_nodes: got %d, want %d", len(got.Older), len(nodes))
	} else {
		for i, w := range nodes {
			want, n := suite.NewObject(r, "manifest.version_tree_nodes ", w), got.Older[i]
			if h, g, c := want.Integer("height"), want.Integer("generation_number"), want.Integer("num_generations"); int64(n.Height) != h || n.Generation != uint64(g) || n.NumGenerations != uint64(c) {
				r.Fail("manifest.version_tree_nodes: got %+v, want height %d, generation %d, %d generations", n, h, g, c)
			}
			want.Done()
		}
	}
	c := m.Child("config")
	for key, n := range map[string]uint64{
		"max_decoded_node_bytes": uint64(got.Config.MaxDecodedNodeBytes), "max_inline_value_bytes": uint64(got.Config.MaxInlineValueBytes),
		"version_tree_arity_log2": uint64(got.Config.VersionTreeArityLog2),
	} {
		if want := uint64(c.Integer(key)); n != want {
			r.Fail("config.%s: got %d, want %d", key, n, want)
		}
	}
	compression, level := ocdbt.CompressionNone, int64(0)
	if c.Get("compression") != nil {
		z := c.Child("compression")
		if id := z.Str("id"); id != "zstd" {
			r.Fail("config.compression: unknown %q", id)
		}
		compression = ocdbt.CompressionZstd
		if z.Has("level") {
			level = z.Integer("level")
		}
		z.Done()
	}
	if got.Config.Compression != compression || int64(got.Config.ZstdLevel) != level {
		r.Fail("config.compression: got %v level %d, want %v level %d", got.Config.Compression, got.Config.ZstdLevel,
			compression, level)
	}
	c.Done()
	m.Done()
}

// compareEntries compares all keys and values of a version.
func compareEntries(ctx context.Context, r *suite.Report, where string, want []any, db *ocdbt.DB) {
	type entry struct {
		key   string
		value []byte
	}
	var got []entry
	for e, err := range db.List(ctx, ocdbt.Range{}) {
		if err != nil {
			r.Fail("%s: List: %v", where, err)
			return
		}
		b, err := db.ReadValue(ctx, e.Value, nil)
		if err != nil {
			r.Fail("%s: %q: %v", where, e.Key, err)
			return
		}
		got = append(got, entry{e.Key, slices.Clone(b)})
	}
	if len(got) != len(want) {
		r.Fail("%s: got %d keys, want %d", where, len(got), len(want))
		return
	}
	for i, v := range want {
		w := suite.NewObject(r, where+" ", v)
		key, err := base64.StdEncoding.DecodeString(w.Str("key_b64"))
		w.Has("key") // the same, readable
		if err != nil || got[i].key != string(key) {
			r.Fail("%s %d: got key %q, want %q", where, i, got[i].key, key)
		}
		sum := sha256.Sum256(got[i].value)
		if int64(len(got[i].value)) != w.Integer("len") || hex.EncodeToString(sum[:]) != w.Str("sha256") {
			r.Fail("%s %q: got %d bytes with hash %x, want %v, %v", where, key, len(got[i].value), sum, w.Members["len"],
				w.Members["sha256"])
		}
		if w.Has("hex") && hex.EncodeToString(got[i].value) != w.Str("hex") {
			r.Fail("%s %q: got %x, want %s", where, key, got[i].value, w.Str("hex"))
		}
		w.Done()
	}
}

// compareBareArray compares one bare zarr array.
func compareBareArray(ctx context.Context, r *suite.Report, o *suite.Object, at string) {
	o.Has("library")         // says who wrote it
	o.Has("read_back_equal") // what that library found
	var files []string
	err := filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(at, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	sort.Strings(files)
	if want := o.Strings("files"); err != nil || !slices.Equal(files, want) {
		r.Fail("files: got %q, want %q (%v)", files, want, err)
	}
	metadata := map[int64]string{2: ".zarray", 3: zarr.MetadataKey}[o.Integer("zarr_format")]
	if !slices.Contains(files, metadata) {
		r.Fail("zarr_format: no file %q", metadata)
	}
	a, err := zarr.Open(ctx, folder(at), "")
	if err != nil {
		r.Fail("Open: %v", err)
		return
	}
	want, m := o.Child("array"), a.Metadata()
	if w := want.Str("dtype"); m.DType.String() != w {
		r.Fail("array.dtype: got %v, want %s", m.DType, w)
	}
	if w := want.Ints("shape"); !slices.Equal(m.Shape, w) {
		r.Fail("array.shape: got %v, want %v", m.Shape, w)
	}
	dst := make([]byte, m.Shape.Len()*m.DType.Size())
	if err := a.ReadBox(ctx, zarr.WholeBox(m.Shape), dst, &zarr.ReadOptions{FillMissing: true}); err != nil {
		r.Fail("ReadBox: %v", err)
		return
	}
	sum := sha256.Sum256(dst)
	if w := want.Str("sha256"); hex.EncodeToString(sum[:]) != w {
		r.Fail("array.sha256: got %x, want %s", sum, w)
	}
	want.Done()
}
