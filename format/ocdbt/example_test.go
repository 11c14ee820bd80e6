package ocdbt_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// directory is a database directory in memory.
type directory map[string][]byte

func (d directory) ReadFile(_ context.Context, name string) ([]byte, error) {
	b, ok := d[name]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return b, nil
}

func (d directory) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	b, err := d.ReadFile(ctx, name)
	copy(p, b[off:])
	return err
}

func (d directory) Size(ctx context.Context, name string) (int64, error) {
	b, err := d.ReadFile(ctx, name)
	return int64(len(b)), err
}

// write does what a commit says; a real one syncs the data files, then replaces
// the manifest.
func (d directory) write(c *ocdbt.Commit) {
	for _, f := range append(c.Files, c.Manifest) {
		d[f.Name] = f.Data
	}
}

// Two commits make two versions; both can be read.
func ExampleDB_Commit() {
	ctx := context.Background()
	files := directory{}
	db, err := ocdbt.New(files, ocdbt.OrbaxConfig([16]byte{1}), ocdbt.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, word := range []string{"one", "two"} {
		var b ocdbt.Batch
		b.Put("word", []byte(word))
		commit, err := db.Commit(ctx, &b, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		files.write(commit)
		if db, err = ocdbt.Open(ctx, files, ocdbt.Options{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	for generation := uint64(1); generation <= 2; generation++ {
		old, err := ocdbt.Open(ctx, files, ocdbt.Options{Generation: generation})
		if err != nil {
			fmt.Println(err)
			return
		}
		value, err := old.Values().Get(ctx, "word")
		fmt.Printf("%d: %s %v\n", generation, value, err)
	}
	// Output:
	// 1: one <nil>
	// 2: two <nil>
}

// A large value goes to a data file, a small one into the tree; the nodes follow
// in the same file, and the manifest comes last.
func Example() {
	ctx := context.Background()
	data := ocdbt.File{Name: "d/0001"}
	content := []byte("a large value")
	entries := []ocdbt.Entry{
		{Key: "a", Value: ocdbt.Ref{File: data, Offset: 0, Length: int64(len(content))}},
		{Key: "b", Value: ocdbt.InlineRef([]byte("small"))},
	}

	config := ocdbt.OrbaxConfig([16]byte{1})
	nodes, root, err := ocdbt.EncodeTree(entries, config, func(size int) (ocdbt.File, int64) {
		at := len(content)
		content = append(content, make([]byte, size)...)
		return data, int64(at)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range nodes {
		copy(content[n.Offset:], n.Bytes)
	}
	manifest, err := ocdbt.NewManifest(config, root, time.Unix(0, 0)).Append(nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	db, err := ocdbt.Open(ctx, directory{"d/0001": content, ocdbt.ManifestName: manifest}, ocdbt.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range db.List(ctx, ocdbt.Range{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		value, err := db.ReadValue(ctx, e.Value, nil)
		fmt.Printf("%s: %s, inline %v, %v\n", e.Key, value, e.Value.IsInline(), err)
	}
	// Output:
	// a: a large value, inline false, <nil>
	// b: small, inline true, <nil>
}
