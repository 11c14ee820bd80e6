package layout

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// TensorStore can give the metadata of zarr v2 arrays another name than .zarray (metadata_key), and
// Orbax passes the option on. The name is not recorded: it is the only name beside chunks.

// metadataKey returns the name of the metadata of an array that has neither zarr.json nor .zarray.
// It returns missing if there is not exactly one such name.
func (t *OpenTree) metadataKey(ctx context.Context, param string, missing error) (string, error) {
	found := ""
	prefix := zarr.KeyPrefix(param)
	take := func(name string) bool {
		if isChunkKey(name) || prefix == "" && slices.Contains(documents, name) {
			return true
		}
		unique := found == ""
		found = name
		return unique
	}
	if t.db != nil {
		for e, err := range t.db.List(ctx, ocdbt.Prefix(prefix)) {
			if err != nil {
				return "", err
			}
			if !take(strings.TrimPrefix(e.Key, prefix)) {
				return "", missing
			}
		}
	} else {
		for e, err := range t.files.c.st.List(ctx, t.files.c.path(t.files.item, path.Clean("./"+param))) {
			if errs.KindOf(err) == errs.NotFound {
				return "", missing
			}
			if err != nil {
				return "", err
			}
			if !e.Dir && !take(e.Name) {
				return "", missing
			}
		}
	}
	if found == "" || strings.Contains(found, "/") {
		return "", missing
	}
	return found, nil
}

// documents are the documents that lie beside the chunks of an array that is an item by itself.
var documents = []string{orbax.TreeFile, orbax.StringsFile, orbax.ShardingFile, orbax.CommitFile, orbax.MarkerFile,
	orbax.CheckpointFile, orbax.AnnotationsFile, manifest.Name}

// isChunkKey reports whether a name names a chunk: numbers between dots or slashes.
func isChunkKey(name string) bool { return strings.Trim(name, "0123456789./") == "" }
