package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// verdict says what is known of conditional deletes.
type verdict int

const (
	notTried verdict = iota
	kept
	ignored
)

// Delete implements object.Bucket.
func (b *bucket) Delete(ctx context.Context, key string, c object.Condition) error {
	const op = "s3.Delete"
	if err := b.check(op, key, c); err != nil {
		return err
	}
	if c.Absent {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.subject(key), Want: "a condition with a tag, or none", Got: "Absent"}
	}
	if c.Tag != "" {
		if err := b.probeDelete(ctx); err != nil {
			return err
		}
	}
	return b.remove(ctx, op, key, c)
}

func (b *bucket) remove(ctx context.Context, op, key string, c object.Condition) error {
	match, _ := headers(c)
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: &key, IfMatch: match})
	if err == nil {
		return nil
	}
	err = b.fail(ctx, request{op: op, key: key, cond: c}, err)
	var f *failure
	if c.Tag == "" && errors.As(err, &f) && f.code == codeNoKey {
		return nil
	}
	return err
}

// probeDelete returns an error unless the server compares the tag of a delete. It asks once, with an
// object of its own.
func (b *bucket) probeDelete(ctx context.Context) error {
	const op = "s3.Delete"
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.deletes == notTried {
		key := ".bivouac-probe-" + rand.Text()
		if b.prefix != "" {
			key = b.prefix + "/" + key
		}
		p := []byte("Bivouac asks whether this server compares the tag of a delete.\n")
		sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
		tag, err := b.Put(ctx, key, p, sum, object.Condition{Absent: true})
		if err != nil {
			return err
		}
		err = b.remove(ctx, op, key, object.Condition{Tag: `"00000000000000000000000000000000"`})
		switch {
		case err == nil || errors.Is(err, errs.Unsupported):
			b.deletes = ignored
		case errors.Is(err, object.ErrCondition):
			b.deletes = kept
			// A server that refuses every conditional delete does not compare either.
			switch err := b.remove(ctx, op, key, object.Condition{Tag: tag}); {
			case err == nil && tag != "":
				return nil
			case err == nil || errors.Is(err, object.ErrCondition):
				b.deletes = ignored
			default:
				b.deletes = notTried
				return err
			}
		default:
			return err
		}
		if err := b.remove(ctx, op, key, object.Condition{}); err != nil {
			return err
		}
	}
	if b.deletes == ignored {
		return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.name, Want: "a server that compares the tag of a delete",
			Got: "one that ignores If-Match", Remedy: "delete without a condition, or use a server that has conditional deletes"}
	}
	return nil
}

// DeleteAll implements object.Bucket. It sends at most 1000 keys a request.
func (b *bucket) DeleteAll(ctx context.Context, keys []string) error {
	const op = "s3.DeleteAll"
	for some := range slices.Chunk(keys, maxDelete) {
		ids := make([]types.ObjectIdentifier, len(some))
		for i, key := range some {
			if err := b.check(op, key, object.Condition{}); err != nil {
				return err
			}
			ids[i].Key = aws.String(key)
		}
		out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket,
			Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
		if err != nil {
			return b.fail(ctx, request{op: op}, err)
		}
		if err := b.undeleted(op, out.Errors); err != nil {
			return err
		}
	}
	return nil
}

// undeleted returns the first error of an answer, and says how many there are.
func (b *bucket) undeleted(op string, all []types.Error) error {
	all = slices.DeleteFunc(slices.Clone(all), func(e types.Error) bool { return aws.ToString(e.Code) == codeNoKey })
	if len(all) == 0 {
		return nil
	}
	first := all[0]
	f := &failure{code: aws.ToString(first.Code), message: aws.ToString(first.Message)}
	e := b.explain(request{op: op, key: aws.ToString(first.Key)}, f)
	if n := len(all) - 1; n > 0 {
		e.Got += fmt.Sprintf(" and %d more keys", n)
	}
	return e
}
