package reader

import (
	"context"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/store/blocks"
	"github.com/bivouac-ml/bivouac/tensor"
)

// objects are the tags of files that lie in a bucket, back to back.
type objects struct {
	tags strings.Builder
	ends []int64 // where each tag ends; nil if all files are local
}

// addTag notes the tag of the file that was added last. It is empty for a local file.
func (f *files) addTag(tag string) {
	o := &f.objects
	if tag == "" && o.ends == nil {
		return
	}
	for len(o.ends) < len(f.ends)-1 {
		o.ends = append(o.ends, int64(o.tags.Len()))
	}
	o.tags.WriteString(tag)
	o.ends = append(o.ends, int64(o.tags.Len()))
}

// tag returns the tag of a file.
func (o *objects) tag(id int64) string {
	start := int64(0)
	if id > 0 {
		start = o.ends[id-1]
	}
	return o.tags.String()[start:o.ends[id]]
}

// object opens a file that lies in a bucket.
func (f *files) object(ctx context.Context, path string, id int64) (*blocks.Object, error) {
	return datafs.Open(ctx, path, datafs.WithTag(f.sizes[id], f.objects.tag(id)))
}

// fetchObject is fetch for a file that lies in a bucket.
func (f *files) fetchObject(ctx context.Context, path string, id int64, s int, dst *op.Block) error {
	o, err := f.object(ctx, path, id)
	if err != nil {
		return err
	}
	if err := o.ReadAt(ctx, dst.Out(0, s, int(f.sizes[id])).Data, 0); err != nil {
		return err
	}
	label, err := tensor.Of[int32](dst.Out(1, s, 1))
	if err == nil {
		label[0] = f.labels[id]
	}
	return err
}

// ahead begins to read files that are going to be fetched.
func (f *files) ahead(ids []int64) {
	for _, id := range ids {
		path := f.resolve(f.path(id))
		if !datafs.IsURL(path) {
			continue
		}
		if o, err := f.object(context.Background(), path, id); err == nil { // Fetch returns the error
			o.Ahead(0, o.Size())
		}
	}
}
