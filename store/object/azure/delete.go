package azure

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Delete implements object.Bucket. The snapshots of the blob go with it.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	const op = "azure.Delete"
	if err := b.check(op, key, c); err != nil {
		return err
	}
	if c.Absent {
		return b.bad(errs.Invalid, op, key, "a condition with a tag, or none", "Absent")
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	remove := on(http.MethodDelete, op, key)
	remove.cond, remove.header = c, conditional(c)
	remove.header["X-Ms-Delete-Snapshots"] = "include"
	answer, err := b.send(ctx, remove)
	var f *failure
	switch {
	case err == nil:
		finish(answer)
	case c.Tag == "" && errors.As(err, &f) && f.code == codeNoBlob:
		return nil
	}
	return err
}

// deletesAtOnce is how many deletes of DeleteAll are under way at the same time.
const deletesAtOnce = 16

// DeleteAll implements object.Bucket. It sends a request for each key: Azure bills the requests of
// a batch one by one, too.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	const op = "azure.DeleteAll"
	for _, key := range keys {
		if err := b.check(op, key, object.Condition{}); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var first error
	next := make(chan string)
	var all sync.WaitGroup
	for range min(deletesAtOnce, len(keys)) {
		all.Go(func() {
			for key := range next {
				err := b.remove(ctx, op, key, object.Condition{})
				if err == nil {
					continue
				}
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
				stop()
			}
		})
	}
	for _, key := range keys { // after an error, those that are left fail at once
		next <- key
	}
	close(next)
	all.Wait()
	return first
}
