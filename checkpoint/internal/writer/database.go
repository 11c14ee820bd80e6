package writer

import (
	"cmp"
	"path"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// shortTree is the largest number of keys for which the nodes of a database are small.
const shortTree = 512

// database appends the nodes of the database to a data file, and returns the
// manifest of the database.
func (t *treePlan) database(uuid [16]byte, now time.Time) (db store.Blob, err error) {
	entries := t.entries()
	open := slices.DeleteFunc(slices.Clone(t.files), func(f *file) bool { return f.written })
	last := slices.MinFunc(open, func(a, b *file) int { return cmp.Compare(a.size, b.size) })
	start := last.beginTail(entries.Len() <= shortTree)
	at := start
	config := ocdbt.OrbaxConfig(uuid)
	nodes, root, err := ocdbt.EncodeEntries(entries, config, func(size int) (ocdbt.File, int64) {
		offset := at
		at += int64(size)
		return ocdbt.File{Name: last.name}, offset
	})
	if err != nil {
		return db, err
	}
	tail := make([]byte, 0, at-start)
	for _, n := range nodes {
		tail = append(tail, n.Bytes...)
	}
	last.append(tail)
	t.nodes = last
	b, err := ocdbt.NewManifest(config, root, now).Append(nil)
	return store.Blob{Name: path.Join(t.data, "manifest.ocdbt"), Data: b}, err
}
