package gcs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

const (
	// partsRoot is where the parts of unfinished uploads are:
	//
	//	.bivouac-uploads/ KEY / ID / 00001-RANDOM    part 1
	//	.bivouac-uploads/ KEY / ID / c-RANDOM        some parts that were composed
	partsRoot = ".bivouac-uploads/"
	// maxSources is how many objects a request composes.
	maxSources = 32
	// composes is how many requests to compose parts are under way.
	composes = 8
	// randomLetters is the length of an ID and of what makes the name of a part unique.
	randomLetters = 20
	maxUploadKey  = maxKey - len(partsRoot) - 2*randomLetters - len("//00001-")
)

// random returns letters that nobody has used.
func random() string { return rand.Text()[:randomLetters] }

// upload implements object.Upload.
type upload struct {
	b   *bucket
	key string
	dir string // where the parts are, with a "/" at its end

	mu    sync.Mutex
	parts map[int]piece
	made  []string // the keys that were put below dir, or may have been
}

// piece is an object that is composed into a larger one.
type piece struct {
	key, generation string
	size            int64
	sum             uint32
}

// Begin implements object.Bucket. It sends no request: an upload without parts leaves nothing.
func (b *bucket) Begin(ctx context.Context, key string) (object.Upload, error) {
	const op = "gcs.Begin"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, err
	}
	if len(key) > maxUploadKey {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: scheme + b.bucket,
			Want: fmt.Sprintf("a key of at most %d bytes for an object in parts", maxUploadKey),
			Got:  fmt.Sprint(len(key), " bytes")}
	}
	if ctx.Err() != nil {
		return nil, b.Ended(ctx, web.Request{Op: op, Key: key})
	}
	return &upload{b: b, key: key, dir: partsRoot + key + "/" + random() + "/", parts: map[int]piece{}}, nil
}

// name returns a new key below the directory of the upload.
func (u *upload) name(beginning string) string {
	key := u.dir + beginning + "-" + random()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.made = append(u.made, key)
	return key
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	const op = "gcs.Part"
	if n < 1 || n > maxParts {
		return u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("a part from 1 to %d", maxParts), fmt.Sprint(n))
	}
	key := u.name(fmt.Sprintf("%05d", n))
	a, err := u.b.insert(ctx, op, key, p, sum, object.Condition{})
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[n] = piece{key: key, generation: a.Tag, size: a.Size, sum: sum}
	return nil
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context, n int, sum uint32, c object.Condition) (string, error) {
	const op = "gcs.Complete"
	if err := u.b.check(op, u.key, c); err != nil {
		return "", err
	}
	all, err := u.list(op, n)
	if err != nil {
		return "", err
	}
	if whole := joined(all); whole.sum != sum {
		return "", u.b.Bad(errs.Corrupt, op, u.key, "parts that make the CRC-32C "+web.CRC(sum), web.CRC(whole.sum))
	}
	for len(all) > maxSources {
		if all, err = u.level(ctx, op, all); err != nil {
			return "", err
		}
	}
	tag, err := u.b.compose(ctx, op, u.key, all, c)
	if err != nil {
		return "", err
	}
	// What cannot be removed now is found by Uploads.
	u.mu.Lock()
	made := u.made
	u.made, u.parts = nil, map[int]piece{}
	u.mu.Unlock()
	_ = u.b.removeAll(ctx, op, made)
	return tag, nil
}

// list returns the parts 1 to n.
func (u *upload) list(op string, n int) ([]piece, error) {
	if n < 1 || n > maxParts {
		return nil, u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("from 1 to %d parts", maxParts), fmt.Sprint(n))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]piece, n)
	for i := range all {
		p, ok := u.parts[i+1]
		if !ok {
			return nil, u.b.Bad(errs.Sequence, op, u.key, fmt.Sprintf("the parts 1 to %d", n), fmt.Sprintf("no part %d", i+1))
		}
		all[i] = p
	}
	return all, nil
}

// level composes the pieces, 32 at a time, and returns the larger pieces.
func (u *upload) level(ctx context.Context, op string, all []piece) ([]piece, error) {
	groups := slices.Collect(slices.Chunk(all, maxSources))
	out := make([]piece, len(groups))
	return out, web.Each(len(groups), composes, func(i int) error {
		if len(groups[i]) == 1 {
			out[i] = groups[i][0]
			return nil
		}
		p := joined(groups[i])
		p.key = u.name("c")
		tag, err := u.b.compose(ctx, op, p.key, groups[i], object.Condition{})
		p.generation = tag
		out[i] = p
		return err
	})
}

// joined returns the size and the checksum of pieces, one after the other.
func joined(all []piece) (whole piece) {
	for _, p := range all {
		whole.sum = crc.Combine(whole.sum, p.sum, p.size)
		whole.size += p.size
	}
	return whole
}

// compose makes an object of at most 32 pieces, and returns its tag.
func (b *bucket) compose(ctx context.Context, op, key string, all []piece, c object.Condition) (string, error) {
	type source struct {
		Name       string `json:"name"`
		Generation string `json:"generation"`
	}
	in := struct {
		SourceObjects []source          `json:"sourceObjects"`
		Destination   map[string]string `json:"destination"`
	}{Destination: map[string]string{"contentType": web.Octets, "cacheControl": noStore}}
	for _, p := range all {
		in.SourceObjects = append(in.SourceObjects, source{p.key, p.generation})
	}
	body, err := json.Marshal(in)
	if err != nil {
		return "", b.Bad(errs.Invalid, op, key, "keys that JSON can have", b.Mask(err.Error()))
	}
	post := on(http.MethodPost, op, key, c)
	post.path, post.sources = append(post.path, "compose"), true
	post.contentType, post.body = "application/json", [][]byte{body}
	o, a, err := b.described(ctx, post)
	if err != nil {
		return "", err
	}
	whole := joined(all)
	if a.Size == whole.size && (o.CRC32C == "" || o.CRC32C == web.CRC(whole.sum)) {
		return a.Tag, nil
	}
	// The server composed other bytes than it was told to. Nobody shall read them.
	e := b.Bad(errs.Corrupt, op, key, fmt.Sprintf("%d bytes with the CRC-32C %s", whole.size, web.CRC(whole.sum)),
		fmt.Sprintf("%d bytes with %s on the server", a.Size, o.CRC32C))
	if err := b.remove(ctx, op, key, object.Condition{Tag: a.Tag}); err != nil && !errors.Is(err, object.ErrCondition) {
		e.Remedy = "remove the object: its bytes are damaged"
	}
	return "", e
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error { return u.b.abort(ctx, u.dir) }

// abort removes all that an upload put. An upload that is gone is no error.
func (b *bucket) abort(ctx context.Context, dir string) error {
	const op = "gcs.Abort"
	var keys []string
	for a, err := range b.list(ctx, op, dir, false) {
		if err != nil {
			return err
		}
		keys = append(keys, a.Key)
	}
	return b.removeAll(ctx, op, keys)
}

// Uploads implements object.Bucket. An upload is known by its parts, and starts with the first.
func (b *bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	const op = "gcs.Uploads"
	return func(yield func(object.Unfinished, error) bool) {
		var open object.Unfinished
		at := ""
		for a, err := range b.list(ctx, op, partsRoot+prefix, false) {
			if err != nil {
				yield(object.Unfinished{}, err)
				return
			}
			key, dir, ok := uploadOf(a.Key)
			if !ok || !strings.HasPrefix(key, prefix) {
				continue
			}
			if dir == at {
				open.Started = earlier(open.Started, a.Modified)
				continue
			}
			if at != "" && !yield(open, nil) {
				return
			}
			at = dir
			open = object.Unfinished{Key: key, Started: a.Modified,
				Abort: func(ctx context.Context) error { return b.abort(ctx, dir) }}
		}
		if at != "" {
			yield(open, nil)
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// uploadOf returns the key and the directory of an upload, of the key of one of its parts.
func uploadOf(part string) (key, dir string, ok bool) {
	end := strings.LastIndexByte(part, '/')
	dir = part[:end+1]
	key, ok = strings.CutPrefix(dir[:max(end, 0)], partsRoot)
	id := strings.LastIndexByte(key, '/')
	if !ok || id < 1 || len(key)-id-1 != randomLetters {
		return "", "", false
	}
	return key[:id], dir, true
}
