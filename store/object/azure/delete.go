package azure

import (
	"context"
	"net/http"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Delete implements object.Bucket. The snapshots of the blob go with it.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	const op = "azure.Delete"
	if err := b.check(op, key, c); err != nil {
		return err
	}
	if c.Absent {
		return b.Bad(errs.Invalid, op, key, "a condition with a tag, or none", "Absent")
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	remove := web.On(http.MethodDelete, op, key)
	remove.Cond, remove.Header = c, web.Conditional(c)
	remove.Header["X-Ms-Delete-Snapshots"] = "include"
	answer, err := b.Send(ctx, remove)
	switch {
	case err == nil:
		web.Finish(answer)
	case c.Tag == "" && web.CodeOf(err) == codeNoBlob:
		return nil
	}
	return err
}

// deletesAtOnce is how many deletes of DeleteAll are under way at the same time.
const deletesAtOnce = 16

// DeleteAll implements object.Bucket. It sends a request for each key: Azure bills the requests of
// a batch one by one, too. It ends with the first error, once the requests that are under way have
// ended.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	const op = "azure.DeleteAll"
	for _, key := range keys {
		if err := b.check(op, key, object.Condition{}); err != nil {
			return err
		}
	}
	return web.Each(len(keys), deletesAtOnce, func(i int) error {
		return b.remove(ctx, op, keys[i], object.Condition{})
	})
}
